#include <doctest/doctest.h>

#include <string>

#include "redis/printable.h"

TEST_SUITE_BEGIN("redis.printable");

namespace redlock::redis {
namespace {

using namespace std::string_literals;

TEST_CASE("printable text stays as it is") {
  CHECK(printable("") == "");
  CHECK(printable("NOAUTH Authentication required.") == "NOAUTH Authentication required.");
  CHECK(printable("Grüße, 東京, 🔒") == "Grüße, 東京, 🔒");
}

TEST_CASE("nothing gets through that a terminal would obey") {
  CHECK(printable("a\r\nb\t\x1b[2J\x7f"s) == "a\\x0d\\x0ab\\x09\\x1b[2J\\x7f");
  CHECK(printable("\0x"s) == "\\x00x");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");           // a control character of 8 bits
  CHECK(printable("\xe2\x80\xa8") == "\\xe2\\x80\\xa8");  // a line separator
}

TEST_CASE("what is not UTF-8 is shown byte by byte") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("\xc3") == "\\xc3");                             // cut short
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");           // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
}

TEST_CASE("long text is cut at a whole character and says so") {
  CHECK(printable("123456", 6) == "123456");
  CHECK(printable("1234567", 6) == "123...");
  CHECK(printable("12üü", 5) == "12...");
  CHECK(printable("1üüü", 5) == "1...");
  CHECK(printable("\n\n", 7) == "\\x0a...");
  CHECK(printable(std::string(1000, 'x')).size() == 200);
  CHECK(printable("123", 2) == "..");
}

}  // namespace
}  // namespace redlock::redis
