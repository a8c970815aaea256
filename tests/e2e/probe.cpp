// The COMMAND of the tests: performs the actions named by its arguments, in order, and exits 0
// after the last one. Every action is one line of kActions; stamps go to a job log (job_log.h).
// Nothing here lives longer than two minutes, whatever becomes of the test.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>

#include "support/job_log.h"

namespace {

using redlock::test::append_stamp;

constexpr long kLifetimeMs = 120'000;
constexpr long kBeatMs = 5;

long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

void nap() {
  const timespec span{0, kBeatMs * 1'000'000};
  ::nanosleep(&span, nullptr);
}

[[noreturn]] void misuse(const std::string& what) {
  std::fprintf(stderr, "probe: %s\n", what.c_str());
  std::exit(98);
}

/// The arguments not yet used.
class Words {
 public:
  Words(int argc, char** argv) : next_(argv + 1), end_(argv + argc) {}
  bool empty() const { return next_ == end_; }
  const char* take() {
    if (empty()) misuse("an argument is missing");
    return *next_++;
  }
  long number() { return std::strtol(take(), nullptr, 10); }

 private:
  char** next_;
  char** end_;
};

// Signals ------------------------------------------------------------------------------------

const char* signal_file = nullptr;
const char* term_log = nullptr;
const char* term_run = nullptr;

void note_signal(int number) {
  std::array<char, 8> line{};
  const int length = std::snprintf(line.data(), line.size(), "%d\n", number);
  const int fd = ::open(signal_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (::write(fd, line.data(), static_cast<std::size_t>(length)) < 0) ::_exit(97);
  ::close(fd);
}

void note_term(int) {
  append_stamp(term_log, "term", term_run);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

/// "1,15" -> both.
void for_each_signal(const char* list, void (*handler)(int)) {
  for (const char* at = list; *at != '\0';) {
    char* end = nullptr;
    handle(static_cast<int>(std::strtol(at, &end, 10)), handler);
    at = *end == ',' ? end + 1 : end;
  }
}

void count_signals(Words& words) {
  signal_file = words.take();
  for_each_signal(words.take(), note_signal);
}

/// Sends to the front process: the parent of our parent.
void signal_front(Words& words) {
  const int number = static_cast<int>(words.number());
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%ld/stat", static_cast<long>(::getppid()));
  long front = -1;
  if (FILE* file = std::fopen(path.data(), "re")) {
    if (std::fscanf(file, "%*d (%*[^)]) %*c %ld", &front) != 1) front = -1;
    std::fclose(file);
  }
  if (front <= 1) misuse("no front process");
  ::kill(static_cast<pid_t>(front), number);
}

// Signs of life ------------------------------------------------------------------------------

void beat_while(const char* log, const char* run, const std::function<bool()>& go_on,
                bool busy = false) {
  const long end = now_ms() + kLifetimeMs;
  long next = 0;
  while (go_on() && now_ms() < end) {
    if (now_ms() >= next) {
      append_stamp(log, "beat", run);
      next = now_ms() + kBeatMs;
    }
    if (!busy) nap();
  }
}

/// How long a spawned process beats unless it is killed.
long child_life_ms = kLifetimeMs;

/// Of a process that nobody waits for.
[[noreturn]] void beat_forever(const char* log, const char* run, bool busy = false) {
  const long end = now_ms() + child_life_ms;
  beat_while(log, run, [end] { return now_ms() < end; }, busy);
  ::_exit(0);
}

void beat_for(Words& words) {
  const char* log = words.take();
  const char* run = words.take();
  const long end = now_ms() + words.number();
  beat_while(log, run, [end] { return now_ms() < end; });
}

void beat_until(Words& words) {
  const char* log = words.take();
  const char* run = words.take();
  const char* file = words.take();
  beat_while(log, run, [file] { return ::access(file, F_OK) != 0; });
}

void await(Words& words) {
  const char* file = words.take();
  const long end = now_ms() + kLifetimeMs;
  while (::access(file, F_OK) != 0 && now_ms() < end) nap();
}

void touch(Words& words) {
  const int fd = ::open(words.take(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) misuse("touch failed");
  ::close(fd);
}

// Children of every shape that escapes somebody -------------------------------------------------

const std::map<std::string, std::function<void(const char*, const char*)>> kShapes{
    {"child", [](const char* log, const char* run) { beat_forever(log, run); }},
    {"deaf",
     [](const char* log, const char* run) {
       handle(SIGTERM, SIG_IGN);
       beat_forever(log, run);
     }},
    {"session",  // own session; notes SIGTERM and stays
     [](const char* log, const char* run) {
       ::setsid();
       term_log = log;
       term_run = run;
       handle(SIGTERM, note_term);
       beat_forever(log, run);
     }},
    {"daemon",  // own session, and no longer a child of the job
     [](const char* log, const char* run) {
       ::setsid();
       if (::fork() != 0) ::_exit(0);
       handle(SIGTERM, SIG_IGN);
       beat_forever(log, run);
     }},
    {"stopped",
     [](const char* log, const char* run) {
       append_stamp(log, "beat", run);
       ::raise(SIGSTOP);
       handle(SIGTERM, SIG_IGN);
       beat_forever(log, run);
     }},
    {"busy",
     [](const char* log, const char* run) {
       handle(SIGTERM, SIG_IGN);
       beat_forever(log, run, true);
     }},
    {"orphan",  // a member of the job's session whose parent has ended
     [](const char* log, const char* run) {
       if (::fork() != 0) ::_exit(0);
       beat_forever(log, run);
     }},
};

/// Every spawned process has the writing end, until it ends.
std::array<int, 2> life_line{-1, -1};

void spawn(Words& words) {
  if (life_line[0] < 0 && ::pipe2(life_line.data(), O_CLOEXEC) != 0) misuse("no pipe");
  const auto shape = kShapes.find(words.take());
  if (shape == kShapes.end()) misuse("no such shape");
  const char* log = words.take();
  const char* run = words.take();
  if (::fork() == 0) {
    shape->second(log, run);
    ::_exit(0);
  }
}

/// Waits for the end of all that was spawned, however it has come loose from us.
void gather(Words&) {
  if (life_line[0] < 0) return;
  ::close(life_line[1]);
  char nothing = 0;
  while (::read(life_line[0], &nothing, 1) < 0 && errno == EINTR) continue;
  ::close(life_line[0]);
  life_line = {-1, -1};
}

/// A child that writes to stderr as fast as it can.
void chatter(Words&) {
  if (::fork() != 0) return;
  const long end = now_ms() + kLifetimeMs;
  while (now_ms() < end && ::write(2, "chatter\n", 8) > 0) continue;
  ::_exit(0);
}

void many_orphans(Words& words) {
  for (long left = words.number(); left > 0; --left) {
    if (::fork() == 0) {
      if (::fork() == 0) nap();
      ::_exit(static_cast<int>(left % 7));
    }
  }
}

// Reports ------------------------------------------------------------------------------------

void copy_stdin(Words&) {
  std::array<char, 65536> block{};
  for (ssize_t got = 0; (got = ::read(0, block.data(), block.size())) > 0;) {
    if (::write(1, block.data(), static_cast<std::size_t>(got)) != got) misuse("short write");
  }
}

void report_signals(FILE* out) {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action{};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      std::fprintf(out, "ignored %d\n", number);
    }
  }
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (::sigismember(&mask, number) == 1) std::fprintf(out, "blocked %d\n", number);
  }
}

void report_limits(FILE* out) {
  for (const int resource : {RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_NPROC}) {
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    std::fprintf(out, "limit %d %llu %llu\n", resource,
                 static_cast<unsigned long long>(limit.rlim_cur),
                 static_cast<unsigned long long>(limit.rlim_max));
  }
}

void report_file(FILE* out, const char* label, const char* path) {
  std::array<char, 64> content{};
  if (FILE* file = std::fopen(path, "re")) {
    if (std::fgets(content.data(), content.size(), file) == nullptr) content[0] = '\0';
    std::fclose(file);
  }
  content[std::strcspn(content.data(), "\n")] = '\0';
  std::fprintf(out, "%s %s\n", label, content.data());
}

std::string open_descriptors() {
  std::string lines;
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) continue;
    std::array<char, 4096> target{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), target.data(), target.size() - 1) < 0) continue;
    lines += "fd " + std::to_string(fd) + " " + target.data() + "\n";
  }
  return lines;
}

void report(Words& words) {
  const std::string open = open_descriptors();  // before anything is opened here
  FILE* out = std::fopen(words.take(), "we");
  if (out == nullptr) misuse("cannot write the report");
  std::fputs(open.c_str(), out);
  report_signals(out);
  report_limits(out);
  report_file(out, "oom_score_adj", "/proc/self/oom_score_adj");
  report_file(out, "timer_slack", "/proc/self/timerslack_ns");
  std::array<char, 4096> directory{};
  std::fprintf(out, "cwd %s\n", ::getcwd(directory.data(), directory.size()));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  std::fprintf(out, "umask %o\n", static_cast<unsigned>(mask));
  std::fprintf(out, "nice %d\n", ::getpriority(PRIO_PROCESS, 0));
  std::fprintf(out, "dumpable %d\n", ::prctl(PR_GET_DUMPABLE));
  std::fprintf(out, "pid %ld\n", static_cast<long>(::getpid()));
  std::fprintf(out, "group %ld\n", static_cast<long>(::getpgrp()));
  std::fprintf(out, "session %ld\n", static_cast<long>(::getsid(0)));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::fprintf(out, "env %s\n", *entry);
  }
  std::fclose(out);
}

const std::map<std::string, std::function<void(Words&)>> kActions{
    {"report", report},  // FILE
    {"exit", [](Words& words) { std::exit(static_cast<int>(words.number())); }},
    {"enter",
     [](Words& words) {  // LOG RUN
       const char* log = words.take();
       append_stamp(log, "enter", words.take());
     }},
    {"leave",
     [](Words& words) {  // LOG RUN
       const char* log = words.take();
       append_stamp(log, "leave", words.take());
     }},
    {"beat", beat_for},          // LOG RUN MILLISECONDS
    {"beat-until", beat_until},  // LOG RUN FILE
    {"beat-forever",
     [](Words& words) {  // LOG RUN
       const char* log = words.take();
       beat_forever(log, words.take());
     }},
    {"await", await},                                                          // FILE
    {"touch", touch},                                                          // FILE
    {"ignore", [](Words& words) { for_each_signal(words.take(), SIG_IGN); }},  // NUMBER[,NUMBER]...
    {"count", count_signals},        // FILE NUMBER[,NUMBER]...
    {"signal-front", signal_front},  // NUMBER
    {"close", [](Words& words) { ::close(static_cast<int>(words.number())); }},  // NUMBER
    {"spawn", spawn},                                                            // SHAPE LOG RUN
    {"children-live", [](Words& words) { child_life_ms = words.number(); }},     // MILLISECONDS
    {"gather", gather},                                                          //
    {"chatter", chatter},                                                        //
    {"orphans", many_orphans},                                                   // COUNT
    {"copy", copy_stdin},                                                        //
};

}  // namespace

int main(int argc, char** argv) {
  Words words(argc, argv);
  while (!words.empty()) {
    const std::string name = words.take();
    const auto action = kActions.find(name);
    if (action == kActions.end()) misuse("no action " + name);
    action->second(words);
  }
  return 0;
}
