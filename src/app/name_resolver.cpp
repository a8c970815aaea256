#include "app/name_resolver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace redlock::app {
namespace {

/// More addresses than this are not tried in the time there is.
constexpr std::size_t kAddressesMost = 8;

/// What the child writes: this, then `count` addresses.
struct Head {
  int error = 0;   ///< of getaddrinfo
  int system = 0;  ///< errno, when error is EAI_SYSTEM
  std::size_t count = 0;
};

[[noreturn]] void ask_library(const std::string& host, std::uint16_t port, int out, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(0);
  ::prctl(PR_SET_NAME, "redlock-resolve");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  Head head;
  head.error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  head.system = errno;
  std::vector<redis::Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (addresses.size() == kAddressesMost || one->ai_addrlen > sizeof(sockaddr_storage)) break;
    redis::Address address;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.length = one->ai_addrlen;
    addresses.push_back(address);
  }
  head.count = addresses.size();
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  text.append(reinterpret_cast<const char*>(addresses.data()),
              addresses.size() * sizeof(redis::Address));
  // Less than a pipe holds, so one write takes all of it.
  const bool written = ::write(out, text.data(), text.size()) >= 0;
  ::_exit(written ? 0 : 1);
}

class ForkedQuery : public redis::Resolver::Query {
 public:
  ForkedQuery(os::EventLoop& loop, std::string host, redis::Resolver::Done done)
      : loop_(loop), host_(std::move(host)), done_(std::move(done)) {}
  ~ForkedQuery() override { end_child(); }

  void start(std::uint16_t port) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail_later();
    answer_.reset(ends[0]);
    UniqueFd out(ends[1]);
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ == 0) {
      // The guard must see our end when we die, whatever this child is doing then.
      for (int fd = 3; fd < out.get() + 16; ++fd) {
        if (fd != out.get()) ::close(fd);
      }
      ask_library(host_, port, out.get(), parent);
    }
    out.reset();
    // A failed fork shows as an answer that ends at once.
    loop_.watch(answer_.get(), {.readable = true}, [this](os::Readiness) { read(); });
  }

 private:
  void fail_later() {
    // Something that is readable at once, so that the answer does not come before resolve()
    // returns.
    answer_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (answer_) {
      loop_.watch(answer_.get(), {.readable = true}, [this](os::Readiness) { read(); });
    }
  }

  void read() {
    char buffer[4096];
    const ssize_t got = ::read(answer_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return;
    if (got > 0) {
      text_.append(buffer, static_cast<std::size_t>(got));
      return;
    }
    end_child();
    // The callback may destroy this object.
    const redis::Resolver::Done done = std::move(done_);
    done(parse());
  }

  Result<std::vector<redis::Address>> parse() const {
    Head head;
    if (text_.size() < sizeof head) {
      return Error{fmt::format("cannot resolve '{}': no process to ask for it", host_)};
    }
    std::memcpy(&head, text_.data(), sizeof head);
    const std::size_t bytes = head.count * sizeof(redis::Address);
    if (head.error != 0 || head.count == 0 || text_.size() != sizeof head + bytes) {
      const char* const why = head.error == EAI_SYSTEM ? std::strerror(head.system)
                              : head.error != 0        ? ::gai_strerror(head.error)
                                                       : "it has no address";
      return Error{fmt::format("cannot resolve '{}': {}", host_, why)};
    }
    std::vector<redis::Address> addresses(head.count);
    std::memcpy(addresses.data(), text_.data() + sizeof head, bytes);
    return addresses;
  }

  void end_child() {
    if (answer_) loop_.forget(answer_.get());
    answer_.reset();
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

  os::EventLoop& loop_;
  const std::string host_;
  redis::Resolver::Done done_;
  UniqueFd answer_;
  pid_t child_ = 0;
  std::string text_;
};

}  // namespace

std::unique_ptr<redis::Resolver::Query> NameResolver::resolve(const std::string& host,
                                                              std::uint16_t port, Done done) {
  auto query = std::make_unique<ForkedQuery>(loop_, host, std::move(done));
  query->start(port);
  return query;
}

}  // namespace redlock::app
