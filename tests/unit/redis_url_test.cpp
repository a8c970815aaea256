#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "redis/url.h"

TEST_SUITE_BEGIN("redis.url");

namespace redlock::redis {
namespace {

using namespace std::string_literals;

Url good(const std::string& text) {
  CAPTURE(text);
  const auto url = parse_url(text);
  REQUIRE_MESSAGE(url.ok(), url.error().message);
  return url.value();
}

std::string complaint(const std::string& text) {
  CAPTURE(text);
  const auto url = parse_url(text);
  REQUIRE(!url.ok());
  return url.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the parts of a redis:// URL") {
  const Url plain = good("redis://db.example");
  CHECK(plain.host == "db.example");
  CHECK(plain.port == 6379);
  CHECK(plain.db == 0);
  CHECK(plain.user.empty());
  CHECK(!plain.password);
  CHECK(!plain.has_credentials());

  const Url full = good("redis://ann:s3cret@10.0.0.1:7001/12");
  CHECK(full.user == "ann");
  CHECK(full.password == "s3cret");
  CHECK(full.host == "10.0.0.1");
  CHECK(full.port == 7001);
  CHECK(full.db == 12);

  CHECK(good("REDIS://h:65535/").port == 65535);
  CHECK(good("redis://h:1").port == 1);
  CHECK(good("redis://h/2147483647").db == 2147483647);
}

TEST_CASE("credentials: who, with or without a password") {
  CHECK(good("redis://:pw@h").user.empty());
  CHECK(good("redis://:pw@h").password == "pw");
  CHECK(good("redis://ann@h").user == "ann");
  CHECK(!good("redis://ann@h").password);
  CHECK(good("redis://ann@h").has_credentials());
  CHECK(good("redis://ann:@h").password == "");
  CHECK(good("redis://:a:b@h").password == "a:b");
  CHECK(good("redis://:a@b@h").password == "a@b");
  CHECK(good("redis://@h").host == "h");
}

TEST_CASE("%XX is decoded, '+' and '=' are themselves") {
  CHECK(good("redis://:a%40b%3A%2F%3F%23%25+%20=@h").password == "a@b:/?#%+ =");
  CHECK(good("redis://:+%2B%2b=@h").password == "+++=");
  CHECK(good("redis://%61nn:%00@h").user == "ann");
  CHECK(good("redis://%61nn:%00@h").password == "\0"s);
}

TEST_CASE("IPv6 stands in brackets") {
  CHECK(good("redis://[::1]").host == "::1");
  CHECK(good("redis://:pw@[2001:db8::1]:7000/3").host == "2001:db8::1");
  CHECK(good("redis://:pw@[2001:db8::1]:7000/3").port == 7000);
}

TEST_CASE("unix sockets") {
  const Url url = good("unix:///run/redis/redis.sock");
  CHECK(url.socket_path == "/run/redis/redis.sock");
  CHECK(url.host.empty());
  CHECK(url.db == 0);
  CHECK(good("unix:///tmp/a%20b%3Fc+d@e?db=3").socket_path == "/tmp/a b?c+d@e");
  CHECK(good("unix:///tmp/a%20b%3Fc+d@e?db=3").db == 3);
  CHECK(good("unix://ann:pw@/tmp/s").password == "pw");
  CHECK(good("unix:///" + std::string(106, 's')).socket_path.size() == 107);
}

TEST_CASE("display names the server and nobody else") {
  CHECK(good("redis://ann:s3cret@h").display() == "h:6379");
  CHECK(good("redis://ann:s3cret@[::1]:7/2").display() == "[::1]:7");
  CHECK(good("unix://ann:s3cret@/tmp/s?db=2").display() == "unix:/tmp/s");
  CHECK(good("unix:///tmp/a%0Ab").display() == "unix:/tmp/a\\x0ab");
}

TEST_CASE("every malformed URL is refused with its fault and a right example") {
  struct Row {
    std::string url;
    std::string fault;
  };
  const std::vector<Row> rows = {
      {"", "must begin with redis://"},
      {"redis", "must begin with redis://"},
      {"redis:/h", "must begin with redis://"},
      {"http://h", "must begin with redis://"},
      {"h:6379", "must begin with redis://"},
      {"redis://", "the host is missing"},
      {"redis:///0", "the host is missing"},
      {"redis://:1234", "the host is missing"},
      {"redis://:sesame@", "the host is missing"},
      {"redis://:sesame@:6379", "the host is missing"},
      {"redis://h:", "the port must be"},
      {"redis://h:0", "the port must be"},
      {"redis://h:65536", "the port must be"},
      {"redis://h:-1", "the port must be"},
      {"redis://h:+1", "the port must be"},
      {"redis://h: 1", "the port must be"},
      {"redis://ann:sesame", "the port must be"},
      {"redis://h/x", "the database must be"},
      {"redis://h/-1", "the database must be"},
      {"redis://h/1/2", "the database must be"},
      {"redis://h/2147483648", "the database must be"},
      {"redis://h/99999999999", "the database must be"},
      {"redis://h?db=1", "no '?' and no '#'"},
      {"redis://h/1?x=1", "no '?' and no '#'"},
      {"redis://h/1#x", "no '?' and no '#'"},
      {"redis://h#x", "no '?' and no '#'"},
      {"redis://::1", "in brackets"},
      {"redis://:sesame@::1:6379", "in brackets"},
      {"redis://[::1", "has no ']'"},
      {"redis://[h]", "an IPv6 address"},
      {"redis://[]", "an IPv6 address"},
      {"redis://[::1%00]", "an IPv6 address"},
      {"redis://[::1]6379", "only a port may follow"},
      {"redis://[::1]:x", "the port must be"},
      {"redis://h%", "two hexadecimal digits"},
      {"redis://:sesame%4@h", "two hexadecimal digits"},
      {"redis://:sesame%zz@h", "two hexadecimal digits"},
      {"redis://ann%:sesame@h", "two hexadecimal digits"},
      {"redis://:sesame/oh@h", "%2F, %3F or %23"},
      {"redis://:sesame?oh@h", "%2F, %3F or %23"},
      {"redis://:sesame#oh@h", "%2F, %3F or %23"},
      {"redis://a b", "no host name has"},
      {"redis://a%0Ab", "no host name has"},
      {"redis://a%00b", "no host name has"},
      {"unix://", "the path of the socket is missing"},
      {"unix:///", "the path of the socket is missing"},
      {"unix:///?db=1", "the path of the socket is missing"},
      {"unix://tmp/s", "three slashes"},
      {"unix://ann:sesame@tmp/s", "three slashes"},
      {"unix://ann:sesame@", "three slashes"},
      {"unix:///s?", "?db=N"},
      {"unix:///s?x=1", "?db=N"},
      {"unix:///s?db=", "the database must be"},
      {"unix:///s?db=1&x=2", "the database must be"},
      {"unix:///s%00t", "a zero byte"},
      {"unix:///" + std::string(107, 's'), "longer than the system allows"},
      {"unix://ann:sesame%@/s", "two hexadecimal digits"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.url);
    const std::string text = complaint(row.url);
    CHECK_MESSAGE(contains(text, row.fault), text);
    const bool of_unix = row.url.starts_with("unix");
    CHECK(contains(text, of_unix ? "unix:///run/" : "redis://user:password@host:6379/0"));
    CHECK(!contains(text, "sesame"));
    CHECK(!contains(text, "ann"));
  }
}

TEST_CASE("what a later version speaks is recognised") {
  for (const std::string scheme : {"rediss://", "redis+sentinel://", "rediss+sentinel://",
                                   "redis+cluster://", "rediss+cluster://", "Rediss://"}) {
    const std::string text = complaint(scheme + ":sesame@h:6379/mymaster");
    CAPTURE(text);
    CHECK(contains(text, "this version does not speak"));
    CHECK(contains(text, "redis://host:port"));
    CHECK(!contains(text, "sesame"));
  }
}

}  // namespace
}  // namespace redlock::redis
