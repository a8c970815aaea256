// The words for single things that lines are made of.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/node_io.h"

namespace redlock::app {

const char* word_for(core::RequestKind kind);
const char* word_for(core::Answer answer);

/// `pid 12 (rsync), 13 (sh, uninterruptible)`.
std::string list_processes(const std::vector<pid_t>& pids);

/// A server's words, to go on behind them.
std::string without_full_stop(std::string text);

/// Why `command` could not be executed, `error` being the errno of exec.
std::string exec_reason(int error, const std::string& command);

}  // namespace redlock::app
