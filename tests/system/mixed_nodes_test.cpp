// Nodes with different settings for one job: each that does not fit is refused
// at once with a reason, and the job is not affected.
#include "tests/support/skip.hpp"
#include "tests/system/etcd_scene.hpp"

#include <cstdlib>

namespace actorrun::test::mixed_nodes_test {

namespace {

/// Less than the timeouts of the rendezvous, even on a busy machine.
constexpr auto refusal_limit = 3s;

/// Two nodes with a rank each, or two that need none.
struct two_nodes : scene {
  void start_job(bool ranked) {
    for (auto rank = 0; rank < 2; ++rank)
      run(joined(line, ranked ? words{"--node-rank=" + std::to_string(rank),
                                      "--rdzv-backend=static"}
                              : words{"--rdzv-conf=is_host="
                                      + std::to_string(rank == 0)}));
    before = await_world(2);
  }

  words joined(const words& options, const words& more) const {
    auto out = more;
    out.insert(out.end(), options.begin(), options.end());
    return out;
  }

  /// Starts a third node with `more`. @returns its output
  std::string refused(const words& more) {
    const auto begin = clock::now();
    auto& x = run(joined(line, more));
    CHECK(x.wait() == 4);
    CHECK(clock::now() - begin < refusal_limit);
    CHECK(count_of(x.output(), "actorrun: error: ") == 1);
    CHECK(count_of(x.output(), "  try: ") == 1);
    CHECK(pids_of(records()) == pids_of(records_of(before)));
    for (const auto& worker : before)
      CHECK(alive(worker.pid));
    return x.output();
  }

  words line
    = {"--nnodes=2",  "--rdzv-id=job", "--rdzv-endpoint=" + endpoint(),
       "--no-python", STAMPING_WORKER, "--folder=" + folder() + "/stamps"};
  worker_records before;
};

} // namespace

TEST_CASE_METHOD(two_nodes, "mixed nodes: a static job takes no others",
                 "[static]") {
  start_job(true);
  CHECK(count_of(refused({"--rdzv-conf=is_host=0"}),
                 "asks for --nnodes=2 --max-restarts=0 without "
                 "--rdzv-backend=static")
        == 1);
  CHECK(count_of(refused({"--rdzv-backend=static", "--node-rank=1",
                          "--max-restarts=1"}),
                 "--max-restarts=1 --rdzv-backend=static")
        == 1);
  CHECK(count_of(refused({"--rdzv-backend=etcd"}),
                 "its job does not meet through etcd")
        == 1);
}

TEST_CASE_METHOD(two_nodes, "mixed nodes: a job without ranks takes no others",
                 "[static]") {
  start_job(false);
  CHECK(count_of(refused({"--rdzv-backend=static", "--node-rank=1"}),
                 "the job runs with --nnodes=2 --max-restarts=0 without "
                 "--rdzv-backend=static")
        == 1);
  CHECK(count_of(refused({"--rdzv-backend=etcd-v2"}),
                 "its job does not meet through etcd")
        == 1);
}

// ACTORRUN_OTHER_CAF is an actorrun of the other build (docs/testing.md).
TEST_CASE_METHOD(two_nodes, "mixed nodes: a node with another CAF takes part",
                 "[refusals]") {
  const auto* other = std::getenv("ACTORRUN_OTHER_CAF");
  if (other == nullptr) {
    skip("other CAF", "ACTORRUN_OTHER_CAF names no actorrun with another CAF");
    return;
  }
  const auto is_member = GENERATE(false, true);
  const auto as = [&](bool is_host) {
    const auto place
      = std::string{"--rdzv-conf=is_host="} + (is_host ? "1" : "0");
    return joined(line, is_host == is_member ? words{ACTORRUN_PROGRAM, place}
                                             : words{other, place});
  };
  auto& host = start(as(true));
  auto& member = start(as(false));
  await_world(2);
  order_end();
  CHECK(member.wait() == 0);
  CHECK(host.wait() == 0);
}

TEST_CASE("mixed nodes: a job that meets through etcd takes no others",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto before = x.await_world(4);
  auto& more = x.agent(x.options("3"));
  CHECK(more.wait(refusal_limit) == 4);
  CHECK(more.says("asks for --nnodes=3"));
  // As a candidate it would wait longer, or not long enough.
  auto longer = x.options();
  longer.conf += ",fence_guard=0.7";
  auto& other = x.agent(longer);
  CHECK(other.wait(refusal_limit) == 4);
  CHECK(other.says("the job runs with --nnodes=2 --max-restarts=0 and a lease "
                   "of 1200 ms"));
  CHECK(other.says("--max-restarts=0 and a lease of 1600 ms"));
  // etcd cannot report clients that do not speak HTTP.
  auto there = x.options();
  there.more = {"--rdzv-conf=is_host=0,heartbeat_timeout=0.5,read_timeout=1"};
  auto& native = x.agent(there);
  CHECK(native.wait() == 3);
  CHECK(native.says(x.registry));
  x.check_untouched(before);
  x.check_end(a, b);
}

} // namespace actorrun::test::mixed_nodes_test
