// Hosts that have a memo of a job: an agent that is lost there and started again begins
// no second one. Three agents: one here, where nodes look for the job, and two there,
// which have an address each.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/namespaces.hpp"
#include "tests/system/wardens.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace actorrun::test::memo_test {

namespace {

/// A lease, and so longer than it takes to begin a job.
constexpr auto longer_than_a_beginning = 4'000ms;

struct memo_scene : scene {
  static constexpr auto third_address = "10.213.7.3";

  /// False, with a printed reason, where there can be no namespaces.
  bool ready() {
    if (!namespaces::are_possible())
      return false;
    net.emplace(*this);
    auto more = net->there();
    for (const auto* x : {"ip", "addr", "add", "10.213.7.3/24", "dev", "cable"})
      more.push_back(x);
    auto failed = 0;
    read(more, &failed);
    require(failed == 0, "the other host has a second address");
    return true;
  }

  program& start_at(const std::string& address, const std::string& conf = {}) {
    const auto is_here = address == namespaces::here_address;
    auto x = agent_options{.nodes = "1:3", .job = "memo", .slots = 1};
    x.host = is_here;
    x.conf = ",succession=on" + conf;
    x.more = {"--local-addr=" + address};
    x.prefix = is_here ? net->here() : net->there();
    x.endpoint = namespaces::here_address + (":" + std::to_string(port()));
    // Each host has a folder of its own.
    x.environment = {{"ACTORRUN_RUN_DIR", folder() + (is_here ? "/a" : "/b")}};
    return agent(x);
  }

  /// All three meet and vote.
  worker_records start_job() {
    a = &start_at(namespaces::here_address);
    b = &start_at(namespaces::there_address);
    c = &start_at(third_address);
    auto out = await_world(3);
    require(eventually([&] {
              return count_of(a->output(), "3 agents elect another") > 0;
            }),
            "three agents vote");
    return out;
  }

  void check_end(program& x, program& y, program& z) {
    order_end();
    for (auto* p : {&x, &y, &z})
      CHECK(p->wait() == 0);
  }

  std::optional<namespaces> net;
  program* a = nullptr;
  program* b = nullptr;
  program* c = nullptr;
};

} // namespace

TEST_CASE_METHOD(memo_scene,
                 "memo: an agent that is started again while its host is cut "
                 "off begins no second job, and joins the first one later",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job();
  net->cut();
  kill_with_wardens(*a);
  const auto meanwhile = await_world(2, before[0].generation);
  auto& d = start_at(namespaces::here_address);
  CHECK(d.says("the job may go on at 10.213.7.2 and 10.213.7.3: "));
  const auto pids = pids_of(meanwhile);
  const auto count = records().size();
  CHECK_FALSE(eventually([&] { return records().size() > count; },
                         longer_than_a_beginning));
  CHECK(d.output().find("listens on") == std::string::npos);
  CHECK(pids_of(workers_of(meanwhile[0].generation)) == pids);
  net->heal();
  const auto after = await_world(3, meanwhile[0].generation);
  CHECK(after[0].number == meanwhile[0].number + 1);
  // One job: all of its generations follow each other.
  auto numbers = std::set<uint64_t>{};
  for (const auto& x : records())
    numbers.insert(x.number);
  CHECK(numbers.size() == *numbers.rbegin());
  check_end(*b, *c, d);
}

TEST_CASE_METHOD(memo_scene,
                 "memo: a job that was killed everywhere begins again where it "
                 "is started everywhere",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job();
  for (auto* x : {a, b, c})
    kill_with_wardens(*x);
  auto& d = start_at(namespaces::here_address);
  CHECK(d.says("the job may go on at "));
  auto& e = start_at(namespaces::there_address);
  auto& f = start_at(third_address);
  CHECK(d.says("this node begins it again"));
  const auto after = await_world(3, before[0].generation);
  CHECK(after[0].restart_count == 0);
  check_end(d, e, f);
}

TEST_CASE_METHOD(memo_scene,
                 "memo: whoever waits for a job that may go on gives up in the "
                 "end, and says what helps",
                 "[netns]") {
  if (!ready())
    return;
  start_job();
  for (auto* x : {a, b, c})
    kill_with_wardens(*x);
  auto& d = start_at(namespaces::here_address, ",read_timeout=3");
  CHECK(d.wait() == 5);
  CHECK(d.output().find("the job may go on at 10.213.7.2 and 10.213.7.3: ")
        != std::string::npos);
  const auto path = folder() + "/a/memo-";
  CHECK(d.output().find("remove " + path) != std::string::npos);
  // As it says.
  auto removed = 0;
  read({"sh", "-c", "rm " + path + "*.memo"}, &removed);
  CHECK(removed == 0);
  auto& e = start_at(namespaces::here_address);
  CHECK(e.says("listens on"));
  auto& f = start_at(namespaces::there_address);
  auto& g = start_at(third_address);
  check_end(e, f, g);
}

TEST_CASE_METHOD(memo_scene,
                 "memo: a member that looks for its coordinator here has none "
                 "elsewhere",
                 "[netns]") {
  if (!ready())
    return;
  a = &start_at(namespaces::here_address);
  b = &start_at(namespaces::there_address);
  const auto before = await_world(2);
  REQUIRE(eventually([&] { return count_of(a->output(), "leads next") > 0; }));
  kill_with_wardens(*a); // No one proves that, so the other one cannot lead.
  auto& d = start_at(namespaces::here_address);
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 0);
  auto& e = start_at(third_address);
  await_world(3, after[0].generation);
  check_end(*b, d, e);
}

} // namespace actorrun::test::memo_test
