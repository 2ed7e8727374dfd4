// Where the time of a job went: by hand for each cause, and that no time is lost over
// jobs in which anything happens.
#include "actors/core/journal/time_account.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
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

// -- saves ----------------------------------------------------------------------

namespace {

struct saves_fixture : fixture {
  /// Both nodes, which have two places, train from 3 s on.
  saves_fixture() { run(); }

  void save(milliseconds t, const std::string& agent, milliseconds saving,
            std::optional<milliseconds> saved_up_to,
            milliseconds saving_since = 0s, uint64_t generation = 1) {
    auto x = node_saved{.agent = {agent},
                        .generation = {generation},
                        .saving = saving,
                        .saving_since = saving_since};
    if (saved_up_to)
      x.saved_up_to = time_point{*saved_up_to};
    at(t, x);
  }

  void revoke(milliseconds t, bool at_safe_point = false) {
    at(t, generation_revoked{.generation = {1},
                             .reason = "rank 0 failed",
                             .at_safe_point = at_safe_point});
    phase(t, rendezvous_phase::stopping);
  }

  void stop(milliseconds t, bool has_survivors = false) {
    at(t,
       generation_stopped{.generation = {1}, .has_survivors = has_survivors});
  }

  const generation_entry& entry() const { return uut.generations.front(); }
};

} // namespace

TEST_CASE_METHOD(saves_fixture,
                 "time: saving is taken out of training, and what was trained "
                 "since the last save is lost",
                 "[core]") {
  save(15s, "a", 2s, 13s, 2s);
  CHECK(spent(15s, saving) == 2 * second);
  CHECK(spent(15s, training) == (4 * 12 - 2) * second);
  check_sums(account(15s));
  revoke(23s);
  CHECK(spent(24s, lost) == 0); // How it ends is not known yet.
  stop(24s);
  // 10 s of four places, of which two seconds of one saved.
  CHECK(spent(24s, lost) == 38 * second);
  CHECK(spent(24s, training) == 40 * second);
  CHECK(spent(24s, saving) == 2 * second);
  CHECK(account(24s).all.node_us[size_t(lost)] == (9 + 10) * second);
  CHECK(account(24s).hosts.at("node-b").of(lost) == 20 * second);
  REQUIRE(entry().lost);
  CHECK(*entry().lost == loss{38 * second, 10 * second});
  check_sums(account(24s));
  stop(25s); // Again.
  CHECK(spent(25s, lost) == 38 * second);
}

TEST_CASE_METHOD(saves_fixture, "time: what loses nothing", "[core]") {
  SECTION("no worker has ever said that it saved") {
    revoke(23s);
    stop(24s);
  }
  SECTION("it has only begun to") {
    save(15s, "a", 2s, {});
    revoke(23s);
    stop(24s);
  }
  SECTION("the end at a safe point") {
    save(15s, "a", 2s, 13s);
    revoke(23s, true);
    stop(24s);
  }
  SECTION("the end that workers live through") {
    save(15s, "a", 2s, 13s);
    revoke(23s);
    stop(24s, true);
  }
  SECTION("success") {
    save(15s, "a", 2s, 13s);
    stop(24s);
  }
  SECTION("a generation that runs") {
    save(15s, "a", 2s, 13s);
  }
  CHECK(spent(25s, lost) == 0);
  CHECK_FALSE(entry().lost);
  check_sums(account(25s));
}

TEST_CASE_METHOD(saves_fixture,
                 "time: a generation without a save has lost all that it "
                 "trained, once the job has saved",
                 "[core]") {
  save(15s, "a", 0s, 13s);
  revoke(23s);
  stop(24s);
  form(24s, 2);
  for (const auto* x : {"a", "b"}) {
    auto next = node_of(x, share_state::running);
    next.generation = {2};
    set(24s, next);
  }
  phase(24s, rendezvous_phase::running);
  at(30s, generation_revoked{{2}, "rank 0 failed"});
  phase(30s, rendezvous_phase::stopping);
  at(30s, generation_stopped{.generation = {2}});
  const auto& last = uut.generations.back();
  REQUIRE(last.lost);
  CHECK(*last.lost == loss{4 * 6 * second, {}});
  CHECK(last.time.of(training) == 0);
  check_sums(account(30s));
}

TEST_CASE_METHOD(saves_fixture,
                 "time: a node that has left keeps its save, and loses like "
                 "others",
                 "[core]") {
  SECTION("its own save counts") {
    save(15s, "b", 0s, 13s);
    at(23s, node_gone{{"b"}, "silent"});
    revoke(23s);
    stop(24s);
    CHECK(spent(24s, lost) == 40 * second);
  }
  SECTION("of all saves the oldest counts") {
    save(15s, "b", 0s, 13s);
    save(19s, "a", 1s, 18s, 1s);
    at(23s, node_gone{{"b"}, "silent"});
    revoke(23s);
    stop(24s);
    CHECK(spent(24s, lost) == 39 * second);
  }
  SECTION("a host that is not remembered by name") {
    for (auto i = 0U; i < hosts_counted_max; ++i) {
      const auto name = std::to_string(i);
      set(10s, name, share_state::idle);
      at(10s, node_gone{{name}, "left"});
    }
    CHECK(uut.leavers.empty());
    save(15s, "a", 0s, 13s);
    at(23s, node_gone{{"b"}, "silent"});
    revoke(23s);
    stop(24s);
    CHECK(uut.time.left_others.of(lost) == 20 * second);
  }
  CHECK(account(24s).hosts.at("node-a").of(lost) >= 19 * second);
  check_sums(account(24s));
}

TEST_CASE_METHOD(saves_fixture,
                 "time: of what an earlier coordinator has counted, only what "
                 "comes after it counts",
                 "[core]") {
  form(4s, 2, true);
  for (const auto* x : {"a", "b"}) {
    auto now = node_of(x, share_state::running);
    now.generation = {2};
    set(4s, now);
  }
  save(6s, "a", 30s, 1s, 0s, 2);
  CHECK(spent(6s, saving) == 0);
  save(9s, "a", 31s, 7s, 1s, 2);
  CHECK(spent(9s, saving) == second);
  at(10s, generation_revoked{{2}, "x"});
  phase(10s, rendezvous_phase::stopping);
  at(10s, generation_stopped{.generation = {2}});
  CHECK(spent(10s, lost) == (4 * 3 - 1) * second);
  check_sums(account(10s));
}

TEST_CASE_METHOD(saves_fixture,
                 "time: whatever a journal says of saves, sums stay exact",
                 "[core]") {
  constexpr auto longest = duration::max();
  const auto say = [&](milliseconds t, duration saving, time_point saved_up_to,
                       duration saving_since) {
    at(t, node_saved{{"a"}, {1}, saving, saved_up_to, saving_since});
    check_sums(account(t));
  };
  SECTION("of a node, a generation or an end that there is not") {
    save(10s, "x", 1s, 9s);
    save(10s, "a", 1s, 9s, 0s, 2);
    CHECK_FALSE(uut.has_saves);
    revoke(11s);
    stop(11s);
    save(12s, "a", 1s, 9s);
    CHECK_FALSE(uut.has_saves);
  }
  SECTION("more than there was") {
    say(10s, longest, time_point::max(), longest);
    CHECK(spent(10s, saving) == 14 * second); // All of the node's training.
    say(12s, -longest, time_point::min(), -longest);
    CHECK(spent(12s, saving) == 14 * second);
    revoke(13s);
    stop(13s);
    CHECK(spent(13s, lost) == (2 * 3 + 2 * 10) * second);
  }
  SECTION("places without end") {
    auto x = node_of("a", share_state::running);
    x.slot_count = UINT32_MAX;
    set(10s, x);
    say(11s, 1s, time_point::min(), 0s);
    revoke(1'000'000s);
    stop(1'000'000s);
    CHECK(spent(1'000'000s, training) == 0);
  }
  SECTION("more nodes leave than are remembered") {
    for (auto i = 0U; i < leavers_remembered_max + 2; ++i) {
      const auto name = std::to_string(i);
      set(10s + 1s * i, name, share_state::running);
      at(11s + 1s * i, node_gone{{name}, "left"});
    }
    CHECK(uut.leavers.size() == leavers_remembered_max);
    save(2'000s, "a", 1s, 3s);
    revoke(2'001s);
    stop(2'001s);
  }
  check_sums(account(1'000'000s));
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
           "checking/checked or unfit saving/saving "
           "lost/lost since the last save ");
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
      if (random() % 4 == 0)
        job.at(now, node_saved{{std::string{char('a' + random() % 5)}},
                               {generation},
                               1ms * (random() % 20'000),
                               time_point{1ms * (random() % 100'000)},
                               1ms * (random() % 2'000)});
      if (random() % 16 == 0)
        job.at(now, generation_stopped{.generation = {generation},
                                       .has_survivors = random() % 4 == 0});
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
