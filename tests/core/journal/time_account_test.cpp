// Where the time of a job went: by hand for each cause, and that no time is lost over
// jobs in which anything happens.
#include "actors/core/journal/time_account.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace actorrun::test::time_account_test {

using namespace actorrun::core;
using namespace actorrun::core::journal;
using namespace std::chrono_literals;

namespace {

using std::chrono::milliseconds;
using enum time_cause;

constexpr uint64_t second = 1'000'000; // In µs.

struct fixture {
  /// @param begins By the wall clock, after an epoch.
  explicit fixture(milliseconds begins = 0s) : wall(begins) {
    at(0s, coordinator_began{});
  }

  void at(milliseconds t, fact what) {
    uut.apply({++number, {time_point{t}, (wall + t).count()}, std::move(what)});
  }

  /// Two places on each node; of generation 1, unless it is idle.
  static node node_of(const std::string& agent, share_state share) {
    auto out = node{};
    out.agent = {agent};
    out.host = "node-" + agent;
    out.slot_count = 2;
    out.share = share;
    if (share != share_state::idle)
      out.generation = {1};
    return out;
  }

  void set(milliseconds t, const std::string& agent, share_state share) {
    at(t, node_changed{node_of(agent, share)});
  }

  void set(milliseconds t, node x) { at(t, node_changed{std::move(x)}); }

  void form(milliseconds t, uint64_t generation, bool adopted = false) {
    auto x = generation_formed{};
    x.generation = {generation};
    x.adopted = adopted;
    at(t, x);
  }

  void phase(milliseconds t, rendezvous_phase x) { at(t, phase_changed{x}); }

  /// Generation 1 of `a` and `b` runs from 3 s on: a came after 0 s, b after 2 s.
  void run() {
    set(0s, "a", share_state::idle);
    set(2s, "b", share_state::idle);
    form(2s, 1);
    for (const auto* x : {"a", "b"})
      set(2s, x, share_state::starting);
    phase(2s, rendezvous_phase::starting);
    for (const auto* x : {"a", "b"})
      set(3s, x, share_state::running);
    at(3s, generation_running{{1}});
    phase(3s, rendezvous_phase::running);
  }

  time_account account(milliseconds t) const {
    return account_of(uut, time_point{t});
  }

  uint64_t spent(milliseconds t, time_cause x) const {
    return account(t).all.of(x);
  }

  milliseconds wall;
  uint64_t number = 0;
  snapshot uut;
};

void check_sums(const time_account& x) {
  auto by_generation = x.outside;
  for (const auto& y : x.generations)
    by_generation.add(y.spent);
  CHECK(by_generation == x.all);
  auto by_host = x.other_hosts;
  for (const auto& [host, y] : x.hosts)
    by_host.add(y);
  CHECK(by_host == x.all);
}

} // namespace

TEST_CASE_METHOD(fixture, "time: waiting, starting and training, by hand",
                 "[core]") {
  run();
  const auto x = account(13s);
  // a waits for 2 s, b for none; both start for 1 s and train for 10 s.
  CHECK(x.all.of(waiting) == 2 * 2 * second);
  CHECK(x.all.of(starting) == 2 * 2 * 1 * second);
  CHECK(x.all.of(training) == 2 * 2 * 10 * second);
  CHECK(x.all.all_worker_us() == 48 * second);
  CHECK(x.all.node_us[size_t(training)] == 2 * 10 * second);
  CHECK(x.all.all_node_us() == 24 * second);
  CHECK(x.wall_us == 13 * second);
  CHECK(x.goodput() == 40.0 / 48);
  CHECK(x.places() == 48.0 / 13);
  CHECK(x.outside.of(waiting) == 4 * second);
  REQUIRE(x.generations.size() == 1);
  CHECK(x.generations[0].spent.of(training) == 40 * second);
  CHECK_FALSE(x.end_us(0));
  CHECK(x.hosts.at("node-b").all_worker_us() == 22 * second);
  CHECK(summary_of(x)
        == "83.3 % training, 8.3 % starting, 8.3 % waiting for nodes");
  check_sums(x);
}

TEST_CASE_METHOD(fixture, "time: what the end of a generation costs",
                 "[core]") {
  run();
  at(10s, generation_revoked{{1}, "rank 0 failed"});
  set(10s, "a", share_state::failed);
  set(10s, "b", share_state::stopping);
  phase(10s, rendezvous_phase::stopping);
  set(11s, "a", share_state::idle); // Of generation 0 now: it is not a member.
  auto stopped = node_of("b", share_state::idle);
  stopped.generation = {1};
  set(12s, stopped); // Its workers have stopped, those of others have not.
  phase(13s, rendezvous_phase::gathering);
  form(14s, 2);
  for (const auto* x : {"a", "b"})
    set(14s, x, share_state::starting);
  phase(14s, rendezvous_phase::starting);
  // One is quicker; its workers wait for those of the other.
  set(15s, "a", share_state::running);
  set(16s, "b", share_state::running);
  phase(16s, rendezvous_phase::running);
  const auto x = account(17s);
  REQUIRE(x.generations.size() == 2);
  const auto& first = x.generations[0].spent;
  CHECK(first.of(training) == 2 * 2 * 7 * second);
  CHECK(first.of(regrouping) == (2 * 1 + 2 * 3) * second);
  CHECK(first.of(standby) == 2 * 2 * second);
  CHECK(first.of(waiting) == 2 * 2 * 1 * second);
  CHECK(x.generations[1].spent.of(starting) == 2 * 2 * 2 * second);
  CHECK(x.generations[1].spent.of(training) == 2 * 2 * 1 * second);
  CHECK(x.end_us(0) == (8 + 4 + 8) * second);
  CHECK_FALSE(x.end_us(1));
  check_sums(x);
}

TEST_CASE_METHOD(fixture, "time: nodes that are gone, away, done or standby",
                 "[core]") {
  run();
  auto away = node_of("a", share_state::running);
  away.connected = false;
  set(4s, away);
  at(6s, node_gone{{"a"}, "silent"});
  at(6s, node_gone{{"x"}, "never seen"});
  set(6s, "b", share_state::succeeded);
  set(6s, "c", share_state::idle);
  const auto x = account(9s);
  CHECK(x.all.of(out_of_touch) == 2 * 2 * second);
  CHECK(x.all.of(finished) == 2 * 3 * second);
  CHECK(x.all.of(standby) == 2 * 3 * second);
  CHECK(x.hosts.at("node-a").of(training) == 2 * 1 * second);
  CHECK(x.hosts.at("node-a").of(out_of_touch) == 4 * second);
  CHECK(x.hosts.at("node-c").all_worker_us() == 6 * second);
  check_sums(x);
}

TEST_CASE_METHOD(fixture, "time: nodes that may have no place do not wait",
                 "[core]") {
  auto excluded = node_of("a", share_state::idle);
  excluded.excluded = true;
  set(0s, excluded);
  auto stands_by = node_of("b", share_state::idle);
  stands_by.stands_by = std::string{"cost 3 generations"};
  set(0s, stands_by);
  set(0s, "c", share_state::idle);
  at(1s, quarantine_changed{{{{"c"}, "node-c", 1}}});
  phase(2s, rendezvous_phase::last_call);
  at(3s, quarantine_changed{{}});
  const auto x = account(4s);
  CHECK(x.hosts.at("node-a").of(standby) == 8 * second);
  CHECK(x.hosts.at("node-b").of(standby) == 8 * second);
  CHECK(x.hosts.at("node-c").of(standby) == 4 * second);
  CHECK(x.hosts.at("node-c").of(waiting) == 4 * second);
  check_sums(x);
}

TEST_CASE_METHOD(fixture, "time: a node that is checked, or unfit", "[core]") {
  auto checked = node_of("a", share_state::idle);
  checked.unfit = std::string{"its check runs"};
  set(0s, checked);
  checked.unfit = std::string{"`disk` has failed"};
  set(1s, checked);
  checked.unfit.reset();
  phase(2s, rendezvous_phase::last_call);
  set(3s, checked);
  const auto x = account(4s);
  CHECK(x.hosts.at("node-a").of(checking) == 2 * 3 * second);
  CHECK(x.hosts.at("node-a").of(waiting) == 2 * 1 * second);
  check_sums(x);
}

TEST_CASE_METHOD(fixture, "time: a successor's nodes train while it gathers",
                 "[core]") {
  set(1s, "a", share_state::running);
  set(1s, "b", share_state::starting);
  set(1s, "c", share_state::stopping);
  CHECK(spent(2s, training) == 2 * second);
  CHECK(spent(2s, starting) == 2 * second);
  CHECK(spent(2s, regrouping) == 2 * second);
}

TEST_CASE_METHOD(fixture, "time: nothing counts after the end", "[core]") {
  run();
  SECTION("of the job") {
    at(5s, job_ended{});
  }
  SECTION("of the lead") {
    at(5s, leadership_given_up{"another leads"});
  }
  set(6s, "a", share_state::idle);
  phase(7s, rendezvous_phase::ended);
  at(8s, node_gone{{"b"}, "left"});
  at(9s, coordinator_ended{});
  const auto x = account(10s);
  CHECK(x.all.of(training) == 8 * second);
  CHECK(x.wall_us == 5 * second);
  CHECK(x.all.all_worker_us() == (4 + 4 + 8) * second);
  check_sums(x);
}

TEST_CASE_METHOD(fixture,
                 "time: of an earlier program's snapshot it is counted "
                 "from there on",
                 "[core]") {
  run();
  uut.time = {};
  for (auto& [agent, entry] : uut.nodes) {
    entry.time = {};
    entry.counted_until = {};
  }
  for (auto& x : uut.generations)
    x.time = {};
  uut.begin_to_count();
  const auto x = account(10s);
  CHECK(x.wall_us == 7 * second);
  CHECK(x.all.all_worker_us() == 4 * 7 * second);
  check_sums(x);
}

TEST_CASE_METHOD(fixture, "time: parts of microseconds add up", "[core]") {
  set(0s, "a", share_state::running);
  for (auto ns = int64_t{1}; ns < 5'000; ns += 7)
    uut.apply({++number, {time_point{duration{ns}}, 0}, phase_changed{}});
  CHECK(account_of(uut, time_point{5us}).all.all_worker_us() == 10);
  // A clock that goes back, in a damaged journal, takes nothing away.
  CHECK(account_of(uut, time_point{1us}).all.all_worker_us() == 2 * 4);
}

TEST_CASE_METHOD(fixture, "time: what is not remembered is one sum", "[core]") {
  for (auto i = 0U; i < hosts_counted_max + 2; ++i) {
    const auto name = std::to_string(i);
    set(1s * i, name, share_state::idle);
    at(1s * (i + 1), node_gone{{name}, "left"});
  }
  set(2'000s, "a", share_state::running);
  for (auto i = uint64_t{1}; i <= generations_remembered_max + 2; ++i)
    form(1s * (2'000 + i), i);
  const auto x = account(3'000s);
  CHECK(x.hosts.size() == hosts_counted_max + 1);
  CHECK(x.other_hosts.all_worker_us() == 2 * 2 * second);
  CHECK(x.generations.size() == generations_remembered_max);
  CHECK(x.forgotten_generation_count == 2);
  CHECK(x.outside.of(training) == 2 * 3 * second);
  check_sums(x);
}

// -- several coordinators -------------------------------------------------------

namespace {

/// @param now By the clock of the last one.
job_time time_of_all(std::initializer_list<const fixture*> all,
                     milliseconds now) {
  auto xs = std::vector<const snapshot*>{};
  for (const auto* x : all)
    xs.push_back(&x->uut);
  return time_of(xs, time_point{now});
}

} // namespace

TEST_CASE("time: workers go on while another coordinator takes over",
          "[core]") {
  auto first = fixture{};
  first.run(); // Its last record is of 3 s.
  auto next = fixture{7s};
  next.set(1s, "a", share_state::running);
  next.form(2s, 1, true);
  next.phase(2s, rendezvous_phase::running);
  next.at(5s, generation_revoked{{1}, "b was lost"});
  next.form(5s, 2);
  const auto x = time_of_all({&first, &next}, 6s);
  CHECK(x.untold_us == 0);
  CHECK(x.sum.wall_us == (7 + 6) * second);
  REQUIRE(x.sum.generations.size() == 2);
  CHECK(x.sum.generations[0].generation == generation_id{1});
  CHECK(x.sum.generations[0].spent.of(training)
        == (2 * 2 * 4 + 2 * 1 + 2 * 3) * second);
  CHECK(x.sum.generations[0].is_revoked);
  CHECK(x.sum.end_us(0) == 0);
  CHECK(x.sum.outside.of(waiting) == 4 * second);
  check_sums(x.sum);
}

TEST_CASE("time: what no journal tells is not counted", "[core]") {
  auto first = fixture{};
  auto next = fixture{7s};
  next.set(0s, "a", share_state::idle);
  SECTION("the first one formed nothing") {
    first.set(3s, "a", share_state::idle);
    next.form(0s, 1, true);
    CHECK(time_of_all({&first, &next}, 0s).untold_us == 4 * second);
  }
  SECTION("the next one formed nothing") {
    first.run();
    const auto x = time_of_all({&first, &next}, 2s);
    CHECK(x.untold_us == 4 * second);
    // It waits since the generation of the first one has gone.
    CHECK(x.sum.generations[0].spent.of(waiting) == 4 * second);
    CHECK_FALSE(x.sum.end_us(0));
  }
  SECTION("the next one took over nothing") {
    first.run();
    next.form(1s, 2);
    const auto x = time_of_all({&first, &next}, 2s);
    CHECK(x.untold_us == 4 * second);
    CHECK(x.sum.end_us(0) == 2 * second);
    check_sums(x.sum);
  }
  SECTION("the next one took over another generation") {
    first.run();
    next.form(1s, 2, true);
    CHECK(time_of_all({&first, &next}, 2s).untold_us == 4 * second);
  }
  SECTION("the first one leads no more") {
    first.run();
    first.at(3s, leadership_given_up{"asked"});
    next.form(1s, 1, true);
    CHECK(time_of_all({&first, &next}, 2s).untold_us == 4 * second);
  }
  SECTION("clocks that went back, or are of another world") {
    first.run();
    next.uut.began.wall_ms = 0;
    CHECK(time_of_all({&first, &next}, 2s).untold_us == 0);
    next.uut.began.wall_ms = std::numeric_limits<int64_t>::max() / 2;
    CHECK(time_of_all({&first, &next}, 2s).untold_us
          == 365 * 24 * 3'600 * second);
  }
}

TEST_CASE("time: coordinators before the first generation, and after many",
          "[core]") {
  auto first = fixture{};
  first.set(0s, "a", share_state::idle);
  first.set(1s, "b", share_state::idle);
  auto next = fixture{1s};
  next.set(0s, "a", share_state::running);
  for (auto i = uint64_t{1}; i <= generations_remembered_max + 1; ++i)
    next.form(1s * i, i);
  auto last = fixture{100s};
  last.set(0s, "c", share_state::running);
  for (auto i = uint64_t{1}; i <= generations_remembered_max + 2; ++i)
    last.form(1s * i, 100 + i);
  const auto x = time_of_all({&first, &next, &last}, 200s);
  CHECK(x.sum.forgotten_generation_count == 1 + 2);
  CHECK(x.sum.outside.of(waiting) == 2 * second);
  CHECK(x.sum.outside.of(training) == 2 * (1 + 1 + 1 + 2) * second);
  CHECK(x.sum.hosts.size() == 3);
  check_sums(x.sum);
}

TEST_CASE_METHOD(fixture, "time: a hang counts from the last sign of life on",
                 "[core]") {
  run();
  at(13s, hang_changed{{1}, 4s, "no worker has shown a sign of life"});
  CHECK(spent(13s, training) == 2 * 2 * 6 * second);
  CHECK(spent(15s, hung) == 2 * 2 * 6 * second);
  CHECK(spent(15s, training) == 2 * 2 * 6 * second);
  SECTION("until a worker is heard") {
    at(16s, hang_changed{{1}, 0s, ""});
    CHECK(spent(18s, hung) == 2 * 2 * 7 * second);
    CHECK(spent(18s, training) == 2 * 2 * 8 * second);
  }
  SECTION("until the generation is stopped") {
    at(16s, generation_revoked{{1}, "rank 1 was killed"});
    phase(16s, rendezvous_phase::stopping);
    CHECK(spent(18s, hung) == 2 * 2 * 7 * second);
    CHECK(spent(18s, regrouping) == 2 * 2 * 2 * second);
  }
  SECTION("what another cause has had already stays with that") {
    at(16s, hang_changed{{1}, 0s, ""});
    at(17s, hang_changed{{1}, 9s, "again"});
    CHECK(spent(17s, hung) == 2 * 2 * 8 * second);
    CHECK(spent(18s, hung) == 2 * 2 * 9 * second);
  }
  check_sums(account(20s));
}

// -- for people -----------------------------------------------------------------

TEST_CASE_METHOD(fixture, "time: a short job of one generation is not told of",
                 "[core]") {
  CHECK_FALSE(is_worth_telling(uut, account(1h))); // It had no node.
  CHECK(summary_of(account(1h)).empty());
  CHECK(account(1h).goodput() == 0);
  CHECK(account(0s).places() == 0);
  run();
  CHECK_FALSE(is_worth_telling(uut, account(9'999ms)));
  CHECK(is_worth_telling(uut, account(10s)));
  form(4s, 2);
  CHECK(is_worth_telling(uut, account(5s)));
}

TEST_CASE("time: causes have names for programs and for people", "[core]") {
  auto names = std::string{};
  for (size_t i = 0; i < time_cause_count; ++i)
    names += to_string(time_cause(i)) + "/" + title_of(time_cause(i)) + " ";
  CHECK(names
        == "training/training starting/starting regrouping/regrouping "
           "waiting/waiting for nodes out_of_touch/out of touch "
           "finished/finished standby/standby hung/hung "
           "checking/checked or unfit ");
}

// -- anything ---------------------------------------------------------------------

TEST_CASE("time: no time is lost or counted twice, whatever is recorded",
          "[core]") {
  for (auto seed = 0U; seed < 500; ++seed) {
    auto job = fixture{};
    auto random = std::mt19937{seed};
    auto now = milliseconds{0};
    auto places = std::map<std::string, uint64_t>{};
    auto expected
      = uint64_t{0}; // In µs: how many places there were, and how long.
    auto generation = uint64_t{0};
    for (auto i = 0; i < 200; ++i) {
      const auto step = milliseconds{random() % 1'000};
      for (const auto& [agent, count] : places)
        expected += count * uint64_t(step.count()) * 1'000;
      now += step;
      const auto agent = std::string{char('a' + random() % 5)};
      switch (random() % 8) {
        case 0:
          job.phase(now, rendezvous_phase(random() % 6));
          break;
        case 1:
          job.at(now, node_gone{{agent}, "left"});
          places.erase(agent);
          break;
        case 2:
          job.form(now, ++generation);
          break;
        case 3:
          job.at(now, generation_revoked{{generation}, "x"});
          break;
        case 4:
          job.at(now, quarantine_changed{{{{agent}, "h", 1}}});
          break;
        default: {
          auto x = fixture::node_of(agent, share_state(random() % 6));
          x.slot_count = 1 + agent[0] % 3;
          x.generation = {random() % (generation + 1)};
          x.connected = random() % 4 != 0;
          x.excluded = random() % 8 == 0;
          job.set(now, x);
          places[agent] = x.slot_count;
        }
      }
      if (i == 150 && seed % 3 == 0) {
        job.at(now, job_ended{});
        break;
      }
    }
    const auto x = job.account(now);
    INFO("seed " << seed);
    REQUIRE(x.all.all_worker_us() == expected);
    check_sums(x);
    CHECK(x.wall_us == uint64_t(now.count()) * 1'000);
    CHECK(std::abs(x.places() * double(x.wall_us) - double(expected)) <= 1);
  }
}

} // namespace actorrun::test::time_account_test
