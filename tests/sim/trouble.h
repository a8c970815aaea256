// What goes wrong in a random world, and when: whatever the plan allows and no more.
#pragma once

#include <vector>

#include "sim/world.h"

namespace redlock::sim {

class Trouble {
 public:
  explicit Trouble(World& world) : world_(world) {}

  /// Makes trouble until it is over, then calms the world down.
  void begin();

 private:
  void make_some();
  void trouble_anybody();
  /// Calm::rolling: one minority after the other.
  void roll();
  void trouble_process(Host& host);
  void trouble_node(std::size_t node, Duration most);
  /// What leads to the node: for one of the hosts or all of them.
  void trouble_links(std::size_t node, bool all, Duration most);
  void trouble_link(Link& link, Duration most);
  void crash(Node& node, Duration most);
  /// Whether this server may forget what it knows; plan.h says why.
  bool may_forget(Node& node);
  std::size_t any_node();
  Host& any_host();
  Duration some(Duration most) { return world_.chance.up_to(most); }

  World& world_;
};

}  // namespace redlock::sim
