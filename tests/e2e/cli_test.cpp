// The command line: what is an option of ours, what is COMMAND's, and what is a mistake.
#include <doctest/doctest.h>

#include "support/lock_run.h"

TEST_SUITE_BEGIN("command line");

namespace redlock::test {
namespace {

using Words = std::vector<std::string>;

/// What COMMAND gets when it is printf and prints its arguments.
Words arguments_after(RedisServer& server, const Words& between, const Words& arguments) {
  Launch launch = lock(server, {"job"});
  launch.args(between).args({"printf", "%s\\0"}).args(arguments);
  const Ending ending = launch.run();
  CHECK_ENDING(ending, exit_with(0));
  return split_at_nul(ending.out);
}

TEST_CASE("COMMAND's arguments arrive byte for byte") {
  RedisServer server;
  const Words awkward{"[0-9]",    "[1,2]",        "--bogus",    "-n", "--ttl", "",
                      "--",       "a b",          "\"quoted\"", "'",  "$HOME", "line\nfeed",
                      "\xff\xfe", "\u00e4\u20ac", "-c",         "%d", "{}",    "*",
                      "~",        "\\",           "--ttl=5s",   "-h", "-V"};
  CHECK(arguments_after(server, {}, awkward) == awkward);
  CHECK(arguments_after(server, {"--"}, awkward) == awkward);
}

TEST_CASE("one -- after NAME is ours, the next is COMMAND's") {
  RedisServer server;
  CHECK(arguments_after(server, {"--"}, {"--", "x"}) == Words{"--", "x"});
  CHECK_ENDING(lock(server, {"job", "--", "--", "true"}).run(), exit_with(127));
  CHECK_ENDING(lock(server, {"job", "--", "-c", "true"}).run(), exit_with(127));
}

TEST_CASE("options stop at NAME") {
  RedisServer server;
  CHECK_ENDING(lock(server, {"job", "-n", "true"}).run(), exit_with(127));
  CHECK_ENDING(lock(server, {"job", "--help"}).run(), exit_with(127));
}

TEST_CASE("-c runs its string in $SHELL, or in /bin/sh") {
  RedisServer server;
  const TempDir dir;
  const std::string shell =
      dir.write("shell", "#!/bin/sh\nprintf '%s\\0' own \"$@\"\nexit 9\n", 0755);
  const Ending own = lock(server, {"job", "-c", "a; b"}).env("SHELL", shell).run();
  CHECK_ENDING(own, exit_with(9));
  CHECK(split_at_nul(own.out) == Words{"own", "-c", "a; b"});
  const Ending standard = lock(server, {"job", "-c", "echo $0; exit 9"}).run();
  CHECK_ENDING(standard, exit_with(9));
  CHECK(standard.out == "/bin/sh\n");
}

/// A usage error: 64, a line on stderr that contains `subject`, nothing on stdout, no request.
void check_usage_error(RedisServer& server, const Words& args, const std::string& subject) {
  CAPTURE(args);
  server.reset_counters();
  const Ending ending = lock(server, args).run();
  CHECK_ENDING(ending, exit_with(64));
  CHECK(ending.err.find("redlock-run: ") == 0);
  CHECK_MESSAGE(contains(ending.err, subject), ending.err);
  CHECK(ending.out == "");
  CHECK(server.script_calls() == 0);
}

TEST_CASE("a bad value is a usage error that names the option") {
  RedisServer server;
  for (const std::string bad :
       {"bogus", "-5", "", "5x", "99999999999999999999", "1e400d", "s", "5 s"}) {
    check_usage_error(server, {"--ttl", bad, "job", "true"}, "--ttl");
    check_usage_error(server, {"--wait", bad, "job", "true"}, "--wait");
    check_usage_error(server, {"--kill-after", bad, "job", "true"}, "--kill-after");
    check_usage_error(server, {"--max-run", bad, "job", "true"}, "--max-run");
    check_usage_error(server, {"--kill-margin", bad, "job", "true"}, "--kill-margin");
  }
  for (const std::string bad : {"256", "-1", "x", "", "1.5"}) {
    check_usage_error(server, {"--conflict-exit-code", bad, "job", "true"}, "--conflict-exit-code");
  }
  for (const std::string bad : {"NOPE", "0", "99", ""}) {
    check_usage_error(server, {"--signal", bad, "job", "true"}, "--signal");
  }
}

TEST_CASE("a mistyped option before NAME is a usage error that names it") {
  RedisServer server;
  check_usage_error(server, {"--bogus", "job", "true"}, "--bogus");
  check_usage_error(server, {"--tttl", "5s", "job", "true"}, "--tttl");
  check_usage_error(server, {"-Z", "job", "true"}, "-Z");
}

TEST_CASE("a missing NAME, COMMAND or value is a usage error") {
  RedisServer server;
  check_usage_error(server, {}, "NAME");
  check_usage_error(server, {"job"}, "COMMAND");
  check_usage_error(server, {"job", "--"}, "COMMAND");
  check_usage_error(server, {"job", "-c"}, "-c");
  check_usage_error(server, {"job", "-c", "true", "more"}, "-c");
  check_usage_error(server, {"--ttl"}, "--ttl");
}

TEST_CASE("a ttl below 500 ms is refused") {
  RedisServer server;
  const Ending ending = lock(server, {"--ttl", "499ms", "job", "true"}).run();
  const bool refused = ending.how == exit_with(64) || ending.how == exit_with(78);
  CHECK_MESSAGE(refused, ending.how);
  CHECK(contains(ending.err, "ttl"));
  CHECK_ENDING(lock(server, {"--ttl", "500ms", "job", "true"}).run(), exit_with(0));
}

TEST_CASE("timings that do not fit together are refused with 78, naming them") {
  RedisServer server;
  const Ending grace = lock(server, {"--ttl", "2s", "-k", "5s", "job", "true"}).run();
  CHECK_ENDING(grace, exit_with(78));
  CHECK(contains(grace.err, "kill-after"));
  const Ending margin = lock(server, {"--ttl", "2s", "--kill-margin", "2s", "job", "true"}).run();
  CHECK_ENDING(margin, exit_with(78));
  CHECK(contains(margin.err, "kill-margin"));
  CHECK(server.keys().empty());
}

TEST_CASE("a bad URL is a usage error that never shows the password") {
  for (const std::string url : {"http://:s3cret@127.0.0.1", "redis://:s3cret@127.0.0.1:99999",
                                "redis://:s3cret@127.0.0.1:abc", "redis://:s3cret@127.0.0.1/x",
                                "s3cret", "redis://:s3cret@", "redis://:s3cret@[::1"}) {
    CAPTURE(url);
    const Ending ending = redlock({"-r", url, "job", "true"}).run();
    CHECK_ENDING(ending, exit_with(64));
    if (url != "s3cret") CHECK(!contains(ending.err, "s3cret"));
  }
}

TEST_CASE("durations are understood in every documented form") {
  RedisServer server;
  const std::vector<std::pair<std::string, std::string>> forms{
      {"10", "10000"},    {"0.5", "500"},   {"500ms", "500"},
      {"30s", "30000"},   {"2m", "120000"}, {"1h30m", "5400000"},
      {"1d", "86400000"}, {"1.5s", "1500"}, {"1m0.5s", "60500"}};
  for (const auto& form : forms) {
    CAPTURE(form.first);
    const Ending ending =
        lock(server, {"--ttl", form.first, "job", "sh", "-c", "echo $REDLOCK_TTL_MS"}).run();
    CHECK_ENDING(ending, exit_with(0));
    CHECK(ending.out == form.second + "\n");
  }
}

TEST_CASE("flock's -x and -o are accepted, and -F is refused with the reason") {
  RedisServer server;
  CHECK_ENDING(lock(server, {"-x", "-o", "-n", "job", "true"}).run(), exit_with(0));
  check_usage_error(server, {"-F", "job", "true"}, "-F");
}

TEST_CASE("short options take their value attached, detached or joined with others") {
  RedisServer server;
  server.set_px(kJobKey, "x", 60'000);
  CHECK_ENDING(lock(server, {"-E3", "job", "true"}).run(), exit_with(3));
  CHECK_ENDING(lock(server, {"-nE", "3", "job", "true"}).run(), exit_with(3));
  CHECK_ENDING(lock(server, {"--conflict-exit-code=3", "job", "true"}).run(), exit_with(3));
}

TEST_CASE("help and version go to stdout and need neither a server nor a name") {
  for (const std::string option : {"-h", "--help"}) {
    const Ending ending = redlock({option}).run();
    CHECK_ENDING(ending, exit_with(0));
    CHECK(contains(ending.out, "--ttl"));
    CHECK(ending.err == "");
  }
  for (const std::string option : {"-V", "--version"}) {
    const Ending ending = redlock({option}).run();
    CHECK_ENDING(ending, exit_with(0));
    CHECK(ending.out.find("redlock-run ") == 0);
    CHECK(ending.err == "");
  }
}

TEST_CASE("options come from the environment, and the command line beats it") {
  RedisServer server;
  const Words show{"job", "sh", "-c", "echo $REDLOCK_TTL_MS $REDLOCK_KEY"};
  const auto with_environment = [&server](Launch launch) {
    return launch.env("REDLOCK_RUN_REDIS", server.url())
        .env("REDLOCK_RUN_TTL", "7s")
        .env("REDLOCK_RUN_PREFIX", "env:");
  };
  CHECK(with_environment(redlock(show)).run().out == "7000 env:job\n");
  CHECK(with_environment(redlock({"--ttl", "8s", "--prefix", "flag:"}).args(show)).run().out ==
        "8000 flag:job\n");

  server.set_px(kJobKey, "x", 60'000);
  Launch conflict = lock(server, {"job", "true"});
  conflict.env("REDLOCK_RUN_CONFLICT_EXIT_CODE", "3").env("REDLOCK_RUN_WAIT", "1s");
  const Ending waited = conflict.run();
  CHECK_ENDING(waited, exit_with(3));
  CHECK(waited.elapsed >= milliseconds(1'000));
  const Ending at_once = lock(server, {"-n", "job", "true"}).env("REDLOCK_RUN_WAIT", "60s").run();
  CHECK_ENDING(at_once, exit_with(75));
}

TEST_CASE("a bad value in the environment is a usage error that names it") {
  RedisServer server;
  const Ending ending = lock(server, {"job", "true"}).env("REDLOCK_RUN_TTL", "bogus").run();
  CHECK_ENDING(ending, exit_with(64));
  const bool named = contains(ending.err, "REDLOCK_RUN_TTL") || contains(ending.err, "--ttl");
  CHECK_MESSAGE(named, ending.err);
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
