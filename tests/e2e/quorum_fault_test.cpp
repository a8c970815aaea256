// Servers that fail under a running job: a minority is a warning, a majority is the end of the job
// before its lease can be somebody else's.
#include <doctest/doctest.h>

#include <algorithm>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/proxy.h"
#include "support/quorum.h"
#include "support/quorum_job.h"

TEST_SUITE_BEGIN("quorum fault");

namespace redlock::test {
namespace {

/// After renewals by the servers 0..to-1, the job is well and has said one thing: a warning that
/// names one of the others at least.
void check_one_warning(QuorumJob& job, Run& run, std::size_t to) {
  CHECK(wait_until([&run] { return run.err() != ""; }));
  job.see_renewals(0, to);
  job.check_unharmed(run);
  const std::string err = run.wait().err;
  INFO("stderr: ", err);
  CHECK(lines_of(err).size() == 1);
  bool named = false;
  for (std::size_t i = to; i < job.quorum.size(); ++i) {
    named = named || contains(err, job.quorum[i].name());
  }
  CHECK(named);
  for (std::size_t i = 0; i < to; ++i) CHECK(!contains(err, job.quorum[i].name()));
}

TEST_CASE("kill -9 of a minority under a job is one warning, and the exit is the job's") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "2s"});
  job.quorum.each(3, 5, [](RedisServer& server) { server.kill9(); });
  check_one_warning(job, run, 3);
}

TEST_CASE("SIGSTOP of a minority under a job is one warning, and leaves no key on it") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "2s"});
  job.quorum.each(3, 5, [](RedisServer& server) { server.pause(); });
  check_one_warning(job, run, 3);
  job.quorum.each(3, 5, [](RedisServer& server) { server.resume(); });
  CHECK(wait_until([&job] { return job.quorum.only_fences_left(); }));
}

TEST_CASE("a server that dies under one job of three servers is one warning") {
  QuorumJob job(3);
  Run run = job.start({"--ttl", "2s"});
  job.quorum[2].kill9();
  check_one_warning(job, run, 2);
}

TEST_CASE("clients paused on a minority for longer than the lease do not harm the job") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "2s"});
  job.quorum.each(3, 5, [](RedisServer& server) { server.pause_clients(milliseconds(3'000)); });
  check_one_warning(job, run, 3);
  CHECK(wait_until([&job] { return job.quorum.only_fences_left(); }));
}

TEST_CASE("clients paused on all servers for less than the lease do not harm the job") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "4s"});
  job.see_renewals(0, 5, 1);
  // The next renewal is due in 1.3 s and will be late; the stop line is 2.7 s away.
  job.quorum.each(0, 5, [](RedisServer& server) { server.pause_clients(milliseconds(1'800)); });
  job.see_renewals(0, 5, 1);
  job.check_unharmed(run);
  CHECK(job.quorum.only_fences_left());
}

TEST_CASE("connections cut on all servers ten times a second do not cost the lease") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "3s"});
  const std::string token = job.token();
  const Stopwatch watch;
  while (watch.elapsed() < milliseconds(3'000)) {
    job.quorum.each(0, 5, [](RedisServer& server) { server.cut_clients(); });
    CHECK(job.quorum.count(kJobKey, token) >= 3);
    pace(milliseconds(100));
  }
  CHECK(job.all_carry(token));
  job.check_unharmed(run);
  CHECK(wait_until([&job] { return job.quorum.only_fences_left(); }));
}

TEST_CASE("a silent majority costs the job its life in time; the line names those servers") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "2s"});
  job.quorum.each(0, 3, [](RedisServer& server) { server.pause(); });
  // No renewal by a majority was sent after this.
  job.check_lost(run, boottime_ns() + 2'000'000'000);
  for (std::size_t i = 0; i < 3; ++i) CHECK(contains(run.err(), job.quorum[i].name()));
  job.quorum.each(0, 3, [](RedisServer& server) { server.resume(); });
  CHECK(wait_until([&job] { return job.quorum.only_fences_left(); }));
}

TEST_CASE("a majority that dies costs the job its life in time; the line names those servers") {
  QuorumJob job(3);
  Run run = job.start({"--ttl", "2s"});
  job.quorum.each(0, 2, [](RedisServer& server) { server.kill9(); });
  job.check_lost(run, boottime_ns() + 2'000'000'000);
  for (std::size_t i = 0; i < 2; ++i) CHECK(contains(run.err(), job.quorum[i].name()));
  CHECK(only_fences_left(job.quorum[2]));
}

TEST_CASE("a rival gets in after a lost majority is back, never before the job is dead") {
  QuorumJob job(3);
  Run run = job.start({"--ttl", "2s"});
  job.quorum.each(0, 2, [](RedisServer& server) { server.pause(); });
  Run rival =
      probe_job(job.quorum, {"--ttl", "10s", "-w", "60s"}, {"enter", job.log, "rival"}).start();
  CHECK_ENDING(run.wait(), exit_with(122));
  job.quorum.each(0, 2, [](RedisServer& server) { server.resume(); });
  CHECK_ENDING(rival.wait(), exit_with(0));
  CHECK(overlap(read_log(job.log)) == "");
  CHECK(fence_disorder(read_log(job.log)) == "");
}

/// A job over five servers of which all are reached through proxies.
struct ProxiedJob {
  QuorumJob job{5};
  std::vector<std::unique_ptr<Proxy>> proxies;

  ProxiedJob() {
    for (std::size_t i = 0; i < job.quorum.size(); ++i) {
      proxies.push_back(std::make_unique<Proxy>(job.quorum[i].port()));
      job.quorum.set_url(i, proxies.back()->url());
    }
  }
  void on_minority(void (Proxy::*what)()) { on(3, 5, what); }
  void on(std::size_t from, std::size_t to, void (Proxy::*what)()) {
    for (std::size_t i = from; i < to; ++i) (*proxies[i].*what)();
  }
};

TEST_CASE("a minority behind a bad network does not harm the job, whatever the network does") {
  ProxiedJob proxied;
  Run run = proxied.job.start({"--ttl", "2s"});
  for (const auto mode : {&Proxy::freeze, &Proxy::swallow, &Proxy::drop_replies, &Proxy::refuse}) {
    proxied.on_minority(mode);
    proxied.job.see_renewals(0, 3);
    proxied.on_minority(&Proxy::pass);
  }
  proxied.job.see_renewals(3, 5);
  proxied.job.check_unharmed(run);
  CHECK(lines_of(run.wait().err).size() == 1);
  CHECK(wait_until([&proxied] { return proxied.job.quorum.only_fences_left(); }));
}

TEST_CASE("a majority behind a cut network costs the job its life in time, and keeps no key") {
  ProxiedJob proxied;
  Run run = proxied.job.start({"--ttl", "2s"});
  proxied.on(0, 3, &Proxy::freeze);
  proxied.job.check_lost(run, boottime_ns() + 2'000'000'000);
  proxied.on(0, 3, &Proxy::pass);
  CHECK(wait_until([&proxied] { return proxied.job.quorum.only_fences_left(); }));
}

TEST_CASE("replies lost on a majority cost the job its life in time, though requests arrive") {
  ProxiedJob proxied;
  Run run = proxied.job.start({"--ttl", "2s"});
  proxied.on(0, 3, &Proxy::drop_replies);
  proxied.job.check_lost(run, boottime_ns() + 2'000'000'000);
  CHECK(wait_until([&proxied] { return proxied.job.quorum.only_fences_left(); }));
}

/// A SET that is 600 ms under way to the first of three servers, of which the last is held by
/// another: the attempt fails without it, and what arrives late must not stay.
void check_late_set_is_undone(const std::vector<std::string>& options) {
  Quorum quorum(3);
  Proxy proxy(quorum[0].port());
  quorum.set_url(0, proxy.url());
  quorum[2].set_px(kJobKey, "other", 60'000);
  proxy.delay(milliseconds(600));
  std::vector<std::string> all{"--ttl", "3s", "--node-timeout", "100ms"};
  all.insert(all.end(), options.begin(), options.end());
  const Ending ending = probe_job(quorum, all, {"exit", "11"}).run();
  CHECK(ending.how != exit_with(11));
  CHECK(wait_until([&quorum] { return quorum[0].exists(kJobFence); }));  // it has arrived
  CHECK(wait_until([&quorum] { return quorum[0].other_clients() == 0; }));
  CHECK(!quorum[0].exists(kJobKey));
  CHECK(!quorum[1].exists(kJobKey));
  CHECK(quorum[2].get(kJobKey) == "other");
}

TEST_CASE("a SET that arrives after its attempt has failed is undone") {
  check_late_set_is_undone({"-n"});
}

TEST_CASE("a SET that arrives after a wait with many attempts has run out is undone") {
  check_late_set_is_undone({"-w", "2s"});
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
