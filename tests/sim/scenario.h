// Stories about the lock, told in a small language and played in the simulator.
//
//   nodes 3   ttl 3s   hosts 2          what there is; three spaces apart; see kSettings
//   0s      a runs a job of 20s         at a time: what happens, or what must be so
//   2s      node 1 restarts empty
//   6s      every node holds a's key
//   expect  a ends with 0               at the end: what must have come to pass
//
// All sentences stand in scenario.cpp, in kHappenings, kFacts and kExpectations. Hosts are called
// a, b, c...; nodes are counted from 1. Every check of sim/checks.h holds in every story, unless it
// expects one to fail.
#pragma once

#include <string>

namespace redlock::sim {

/// Plays the story with several seeds, which differ in delays and clocks. Empty if all is as it
/// should be; else what is not, with the trace that led there.
std::string play(const std::string& story);

}  // namespace redlock::sim
