#include "app/wording.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"
#include "os/procfs.h"

namespace redlock::app {

const char* word_for(core::RequestKind kind) {
  switch (kind) {
    case core::RequestKind::acquire:
      return "acquire";
    case core::RequestKind::heal:
      return "heal";
    case core::RequestKind::renew:
      return "renew";
    case core::RequestKind::release:
      return "release";
  }
  RR_ASSERT(false);
  return "";
}

const char* word_for(core::Answer answer) {
  switch (answer) {
    case core::Answer::granted:
      return "granted";
    case core::Answer::held:
      return "held";
    case core::Answer::foreign:
      return "foreign";
    case core::Answer::gone:
      return "gone";
    case core::Answer::young:
      return "young";
    case core::Answer::failed:
      return "failed";
    case core::Answer::refused:
      return "refused";
    case core::Answer::misconfigured:
      return "misconfigured";
    case core::Answer::misplaced:
      return "misplaced";
    case core::Answer::unknown:
      return "unknown";
  }
  RR_ASSERT(false);
  return "";
}

std::string list_processes(const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids) {
    char name[16];
    os::process_name(pid, name);
    const char state = os::process_stat(pid).state;
    text += fmt::format("{}{} ({}{})", text.empty() ? "pid " : ", ", pid, name,
                        state == 'D' ? ", uninterruptible" : "");
  }
  return text;
}

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string exec_reason(int error, const std::string& command) {
  if (error == ENOENT && command.find('/') == std::string::npos) {
    if (command.front() == '-') return "not found in PATH; options go before NAME";
    const bool blank = command.find(' ') != std::string::npos;
    return blank ? "not found in PATH; for a shell command use -c" : "not found in PATH";
  }
  if (error == ENOENT && command.find('/') != std::string::npos &&
      ::access(command.c_str(), F_OK) == 0) {
    return "the interpreter that it names was not found";
  }
  return ::strerror(error);
}

}  // namespace redlock::app
