#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "support/supervision_driver.h"

namespace redlock::core {
namespace {

struct Cell {
  State after;
  const char* effects;
};
struct Row {
  const char* name;
  SupervisionInput input;
  Cell cells[6];
};

TEST_CASE("every state and input does what its cell says") {
  constexpr State kW = State::waiting, kR = State::running, kS = State::stopping,
                  kK = State::killing, kL = State::releasing, kD = State::done;
  const SignalArrived term{.number = SIGTERM};
  const Extended extended{kValid + Duration::seconds(10)};
  // waiting, running, stopping (lost), killing, releasing, done
  const Row rows[] = {
      {"granted", granted(), {{kR, "spawn"}, {kR, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"extended", extended, {{kW, ""}, {kR, "publish"}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"lost gone",
       Lost{Loss::gone},
       {{kW, ""}, {kS, "publish"}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"lost expired",
       Lost{Loss::expired},
       {{kW, ""}, {kS, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"gave up",
       GaveUp{Refusal::held},
       {{kD, "finish"}, {kR, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"released", Released{}, {{kW, ""}, {kR, ""}, {kS, ""}, {kK, ""}, {kD, "finish"}, {kD, ""}}},
      {"started", Started{}, {{kW, ""}, {kR, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"exec failed",
       ExecFailed{2},
       {{kW, ""}, {kL, "give"}, {kL, "give"}, {kL, "give"}, {kL, ""}, {kD, ""}}},
      {"declined",
       StartDeclined{},
       {{kW, ""}, {kW, "again"}, {kW, "again"}, {kW, "again"}, {kL, ""}, {kD, ""}}},
      {"start failed",
       StartFailed{11},
       {{kW, ""}, {kL, "give"}, {kL, "give"}, {kL, "give"}, {kL, ""}, {kD, ""}}},
      {"ended",
       CommandEnded{{.value = 3}},
       {{kW, ""}, {kR, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"job over",
       JobOver{},
       {{kW, ""}, {kL, "give"}, {kL, "give"}, {kL, "give"}, {kL, ""}, {kD, ""}}},
      {"fenced", Fenced{}, {{kW, ""}, {kS, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"unkillable",
       Unkillable{},
       {{kW, ""}, {kD, "finish"}, {kD, "finish"}, {kD, "finish"}, {kL, ""}, {kD, ""}}},
      {"guard died",
       GuardDied{},
       {{kW, ""}, {kK, "kill"}, {kK, "kill"}, {kK, "kill"}, {kL, ""}, {kD, ""}}},
      {"stopped", CommandStopped{}, {{kW, ""}, {kR, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"TERM", term, {{kL, "give"}, {kR, "forward"}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
      {"tick", Tick{}, {{kW, ""}, {kR, ""}, {kS, ""}, {kK, ""}, {kL, ""}, {kD, ""}}},
  };
  const State states[] = {kW, kR, kS, kK, kL, kD};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < 6; ++i) {
      INFO(row.name << " in state " << i);
      Driver d = in_state(states[i]);
      if (std::string(row.name) == "job over" && states[i] == kR) {
        static_cast<void>(d.step(CommandEnded{{.value = 3}}));
      }
      CHECK(words(d.step(row.input)) == row.cells[i].effects);
      CHECK(d.s.state() == row.cells[i].after);
    }
  }
}

TEST_CASE("COMMAND's status is what a clean run amounts to") {
  for (const CommandStatus status :
       {CommandStatus{}, CommandStatus{.value = 255},
        CommandStatus{.signalled = true, .value = SIGSEGV, .dumped_core = true}}) {
    Driver d = running();
    static_cast<void>(d.step(CommandEnded{status}));
    CHECK(find<GiveBack>(d.step(JobOver{}))->limit == Duration::seconds(2));
    const auto effects = d.step(Released{});
    const Verdict verdict = find<Finish>(effects)->verdict;
    CHECK(verdict.ending == (status.signalled ? Ending::command_killed : Ending::command_exited));
    CHECK(verdict.value == status.value);
    CHECK(verdict.dumped_core == status.dumped_core);
  }
}

Verdict end_of(Driver& d) {
  static_cast<void>(d.step(CommandEnded{{.value = 0}}));
  static_cast<void>(d.step(JobOver{}));
  const auto effects = d.step(Released{});
  return find<Finish>(effects)->verdict;
}

TEST_CASE("a loss before the job was over outranks COMMAND's success and --max-run") {
  SUBCASE("lost") {
    Driver d = running();
    static_cast<void>(d.step(Lost{Loss::gone}));
    CHECK(end_of(d).ending == Ending::lost);
  }
  SUBCASE("fenced after COMMAND's own end, while its job went on") {
    Driver d = running();
    static_cast<void>(d.step(CommandEnded{{.value = 0}}));
    static_cast<void>(d.step(Fenced{}));
    CHECK(end_of(d).ending == Ending::lost);
  }
  SUBCASE("max-run and loss") {
    SupervisionConfig c = config();
    c.max_run = ms(100);
    Driver d = running(c);
    CHECK(find<StopJob>(d.after(ms(100))));
    static_cast<void>(d.step(Fenced{}));
    CHECK(end_of(d).ending == Ending::lost);
  }
  SUBCASE("the guard died") {
    Driver d = running();
    static_cast<void>(d.step(GuardDied{}));
    CHECK(end_of(d).ending == Ending::lost);
  }
  SUBCASE("a survivor outranks the loss") {
    Driver d = running();
    static_cast<void>(d.step(Lost{Loss::gone}));
    const auto effects = d.step(Unkillable{});
    CHECK(find<Finish>(effects)->verdict.ending == Ending::survivors);
    CHECK_FALSE(find<GiveBack>(effects));
  }
}

TEST_CASE("a proven loss stops at once and kills after the grace, never later than before") {
  Driver d = running();
  const auto effects = d.step(Lost{Loss::foreign});
  const Publish* publish = find<Publish>(effects);
  REQUIRE(publish);
  CHECK(publish->urgent);
  CHECK(publish->deadlines.stop == kT0);
  CHECK(publish->deadlines.kill == kT0 + Duration::seconds(5));
  Driver late = running();
  late.now = kValid - ms(1600);
  const auto near = late.step(Lost{Loss::gone});
  CHECK(find<Publish>(near)->deadlines.kill == kValid - ms(1500));
}

TEST_CASE("--max-run counts from exec and stops the job with its grace") {
  SupervisionConfig c = config();
  c.max_run = Duration::seconds(7);
  Driver d(c);
  static_cast<void>(d.step(granted()));
  CHECK(d.s.wakeup() == deadlines_for(kValid, c.timing).stop);
  d.now = d.now + Duration::seconds(1);
  static_cast<void>(d.step(Started{}));
  CHECK(d.s.wakeup() == kT0 + Duration::seconds(8));
  CHECK(words(d.after(ms(6999))).empty());
  const auto effects = d.after(ms(1));
  REQUIRE(find<StopJob>(effects));
  CHECK(find<StopJob>(effects)->signal_job);
  CHECK(find<StopJob>(effects)->kill == d.now + Duration::seconds(5));
  // The lease is kept meanwhile, and signals still reach COMMAND.
  CHECK(find<Publish>(d.step(Extended{kValid + ms(1)})));
  CHECK(find<Forward>(d.step(SignalArrived{.number = SIGTERM})));
  CHECK(end_of(d).ending == Ending::max_run);
}

TEST_CASE("signals reach COMMAND as the terminal and the sender have it") {
  struct Case {
    int number;
    bool kernel;
    bool tree;
    bool shares;
    const char* effects;
    Recipient to;
  };
  const Case cases[] = {
      {SIGINT, true, false, true, "", Recipient::job},  // the terminal gave it already
      {SIGINT, true, false, false, "forward", Recipient::job},
      {SIGINT, false, false, true, "forward", Recipient::job},
      {SIGQUIT, false, false, false, "forward", Recipient::job},
      {SIGTERM, false, false, true, "forward", Recipient::job},
      {SIGTERM, false, true, true, "", Recipient::job},  // COMMAND's own kill $PPID
      {SIGHUP, false, false, false, "forward", Recipient::main},
      {SIGHUP, true, false, true, "", Recipient::main},
      {SIGUSR1, false, false, false, "forward", Recipient::main},
      {SIGUSR2, false, false, true, "forward", Recipient::main},
      {SIGWINCH, true, false, true, "", Recipient::main},
      {SIGTSTP, false, false, true, "forward", Recipient::main},
      {SIGTSTP, false, false, false, "", Recipient::main},
      {SIGCONT, false, false, false, "", Recipient::main},
      {SIGTTIN, false, false, true, "", Recipient::main},
      {SIGPIPE, false, false, true, "", Recipient::main},
  };
  for (const Case& c : cases) {
    INFO("signal " << c.number << " kernel " << c.kernel << " shares " << c.shares);
    SupervisionConfig with = config();
    with.shares_terminal = c.shares;
    Driver d = running(with);
    const auto effects =
        d.step(SignalArrived{.number = c.number, .from_kernel = c.kernel, .from_tree = c.tree});
    CHECK(words(effects) == c.effects);
    if (const Forward* forward = find<Forward>(effects)) {
      CHECK(forward->signal == c.number);
      CHECK(forward->to == c.to);
    }
  }
}

TEST_CASE("repetition alone never escalates; an explicit --kill-after does") {
  Driver d = running();
  for (int i = 0; i < 5; ++i) CHECK(words(d.step(SignalArrived{.number = SIGTERM})) == "forward");
  SupervisionConfig c = config();
  c.kill_after_signal = true;
  Driver with = running(c);
  const auto effects = with.step(SignalArrived{.number = SIGTERM});
  REQUIRE(find<StopJob>(effects));
  CHECK_FALSE(find<StopJob>(effects)->signal_job);
  CHECK(words(with.step(SignalArrived{.number = SIGUSR1})) == "forward");
}

TEST_CASE("a signal while waiting withdraws, and a grant that comes after it starts nothing") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Driver d;
    CHECK(find<GiveBack>(d.step(SignalArrived{.number = number}))->limit == Duration::seconds(1));
    CHECK(words(d.step(granted())).empty());
    const auto effects = d.step(Released{});
    CHECK(find<Finish>(effects)->verdict.ending == Ending::interrupted);
    CHECK(find<Finish>(effects)->verdict.value == number);
  }
  Driver d;
  CHECK(words(d.step(SignalArrived{.number = SIGUSR1})).empty());
}

TEST_CASE("while releasing the first signal is absorbed and the second abandons the release") {
  Driver d = in_state(State::releasing);
  CHECK(words(d.step(SignalArrived{.number = SIGTERM})).empty());
  CHECK(words(d.step(SignalArrived{.number = SIGUSR1})).empty());
  CHECK(words(d.step(SignalArrived{.number = SIGINT})) == "abandon");
}

TEST_CASE("a signal to end between spawn and a declined exec is not forgotten") {
  Driver d;
  static_cast<void>(d.step(granted()));
  CHECK(words(d.step(SignalArrived{.number = SIGTERM})) == "forward");
  CHECK(words(d.step(StartDeclined{})) == "give");
  const auto effects = d.step(Released{});
  CHECK(find<Finish>(effects)->verdict.ending == Ending::interrupted);
  CHECK(find<Finish>(effects)->verdict.value == SIGTERM);
}

/// Not before `when`, and once.
void check_guard_killed_at(Driver& d, TimePoint when) {
  CHECK(d.s.wakeup() == when);
  CHECK(words(d.after(when - d.now - ms(1))).empty());
  CHECK(words(d.after(ms(1))) == "guard");
  CHECK(words(d.after(ms(1))).empty());
}

TEST_CASE("a guard that hangs before exec is killed at the stop line, and that is a loss") {
  Driver d;
  static_cast<void>(d.step(granted()));
  check_guard_killed_at(d, deadlines_for(kValid, config().timing).stop);
  CHECK(words(d.step(GuardDied{})) == "kill");
  CHECK(words(d.step(JobOver{})) == "give");
  const auto effects = d.step(Released{});
  CHECK(find<Finish>(effects)->verdict.ending == Ending::lost);
}

TEST_CASE("a job that outlives its kill line by half the margin costs the guard its life") {
  const Duration half = config().timing.kill_margin / 2;
  Driver d = running();
  check_guard_killed_at(d, deadlines_for(kValid, config().timing).kill + half);
  CHECK(d.s.wakeup().is_never());
  SupervisionConfig c = config();
  c.max_run = ms(100);
  Driver limited = running(c);
  CHECK(words(limited.after(ms(100))) == "stop");
  // Then the lease is not in danger: the guard may take the time until it reports survivors.
  CHECK(words(limited.after(c.timing.kill_after + half)).empty());
  CHECK(words(limited.after(c.timing.kill_margin + Duration::seconds(3) - half)) == "guard");
}

TEST_CASE("a stop that was asked for before COMMAND ran counts for the guard from its start") {
  SupervisionConfig c = config();
  c.kill_after_signal = true;
  Driver d(c);
  static_cast<void>(d.step(granted()));
  CHECK(words(d.step(SignalArrived{.number = SIGTERM})) == "forward stop");
  // The exec took longer than the grace.
  static_cast<void>(d.after(c.timing.kill_after + c.timing.kill_margin + Duration::seconds(4)));
  CHECK(words(d.step(Started{})).empty());
  CHECK(words(d.after(ms(0))).empty());
  CHECK(words(d.after(c.timing.kill_margin + Duration::seconds(3))) == "guard");
}

TEST_CASE("a stop from the terminal suspends us only where we share it") {
  SupervisionConfig c = config();
  c.shares_terminal = true;
  Driver d = running(c);
  CHECK(words(d.step(CommandStopped{})) == "suspend");
  Driver own = running();
  CHECK(words(own.step(CommandStopped{})).empty());
}

TEST_CASE("deadlines that come nearer are urgent, later ones are not") {
  Driver d = running();
  auto effects = d.step(Extended{kValid + Duration::seconds(1)});
  CHECK_FALSE(find<Publish>(effects)->urgent);
  effects = d.step(Extended{kValid});
  CHECK(find<Publish>(effects)->urgent);
}

TEST_CASE("each reason for giving up has its ending") {
  for (const auto& [why, ending] :
       {std::pair{Refusal::held, Ending::held}, std::pair{Refusal::contended, Ending::held},
        std::pair{Refusal::unavailable, Ending::unavailable},
        std::pair{Refusal::denied, Ending::denied},
        std::pair{Refusal::misconfigured, Ending::misconfigured}}) {
    Driver d;
    const auto effects = d.step(GaveUp{why});
    CHECK(find<Finish>(effects)->verdict.ending == ending);
  }
}

}  // namespace
}  // namespace redlock::core
