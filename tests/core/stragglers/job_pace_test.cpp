#include "actors/core/stragglers/job_pace.hpp"
#include "tests/support/catch.hpp"

#include <random>

namespace actorrun::test::job_pace_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Generation 7 of nodes `a` with ranks 0-1 and `b` with 2-3.
struct job_pace_fixture {
  using paces = std::vector<worker_pace>;

  void told(const char* agent, paces workers, straggler_limits limits = {},
            generation_id generation = {7}) {
    uut.note({agent}, {generation, std::move(workers), limits});
  }

  std::optional<straggler_finding> find(generation_id running = {7}) {
    return uut.find(running, members);
  }

  /// The ranks that are found now; none: they are as before.
  std::optional<std::vector<uint32_t>> found() {
    const auto x = find();
    if (!x)
      return {};
    auto out = std::vector<uint32_t>{};
    for (const auto& y : x->named)
      out.push_back(y.global_rank);
    return out;
  }

  using ranks = std::vector<uint32_t>;

  std::vector<paced_node> members{{{"a"}, "n1", 0, 2}, {{"b"}, "n2", 2, 2}};
  job_pace uut;
};

} // namespace

TEST_CASE_METHOD(job_pace_fixture,
                 "job pace: a worker that is beyond the others is named",
                 "[core]") {
  CHECK(uut.empty());
  told("a", {{0, 100ms, 99ms}, {1, 101ms, 99ms}});
  told("b", {{2, 99ms, 98ms}, {3, 121ms, 120ms}},
       {.action = straggler_action::drain});
  CHECK_FALSE(uut.empty());
  const auto x = find();
  REQUIRE(x);
  CHECK(
    *x
    == straggler_finding{
      {7}, {{3, "n2", 121ms, 100ms}}, 1, {{{"b"}, straggler_action::drain}}});
  CHECK(sentence_of(x->named, x->count)
        == "rank 3 on n2 computes for 121.0 ms per step, the others for "
           "100.0 ms");
  CHECK_FALSE(find());
  SECTION("it is so until it is within half of the distance") {
    told("b", {{2, 99ms, 98ms}, {3, 106ms, 100ms}});
    CHECK_FALSE(found());
    told("b", {{2, 99ms, 98ms}, {3, 104ms, 104ms}});
    CHECK(found() == ranks{});
    told("b", {{2, 99ms, 98ms}, {3, 106ms, 106ms}});
    CHECK_FALSE(found());
  }
  SECTION("another generation begins anew") {
    CHECK_FALSE(find({8})); // Nothing is known of it.
    CHECK(find({7}));
  }
  SECTION("none runs") {
    CHECK_FALSE(find({0}));
    CHECK(find());
  }
}

TEST_CASE_METHOD(job_pace_fixture,
                 "job pace: each window must be beyond half of the distance",
                 "[core]") {
  told("a", {{0, 100ms, 99ms}, {1, 100ms, 99ms}});
  told("b", {{2, 100ms, 98ms}, {3, 200ms, 104ms}});
  CHECK_FALSE(find());
  told("b", {{2, 100ms, 98ms}, {3, 200ms, 105ms}});
  CHECK(found() == ranks{3});
}

TEST_CASE_METHOD(job_pace_fixture,
                 "job pace: the distance grows with the differences that are "
                 "usual",
                 "[core]") {
  told("a", {{0, 80ms, 80ms}, {1, 100ms, 100ms}});
  told("b", {{2, 105ms, 105ms}, {3, 125ms, 125ms}});
  CHECK_FALSE(find());
  told("b", {{2, 105ms, 105ms}, {3, 140ms, 140ms}}, {.distance = 3});
  CHECK_FALSE(find()); // Six of the other node count.
  told("a", {{0, 80ms, 80ms}, {1, 100ms, 100ms}}, {.distance = 3});
  CHECK(found() == ranks{3});
}

TEST_CASE_METHOD(job_pace_fixture,
                 "job pace: it needs three workers, and half of all",
                 "[core]") {
  told("a", {{0, 100ms, 100ms}});
  told("b", {{3, 200ms, 200ms}});
  CHECK_FALSE(find());
  told("a", {{0, 100ms, 100ms}, {1, 100ms, 100ms}});
  CHECK(found() == ranks{3});
  SECTION("of a large generation three are too few") {
    members.push_back({{"c"}, "n3", 4, 4});
    CHECK_FALSE(find());
    CHECK_FALSE(find());
  }
  SECTION("a node that is forgotten is not known") {
    uut.forget({"a"});
    CHECK_FALSE(find());
    uut.forget({"b"});
    CHECK(uut.empty());
  }
}

TEST_CASE_METHOD(job_pace_fixture,
                 "job pace: an agent speaks for its own workers, once for each",
                 "[core]") {
  told("a", {{0, 100ms, 100ms}, {1, 100ms, 100ms}});
  told("b", {{3, 200ms, 200ms}, {3, 900ms, 900ms}, {1, 900ms, 900ms}});
  const auto x = find();
  REQUIRE(x);
  CHECK(x->count == 1);
  CHECK(x->named.front().compute == 200ms);
  told("b", {{3, duration::max(), duration::max()}, {2, -1s, -1s}},
       {.distance = UINT32_MAX});
  CHECK_FALSE(found()); // As before, and no number overflows.
}

TEST_CASE_METHOD(job_pace_fixture,
                 "job pace: sixteen are named, the slowest first, all are "
                 "counted",
                 "[core]") {
  members = {{{"a"}, "n1", 0, 100}};
  auto workers = paces{};
  for (uint32_t i = 0; i < 100; ++i)
    workers.push_back(i < 40 ? worker_pace{i, 200ms + 1ms * i, 200ms}
                             : worker_pace{i, 100ms, 100ms});
  told("a", workers);
  const auto x = find();
  REQUIRE(x);
  CHECK(x->count == 40);
  CHECK(x->named.size() == stragglers_named_max);
  CHECK(x->named.front().global_rank == 39);
  CHECK(sentence_of(x->named, x->count)
        == "40 workers compute longer per step than the others (100.0 ms): "
           "rank 39 on n1 (239.0 ms), rank 38 on n1 (238.0 ms), rank 37 on n1 "
           "(237.0 ms), rank 36 on n1 (236.0 ms) and 36 more");
}

// -- 64 workers on eight nodes, step by step ------------------------------------

namespace {

/// A job whose workers take one step after another together. Agents look four times
/// per second, as they do.
class paced_job {
public:
  static constexpr uint32_t node_count = 8;
  static constexpr uint32_t slot_count = 8;
  static constexpr uint32_t worker_count = node_count * slot_count;

  explicit paced_job(uint64_t seed) : random_(seed) {
    for (uint32_t i = 0; i < node_count; ++i)
      members_.push_back(
        {agent(i), "n" + std::to_string(i), i * slot_count, slot_count});
    begin({1});
  }

  void begin(generation_id x) {
    generation_ = x;
    for (auto& node : nodes_)
      node.begin(x);
    seen_ = std::vector<std::map<uint32_t, step_reading>>(node_count);
  }

  /// How many times as long as 1 s each worker computes in the next step, without noise.
  double& factor_of(uint32_t rank) { return factors_[rank]; }

  /// One step: the longest is what all of them take.
  /// @param rare How many of a thousand computations are bursts.
  void step(double common, double noise, int rare) {
    auto normal = std::normal_distribution<>{0, noise};
    auto thousand = std::uniform_int_distribution{0, 999};
    auto longest = duration{0};
    for (uint32_t rank = 0; rank < worker_count; ++rank) {
      auto factor = factors_[rank] * common * (1 + std::abs(normal(random_)));
      if (thousand(random_) < rare)
        factor *= 4;
      const auto time = duration{static_cast<int64_t>(1e9 * factor)};
      auto& x = seen_[rank / slot_count][rank];
      ++x.step_count;
      x.newest.push_back(time);
      if (x.newest.size() > step_page::newest_max)
        x.newest.erase(x.newest.begin());
      longest = std::max(longest, time);
    }
    for (auto left = longest; left > duration{0}; left -= 250ms) {
      now_ += 250ms;
      look();
    }
  }

  const std::vector<straggler>& slow() const { return slow_; }
  int finding_count() const { return finding_count_; }
  uint64_t message_count() const { return message_count_; }

private:
  static agent_id agent(uint32_t node) { return {std::to_string(node)}; }

  void look() {
    auto is_new = false;
    for (uint32_t i = 0; i < node_count; ++i)
      if (const auto x = nodes_[i].step(seen_[i], now_)) {
        judge_.note(agent(i), *x);
        ++message_count_;
        is_new = true;
      }
    if (!is_new)
      return;
    if (const auto found = judge_.find(generation_, members_)) {
      slow_ = found->named;
      ++finding_count_;
    }
  }

  std::mt19937_64 random_;
  std::vector<double> factors_ = std::vector<double>(worker_count, 1.0);
  generation_id generation_;
  std::vector<paced_node> members_;
  std::vector<std::map<uint32_t, step_reading>> seen_;
  std::vector<node_pace> nodes_{node_count, node_pace{{}}};
  job_pace judge_;
  time_point now_{1s};
  std::vector<straggler> slow_;
  int finding_count_ = 0;
  uint64_t message_count_ = 0;
};

} // namespace

TEST_CASE("job pace: of 64 workers the one that is 20 % slower is named within "
          "30 steps, 20 times of 20",
          "[core]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    auto job = paced_job{seed};
    const auto slow = uint32_t(seed * 3 % paced_job::worker_count);
    job.factor_of(slow) = 1.2;
    for (auto i = 0; i < 30; ++i)
      job.step(1, 0.05, 5);
    REQUIRE(job.slow().size() == 1);
    CHECK(job.slow().front().global_rank == slow);
    CHECK(job.finding_count() == 1);
    // It heals, and that is found as soon.
    job.factor_of(slow) = 1;
    for (auto i = 0; i < 30; ++i)
      job.step(1, 0.05, 5);
    CHECK(job.slow().empty());
  }
}

TEST_CASE("job pace: one that becomes slow in the middle is named within 30 "
          "steps",
          "[core]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    auto job = paced_job{seed};
    for (auto i = 0; i < 41; ++i)
      job.step(1, 0.05, 5);
    CHECK(job.finding_count() == 0);
    job.factor_of(63) = 1.2;
    for (auto i = 0; i < 30; ++i)
      job.step(1, 0.05, 5);
    REQUIRE(job.slow().size() == 1);
    CHECK(job.slow().front().global_rank == 63);
  }
}

// 10^5 windows of 64 workers, each of five steps at least.
TEST_CASE("job pace: noise, bursts, common changes, saves and restarts are no "
          "stragglers",
          "[core]") {
  constexpr auto windows = 100'000 / int(paced_job::worker_count);
  auto job = paced_job{4'711};
  for (auto i = 0; i < windows * 5; ++i) {
    const auto is_save = i % 20 == 0;
    job.factor_of(0) = is_save ? 12 : 1; // Rank 0 saves.
    const auto is_late = i % 400 >= 350; // A common slow-down.
    const auto is_evaluation = i % 900 > 880;
    job.step(is_late ? 1.7 : is_evaluation ? 0.3 : 1, 0.08, 10);
    if (i % 1'000 == 999)
      job.begin({uint64_t(2 + i / 1'000)}); // A restart.
  }
  CHECK(job.finding_count() == 0);
  CHECK(job.slow().empty());
}

} // namespace actorrun::test::job_pace_test
