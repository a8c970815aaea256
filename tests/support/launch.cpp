#include "support/launch.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/process.h"

namespace redlock::test {
namespace {

/// Descriptors of the harness live above this, out of the way of those a test hands over.
constexpr int kFirstOwnFd = 200;
constexpr int kSetUpFailed = 99;

UniqueFd raised(int fd) {
  UniqueFd low(fd);
  return UniqueFd(::fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstOwnFd));
}

UniqueFd memory_file(const char* name) {
  return raised(::memfd_create(name, MFD_CLOEXEC));
}

std::string content_of(int fd) {
  std::string content;
  std::array<char, 4096> block{};
  for (ssize_t got = 0;
       (got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(content.size()))) > 0;) {
    content.append(block.data(), static_cast<std::size_t>(got));
  }
  return content;
}

std::vector<std::string> base_environment() {
  std::vector<std::string> kept{
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) kept.push_back(std::string(name) + "=" + value);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& each : strings) result.push_back(each.data());
  result.push_back(nullptr);
  return result;
}

milliseconds span(const timeval& t) {
  return milliseconds(std::int64_t{t.tv_sec} * 1'000 + t.tv_usec / 1'000);
}

}  // namespace

std::string exit_with(int code) {
  return "exit " + std::to_string(code);
}
std::string killed_by(int signal) {
  return "signal " + std::to_string(signal);
}

struct Run::State {
  pid_t pid = -1;
  UniqueFd out;
  UniqueFd err;
  Stopwatch watch;
  std::optional<Ending> ending;

  bool reap() {
    if (ending) return true;
    int status = 0;
    rusage used{};
    if (::wait4(pid, &status, WNOHANG, &used) != pid) return false;
    Ending now;
    now.how = WIFSIGNALED(status) ? killed_by(WTERMSIG(status)) : exit_with(WEXITSTATUS(status));
    now.dumped_core = WIFSIGNALED(status) && WCOREDUMP(status);
    now.elapsed = watch.elapsed();
    now.cpu = span(used.ru_utime) + span(used.ru_stime);
    now.out = content_of(out.get());
    now.err = content_of(err.get());
    ending = now;
    return true;
  }

  void kill_tree() {
    std::vector<pid_t> tree = descendants_of(pid);
    ::kill(pid, SIGKILL);
    for (const pid_t each : tree) ::kill(each, SIGKILL);
    (void)wait_until([this] { return reap(); });
    // Orphans fall to the runner, which is a subreaper.
    for (const pid_t each : tree) ::waitpid(each, nullptr, WNOHANG);
  }
};

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;

Run::~Run() {
  if (state_ && !state_->reap()) state_->kill_tree();
}

pid_t Run::pid() const {
  return state_->pid;
}

const Ending& Run::wait(milliseconds limit) {
  if (!wait_until([this] { return state_->reap(); }, limit)) {
    const std::string so_far = err();
    state_->kill_tree();
    FAIL("did not end within " << limit.count() << " ms; stderr: " << so_far);
  }
  return *state_->ending;
}

bool Run::ended() {
  return state_->reap();
}

void Run::signal(int number) const {
  REQUIRE_MESSAGE(!state_->ending, "signal for a process that has ended");
  ::kill(state_->pid, number);
}

std::string Run::out() const {
  return content_of(state_->out.get());
}
std::string Run::err() const {
  return content_of(state_->err.get());
}

pid_t Run::guard() const {
  pid_t found = -1;
  const bool there = wait_until([this, &found] {
    for (const pid_t child : children_of(pid())) {
      const auto stat = process_stat(child);
      if (stat && stat->name == "redlock-guard") found = child;
    }
    return found > 0 || !is_running(pid());
  });
  REQUIRE_MESSAGE((there && found > 0), "no guard; stderr: " << err());
  return found;
}

pid_t Run::command() const {
  const pid_t parent = guard();
  pid_t found = -1;
  const bool there = wait_until([parent, &found] {
    for (const pid_t child : children_of(parent)) {
      // Between fork and exec the child is still a copy of the guard.
      const auto stat = process_stat(child);
      if (stat && proc_link(child, "exe") != proc_link(parent, "exe")) found = child;
    }
    return found > 0 || !is_running(parent);
  });
  REQUIRE_MESSAGE((there && found > 0), "no COMMAND; stderr: " << err());
  return found;
}

Launch& Launch::env(const std::string& name, const std::string& value) {
  changed_env_[name] = value;
  return *this;
}
Launch& Launch::without_env(const std::string& name) {
  removed_env_.push_back(name);
  return *this;
}
Launch& Launch::stdin_text(const std::string& text) {
  stdin_text_ = text;
  return *this;
}
Launch& Launch::descriptor(int number, int fd) {
  descriptors_[number] = fd;
  return *this;
}
Launch& Launch::closed(int number) {
  closed_.push_back(number);
  return *this;
}
Launch& Launch::cwd(const std::string& path) {
  cwd_ = path;
  return *this;
}
Launch& Launch::umask(mode_t mask) {
  umask_ = mask;
  return *this;
}
Launch& Launch::nice(int increment) {
  nice_ = increment;
  return *this;
}
Launch& Launch::core_files_allowed() {
  core_files_ = true;
  return *this;
}
Launch& Launch::ignoring(int signal) {
  ignored_.push_back(signal);
  return *this;
}
Launch& Launch::blocking(int signal) {
  blocked_.push_back(signal);
  return *this;
}
Launch& Launch::blocking_all() {
  for (int number = 1; number <= SIGRTMAX; ++number) blocked_.push_back(number);
  return *this;
}
Launch& Launch::on_terminal(const std::string& path) {
  terminal_ = path;
  return *this;
}
Launch& Launch::under(const std::vector<std::string>& words) {
  argv_.insert(argv_.begin(), words.begin(), words.end());
  return *this;
}
Launch& Launch::args(const std::vector<std::string>& more) {
  argv_.insert(argv_.end(), more.begin(), more.end());
  return *this;
}

void Launch::set_up_descriptors(int out, int err) const {
  const UniqueFd null = raised(::open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd text;
  if (stdin_text_) {
    text = memory_file("stdin");
    const auto size = static_cast<ssize_t>(stdin_text_->size());
    if (::write(text.get(), stdin_text_->data(), stdin_text_->size()) != size)
      ::_exit(kSetUpFailed);
    ::lseek(text.get(), 0, SEEK_SET);
  }
  ::dup2(stdin_text_ ? text.get() : null.get(), 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (!terminal_.empty()) {
    const UniqueFd terminal(::open(terminal_.c_str(), O_RDWR | O_CLOEXEC));
    if (::ioctl(terminal.get(), TIOCSCTTY, 0) != 0) ::_exit(kSetUpFailed);
    for (const int number : {0, 1, 2}) ::dup2(terminal.get(), number);
  }
  // The sources may sit where another one is to go, so all are lifted out of the way first.
  std::map<int, int> lifted;
  for (const auto& [number, fd] : descriptors_) {
    lifted[number] = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstOwnFd);
  }
  ::close_range(3, kFirstOwnFd - 1, 0);
  ::close_range(kFirstOwnFd, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const auto& [number, fd] : lifted) ::dup2(fd, number);
  for (const int number : closed_) ::close(number);
}

void Launch::set_up_signals() const {
  for (int number = 1; number <= SIGRTMAX; ++number) ::signal(number, SIG_DFL);
  for (const int number : ignored_) ::signal(number, SIG_IGN);
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int number : blocked_) ::sigaddset(&mask, number);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

void Launch::become(int out, int err, pid_t parent) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kSetUpFailed);
  ::setsid();
  set_up_descriptors(out, err);
  ::umask(umask_);
  if (!cwd_.empty() && ::chdir(cwd_.c_str()) != 0) ::_exit(kSetUpFailed);
  if (nice_ != 0) (void)::setpriority(PRIO_PROCESS, 0, nice_);
  const rlimit core{core_files_ ? RLIM_INFINITY : 0, RLIM_INFINITY};
  ::setrlimit(RLIMIT_CORE, &core);

  std::vector<std::string> environment = base_environment();
  for (const auto& [name, value] : changed_env_) {
    std::erase_if(environment, [&name = name](const std::string& entry) {
      return entry.rfind(name + "=", 0) == 0;
    });
    environment.push_back(name + "=" + value);
  }
  for (const std::string& name : removed_env_) {
    std::erase_if(environment,
                  [&name](const std::string& entry) { return entry.rfind(name + "=", 0) == 0; });
  }
  std::vector<std::string> argv = argv_;
  std::vector<char*> environment_pointers = pointers(environment);
  std::vector<char*> argv_pointers = pointers(argv);
  set_up_signals();
  ::execvpe(argv_pointers[0], argv_pointers.data(), environment_pointers.data());
  const std::string complaint = "launch: " + argv_[0] + ": " + std::strerror(errno) + "\n";
  if (::write(err, complaint.data(), complaint.size()) < 0) ::_exit(kSetUpFailed);
  ::_exit(kSetUpFailed);
}

Run Launch::start() const {
  auto state = std::make_unique<Run::State>();
  state->out = memory_file("stdout");
  state->err = memory_file("stderr");
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) become(state->out.get(), state->err.get(), parent);
  state->pid = child;
  return Run(std::move(state));
}

Pipe::Pipe() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  reader = raised(ends[0]);
  writer = raised(ends[1]);
}

std::string drain(int fd) {
  std::string content;
  std::array<char, 4096> block{};
  for (ssize_t got = 0; (got = ::read(fd, block.data(), block.size())) > 0;) {
    content.append(block.data(), static_cast<std::size_t>(got));
  }
  return content;
}

}  // namespace redlock::test
