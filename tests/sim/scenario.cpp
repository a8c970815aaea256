#include "sim/scenario.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <vector>

#include "sim/words.h"
#include "sim/world.h"

namespace redlock::sim {
namespace {

constexpr std::uint64_t kSeeds = 20;

/// A sentence and what it does; a fact or an expectation returns whether it is true.
template <class Result>
struct Sentence {
  const char* pattern;
  std::function<Result(World&, const Captured&)> meaning;
};

void for_nodes(World& world, const Captured& c, const std::function<void(Node&)>& what) {
  for (const std::size_t node : c.nodes) what(*world.nodes.at(node));
}

void for_links(World& world, const Captured& c, const std::function<void(Link&)>& what) {
  for (const auto& link : world.hosts.at(c.hosts.at(0))->links) {
    if (std::count(c.nodes.begin(), c.nodes.end(), link->node()) > 0) what(*link);
  }
}

Host& host(World& world, const Captured& c) {
  return *world.hosts.at(c.hosts.at(0));
}

void restart(World& world, const Captured& c, Memory memory) {
  for_nodes(world, c, [&world, memory](Node& node) {
    node.crash(memory);
    world.schedule.in(Duration::milliseconds(20), [&node] { node.start(); });
  });
}

/// "ignoring TERM, waiting 5s, ..."
Command command_of(const Captured& c) {
  Command command;
  command.job.takes = c.times.at(0);
  command.job.dies_in = Duration::milliseconds(5);
  std::istringstream options(c.rest);
  for (std::string option; std::getline(options, option, ',');) {
    const Words words = words_of(option);
    if (match("ignoring TERM", words, 0)) command.job.obeys = false;
    if (match("without waiting", words, 0)) command.wait = Duration();
    if (const auto m = match("waiting TIME", words, 0)) command.wait = m->times[0];
    if (const auto m = match("at most TIME", words, 0)) command.max_run = m->times[0];
    if (const auto m = match("slow to start by TIME", words, 0))
      command.job.starts_in = m->times[0];
  }
  return command;
}

const std::vector<Sentence<void>> kHappenings = {
    {"HOST runs a job of TIME ...",
     [](World& w, const Captured& c) { host(w, c).begin(command_of(c)); }},
    {"all run a job of TIME ...",
     [](World& w, const Captured& c) {
       for (const auto& one : w.hosts) one->begin(command_of(c));
     }},
    {"NODES restart|restarts", [](World& w, const Captured& c) { restart(w, c, Memory::kept); }},
    {"NODES restart|restarts empty",
     [](World& w, const Captured& c) { restart(w, c, Memory::lost); }},
    {"NODES save|saves",
     [](World& w, const Captured& c) { for_nodes(w, c, [](Node& node) { node.save(); }); }},
    {"NODES restart|restarts from the snapshot",
     [](World& w, const Captured& c) { restart(w, c, Memory::stale); }},
    {"NODES go|goes down",
     [](World& w, const Captured& c) {
       for_nodes(w, c, [](Node& node) { node.crash(Memory::kept); });
     }},
    {"NODES come|comes up",
     [](World& w, const Captured& c) { for_nodes(w, c, [](Node& node) { node.start(); }); }},
    {"NODES hang|hangs",
     [](World& w, const Captured& c) {
       for_nodes(w, c, [](Node& node) { node.hang(TimePoint::never()); });
     }},
    {"NODES go|goes on",
     [](World& w, const Captured& c) { for_nodes(w, c, [](Node& node) { node.go_on(); }); }},
    {"a stranger takes NODES for TIME",
     [](World& w, const Captured& c) {
       for_nodes(w, c, [&c](Node& node) { node.take_for_stranger(c.times[0]); });
     }},
    {"the clock of NODES is NUMBER ppm fast",
     [](World& w, const Captured& c) {
       for_nodes(w, c, [&c](Node& node) { node.set_ppm(c.numbers[0]); });
     }},
    {"HOST is cut off from NODES",
     [](World& w, const Captured& c) {
       for_links(w, c, [](Link& link) { link.silence(Way::both, TimePoint::never()); });
     }},
    {"HOST hears nothing of NODES",
     [](World& w, const Captured& c) {
       for_links(w, c, [](Link& link) { link.silence(Way::back, TimePoint::never()); });
     }},
    {"HOST is not heard by NODES",
     [](World& w, const Captured& c) {
       for_links(w, c, [](Link& link) { link.silence(Way::there, TimePoint::never()); });
     }},
    {"HOST reaches NODES again",
     [](World& w, const Captured& c) { for_links(w, c, [](Link& link) { link.heal(); }); }},
    {"HOST's connection to NODES breaks",
     [](World& w, const Captured& c) { for_links(w, c, [](Link& link) { link.break_off(); }); }},
    {"HOST's front stops",
     [](World& w, const Captured& c) { host(w, c).pause_front(TimePoint::never()); }},
    {"HOST's front goes on", [](World& w, const Captured& c) { host(w, c).front.go_on(); }},
    {"HOST's front is killed", [](World& w, const Captured& c) { host(w, c).kill_front(); }},
    {"HOST's guard stops",
     [](World& w, const Captured& c) { host(w, c).guard.process.pause(TimePoint::never()); }},
    {"HOST's guard goes on", [](World& w, const Captured& c) { host(w, c).guard.process.go_on(); }},
    {"HOST's guard is killed", [](World& w, const Captured& c) { host(w, c).guard.kill(); }},
    {"HOST gets TERM", [](World& w, const Captured& c) { host(w, c).signal(SIGTERM); }},
    {"the wall clock of HOST jumps by TIME",
     [](World& w, const Captured& c) { host(w, c).slip(c.times[0]); }},
    {"all is well", [](World& w, const Captured&) { w.calm_down(); }},
};

bool all_nodes(World& w, const Captured& c, const std::function<bool(const Key*)>& fits) {
  return std::all_of(c.nodes.begin(), c.nodes.end(),
                     [&](std::size_t node) { return fits(w.nodes.at(node)->key()); });
}

const std::vector<Sentence<bool>> kFacts = {
    {"NODES hold|holds HOST's key",
     [](World& w, const Captured& c) {
       const std::uint64_t run = host(w, c).run_id();
       return all_nodes(w, c, [run](const Key* key) { return key != nullptr && key->run == run; });
     }},
    {"NODES hold|holds no key",
     [](World& w, const Captured& c) {
       return all_nodes(w, c, [](const Key* key) { return key == nullptr; });
     }},
    {"NODES hold|holds a stranger's key",
     [](World& w, const Captured& c) {
       return all_nodes(w, c,
                        [](const Key* key) { return key != nullptr && key->run == kStranger; });
     }},
    {"HOST's job runs", [](World& w, const Captured& c) { return host(w, c).guard.job_alive(); }},
    {"HOST's job does not run",
     [](World& w, const Captured& c) { return !host(w, c).guard.job_alive(); }},
    {"nobody's job runs",
     [](World& w, const Captured&) {
       return std::none_of(w.hosts.begin(), w.hosts.end(),
                           [](const auto& one) { return one->guard.job_alive(); });
     }},
};

bool ended_as(World& w, const Captured& c, core::Ending ending) {
  const auto& verdict = host(w, c).verdict;
  return verdict && verdict->ending == ending;
}

Sentence<bool> ends(const char* pattern, core::Ending ending) {
  return {pattern, [ending](World& w, const Captured& c) { return ended_as(w, c, ending); }};
}

/// Times are counted from the beginning of the story.
TimePoint point(const Captured& c) {
  return TimePoint() + c.times.at(0);
}

const std::vector<Sentence<bool>> kExpectations = {
    ends("HOST ends with 0", core::Ending::command_exited),
    ends("HOST ends by the signal", core::Ending::command_killed),
    ends("HOST ends with held", core::Ending::held),
    ends("HOST ends with no quorum", core::Ending::unavailable),
    ends("HOST ends with misconfigured", core::Ending::misconfigured),
    ends("HOST ends with interrupted", core::Ending::interrupted),
    ends("HOST ends with max-run", core::Ending::max_run),
    ends("HOST ends with lost", core::Ending::lost),
    {"HOST is over by TIME",
     [](World& w, const Captured& c) { return host(w, c).ended <= point(c); }},
    {"HOST is over after TIME",
     [](World& w, const Captured& c) { return host(w, c).ended > point(c); }},
    {"HOST's job begins by TIME",
     [](World& w, const Captured& c) { return host(w, c).job_began <= point(c); }},
    {"HOST's job begins after TIME",
     [](World& w, const Captured& c) {
       const TimePoint began = host(w, c).job_began;
       return began > point(c) && !began.is_never();
     }},
    {"HOST's job is over by TIME",
     [](World& w, const Captured& c) { return host(w, c).job_ended <= point(c); }},
    {"HOST's job is over before HOST's begins",
     [](World& w, const Captured& c) {
       return host(w, c).job_ended < w.hosts.at(c.hosts.at(1))->job_began;
     }},
    {"HOST never runs a job",
     [](World& w, const Captured& c) { return host(w, c).job_began.is_never(); }},
    {"NUMBER jobs|job",
     [](World& w, const Captured& c) {
       return w.counts.jobs == static_cast<std::uint64_t>(c.numbers[0]);
     }},
    {"nobody loses", [](World& w, const Captured&) { return w.counts.losses == 0; }},
};

using Setting = std::function<void(Plan&, const Captured&)>;
struct SettingSentence {
  const char* pattern;
  Setting meaning;
};

const std::vector<SettingSentence> kSettings = {
    {"nodes NUMBER",
     [](Plan& plan, const Captured& c) { plan.nodes = static_cast<std::size_t>(c.numbers[0]); }},
    {"hosts NUMBER",
     [](Plan& plan, const Captured& c) { plan.hosts = static_cast<std::size_t>(c.numbers[0]); }},
    {"ttl TIME",
     [](Plan& plan, const Captured& c) { plan.timing = core::Timing::for_ttl(c.times[0]); }},
    {"min-uptime TIME", [](Plan& plan, const Captured& c) { plan.min_uptime = c.times[0]; }},
    {"network TIME", [](Plan& plan, const Captured& c) { plan.delay_most = c.times[0]; }},
    {"wall clocks TIME apart",
     [](Plan& plan, const Captured& c) { plan.wall_skew_most = c.times[0]; }},
    {"everybody lists NODES",
     [](Plan& plan, const Captured& c) { plan.views.assign(plan.hosts, c.nodes); }},
};

class Player {
 public:
  explicit Player(const std::string& story) {
    std::istringstream lines(story);
    for (std::string line; std::getline(lines, line);) read(line);
    // As the program's default.
    if (plan_.nodes >= 3 && !min_uptime_given_) plan_.min_uptime = plan_.timing.ttl;
  }

  std::string play(std::uint64_t seed) {
    if (!failure_.empty()) return failure_;
    plan_.seed = seed;
    World world(plan_, true);
    for (const Line& line : happenings_) {
      world.schedule.at(line.at, [this, &world, &line] { happen(world, line); });
    }
    // Half a minute after the last line everything has to be over.
    const TimePoint end = last_ + Duration::seconds(30);
    while (world.checks.violations().empty() && failure_.empty() && world.step(end)) {
    }
    judge(world);
    if (failure_.empty()) return {};
    failure_ += "\n(seed " + std::to_string(seed) + ")\n";
    for (const std::string& line : world.trace.lines()) failure_ += line + "\n";
    return failure_;
  }

 private:
  struct Line {
    TimePoint at;
    Words words;
    std::string text;
  };

  void read(const std::string& text) {
    Words words = words_of(text);
    if (words.empty() || words[0][0] == '#') return;
    if (words[0] == "expect") {
      words.erase(words.begin());
      expectations_.push_back({{}, words, text});
    } else if (const auto time = read_time(words[0])) {
      words.erase(words.begin());
      happenings_.push_back({TimePoint() + *time, words, text});
      last_ = std::max(last_, happenings_.back().at);
    } else {
      read_settings(text);
    }
  }

  void read_settings(const std::string& text) {
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find("   ", begin), text.size());
      const Words words = words_of(text.substr(begin, end - begin));
      begin = end + 1;
      if (!words.empty()) set(words, text);
    }
  }

  void set(const Words& words, const std::string& text) {
    min_uptime_given_ = min_uptime_given_ || words[0] == "min-uptime";
    for (const SettingSentence& setting : kSettings) {
      if (const auto captured = match(setting.pattern, words, plan_.nodes)) {
        setting.meaning(plan_, *captured);
        return;
      }
    }
    failure_ = "not understood: " + text;
  }

  void happen(World& world, const Line& line) {
    for (const auto& sentence : kHappenings) {
      if (const auto captured = match(sentence.pattern, line.words, plan_.nodes)) {
        sentence.meaning(world, *captured);
        return;
      }
    }
    hold_true(world, line, kFacts);
  }

  void hold_true(World& world, const Line& line, const std::vector<Sentence<bool>>& sentences) {
    if (!failure_.empty()) return;
    for (const auto& sentence : sentences) {
      if (const auto captured = match(sentence.pattern, line.words, plan_.nodes)) {
        if (!sentence.meaning(world, *captured)) failure_ = "not so: " + line.text;
        return;
      }
    }
    failure_ = "not understood: " + line.text;
  }

  void judge(World& world) {
    const auto& violations = world.checks.violations();
    if (!violations.empty() && failure_.empty()) failure_ = violations[0].text;
    for (const Line& line : expectations_) hold_true(world, line, kExpectations);
  }

  Plan plan_ = [] {
    Plan plan;
    plan.delay_most = Duration::milliseconds(1);
    plan.connect_most = Duration::milliseconds(5);
    plan.ppm_most = 200;
    return plan;
  }();
  bool min_uptime_given_ = false;
  std::vector<Line> happenings_;
  std::vector<Line> expectations_;
  TimePoint last_;
  std::string failure_;
};

}  // namespace

std::string play(const std::string& story) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string failure = Player(story).play(seed);
    if (!failure.empty()) return failure;
  }
  return {};
}

}  // namespace redlock::sim
