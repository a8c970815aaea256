// Stories of hosts: partitions, processes that stop or die, stubborn jobs, rivals and waits.
#include "sim/story.h"

namespace redlock::sim {
namespace {

TEST_CASE("a holder that is cut off stops its job before another's may begin") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s
0.2s   b runs a job of 1s
3.5s   a is cut off from every node
expect a ends with lost
expect a's job is over by 5.2s
expect a's job is over before b's begins
expect b's job begins by 10s
expect b ends with 0
)");
}

TEST_CASE("a job that ignores TERM is killed in time") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s, ignoring TERM
0.2s   b runs a job of 1s
3.5s   a is cut off from every node
expect a ends with lost
expect a's job is over by 6s
expect a's job is over before b's begins
)");
}

TEST_CASE("a holder that is cut off from a minority goes on, and is whole again afterwards") {
  STORY(R"(
nodes 5   ttl 3s   hosts 1
0s     a runs a job of 15s
2s     a is cut off from nodes 1,2
8s     a reaches nodes 1,2 again
11s    every node holds a's key
expect a ends with 0
expect nobody loses
)");
}

TEST_CASE("a majority that is heard but does not hear is as good as none") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s
0.2s   b runs a job of 1s
2.5s   a is not heard by nodes 1,2
expect a ends with lost
expect a's job is over before b's begins
expect b ends with 0
)");
}

TEST_CASE("a majority that hears but is not heard is none either, and does not block for ever") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s
0.2s   b runs a job of 1s
2.5s   a hears nothing of nodes 1,2
expect a ends with lost
expect a's job is over before b's begins
expect b ends with 0
)");
}

TEST_CASE("connections that break cost nothing") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     a runs a job of 6s
1.5s   a's connection to every node breaks
2.5s   a's connection to every node breaks
3.5s   a's connection to nodes 1,2 breaks
5s     every node holds a's key
expect a ends with 0
expect nobody loses
)");
}

TEST_CASE("a front that stops for longer than the ttl: the guard kills in time") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s, ignoring TERM
0.2s   b runs a job of 1s
2.5s   a's front stops
4.9s   a's job does not run
10s    a's front goes on
expect a ends with lost
expect a's job is over before b's begins
expect b ends with 0
)");
}

TEST_CASE("a front that is killed: the guard ends the job, and the lock comes free with the ttl") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s, ignoring TERM
0.2s   b runs a job of 1s
2.5s   a's front is killed
3.5s   nobody's job runs
expect a's job is over before b's begins
expect b's job begins by 8.5s
expect b ends with 0
)");
}

TEST_CASE("a guard that is killed takes the job with it, and the lock is given back at once") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     a runs a job of 20s
2s     a's guard is killed
2.1s   a's job does not run
2.3s   every node holds no key
expect a ends with lost
)");
}

TEST_CASE("a guard that stops is replaced by its death when the lease runs out") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s, ignoring TERM
0.2s   b runs a job of 1s
2.5s   a's guard stops
2.6s   a is cut off from every node
expect a ends with lost
expect a's job is over before b's begins
)");
}

TEST_CASE("two rivals on two servers do not block each other for long") {
  STORY(R"(
nodes 2   ttl 3s   hosts 2
0s     all run a job of 500ms
expect 2 jobs
expect a is over by 8s
expect b is over by 8s
)");
}

TEST_CASE("of twenty rivals that do not wait exactly one runs") {
  for (const char* const nodes : {"nodes 2", "nodes 3", "nodes 4", "nodes 5"}) {
    STORY(std::string(nodes) + R"(   ttl 3s   hosts 20
0s     all run a job of 10s, without waiting
expect 1 job
)");
  }
}

TEST_CASE("twenty rivals that wait all get their turn") {
  STORY(R"(
nodes 5   ttl 3s   hosts 20
0s     all is well
0s     all run a job of 100ms
expect 20 jobs
expect nobody loses
)");
}

TEST_CASE("a wait that runs out ends in time, and leaves nothing") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s
0.5s   b runs a job of 1s, waiting 2s
3s     every node holds a's key
expect b ends with held
expect b is over by 2.9s
expect b never runs a job
)");
}

TEST_CASE("who waits gets in when the holder is done") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 2s
0.5s   b runs a job of 1s, waiting 10s
expect a ends with 0
expect b ends with 0
expect b's job begins by 5.5s
)");
}

TEST_CASE("TERM ends the job and gives the lock back; it ends a wait, too") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     a runs a job of 20s
0.5s   b runs a job of 20s
2s     b gets TERM
2s     a gets TERM
2.3s   every node holds no key
expect a ends by the signal
expect b ends with interrupted
expect b never runs a job
)");
}

TEST_CASE("--max-run ends a job that takes too long, stubborn or not") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     a runs a job of 20s, at most 2s, ignoring TERM
3.2s   every node holds no key
expect a ends with max-run
expect a's job is over by 3s
)");
}

TEST_CASE("a job that is slow to start is started with time enough, or not at all") {
  STORY(R"(
nodes 3   ttl 3s   hosts 2
0s     all run a job of 1s, slow to start by 1.5s
expect 2 jobs
expect nobody loses
)");
}

TEST_CASE("a wall clock that somebody sets costs no lease") {
  STORY(R"(
nodes 3   ttl 3s   hosts 1
0s     a runs a job of 6s
0.5s   the wall clock of a jumps by 3600s
2.5s   the wall clock of a jumps by 5s
expect a ends with 0
expect nobody loses
)");
}

TEST_CASE("fencing numbers grow although wall clocks are far apart and quorums differ") {
  STORY(R"(
nodes 3   ttl 3s   hosts 3   wall clocks 3600s apart
0s     a is cut off from node 1
0s     b is cut off from node 2
0s     c is cut off from node 3
0s     all run a job of 1s
12s    all run a job of 100ms
expect 6 jobs
)");
}

}  // namespace
}  // namespace redlock::sim
