#include "support/redis_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "support/process.h"
#include "support/wait.h"

namespace redlock::test {
namespace {

constexpr int kStartAttempts = 10;

int bind_loopback(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(fd >= 0);
  REQUIRE(::bind(fd, generic, length) == 0);
  REQUIRE(::getsockname(fd, generic, &length) == 0);
  port = ::ntohs(address.sin_port);
  return fd;
}

Reply converted(const redisReply& raw) {
  Reply reply;
  switch (raw.type) {
    case REDIS_REPLY_NIL:
      reply.kind = Reply::Kind::nil;
      break;
    case REDIS_REPLY_INTEGER:
      reply.kind = Reply::Kind::integer;
      reply.integer = raw.integer;
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = Reply::Kind::array;
      for (std::size_t i = 0; i < raw.elements; ++i) {
        reply.elements.push_back(converted(*raw.element[i]));
      }
      break;
    case REDIS_REPLY_ERROR:
      reply.kind = Reply::Kind::error;
      reply.text.assign(raw.str, raw.len);
      break;
    default:
      reply.kind = Reply::Kind::text;
      reply.text.assign(raw.str, raw.len);
  }
  return reply;
}

Reply ask(redisContext* connection, const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    pointers.push_back(word.data());
    lengths.push_back(word.size());
  }
  void* answer = ::redisCommandArgv(connection, static_cast<int>(words.size()), pointers.data(),
                                    lengths.data());
  if (answer == nullptr) return {};
  Reply reply = converted(*static_cast<redisReply*>(answer));
  ::freeReplyObject(answer);
  return reply;
}

}  // namespace

ReservedPort::ReservedPort() {
  fd_ = bind_loopback(number_);
}
ReservedPort::~ReservedPort() {
  release();
}

void ReservedPort::release() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RedisServer::ContextDeleter::operator()(redisContext* context) const {
  ::redisFree(context);
}

RedisServer::RedisServer(Options options) : options_(std::move(options)), port_(options_.port) {
  require_start();
}

RedisServer::~RedisServer() {
  end_process(SIGKILL);
}

void RedisServer::require_start() {
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    if (options_.port == 0 && attempt > 0) port_ = 0;
    if (launch()) return;
  }
  FAIL("redis-server did not start: " << read_file(directory_.file("log")));
}

std::vector<std::string> RedisServer::command_line() const {
  std::vector<std::string> words = options_.under;
  words.insert(words.end(), {"redis-server", "--port", std::to_string(port_), "--bind"});
  words.insert(words.end(), options_.addresses.begin(), options_.addresses.end());
  const auto option = [&words](const std::string& name, const std::string& value) {
    words.push_back("--" + name);
    words.push_back(value);
  };
  option("unixsocket", directory_.file("socket"));
  option("protected-mode", "no");  // refuses foreign addresses, which those of namespaces are
  option("save", "");
  option("appendonly", options_.keeps_data ? "yes" : "no");
  option("appendfsync", "always");
  option("dir", directory_.path());
  option("logfile", directory_.file("log"));
  if (!options_.password.empty()) option("requirepass", options_.password);
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  return words;
}

bool RedisServer::launch() {
  connection_.reset();
  if (port_ == 0) port_ = ReservedPort().number();
  std::vector<std::string> argv = command_line();
  std::vector<char*> pointers;
  for (std::string& each : argv) pointers.push_back(each.data());
  pointers.push_back(nullptr);

  const pid_t parent = ::getpid();
  pid_ = ::fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(99);
    ::setsid();  // a Ctrl-C for the runner is not one for the server
    const int null = ::open("/dev/null", O_RDWR);
    for (const int number : {0, 1, 2}) ::dup2(null, number);
    ::close_range(3, ~0U, 0);
    ::execvp(pointers[0], pointers.data());
    ::_exit(99);
  }
  // Ready, or dead because somebody else took the port meanwhile; a server of somebody else answers
  // there too, so the answer has to name ours.
  bool dead = false;
  const bool ready = wait_until([this, &dead] {
    dead = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (dead) return true;
    // INFO is answered before all data are read.
    return info("server", "process_id") == std::to_string(pid_) &&
           info("persistence", "loading") == "0";
  });
  if (dead) pid_ = -1;
  if (!ready) end_process(SIGKILL);
  return ready && !dead;
}

void RedisServer::end_process(int signal) {
  connection_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  if (signal != SIGKILL) ::kill(pid_, SIGCONT);
  const auto reaped = [this] { return ::waitpid(pid_, nullptr, WNOHANG) != 0; };
  if (!wait_until(reaped)) {
    ::kill(pid_, SIGKILL);
    (void)wait_until(reaped);
  }
  pid_ = -1;
}

std::string RedisServer::name() const {
  return options_.addresses.front() + ":" + std::to_string(port_);
}

std::string RedisServer::url() const {
  return "redis://" + name();
}

std::string RedisServer::socket_url() const {
  return "unix://" + directory_.file("socket");
}

std::string RedisServer::url(const std::string& userinfo, const std::string& path) const {
  const std::string prefix = userinfo.empty() ? "" : userinfo + "@";
  return "redis://" + prefix + name() + path;
}

void RedisServer::pause() {
  ::kill(pid_, SIGSTOP);
  REQUIRE(wait_until([this] {
    const auto stat = process_stat(pid_);
    return stat && stat->state == 'T';
  }));
}

void RedisServer::resume() {
  ::kill(pid_, SIGCONT);
}
void RedisServer::kill9() {
  end_process(SIGKILL);
}
void RedisServer::stop() {
  end_process(SIGTERM);
}

void RedisServer::restart() {
  REQUIRE(pid_ == -1);
  options_.port = port_;
  require_start();
}

void RedisServer::restart_empty() {
  // Also what it rewrites from time to time; older versions keep one file instead of a directory.
  for (const char* name : {"appendonlydir", "appendonly.aof"}) {
    std::filesystem::remove_all(directory_.file(name));
  }
  restart();
}

void RedisServer::pause_clients(milliseconds span) {
  REQUIRE(command({"CLIENT", "PAUSE", std::to_string(span.count()), "ALL"}).text == "OK");
}

void RedisServer::cut_clients() {
  REQUIRE(command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}).kind ==
          Reply::Kind::integer);
}

bool RedisServer::connect() {
  const timeval limit{10, 0};
  // By the socket: the network between server and clients is what tests cut.
  connection_.reset(::redisConnectUnixWithTimeout(directory_.file("socket").c_str(), limit));
  if (!connection_ || connection_->err != 0) {
    connection_.reset();
    return false;
  }
  ::fcntl(connection_->fd, F_SETFD, FD_CLOEXEC);
  ::redisSetTimeout(connection_.get(), limit);
  if (!options_.password.empty()) ask(connection_.get(), {"AUTH", options_.password});
  return true;
}

Reply RedisServer::command(const std::vector<std::string>& words) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!connection_ && !connect()) return {};
    Reply reply = ask(connection_.get(), words);
    if (reply.kind != Reply::Kind::none) return reply;
    connection_.reset();
  }
  return {};
}

std::optional<std::string> RedisServer::get(const std::string& key) {
  const Reply reply = command({"GET", key});
  if (reply.kind != Reply::Kind::text) return std::nullopt;
  return reply.text;
}

void RedisServer::set(const std::string& key, const std::string& value) {
  REQUIRE(command({"SET", key, value}).text == "OK");
}

void RedisServer::set_px(const std::string& key, const std::string& value, long long ms) {
  REQUIRE(command({"SET", key, value, "PX", std::to_string(ms)}).text == "OK");
}

void RedisServer::del(const std::string& key) {
  command({"DEL", key});
}
bool RedisServer::exists(const std::string& key) {
  return command({"EXISTS", key}).integer == 1;
}
long long RedisServer::pttl(const std::string& key) {
  return command({"PTTL", key}).integer;
}

std::vector<std::string> RedisServer::keys() {
  std::vector<std::string> names;
  const Reply reply = command({"KEYS", "*"});
  REQUIRE(reply.kind == Reply::Kind::array);
  for (const Reply& each : reply.elements) names.push_back(each.text);
  std::sort(names.begin(), names.end());
  return names;
}

long long RedisServer::calls(const std::string& command_name) {
  const std::string stats = info("commandstats", "cmdstat_" + command_name);
  const std::size_t at = stats.find("calls=");
  return at == std::string::npos ? 0 : std::atoll(stats.c_str() + at + 6);
}

long long RedisServer::script_calls() {
  return calls("eval") + calls("evalsha") + calls("fcall");
}

void RedisServer::reset_counters() {
  command({"CONFIG", "RESETSTAT"});
}

std::string RedisServer::info(const std::string& section, const std::string& field) {
  std::istringstream lines(command({"INFO", section}).text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.rfind(field + ":", 0) == 0) return line.substr(field.size() + 1);
  }
  return {};
}

long long RedisServer::other_clients() {
  return std::atoll(info("clients", "connected_clients").c_str()) - 1;
}

}  // namespace redlock::test
