#include "redis/url.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "redis/printable.h"

namespace redlock::redis {
namespace {

constexpr std::string_view kTcpScheme = "redis://";
constexpr std::string_view kUnixScheme = "unix://";
constexpr std::string_view kTcpExample = "redis://user:password@host:6379/0";
constexpr std::string_view kUnixExample = "unix:///run/redis/redis.sock?db=0";

Error bad_url(std::string_view what, std::string_view example) {
  return Error{"bad Redis URL: " + std::string(what) + "; right is for example " +
               std::string(example)};
}

bool has_scheme(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), text.begin(), [](char expected, char given) {
           return expected == std::tolower(static_cast<unsigned char>(given));
         });
}

Error unsupported_scheme(std::string_view text) {
  constexpr std::array<std::string_view, 5> kLater = {"rediss://", "redis+sentinel://",
                                                      "rediss+sentinel://", "redis+cluster://",
                                                      "rediss+cluster://"};
  for (const std::string_view scheme : kLater) {
    if (!has_scheme(text, scheme)) continue;
    return Error{"this version does not speak " + std::string(scheme) +
                 "; give one server as redis://host:port or unix:///path"};
  }
  return bad_url("it must begin with redis:// or unix://", kTcpExample);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (text.front() != '%') {
      result += text.front();
      text.remove_prefix(1);
      continue;
    }
    const int high = text.size() > 2 ? hex_digit(text[1]) : -1;
    const int low = text.size() > 2 ? hex_digit(text[2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    result += static_cast<char>(high * 16 + low);
    text.remove_prefix(3);
  }
  return result;
}

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

/// Everything below returns what is wrong, or nothing.
using Complaint = std::optional<std::string_view>;

constexpr std::string_view kBadPercent =
    "a '%' must be followed by two hexadecimal digits (a '%' itself is written %25)";

Complaint read_credentials(std::string_view text, Url& url) {
  const std::size_t colon = text.find(':');
  const auto user = percent_decoded(text.substr(0, colon));
  if (!user) return kBadPercent;
  url.user = *user;
  if (colon == std::string_view::npos) return std::nullopt;
  url.password = percent_decoded(text.substr(colon + 1));
  if (!url.password) return kBadPercent;
  return std::nullopt;
}

Complaint read_port(std::string_view text, Url& url) {
  const auto port = whole_number<std::uint16_t>(text);
  if (!port || *port == 0) return "the port must be a number from 1 to 65535";
  url.port = *port;
  return std::nullopt;
}

Complaint read_db(std::string_view text, Url& url) {
  const auto db = whole_number<std::uint32_t>(text);
  if (!db || *db > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) {
    return "the database must be a number such as 0";
  }
  url.db = *db;
  return std::nullopt;
}

Complaint read_bracketed_host(std::string_view text, Url& url) {
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return "the '[' of an IPv6 address has no ']'";
  url.host = std::string(text.substr(1, end - 1));
  in6_addr ignored{};
  if (url.host.find('\0') != std::string::npos ||
      ::inet_pton(AF_INET6, url.host.c_str(), &ignored) != 1) {
    return "between '[' and ']' must stand an IPv6 address";
  }
  const std::string_view rest = text.substr(end + 1);
  if (rest.empty()) return std::nullopt;
  if (rest.front() != ':') return "after the ']' only a port may follow";
  return read_port(rest.substr(1), url);
}

Complaint read_host(std::string_view text, Url& url) {
  if (!text.empty() && text.front() == '[') return read_bracketed_host(text, url);
  const std::size_t colon = text.find(':');
  if (colon != text.rfind(':')) return "an IPv6 address must stand in brackets, as in [::1]";
  const auto host = percent_decoded(text.substr(0, colon));
  if (!host) return kBadPercent;
  if (host->empty()) return "the host is missing";
  if (has_control_characters(*host) || host->find_first_of(" []/") != std::string::npos) {
    return "the host contains a character that no host name has";
  }
  url.host = *host;
  if (colon == std::string_view::npos) return std::nullopt;
  return read_port(text.substr(colon + 1), url);
}

Complaint read_tcp(std::string_view rest, Url& url) {
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  const std::string_view tail = rest.substr(end);
  if (tail.find('@') != std::string_view::npos) {
    return "a '/', '?' or '#' in the user or password must be written %2F, %3F or %23";
  }
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    if (const Complaint bad = read_credentials(authority.substr(0, at), url)) return bad;
  }
  const std::string_view host = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (const Complaint bad = read_host(host, url)) return bad;
  if (tail.empty() || tail == "/") return std::nullopt;
  if (tail.front() != '/' || tail.find_first_of("?#") != std::string_view::npos) {
    return "after the host only /DATABASE may follow, no '?' and no '#'";
  }
  return read_db(tail.substr(1), url);
}

Complaint read_unix(std::string_view rest, Url& url) {
  const std::size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  if (!authority.empty()) {
    if (authority.back() != '@' || slash == std::string_view::npos) {
      return "the socket must be an absolute path, after three slashes";
    }
    const std::string_view credentials = authority.substr(0, authority.size() - 1);
    if (const Complaint bad = read_credentials(credentials, url)) return bad;
  }
  const std::string_view tail =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  const std::size_t question = tail.find('?');
  const auto path = percent_decoded(tail.substr(0, question));
  if (!path) return kBadPercent;
  if (path->size() <= 1) return "the path of the socket is missing";
  if (path->size() >= sizeof(sockaddr_un::sun_path)) {
    return "the path of the socket is longer than the system allows (107 bytes)";
  }
  if (path->find('\0') != std::string::npos) return "the path of the socket contains a zero byte";
  url.socket_path = *path;
  if (question == std::string_view::npos) return std::nullopt;
  const std::string_view query = tail.substr(question + 1);
  constexpr std::string_view kDb = "db=";
  if (query.substr(0, kDb.size()) != kDb) return "after the path only ?db=N may follow";
  return read_db(query.substr(kDb.size()), url);
}

/// One text for all spellings of a host: numeric addresses in their shortest form, names in lower
/// case without the dot of the root.
std::string host_identity(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (host.size() > 1 && host.back() == '.') host.pop_back();
  if (host == "localhost") return "127.0.0.1";
  std::array<unsigned char, sizeof(in6_addr)> binary{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET6, host.c_str(), binary.data()) != 1) return host;
  return ::inet_ntop(AF_INET6, binary.data(), text.data(), text.size());
}

}  // namespace

std::string Url::display() const {
  if (!socket_path.empty()) return "unix:" + printable(socket_path);
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : printable(host, 255)) + ":" + std::to_string(port);
}

bool certainly_same(const Url& a, const Url& b) {
  if (a.socket_path != b.socket_path) return false;
  if (!a.socket_path.empty()) return true;
  return a.port == b.port && host_identity(a.host) == host_identity(b.host);
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  if (has_scheme(text, kTcpScheme)) {
    const Complaint bad = read_tcp(text.substr(kTcpScheme.size()), url);
    if (bad) return bad_url(*bad, kTcpExample);
    return url;
  }
  if (has_scheme(text, kUnixScheme)) {
    const Complaint bad = read_unix(text.substr(kUnixScheme.size()), url);
    if (bad) return bad_url(*bad, kUnixExample);
    return url;
  }
  return unsupported_scheme(text);
}

}  // namespace redlock::redis
