// Stories of servers: what restarts, silence and strangers on them cost, and what they do not.
#include "sim/story.h"

namespace redlock::sim {
namespace {

TEST_CASE("a rolling restart of all three servers, empty, does not cost the lease") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 12s
0.5s   b runs a job of 1s
2s     node 1 restarts empty
4s     node 2 restarts empty
6s     node 3 restarts empty
8s     every node holds a's key
expect a ends with 0
expect b ends with 0
expect nobody loses
)");
}

TEST_CASE("nor one of five, two at a time") {
  STORY(R"(
nodes 5   ttl 3s   hosts 2
0s     a runs a job of 12s
0.5s   b runs a job of 1s
2s     nodes 1,2 restart empty
4s     nodes 3,4 restart empty
6s     nodes 5,1 restart empty
8s     every node holds a's key
expect a ends with 0
expect nobody loses
)");
}

TEST_CASE("all servers at once may restart if they remember") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 5s
0.5s   b runs a job of 1s
2s     every node restarts
4s     every node holds a's key
expect a ends with 0
expect b ends with 0
expect nobody loses
)");
}

TEST_CASE("a majority that forgets is a loss, and the job is dead before anybody else's begins") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s, ignoring TERM
0.1s   b runs a job of 1s
2.2s   nodes 1,2 restart empty
expect a ends with lost
expect a's job is over by 3.6s
expect a's job is over before b's begins
expect b ends with 0
)");
}

TEST_CASE("one server that forgets its only copy ends the job at the next renewal") {
  STORY(R"(
nodes 1   ttl 3s   hosts 1
0s     a runs a job of 20s
1.5s   node 1 restarts empty
expect a ends with lost
expect a's job is over by 2.1s
)");
}

TEST_CASE("a server that comes back with an old snapshot is renewed or healed like the others") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 8s
0.5s   node 1 saves
0.6s   b runs a job of 1s
4.2s   node 1 restarts from the snapshot
6.5s   every node holds a's key
expect a ends with 0
expect nobody loses
)");
}

TEST_CASE("a silent minority costs no time, neither at the acquisition nor at the release") {
  STORY(R"(
nodes 5   ttl 3s   hosts 1
0s     a is cut off from nodes 4,5
0s     a runs a job of 1s
expect a's job begins by 30ms
expect a ends with 0
expect a is over by 1.25s
)");
  STORY(R"(
nodes 5   ttl 3s   hosts 1
0s     nodes 1,2 hang
0s     a runs a job of 1s
expect a's job begins by 30ms
expect a is over by 1.25s
)");
}

TEST_CASE("a minority that cannot be reached at the release does not hold up the next") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 2s
0.5s   b runs a job of 1s
1s     a is cut off from node 3
1s     b is cut off from node 3
expect a ends with 0
expect b's job begins by 5.5s
expect b ends with 0
)");
}

TEST_CASE("a SET that is executed late is undone by the release behind it") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a is cut off from node 3
0s     a runs a job of 5s
0.4s   node 3 hangs
0.5s   b runs a job of 1s, without waiting
0.9s   node 3 holds no key
1s     node 3 goes on
1.1s   node 3 holds no key
expect b ends with held
expect a ends with 0
)");
}

TEST_CASE("a stale key on a minority is in nobody's way, and the server is won back later") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     a stranger takes node 3 for 2s
0.1s   a runs a job of 6s
1s     node 3 holds a stranger's key
4s     every node holds a's key
expect a's job begins by 150ms
expect a ends with 0
)");
}

TEST_CASE("a stranger's key on a minority is never touched") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     a stranger takes node 3 for 20s
0.1s   a runs a job of 6s
5.9s   node 3 holds a stranger's key
8s     node 3 holds a stranger's key
8s     nodes 1,2 hold no key
expect a ends with 0
expect nobody loses
)");
}

TEST_CASE("a majority of strangers' keys is held, and they stay") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     a stranger takes nodes 1,2 for 20s
0.1s   a runs a job of 6s, waiting 3s
4s     nodes 1,2 hold a stranger's key
4s     node 3 holds no key
expect a ends with held
expect a is over by 3.4s
)");
}

TEST_CASE("servers that started just now do not vote") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     nodes 1,2 restart empty
1s     a runs a job of 1s, without waiting
1s     b runs a job of 1s
expect a ends with no quorum
expect a never runs a job
expect b's job begins after 3s
expect b ends with 0
)");
}

TEST_CASE("a young minority does not hinder, and is taken along") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     node 1 restarts empty
1s     a runs a job of 4s
1.05s  node 1 holds no key
1.5s   every node holds a's key
expect a's job begins by 1.05s
expect a ends with 0
)");
}

TEST_CASE("what forgot the key gets it back only when a quorum of others has confirmed") {
  STORY(R"(
nodes 5   ttl 3s   hosts 1
0s     a runs a job of 8s
2.2s   a is cut off from nodes 4,5
2.3s   node 1 restarts empty
3s     node 1 holds no key
3s     a reaches nodes 4,5 again
5.5s   every node holds a's key
expect a ends with 0
expect nobody loses
)");
}

TEST_CASE("a server that is listed twice is a mistake, and nothing is left on any") {
  STORY(R"(
nodes 2   hosts 1   everybody lists nodes 1,1,2,2   ttl 3s
0s     a runs a job of 1s
1s     every node holds no key
expect a ends with misconfigured
expect a never runs a job
)");
}

TEST_CASE("clocks of servers may be almost one percent fast or slow") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     the clock of every node is 9500 ppm fast
0s     a runs a job of 20s, ignoring TERM
0.5s   b runs a job of 1s
8s     a is cut off from every node
expect a ends with lost
expect a's job is over before b's begins
)");
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     the clock of every node is -9500 ppm fast
0s     a runs a job of 5s
0.5s   b runs a job of 1s
expect a ends with 0
expect b ends with 0
)");
}

}  // namespace
}  // namespace redlock::sim
