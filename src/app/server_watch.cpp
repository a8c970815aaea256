#include "app/server_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/duration.h"
#include "app/wording.h"
#include "core/validity.h"

namespace redlock::app {

std::string list_advice(std::size_t servers) {
  if (servers < 2 || servers % 2 == 1) return {};
  if (servers == 2) {
    return "2 servers have to agree on every lock, so each one's failure stops it; list 1 or 3";
  }
  return fmt::format("{} servers bear the loss of {}, as {} would; list an odd number", servers,
                     servers - core::quorum_of(servers), servers - 1);
}

bool ServerWatch::is_due(const core::NodeReport& report, TimePoint now) const {
  return !report.twin && report.wanting_since + lease_.config().timing.node_timeout <= now;
}

std::string ServerWatch::missing(TimePoint now, bool last) const {
  std::vector<std::string> all;
  bool due = last;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const core::NodeReport& report = lease_.report(NodeIndex(i));
    const bool overdue = is_due(report, now);
    due = due || overdue;
    // An error that is known already is not waited for: there is one line only.
    const bool fails = !report.twin && !report.wanting_since.is_never() && !report.reason.empty();
    if (!overdue && !fails) continue;
    const std::string reason = without_full_stop(report.reason);
    all.push_back(names_[i] + ": " + (reason.empty() ? "no answer" : reason));
  }
  if (!due || all.empty()) return {};
  const bool enough = names_.size() - all.size() >= core::quorum_of(names_.size());
  return fmt::format(
      "{} of {} servers {} missing: {}; {}", all.size(), names_.size(),
      all.size() == 1 ? "is" : "are", fmt::join(all, "; "),
      enough ? "the others are enough to keep the lease, but look after it"
             : fmt::format("the lease ends in {} unless they come back",
                           format_duration(std::max(lease_.valid_until() - now, Duration()))));
}

std::string ServerWatch::twins() const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto twin = lease_.report(NodeIndex(i)).twin;
    if (!twin) continue;
    return fmt::format("{} and {} are the same server, which votes once; list each once",
                       names_[twin->get()], names_[i]);
  }
  return {};
}

std::string ServerWatch::hidden_uptimes() const {
  std::string list;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (!lease_.report(NodeIndex(i)).uptime_hidden) continue;
    list += (list.empty() ? "" : ", ") + names_[i];
  }
  if (list.empty()) return {};
  return fmt::format(
      "INFO is refused by {}: --min-uptime and the search for servers that are listed twice are "
      "off there; allow it by ACL (+info)",
      list);
}

std::vector<std::string> ServerWatch::due(TimePoint now, bool last) {
  std::vector<std::string> lines;
  const auto say_once = [&lines](bool& said, std::string text) {
    if (said || text.empty()) return;
    said = true;
    lines.push_back(std::move(text));
  };
  say_once(hidden_said_, hidden_uptimes());
  if (names_.size() == 1) return lines;
  say_once(twins_said_, twins());
  say_once(missing_said_, missing(now, last));
  return lines;
}

TimePoint ServerWatch::wakeup() const {
  TimePoint when = TimePoint::never();
  if (missing_said_ || names_.size() == 1) return when;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const core::NodeReport& report = lease_.report(NodeIndex(i));
    if (report.twin) continue;
    when = std::min(when, report.wanting_since + lease_.config().timing.node_timeout);
  }
  return when;
}

}  // namespace redlock::app
