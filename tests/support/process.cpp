#include "support/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "support/temp_dir.h"
#include "support/wait.h"

namespace redlock::test {
namespace {

std::string proc_path(pid_t pid, const std::string& name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> all;
  std::error_code vanished;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", vanished)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (auto stat = process_stat(std::atoi(name.c_str()))) all.push_back(*stat);
  }
  return all;
}

bool is_dead_state(char state) {
  return state == 'Z' || state == 'X' || state == 'x';
}

}  // namespace

std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::string line = read_file(proc_path(pid, "stat"));
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');  // the name itself may hold parentheses
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  ProcessStat stat;
  stat.pid = pid;
  stat.name = line.substr(open + 1, close - open - 1);
  std::istringstream rest(line.substr(close + 1));
  rest >> stat.state >> stat.parent >> stat.group >> stat.session;
  return stat;
}

bool is_running(pid_t pid) {
  const auto stat = process_stat(pid);
  return stat && !is_dead_state(stat->state);
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const ProcessStat& stat : all_processes()) {
    if (stat.parent == pid && !is_dead_state(stat.state)) children.push_back(stat.pid);
  }
  return children;
}

std::vector<pid_t> descendants_of(pid_t pid) {
  const std::vector<ProcessStat> all = all_processes();
  std::vector<pid_t> found{pid};
  for (std::size_t next = 0; next < found.size(); ++next) {
    for (const ProcessStat& stat : all) {
      // A dead parent may still hold living children for a moment, so zombies are walked through.
      if (stat.parent == found[next]) found.push_back(stat.pid);
    }
  }
  found.erase(found.begin());
  std::erase_if(found, [](pid_t each) { return !is_running(each); });
  return found;
}

std::string proc_file(pid_t pid, const std::string& name) {
  return read_file(proc_path(pid, name));
}

std::string proc_link(pid_t pid, const std::string& name) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(proc_path(pid, name).c_str(), target.data(), target.size() - 1);
  return length < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

std::map<int, std::string> descriptors(pid_t pid) {
  std::map<int, std::string> open;
  std::error_code vanished;
  for (const auto& entry : std::filesystem::directory_iterator(proc_path(pid, "fd"), vanished)) {
    const std::string number = entry.path().filename().string();
    open[std::atoi(number.c_str())] = proc_link(pid, "fd/" + number);
  }
  return open;
}

long status_number(pid_t pid, const std::string& key) {
  std::istringstream lines(proc_file(pid, "status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::atol(line.c_str() + key.size() + 1);
  }
  return -1;
}

void kill_orphans(const std::vector<pid_t>& spared) {
  const auto sweep = [&spared] {
    std::vector<pid_t> doomed;
    for (const pid_t child : children_of(::getpid())) {
      if (std::find(spared.begin(), spared.end(), child) != spared.end()) continue;
      doomed.push_back(child);
      const std::vector<pid_t> below = descendants_of(child);
      doomed.insert(doomed.end(), below.begin(), below.end());
    }
    for (const pid_t pid : doomed) ::kill(pid, SIGKILL);
    for (const pid_t pid : doomed) ::waitpid(pid, nullptr, WNOHANG);
    return doomed.empty();
  };
  (void)wait_until(sweep, milliseconds(5'000));
}

}  // namespace redlock::test
