#include <doctest/doctest.h>
#include <signal.h>

#include <optional>
#include <string>

#include "app/signal_name.h"

TEST_SUITE_BEGIN("app.signal_name");

namespace redlock::app {
namespace {

using namespace std::string_literals;

TEST_CASE("a signal is read by name in any case, with and without SIG, and by number") {
  for (const char* const text : {"TERM", "SIGTERM", "term", "sigterm", "SigTerm", "15", "015"}) {
    CAPTURE(std::string(text));
    CHECK(parse_signal(text) == SIGTERM);
  }
  CHECK(parse_signal("HUP") == SIGHUP);
  CHECK(parse_signal("INT") == SIGINT);
  CHECK(parse_signal("QUIT") == SIGQUIT);
  CHECK(parse_signal("KILL") == SIGKILL);
  CHECK(parse_signal("USR1") == SIGUSR1);
  CHECK(parse_signal("1") == SIGHUP);
  CHECK(parse_signal(std::to_string(SIGRTMAX)) == SIGRTMAX);
}

TEST_CASE("what names no signal is refused") {
  for (const char* const text : {"",      " ",     "SIG", "SIGSIGTERM", "TERM ",
                                 " TERM", "TERMS", "TER", "0",          "-1",
                                 "-15",   "+15",   "65",  "1000",       "99999999999999999999",
                                 "15x",   "1.5",   "FOO", "SIG15",      "0x0f"}) {
    CAPTURE(std::string(text));
    CHECK(!parse_signal(text));
  }
  CHECK(!parse_signal("TERM\0"s));
}

TEST_CASE("every name that is given is read back") {
  for (int signal = 1; signal < 32; ++signal) {
    CAPTURE(signal);
    CHECK(parse_signal(signal_name(signal)) == signal);
  }
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(SIGSEGV) == "SIGSEGV");
  CHECK(signal_name(60) == "signal 60");
}

}  // namespace
}  // namespace redlock::app
