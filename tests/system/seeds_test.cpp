// Jobs that may begin at any two of three hosts. One address is here, and two are
// there, so that a cut divides them.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/namespaces.hpp"
#include "tests/system/wardens.hpp"

#include <optional>
#include <set>
#include <string>

namespace actorrun::test::seeds_test {

namespace {

struct seeds_scene : scene {
  static constexpr auto a = namespaces::here_address;
  static constexpr auto b = namespaces::there_address;
  static constexpr auto c = "10.213.7.3";
  static constexpr auto d = "10.213.7.4"; ///< No seed.

  /// False, with a printed reason, where there can be no namespaces.
  bool ready() {
    if (!namespaces::are_possible())
      return false;
    net.emplace(*this);
    add(net->there(), "10.213.7.3/24", "cable");
    add(net->there(), "10.213.7.4/24", "cable");
    return true;
  }

  void add(words host, const std::string& address, const std::string& device) {
    for (const auto& x :
         {std::string{"ip"}, std::string{"addr"}, std::string{"add"}, address,
          std::string{"dev"}, device})
      host.push_back(x);
    auto failed = 0;
    read(host, &failed);
    require(failed == 0, "the other host has another address");
  }

  std::string at(const std::string& address) const {
    return address + ":" + std::to_string(port());
  }

  std::string all_three() const { return at(a) + "," + at(b) + "," + at(c); }

  program& start_at(const std::string& address, const std::string& seeds,
                    const words& more = {}) {
    const auto is_here = address == a;
    auto x = agent_options{.nodes = "1:4", .job = "seeds", .slots = 1};
    x.more = {"--local-addr=" + address};
    x.more.insert(x.more.end(), more.begin(), more.end());
    x.prefix = is_here ? net->here() : net->there();
    x.endpoint = seeds;
    // Each host has a folder of its own.
    x.environment = {{"ACTORRUN_RUN_DIR", folder() + "/run-" + address}};
    return agent(x);
  }

  program& start_at(const std::string& address) {
    return start_at(address, all_three());
  }

  /// Of all workers so far. One job's generations follow each other.
  bool is_one_job() {
    auto numbers = std::set<uint64_t>{};
    for (const auto& x : records())
      numbers.insert(x.number);
    return numbers.size() == *numbers.rbegin() - *numbers.begin() + 1;
  }

  template <class... Programs>
  void check_end(Programs&... agents) {
    order_end();
    for (auto* x : {&agents...})
      CHECK(x->wait() == 0);
  }

  std::optional<namespaces> net;
};

} // namespace

TEST_CASE_METHOD(seeds_scene,
                 "seeds: a job begins at two of three hosts, and is found by "
                 "whoever knows one of them",
                 "[seeds]") {
  if (!ready())
    return;
  auto& first = start_at(b);
  CHECK(first.says("the job begins as soon as 2 of the 3 hosts"));
  auto& second = start_at(c);
  const auto before = await_world(2);
  CHECK(count_of(first.output(), "this node begins the job")
          + count_of(second.output(), "this node begins the job")
        == 1);
  // The first seed never comes; this one is no seed, and was told the others alone.
  auto& third = start_at(d, at(c) + "," + at(b));
  const auto after = await_world(3, before[0].generation);
  CHECK(is_one_job());
  CHECK(after[0].restart_count == 0);
  check_end(first, second, third);
}

TEST_CASE_METHOD(seeds_scene,
                 "seeds: a late joiner does not wait for a seed whose host is "
                 "off",
                 "[seeds]") {
  if (!ready())
    return;
  net->cut(); // Nothing from there reaches the first seed, or is refused.
  auto& first = start_at(b);
  auto& second = start_at(c);
  const auto before = await_world(2);
  auto& late = start_at(d, all_three(), {"--rdzv-conf=heartbeat_timeout=600"});
  await_world(3, before[0].generation);
  CHECK(is_one_job());
  check_end(first, second, late);
}

TEST_CASE_METHOD(
  seeds_scene,
  "seeds: the founder is lost later, and a late joiner finds the "
  "job at another seed",
  "[seeds]") {
  if (!ready())
    return;
  auto& x = start_at(b);
  auto& y = start_at(c);
  auto& z = start_at(a);
  const auto before = await_world(3);
  const auto has_begun = [](program& p) {
    return count_of(p.output(), "this node begins the job") > 0;
  };
  auto& founder = has_begun(x) ? x : has_begun(y) ? y : z;
  require(eventually([&] {
            return count_of(founder.output(), "3 agents elect another") > 0;
          }),
          "three agents vote");
  kill_with_wardens(founder);
  const auto between = await_world(2, before[0].generation);
  auto& late = start_at(d);
  await_world(3, between[0].generation);
  CHECK(is_one_job());
  for (auto* p : {&x, &y, &z})
    if (p != &founder)
      CHECK_FALSE(has_begun(*p));
  order_end();
  for (auto* p : {&x, &y, &z, &late})
    if (p != &founder)
      CHECK(p->wait() == 0);
}

TEST_CASE_METHOD(
  seeds_scene,
  "seeds: a seed that is cut off from the start begins no second "
  "job, and joins when it is back",
  "[seeds]") {
  if (!ready())
    return;
  net->cut();
  auto& alone = start_at(a);
  auto& x = start_at(b);
  auto& y = start_at(c);
  const auto before = await_world(2);
  CHECK(alone.says("not heard of yet: " + at(b) + ", " + at(c)));
  CHECK_FALSE(eventually([&] { return records().size() > before.size(); }, 3s));
  net->heal();
  await_world(3, before[0].generation);
  CHECK(is_one_job());
  CHECK(count_of(alone.output(), "this node begins the job") == 0);
  check_end(alone, x, y);
}

TEST_CASE_METHOD(
  seeds_scene,
  "seeds: a seed with another list gets no say, and people learn "
  "of it",
  "[seeds]") {
  if (!ready())
    return;
  auto& x = start_at(b, at(a) + "," + at(b) + "," + at(d));
  auto& y = start_at(a);
  CHECK(y.says("looks for this job, too, and does not count"));
  CHECK_FALSE(eventually([&] { return !records().empty(); }, 2s));
  auto& z = start_at(c);
  await_world(3); // It begins without that one, which finds it and joins.
  CHECK(is_one_job());
  check_end(x, y, z);
}

} // namespace actorrun::test::seeds_test
