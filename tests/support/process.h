// What /proc says about processes. A zombie is dead here: kill(pid, 0) would call it alive.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace redlock::test {

struct ProcessStat {
  pid_t pid = 0;
  std::string name;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

/// Nothing when there is no such process, not even a zombie.
std::optional<ProcessStat> process_stat(pid_t pid);
/// True unless it is gone, a zombie or being buried.
bool is_running(pid_t pid);
/// Living processes whose parent is `pid`.
std::vector<pid_t> children_of(pid_t pid);
/// Living children, their children and so on.
std::vector<pid_t> descendants_of(pid_t pid);
/// Raw content of /proc/PID/`name` ("cmdline", "environ", "status"); empty when it is gone.
std::string proc_file(pid_t pid, const std::string& name);
/// Target of /proc/PID/`name` ("cwd", "fd/0"); empty when it is gone.
std::string proc_link(pid_t pid, const std::string& name);
/// Open descriptors of a process and what they point to.
std::map<int, std::string> descriptors(pid_t pid);
/// The number in line `key` of /proc/PID/status; -1 when it is gone.
long status_number(pid_t pid, const std::string& key);

/// Kills every descendant of the calling process that is a child now or becomes one (it must be a
/// subreaper), except the trees of `spared`, and reaps them.
void kill_orphans(const std::vector<pid_t>& spared = {});

}  // namespace redlock::test
