// A network that fails: two namespaces, one cable, the stamps of the workers.
// Both share CLOCK_MONOTONIC, so stamps show who ran when.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/namespaces.hpp"

#include <algorithm>
#include <csignal>
#include <optional>

namespace actorrun::test::netns_test {

namespace {

/// 1.2 s of lease, the time of stopping and starting, and a busy machine.
constexpr auto detection_limit_ns = int64_t{2'500'000'000};

/// For a cut that changes nothing: the fence is 3 s, and what was lost last comes
/// again 1.4 s later at the latest, if TCP repeats it after 0.2, 0.6 and 1.4 s.
constexpr auto long_lease_conf = ",keep_alive_max_attempt=10";
constexpr auto short_cut_max_ns = int64_t{1'000'000'000};
constexpr auto longer_than_lease = 3'500ms;

struct two_hosts : scene {
  /// False, with a printed reason, where there can be no namespaces.
  bool ready() {
    if (!namespaces::are_possible())
      return false;
    net.emplace(*this);
    return true;
  }

  /// Starts an agent on each host; the coordinator is here.
  /// @param nodes `MIN:MAX`
  /// @param conf As in `agent_options`.
  worker_records start_job(const std::string& nodes,
                           const std::string& conf = {}) {
    auto options = agent_options{.nodes = nodes, .conf = conf};
    options.endpoint
      = namespaces::here_address + (":" + std::to_string(port()));
    options.prefix = net->here();
    a = &agent(options);
    options.prefix = net->there();
    b = &agent(options);
    auto before = await_world(4);
    await_status([](const json& x) { return x["phase"] == "running"; });
    return before;
  }

  /// The workers on `there`.
  worker_records there(const worker_records& all) const {
    auto out = records_of(all);
    std::erase_if(out, [](const auto& x) { return x.node_rank == 0; });
    return out;
  }

  void check_end() {
    order_end();
    CHECK(a->wait() == 0);
    CHECK(b->wait() == 0);
  }

  /// Checks a loss that began at `since`: the lost node's workers have ended
  /// before any of the next generation began (I2), in time, and without a restart.
  worker_records check_loss(const worker_records& before, int64_t since) {
    const auto after = await_world(2, before[0].generation);
    CHECK(after[0].restart_count == 0);
    CHECK(last_of(records_of(before)) < first_of(after));
    CHECK(last_of(there(before)) < first_of(after));
    CHECK(all_dead(before, 0ms));
    CHECK(first_of(after) - since < detection_limit_ns);
    return after;
  }

  void check_return(const worker_records& after) {
    const auto healed = await_world(4, after[0].generation);
    CHECK(healed[0].generation == after[0].generation + 1);
    CHECK(healed[0].restart_count == 0);
    CHECK(last_of(records_of(after)) < first_of(healed));
  }

  /// Checks that nothing has changed for longer than a lease.
  void check_undisturbed(const worker_records& before) {
    CHECK_FALSE(eventually([&] { return records().size() != before.size(); },
                           longer_than_lease));
    for (const auto& x : before)
      CHECK(alive(x.pid));
    const auto now
      = await_status([](const json& x) { return x["phase"] == "running"; });
    CHECK(now["generation"] == before[0].number);
    CHECK(now["restarts"] == 0);
  }

  std::optional<namespaces> net;
  program* a = nullptr;
  program* b = nullptr;
};

} // namespace

TEST_CASE_METHOD(two_hosts, "network: a silent node stops before others start",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job("1:2");
  const auto since = now_ns();
  net->cut();
  const auto after = check_loss(before, since);
  net->heal();
  check_return(after);
  check_end();
}

TEST_CASE_METHOD(two_hosts, "network: a pulled cable is like silence",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job("1:2");
  const auto since = now_ns();
  net->set_link(false);
  const auto after = check_loss(before, since);
  net->set_link(true);
  check_return(after);
  check_end();
}

TEST_CASE_METHOD(two_hosts, "network: a node that receives nothing is lost",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job("1:2");
  const auto since = now_ns();
  net->cut_inbound();
  const auto after = check_loss(before, since);
  net->heal();
  check_return(after);
  check_end();
}

TEST_CASE_METHOD(two_hosts, "network: a node that cannot send is lost",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job("1:2");
  const auto since = now_ns();
  net->cut_outbound();
  const auto after = check_loss(before, since);
  net->heal();
  check_return(after);
  check_end();
}

// A reset ends the link, and refuses every attempt to connect, as a host does
// whose process has ended. It must prove nothing.
TEST_CASE_METHOD(two_hosts,
                 "network: a node whose connections a firewall resets stops "
                 "before others start",
                 "[netns]") {
  if (!ready())
    return;
  // Three losses within a minute would be one too many.
  auto running = start_job("1:2", ",rejoin_backoff=1ms");
  for (const auto reset : {&namespaces::reset_inbound,
                           &namespaces::reset_outbound, &namespaces::reset}) {
    const auto since = now_ns();
    ((*net).*reset)();
    const auto after = check_loss(running, since);
    net->heal();
    check_return(after);
    running = await_world(4, after[0].generation);
  }
  check_end();
}

TEST_CASE_METHOD(two_hosts,
                 "network: a cut shorter than the lease changes nothing",
                 "[netns]") {
  if (!ready())
    return;
  start_job("1:2", long_lease_conf);
  for (auto attempt = 0; attempt < 5; ++attempt) {
    const auto before = await_world(4);
    const auto since = now_ns();
    net->cut();
    // This test tries the length of the cut.
    CHECK(a->wait(300ms) == program::still_running);
    net->heal();
    if (now_ns() - since < short_cut_max_ns) {
      check_undisturbed(before);
      return check_end();
    }
    // A busy machine has made the cut too long, which is another test.
    await_status([](const json& x) {
      return x["phase"] == "running" && x["world_size"] == 4;
    });
  }
  actorrun::test::skip(
    "quiet", "this machine is too busy to cut the network for so short");
}

namespace {

/// One node of six is on `there`, all others and the coordinator on `here`.
struct six_nodes : two_hosts {
  /// @returns what runs at first
  worker_records start_six() {
    auto options = agent_options{.nodes = "1:6", .slots = 1};
    options.endpoint
      = namespaces::here_address + (":" + std::to_string(port()));
    for (auto i = 0; i < 6; ++i) {
      options.prefix = i < 5 ? net->here() : net->there();
      agent(options);
    }
    const auto out = await_world(6);
    await_status([](const json& x) { return x["phase"] == "running"; });
    return out;
  }

  /// How many generations that costs.
  uint64_t flap(std::chrono::milliseconds cut, std::chrono::milliseconds pause,
                std::chrono::seconds time) {
    const auto before = start_six()[0].number;
    auto& cable = net->flap(cut, pause, int(time / (cut + pause)));
    REQUIRE(cable.wait(2 * time) == 0);
    const auto now
      = await_status([](const json& x) { return x["phase"] == "running"; });
    CHECK(now["restarts"] == 0);
    status_ = now;
    return now["generation"].get<uint64_t>() - before;
  }

  json status_;
};

} // namespace

// The second way: TCP alone repeats what was lost in a moment of the next cut.
TEST_CASE_METHOD(
  six_nodes,
  "network: W1 cuts that are shorter than the fence cost next to "
  "nothing, also one after the other",
  "[netns]") {
  if (!ready())
    return;
  CHECK(flap(250ms, 250ms, 20s) <= 3);
}

// Each of these is lost, and each return would cost the others their work, too.
TEST_CASE_METHOD(
  six_nodes,
  "network: W1 one link of six that flaps costs its node its place, "
  "and the others three generations at most",
  "[netns]") {
  if (!ready())
    return;
  CHECK(flap(1'500ms, 2'500ms, 60s) <= 3);
  const auto& agents = status_["agents"];
  const auto stands_by = std::ranges::count_if(agents, [](const json& x) {
    return x["reason"].get<std::string>().starts_with(
      "stands by, because it has cost 3 generations");
  });
  CHECK(stands_by == (agents.size() == 6 ? 1 : 0));
}

TEST_CASE_METHOD(two_hosts, "network: below the minimum both sides stop (V3)",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job("2:2");
  net->cut();
  CHECK(all_dead(before));
  await_status([](const json& x) {
    return x["phase"] == "gathering" && x["agents"].size() == 1;
  });
  net->heal();
  const auto after = await_world(4, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(last_of(records_of(before)) < first_of(after));
  check_end();
}

// Who knows the outcome has ended by then (docs/resilience.md).
TEST_CASE_METHOD(two_hosts,
                 "network: W6 a node that is cut off while the job succeeds "
                 "does not run again, gives up in time, and says what it knows",
                 "[netns]") {
  if (!ready())
    return;
  const auto before
    = start_job("2:2", ",keep_alive_max_attempt=5,read_timeout=3");
  for (const auto& x : there(before))
    order_exit(x.pid, 0);
  await_status([](const json& x) {
    return std::ranges::any_of(x["agents"], [](const json& node) {
      return node["node_rank"] == 1 && node["state"] == "succeeded";
    });
  });
  net->cut();
  order_end();
  CHECK(a->wait() == 0);
  REQUIRE(b->running());
  net->heal();
  const auto healed = clock::now();
  CHECK(b->wait() == 5);
  CHECK(clock::now() - healed < 6s);
  CHECK(count_of(b->output(), "the workers of this node have succeeded, and no "
                              "node is left who knows whether the job has")
        == 1);
  CHECK(records().size() == before.size());
}

TEST_CASE_METHOD(
  two_hosts,
  "network: W6 a node that was cut off before it could say that "
  "its workers have succeeded says so at its end, and the others "
  "do its work",
  "[netns]") {
  if (!ready())
    return;
  // No stall of a busy machine is a cut.
  const auto before
    = start_job("1:2", ",keep_alive_max_attempt=6,read_timeout=2s");
  const auto others = there(before);
  net->cut();
  for (const auto& x : others)
    order_exit(x.pid, 0);
  REQUIRE(all_dead(others));
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(last_of(records_of(before)) < first_of(after));
  order_end();
  CHECK(a->wait() == 0);
  net->heal();
  CHECK(b->wait() == 5);
  CHECK(b->says("the workers of this node have succeeded"));
  CHECK(records().size() == before.size() + after.size());
}

TEST_CASE_METHOD(two_hosts, "network: a lost node that ignores the stop signal",
                 "[netns]") {
  if (!ready())
    return;
  // Its workers and their children must still end, by SIGKILL.
  auto options
    = agent_options{.nodes = "1:2", .worker = {"--ignore-term", "--child"}};
  options.endpoint = namespaces::here_address + (":" + std::to_string(port()));
  options.more = {"--shutdown-timeout=1"};
  options.prefix = net->here();
  agent(options);
  options.prefix = net->there();
  agent(options);
  const auto before = await_world(4);
  REQUIRE(eventually([&] { return records().size() == 8; }));
  const auto all = records();
  net->cut();
  const auto after = await_world(2, before[0].generation);
  CHECK(last_of(records_of(all)) < first_of(after));
  CHECK(all_dead(all, 0ms));
}

// The longer fence of the one before still binds the node that is cut off.
TEST_CASE_METHOD(
  two_hosts,
  "network: V1 a coordinator that is started again with a shorter "
  "lease waits for the longer one",
  "[netns]") {
  if (!ready())
    return;
  auto options = agent_options{.nodes = "1:2"};
  options.endpoint = namespaces::here_address + (":" + std::to_string(port()));
  auto of_coordinator = options;
  of_coordinator.prefix = net->here();
  of_coordinator.conf = ",keep_alive_max_attempt=12"; // 3.6 s.
  auto* first = &coordinator(of_coordinator);
  options.prefix = net->here();
  a = &agent(options);
  options.prefix = net->there();
  b = &agent(options);
  const auto before = await_world(4);
  await_status([](const json& x) { return x["phase"] == "running"; });
  SECTION("which its machine knows") {}
  SECTION("which only the agent that comes back knows") {
    // Neither a tombstone nor a journal.
    for (const auto pid : descendants(first->pid()))
      if (is_warden(pid))
        ::kill(pid, SIGKILL);
    of_coordinator.prefix.emplace_back("env");
    of_coordinator.prefix.push_back("XDG_STATE_HOME=" + folder() + "/other");
  }
  net->cut();
  first->signal(SIGKILL);
  first->wait();
  of_coordinator.conf.clear();
  coordinator(of_coordinator);
  const auto after = await_world(2, before[0].generation);
  CHECK(last_of(records_of(before)) < first_of(after));
  CHECK(last_of(there(before)) < first_of(after));
  CHECK(all_dead(before, 0ms));
  net->heal();
  check_return(after);
  check_end();
}

} // namespace actorrun::test::netns_test
