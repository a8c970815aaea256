#include "app/options.h"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "app/command_line.h"
#include "app/duration.h"
#include "app/exit_code.h"
#include "app/signal_name.h"
#include "redis/lock_text.h"

namespace redlock::app {
namespace {

constexpr const char* kUsage =
    "redlock-run [OPTION]... NAME [--] COMMAND [ARG]...\n"
    "redlock-run [OPTION]... NAME -c 'SHELL COMMAND'\n"
    "Acquire the lock NAME on Redis, run COMMAND while keeping the lease alive, release,\n"
    "exit with COMMAND's status.";

constexpr const char* kFooter =
    "Durations: 10 (seconds), 0.5, 500ms, 30s, 2m, 1h30m, 1d, inf. Every option can be given as\n"
    "REDLOCK_RUN_ and its long name in capitals, as in REDLOCK_RUN_TTL=1m; a flag beats it.\n"
    "Exit status: COMMAND's own; 64 usage, 69 no server able to grant the lock, 70 internal "
    "error,\n"
    "71 system error, 75 held elsewhere, 77 credentials refused, 78 configuration, 122 lease "
    "lost,\n"
    "123 COMMAND not proved dead, 124 --max-run reached, 126 and 127 COMMAND not executable, not\n"
    "found.";

/// Where a value came from, for messages and precedence.
struct Given {
  std::string value;
  bool from_environment = false;
  std::string source;  ///< `--ttl` or `REDLOCK_RUN_TTL`
};

/// CLI11's help without its own usage line, which knows nothing of NAME and COMMAND.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return {}; }
};

class Parser {
 public:
  explicit Parser(GetEnv get_env) : get_env_(get_env) { declare(); }

  std::variant<Options, Information, UsageError> parse(const std::vector<std::string>& args);

 private:
  void declare();
  void value(const char* names, const char* meaning, const char* type);
  void flag(const char* names, const char* meaning);

  OptionKind kind_of(const std::string& option) const;
  std::string environment_name(const std::string& long_name) const;
  /// Everything given for an option, by flags or else by the environment.
  std::vector<Given> given(const std::string& long_name) const;
  std::optional<Given> last(const std::string& long_name) const;
  int times(const std::string& long_name);

  void fail(std::string message, int code = kExitUsage);
  void read_all();
  void read_name();
  void read_command();
  void read_servers();
  void read_wait();
  void read_timing();
  void read_rest();
  std::optional<Duration> duration(const std::string& long_name);

  GetEnv get_env_;
  CLI::App app_{kUsage, "redlock-run"};
  CommandLine line_;
  Options options_;
  std::optional<UsageError> error_;
};

void Parser::declare() {
  app_.set_help_flag("-h,--help", "show this and exit");
  app_.set_version_flag("-V,--version", "redlock-run " RR_VERSION, "show the version and exit");
  app_.footer(kFooter);
  const auto format = std::make_shared<HelpFormat>();
  format->column_width(30);
  app_.formatter(format);
  value("-r,--redis", "a server; repeated: a quorum of them [redis://127.0.0.1:6379]", "URL");
  value("--prefix", "put before NAME to make the key [lock:]", "STR");
  value("--ttl", "lease length, renewed every third of it [30s]", "DUR");
  value("--node-timeout", "longest wait for a server's answer [ttl/20, 50ms to 2s]", "DUR");
  value("--min-uptime", "a server up for less does not vote [ttl with 3 or more, else 0]", "DUR");
  flag("-n,--nonblock", "give up at once when the lock is held (the default)");
  value("-w,--wait", "keep trying for DUR; 0 is -n, inf for ever", "DUR");
  value("-E,--conflict-exit-code", "exit status when the lock is held elsewhere [75]", "N");
  value("--max-run", "stop COMMAND after DUR, exit 124", "DUR");
  value("--signal", "the signal that stops COMMAND [TERM]", "SIG");
  value("-k,--kill-after", "from that signal to KILL [5s, at most ttl/4]", "DUR");
  value("--kill-margin", "KILL falls this long before the lease can expire [ttl/20]", "DUR");
  flag("-q,--quiet", "only losses and errors");
  flag("-v,--verbose", "a line for each change of state; twice: for each request");
  flag("-x,-e,--exclusive", "accepted for users of flock; locks are exclusive");
  flag("-o,--close", "accepted for users of flock; nothing of ours is inherited");
  flag("-F,--no-fork", "refused: somebody has to stay and renew the lease");
}

void Parser::value(const char* names, const char* meaning, const char* type) {
  app_.add_option(names)->description(meaning)->type_name(type)->expected(1)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll);
}

void Parser::flag(const char* names, const char* meaning) {
  app_.add_flag(names)->description(meaning)->disable_flag_override();
}

OptionKind Parser::kind_of(const std::string& option) const {
  const CLI::Option* const known = app_.get_option_no_throw(option);
  if (known == nullptr) return OptionKind::unknown;
  return known->get_items_expected_max() > 0 ? OptionKind::takes_value : OptionKind::flag;
}

std::string Parser::environment_name(const std::string& long_name) const {
  std::string name = "REDLOCK_RUN_" + long_name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return name;
}

std::vector<Given> Parser::given(const std::string& long_name) const {
  std::vector<Given> all;
  const std::string option = "--" + long_name;
  const CLI::Option* const known = app_.get_option_no_throw(option);
  for (const std::string& index : known->results()) {
    // An index that we put there; a flag's count is no index, and flags are not asked for here.
    std::size_t at = 0;
    std::from_chars(index.data(), index.data() + index.size(), at);
    all.push_back({line_.values.at(at), false, option});
  }
  const std::string variable = environment_name(long_name);
  const char* const text = get_env_(variable.c_str());
  // An empty variable is as good as none, but for the one option that may be empty.
  if (all.empty() && text != nullptr && (*text != '\0' || long_name == "prefix")) {
    all.push_back({text, true, variable});
  }
  return all;
}

std::optional<Given> Parser::last(const std::string& long_name) const {
  const std::vector<Given> all = given(long_name);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

int Parser::times(const std::string& long_name) {
  const std::size_t count = app_.get_option_no_throw("--" + long_name)->count();
  if (count > 0) return static_cast<int>(count);
  const std::string variable = environment_name(long_name);
  const char* const text = get_env_(variable.c_str());
  const std::string value = text == nullptr ? "" : text;
  if (value.empty() || value == "0" || value == "false" || value == "no" || value == "off") {
    return 0;
  }
  if (value == "1" || value == "true" || value == "yes" || value == "on") return 1;
  if (value == "2" && long_name == "verbose") return 2;
  fail(fmt::format("{}: '{}' is neither 1 nor 0", variable, value));
  return 0;
}

void Parser::fail(std::string message, int code) {
  // The first mistake is the one to mend first.
  if (!error_) error_ = UsageError{code, std::move(message)};
}

std::variant<Options, Information, UsageError> Parser::parse(const std::vector<std::string>& args) {
  line_ = split_command_line(args, [this](const std::string& option) { return kind_of(option); });
  std::vector<std::string> reversed(line_.options.rbegin(), line_.options.rend());
  try {
    app_.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return Information{app_.help()};
  } catch (const CLI::CallForVersion&) {
    return Information{"redlock-run " RR_VERSION "\n"};
  } catch (const CLI::ExtrasError&) {
    for (const std::string& option : line_.options) {
      const bool is_option = option.size() > 1 && option.front() == '-';
      const std::string name = option.substr(0, option.find('='));
      if (is_option && kind_of(name) == OptionKind::unknown) {
        return UsageError{kExitUsage, fmt::format("unknown option {}; see --help", name)};
      }
    }
    return UsageError{kExitUsage, "a flag was given a value it does not take; see --help"};
  } catch (const CLI::ParseError& error) {
    return UsageError{kExitUsage, fmt::format("{}; see --help", error.what())};
  }
  read_all();
  if (error_) return *error_;
  return options_;
}

void Parser::read_all() {
  if (times("no-fork") > 0) {
    fail("-F, --no-fork is refused: redlock-run has to stay beside COMMAND to renew the lease");
  }
  read_name();
  read_command();
  read_servers();
  read_wait();
  read_timing();
  read_rest();
}

void Parser::read_name() {
  if (!line_.name) return fail("NAME and COMMAND are missing; see --help");
  if (line_.name->empty()) return fail("NAME is empty");
  if (line_.name->size() > 1024) return fail("NAME is longer than 1024 bytes");
  options_.name = LockName(*line_.name);
  const std::optional<Given> prefix = last("prefix");
  const Result<LockKey> key = redis::make_lock_key(prefix ? prefix->value : "lock:", options_.name);
  if (!key) return fail(key.error().message);
  options_.key = key.value();
}

void Parser::read_command() {
  if (!line_.name) return;
  std::vector<std::string>& rest = line_.rest;
  if (!rest.empty() && rest.front() == "-c") {
    if (rest.size() != 2) return fail("-c takes exactly one argument, the command for the shell");
    const char* const shell = get_env_("SHELL");
    options_.command = {shell != nullptr && *shell != '\0' ? shell : "/bin/sh", "-c", rest[1]};
    return;
  }
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
  if (rest.empty()) return fail(fmt::format("COMMAND is missing after NAME '{}'", *line_.name));
  if (rest.front().empty()) return fail("COMMAND is an empty string");
  options_.command = std::move(rest);
}

void Parser::read_servers() {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Given& given : given("redis")) {
    std::size_t at = 0;
    while (given.from_environment &&
           (at = given.value.find_first_not_of(' ', at)) != std::string::npos) {
      const std::size_t end = std::min(given.value.find(' ', at), given.value.size());
      texts.emplace_back(given.source, given.value.substr(at, end - at));
      at = end;
    }
    if (!given.from_environment) texts.emplace_back(given.source, given.value);
  }
  if (texts.empty()) texts.emplace_back("--redis", "redis://127.0.0.1:6379");
  for (const auto& [source, text] : texts) {
    Result<redis::Url> url = redis::parse_url(text);
    if (!url) return fail(fmt::format("{}: {}", source, url.error().message));
    redis::Url& server = url.value();
    for (const char* variable : {"REDLOCK_RUN_PASSWORD", "REDISCLI_AUTH"}) {
      const char* const password = get_env_(variable);
      if (!server.password && password != nullptr && *password != '\0') {
        server.password = password;
      }
    }
    for (const redis::Url& other : options_.servers) {
      if (!redis::certainly_same(server, other)) continue;
      const std::string one = other.display();
      const std::string two = server.display();
      return fail(fmt::format("{}: {} {}; a server votes once, so list each once", source, one,
                              one == two ? "is listed twice"
                                         : fmt::format("and {} are the same server", two)),
                  kExitConfig);
    }
    options_.servers.push_back(std::move(server));
  }
}

std::optional<Duration> Parser::duration(const std::string& long_name) {
  const std::optional<Given> given = last(long_name);
  if (!given) return std::nullopt;
  const std::optional<Duration> span = parse_duration(given->value);
  if (!span) {
    fail(fmt::format("{}: '{}' is not a duration; write 10, 0.5, 500ms, 30s, 2m, 1h30m or 1d",
                     given->source, given->value));
  }
  return span;
}

void Parser::read_wait() {
  const std::optional<Given> wait = last("wait");
  const std::optional<Duration> span = duration("wait");
  const bool nonblock_flag = app_.get_option_no_throw("--nonblock")->count() > 0;
  const bool nonblock = times("nonblock") > 0;
  if (!span) return;
  if (nonblock && *span > Duration()) {
    // What is written on the command line beats what the environment says.
    if (nonblock_flag && wait->from_environment) return;
    if (nonblock_flag || wait->from_environment) {
      return fail("-n and -w contradict each other: give one of them");
    }
  }
  options_.wait = *span;
}

void Parser::read_timing() {
  const Duration ttl = duration("ttl").value_or(Duration::seconds(30));
  core::Timing timing = core::Timing::for_ttl(ttl);
  const std::optional<Duration> node_timeout = duration("node-timeout");
  const std::optional<Duration> kill_after = duration("kill-after");
  const std::optional<Duration> kill_margin = duration("kill-margin");
  timing.node_timeout = node_timeout.value_or(timing.node_timeout);
  timing.kill_after = kill_after.value_or(timing.kill_after);
  timing.kill_margin = kill_margin.value_or(timing.kill_margin);
  options_.kill_after_given = kill_after.has_value();
  const Duration usual = options_.servers.size() >= 3 ? ttl : Duration();
  options_.min_uptime = duration("min-uptime").value_or(usual);
  if (options_.min_uptime > core::kMaxTtl) {
    fail(fmt::format("--min-uptime: {} is more than {}", format_duration(options_.min_uptime),
                     format_duration(core::kMaxTtl)));
  }
  options_.timing = timing;
  switch (core::check(timing)) {
    case core::TimingFault::none:
      break;
    case core::TimingFault::ttl_out_of_range:
      fail(fmt::format("--ttl: {} is not between {} and {}", format_duration(ttl),
                       format_duration(core::kMinTtl), format_duration(core::kMaxTtl)));
      break;
    case core::TimingFault::node_timeout_too_long:
      fail(
          fmt::format("--node-timeout {} must be shorter than the renewal interval, ttl/3 = {}",
                      format_duration(timing.node_timeout), format_duration(timing.renew_interval)),
          kExitConfig);
      break;
    case core::TimingFault::does_not_fit:
      fail(fmt::format("--ttl {} is too short: renewal interval {} + 2 x node timeout {} + "
                       "--kill-after {} + --kill-margin {} + drift {} = {}; raise --ttl or lower "
                       "the others",
                       format_duration(ttl), format_duration(timing.renew_interval),
                       format_duration(timing.node_timeout), format_duration(timing.kill_after),
                       format_duration(timing.kill_margin), format_duration(timing.drift()),
                       format_duration(core::least_ttl(timing))),
           kExitConfig);
      break;
  }
}

void Parser::read_rest() {
  if (const std::optional<Given> code = last("conflict-exit-code")) {
    const char* const end = code->value.data() + code->value.size();
    const auto [stop, error] = std::from_chars(code->value.data(), end, options_.held_code);
    if (error != std::errc() || stop != end || options_.held_code < 0 || options_.held_code > 255) {
      fail(fmt::format("{}: '{}' is not an exit status from 0 to 255", code->source, code->value));
    }
  }
  options_.stop_signal = SIGTERM;
  if (const std::optional<Given> name = last("signal")) {
    const std::optional<int> signal = parse_signal(name->value);
    if (!signal) fail(fmt::format("{}: '{}' is not a signal", name->source, name->value));
    options_.stop_signal = signal.value_or(SIGTERM);
  }
  if (const std::optional<Duration> max_run = duration("max-run")) {
    options_.max_run = *max_run == Duration() ? Duration::infinite() : *max_run;
  }
  const int verbose = times("verbose");
  if (verbose == 1) options_.log_level = LogLevel::info;
  if (verbose > 1) options_.log_level = LogLevel::debug;
  if (times("quiet") > 0) options_.log_level = LogLevel::error;
}

}  // namespace

std::variant<Options, Information, UsageError> parse_options(const std::vector<std::string>& args,
                                                             GetEnv get_env) {
  return Parser(get_env).parse(args);
}

}  // namespace redlock::app
