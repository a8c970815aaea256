// Runs a program once and measures it as a whole: from before its start until it has been reaped.
#pragma once

#include <string>
#include <vector>

namespace redlock::bench {

/// What one execution cost. Processor time and page faults include the descendants that were
/// waited for; unlike the time they hardly depend on what else the machine does.
struct Execution {
  int status = 0;  ///< exit status, or 128 + the signal
  double wall_ms = 0;
  double cpu_ms = 0;
  double faults = 0;
  double started_ms = 0;  ///< on clock_ms()
  double ended_ms = 0;    ///< on clock_ms()
  std::string out;        ///< at most what a pipe holds
  std::string err;
};

/// Milliseconds on CLOCK_REALTIME, the clock of the server's MONITOR lines.
double clock_ms();

/// stdin is /dev/null. A program that cannot be started ends the bench.
Execution execute(const std::vector<std::string>& argv);

/// What exec() takes; points into `argv`.
std::vector<char*> exec_arguments(const std::vector<std::string>& argv);

/// Ends the bench: prints `message`, exits with 70.
[[noreturn]] void give_up(const std::string& message);

}  // namespace redlock::bench
