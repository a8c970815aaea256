#include "redis/connection.h"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace redlock::redis {
namespace {

constexpr long long kElementsMost = 1024;

/// The system's words as they read in the middle of a line.
std::string system_words(std::string words) {
  const bool acronym = words.size() > 1 && std::isupper(static_cast<unsigned char>(words[1])) != 0;
  if (!words.empty() && !acronym) {
    words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  }
  return words;
}

std::string system_words(int error) {
  return system_words(std::strerror(error));
}

Reply to_reply(const redisReply& from) {
  Reply reply;
  switch (from.type) {
    case REDIS_REPLY_NIL:
      reply.kind = Reply::Kind::nil;
      break;
    case REDIS_REPLY_STATUS:
      reply.kind = Reply::Kind::status;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ERROR:
      reply.kind = Reply::Kind::error;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_INTEGER:
      reply.kind = Reply::Kind::integer;
      reply.integer = from.integer;
      break;
    case REDIS_REPLY_STRING:
      reply.kind = Reply::Kind::text;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = Reply::Kind::array;
      for (std::size_t i = 0; i < from.elements; ++i) {
        reply.elements.push_back(to_reply(*from.element[i]));
      }
      break;
    default:  // types of RESP3, which nobody asked for
      reply.kind = Reply::Kind::other;
  }
  return reply;
}

}  // namespace

struct Connection::Hooks {
  static Connection& of(void* data) { return *static_cast<Connection*>(data); }

  static void add_read(void* data) noexcept {
    Connection& self = of(data);
    self.set_interest({true, self.interest_.writable});
  }
  static void del_read(void* data) noexcept {
    Connection& self = of(data);
    self.set_interest({false, self.interest_.writable});
  }
  static void add_write(void* data) noexcept {
    Connection& self = of(data);
    self.set_interest({self.interest_.readable, true});
  }
  static void del_write(void* data) noexcept {
    Connection& self = of(data);
    self.set_interest({self.interest_.readable, false});
  }

  /// Only notes the reply down: hiredis must not be called from here, and least of all freed.
  /// A null reply is the context dying, of which the breakdown tells.
  static void on_reply(redisAsyncContext* context, void* reply, void* /*data*/) noexcept {
    if (reply == nullptr) return;
    Connection& self = of(context->data);
    if (self.unanswered_ == 0) {
      self.news_.breakdown = Breakdown{End::not_redis, "a reply to nothing that was asked"};
      self.expect_one_more();
      return;
    }
    --self.unanswered_;
    self.news_.replies.push_back(to_reply(*static_cast<const redisReply*>(reply)));
  }
};

Result<std::unique_ptr<Connection>> Connection::open(os::EventLoop& loop, const Address& address,
                                                     Listener listener) {
  const auto* to = reinterpret_cast<const sockaddr*>(&address.storage);
  UniqueFd fd(::socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error{system_words(errno)};
  if (to->sa_family != AF_UNIX) {
    const int on = 1;
    // Without it only slower, so a failure is none.
    static_cast<void>(::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  }
  if (::connect(fd.get(), to, address.length) != 0 && errno != EINPROGRESS) {
    return Error{system_words(errno)};
  }
  return std::unique_ptr<Connection>(new Connection(loop, std::move(fd), std::move(listener)));
}

Connection::Connection(os::EventLoop& loop, UniqueFd fd, Listener listener)
    : loop_(loop),
      listener_(std::move(listener)),
      fd_(fd.get()),
      connecting_(std::move(fd)),
      interest_{false, true} {
  loop_.watch(fd_, interest_, [this](os::Readiness readiness) { on_ready(readiness); });
}

Connection::~Connection() {
  flush();
  loop_.forget(fd_);
  // Calls the callbacks of all unanswered commands with a null reply.
  if (context_ != nullptr) redisAsyncFree(context_);
}

void Connection::set_interest(os::Readiness interest) {
  if (over_) return;
  if (interest.readable == interest_.readable && interest.writable == interest_.writable) return;
  interest_ = interest;
  loop_.set_interest(fd_, interest);
}

bool Connection::finish_connecting() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) {
    news_.breakdown = Breakdown{End::refused, system_words(error)};
    return false;
  }
  redisOptions options{};
  options.type = REDIS_CONN_USERFD;
  options.endpoint.fd = connecting_.release();
  // Errors must leave the context in place: only the destructor frees it.
  options.options = REDIS_OPT_NONBLOCK | REDIS_OPT_NOAUTOFREE;
  context_ = redisAsyncConnectWithOptions(&options);
  RR_ASSERT(context_ != nullptr && context_->err == 0);
  // hiredis takes a descriptor from outside as not yet connected and would connect() it again.
  context_->c.flags |= REDIS_CONNECTED;
  context_->data = this;
  // No reply that is asked for has more elements; a number beyond that is memory for nothing.
  context_->c.reader->maxelements = kElementsMost;
  expect_one_more();
  context_->ev.data = this;
  context_->ev.addRead = Hooks::add_read;
  context_->ev.delRead = Hooks::del_read;
  context_->ev.addWrite = Hooks::add_write;
  context_->ev.delWrite = Hooks::del_write;
  set_interest({true, false});
  return true;
}

void Connection::on_ready(os::Readiness readiness) {
  if (context_ == nullptr) {
    news_.connected = finish_connecting();
  } else {
    if (readiness.readable && context_->err == 0) redisAsyncHandleRead(context_);
    if (readiness.writable && interest_.writable && context_->err == 0) {
      redisAsyncHandleWrite(context_);
    }
    note_breakdown();
  }
  if (news_.breakdown) {
    over_ = true;
    loop_.forget(fd_);
  }
  if (!news_.connected && news_.replies.empty() && !news_.breakdown) return;
  const Listener listener = listener_;
  const News news = std::exchange(news_, News());
  listener(news);  // may destroy this
}

/// hiredis aborts the program when there is a reply and no callback. So there is always one
/// callback more than commands, queued by a command of no bytes; its text is only what hiredis
/// looks at.
void Connection::expect_one_more() {
  constexpr const char* kText = "$4\r\nnone\r\n";
  static_cast<void>(
      redisAsyncFormattedCommand(context_, Hooks::on_reply, nullptr, kText, /*len=*/0));
}

void Connection::note_breakdown() {
  if (context_->err == 0) return;
  switch (context_->err) {
    case REDIS_ERR_PROTOCOL:
      news_.breakdown = Breakdown{End::not_redis, system_words(context_->errstr)};
      return;
    case REDIS_ERR_EOF:
      news_.breakdown = Breakdown{End::lost, "the server closed the connection"};
      return;
    default:
      news_.breakdown = Breakdown{End::lost, system_words(context_->errstr)};
  }
}

void Connection::command(const std::vector<std::string>& arguments) {
  RR_ASSERT(context_ != nullptr);
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& argument : arguments) {
    texts.push_back(argument.data());
    lengths.push_back(argument.size());
  }
  // Fails only after a breakdown.
  const int queued =
      redisAsyncCommandArgv(context_, Hooks::on_reply, nullptr, static_cast<int>(texts.size()),
                            texts.data(), lengths.data());
  if (queued == REDIS_OK) ++unanswered_;
}

void Connection::flush() {
  if (over_ || context_ == nullptr || context_->err != 0) return;
  redisAsyncHandleWrite(context_);
  // The loop finds a broken socket ready, and on_ready() tells of it.
  if (context_->err != 0) set_interest({true, true});
}

}  // namespace redlock::redis
