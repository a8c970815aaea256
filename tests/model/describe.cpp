// Searches in words.
#include <array>
#include <cstdio>
#include <string>

#include "model/search.h"

namespace redlock::model {
namespace {

constexpr std::array<const char*, 4> kAsks = {"acquire", "heal", "renew", "release"};
constexpr std::array<const char*, 10> kAnswers = {"granted",   "held",   "foreign", "gone",
                                                  "young",     "failed", "refused", "misconfigured",
                                                  "misplaced", "unknown"};

std::string request(const Message& message) {
  std::string text = kAsks.at(static_cast<std::size_t>(message.kind));
  if (message.kind == Ask::renew && message.fence > 0) {
    text += " and raise to " + std::to_string(message.fence);
  }
  return text;
}

std::string answer(const Message& message) {
  std::string text = request(message) + ": " + kAnswers.at(message.answer);
  if (message.number > 0) text += " " + std::to_string(message.number);
  return text;
}

/// The first message of the connection that is in `stage`.
Message first_in(const Link& link, Stage stage) {
  for (const Message& message : link.messages) {
    if (message.stage == stage) return message;
  }
  return {};
}

/// The message behind those that were replies already.
Message executed(const Link& before, const Link& after) {
  for (std::size_t i = 0; i < before.messages.size(); ++i) {
    if (before.messages[i].stage == Stage::wire) return after.messages[i];
  }
  return {};
}

std::string milliseconds(std::int64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g ms", static_cast<double>(ns) / 1e6);
  return text.data();
}

std::string what(const Action& action, const State& before, const State& after) {
  const Link& link = before.places[action.node].links[action.client];
  const Link& then = after.places[action.node].links[action.client];
  switch (action.kind) {
    case Action::begin:
      return "begins" + (action.arg > 0 ? ", its clock at " + std::to_string(action.arg) : "");
    case Action::serve:
      return "executes " + answer(executed(link, then));
    case Action::reply:
      return "hears " + answer(first_in(link, Stage::reply));
    case Action::serve_ghost: {
      const Ghost& ghost = before.places[action.node].server.ghosts[action.arg];
      return std::string("executes what outlived its connection: ") +
             kAsks.at(static_cast<std::size_t>(ghost.kind));
    }
    case Action::tick:
      return "wakes up";
    case Action::give_back:
      return "is told to give back";
    case Action::crash:
      return "is killed";
    case Action::cut:
      return "loses its connection";
    case Action::connect:
      return "is connected";
    case Action::no_connect:
      return "gets no connection";
    case Action::notice:
      return "notices the restart";
    case Action::restart:
      return "restarts without memory";
    case Action::expire:
      return "lets the key expire";
    case Action::pass:
      return milliseconds(after.clients[0].lease != 0
                              ? after.clients[0].age - before.clients[0].age
                              : after.clients[1].age - before.clients[1].age) +
             " pass";
    case Action::pause:
      return "stands still";
    case Action::resume:
      return "goes on";
  }
  return "";
}

}  // namespace

std::string describe(const Action& action, const State& before, const State& after,
                     const Turn& turn) {
  const std::string client = (action.client == 0) != turn.swapped ? "A" : "B";
  const std::string server = "server " + std::to_string(turn.order[action.node] + 1);
  std::string text;
  switch (action.kind) {
    case Action::begin:
    case Action::tick:
    case Action::give_back:
    case Action::crash:
    case Action::pause:
    case Action::resume:
      text = client + " ";
      break;
    case Action::reply:
    case Action::cut:
    case Action::connect:
    case Action::no_connect:
    case Action::notice:
      text = client + " at " + server + " ";
      break;
    case Action::serve:
      text = server + " for " + client + " ";
      break;
    case Action::serve_ghost:
    case Action::restart:
    case Action::expire:
      text = server + " ";
      break;
    case Action::pass:
      break;
  }
  return text + what(action, before, after);
}

void report(const std::string& title, const Rules& rules, const Result& result) {
  std::printf("%s\n", title.c_str());
  std::printf(
      "  at most: %d runs a client, %d attempts a run, %d rounds of renewals, %d slow messages, %d "
      "breaks, "
      "%d restarts without memory, %d pauses, %d kills\n",
      rules.runs, rules.attempts, rules.rounds, rules.delays, rules.breaks, rules.restarts,
      rules.pauses, rules.crashes);
  std::printf(
      "  %llu states (up to names), %llu transitions, depth %u, %zu leases, %zu steps of the "
      "core, %.1f s: %s\n",
      static_cast<unsigned long long>(result.states),
      static_cast<unsigned long long>(result.transitions), result.depth, result.leases,
      result.steps, result.seconds,
      result.violation  ? "VIOLATION"
      : result.complete ? "exhaustive within these bounds"
                        : "bounded to this depth, not exhaustive");
  if (!result.violation) return;
  std::printf("  the shortest way, %zu actions:\n", result.trace.size() - 1);
  for (const std::string& line : result.trace) std::printf("    %s\n", line.c_str());
}

}  // namespace redlock::model
