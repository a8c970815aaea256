// Networks that fall apart, made of real network namespaces: the holder on one host, a rival on
// another, five servers that each of them can or cannot reach.
#include <doctest/doctest.h>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/network.h"
#include "support/quorum.h"
#include "support/quorum_job.h"

TEST_SUITE_BEGIN("partition");

namespace redlock::test {
namespace {

struct Partition {
  Network network;
  QuorumJob job{Quorum(Network::kServers, [this](std::size_t i) {
    return Quorum::Options{
        .port = 6379, .addresses = {Network::address(i)}, .under = network.among_servers()};
  })};

  Run start_holder() { return job.start({"--ttl", "2s"}, network.on_host(0)); }

  /// On the other host; waits for the lock.
  Run start_rival() {
    const std::vector<std::string> actions{"enter", job.log, "rival", "leave", job.log, "rival"};
    return probe_job(job.quorum, {"--ttl", "2s", "-w", "60s"}, actions)
        .under(network.on_host(1))
        .start();
  }

  void cut(std::size_t host, std::size_t from, std::size_t to,
           Network::Cut how = Network::Cut::both_ways) {
    for (std::size_t i = from; i < to; ++i) network.cut(host, i, how);
  }

  void check_order() {
    CHECK(overlap(read_log(job.log)) == "");
    CHECK(fence_disorder(read_log(job.log)) == "");
  }
};

TEST_CASE("a host cut off from a majority stops its job in time, and a rival elsewhere gets in") {
  Partition partition;
  Run holder = partition.start_holder();
  Run rival = partition.start_rival();
  partition.cut(0, 0, 3);
  // No renewal by a majority was sent after this.
  partition.job.check_lost(holder, boottime_ns() + 2'000'000'000);
  CHECK_ENDING(rival.wait(), exit_with(0));
  partition.check_order();
  partition.network.heal();
  CHECK(wait_until([&partition] { return partition.job.quorum.only_fences_left(); }));
}

TEST_CASE("a host cut off from all servers stops its job in time, and a rival elsewhere gets in") {
  Partition partition;
  Run holder = partition.start_holder();
  Run rival = partition.start_rival();
  partition.cut(0, 0, 5);
  partition.job.check_lost(holder, boottime_ns() + 2'000'000'000);
  CHECK_ENDING(rival.wait(), exit_with(0));
  partition.check_order();
}

TEST_CASE("a host that a majority's answers do not reach stops its job in time") {
  Partition partition;
  Run holder = partition.start_holder();
  partition.cut(0, 0, 3, Network::Cut::replies);
  partition.job.check_lost(holder, boottime_ns() + 2'000'000'000);
  partition.network.heal();
  CHECK(wait_until([&partition] { return partition.job.quorum.only_fences_left(); }));
}

TEST_CASE("a host cut off from a minority keeps its job and its lock, with one warning") {
  Partition partition;
  Run holder = partition.start_holder();
  partition.cut(0, 3, 5);
  partition.job.see_renewals(0, 3, 4);
  const Ending rival =
      lock(partition.job.quorum, {"-n", "job", "true"}).under(partition.network.on_host(1)).run();
  CHECK_ENDING(rival, exit_with(75));
  partition.job.check_unharmed(holder);
  CHECK(lines_of(holder.wait().err).size() == 1);
  CHECK(contains(holder.wait().err, Network::address(3)));
  CHECK(wait_until([&partition] { return partition.job.quorum.only_fences_left(); }));
}

TEST_CASE("two hosts that reach one server in common do not both get the lock") {
  Partition partition;
  partition.cut(0, 3, 5);
  partition.cut(1, 0, 2);
  Run holder = partition.start_holder();
  const Launch rival =
      lock(partition.job.quorum, {"-n", "job", "true"}).under(partition.network.on_host(1));
  const Ending ending = rival.run();
  CHECK(ending.how != exit_with(0));
  partition.job.check_unharmed(holder);
  CHECK_ENDING(rival.run(), exit_with(0));
}

TEST_CASE("a minority that comes back to a host under a job carries its key again") {
  Partition partition;
  partition.cut(0, 0, 2);
  Run holder = partition.start_holder();
  const std::string token = partition.job.token();
  CHECK(partition.job.quorum.count(kJobKey, token) == 3);
  partition.network.heal();
  CHECK(partition.job.all_carry(token));
  partition.job.check_unharmed(holder);
  CHECK(wait_until([&partition] { return partition.job.quorum.only_fences_left(); }));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
