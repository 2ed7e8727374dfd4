// Runs random histories of workers, lines and late answers, and checks what
// must always hold.
#include "tests/core/timers/table_fixture.hpp"
#include "tests/support/catch.hpp"

#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

namespace actorrun::test::table_sim_test {

using namespace actorrun::core;
using namespace actorrun::core::test_timers;
using namespace std::chrono_literals;

namespace {

/// An agent with four slots, generation after generation; pids are few and are
/// reused. Lines wait in the FIFO for a while. The answer to a drain comes after
/// the lines that were there when it was ordered, but not after later ones.
class history {
public:
  explicit history(uint32_t seed) : random_(seed) {}

  void run() {
    for (int i = 0; i < 4'000; ++i) {
      now_ += duration{int64_t(below(2'000'000))};
      fire_timers();
      switch (below(10)) {
        case 0:
          start_or_end();
          break;
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
          read_line();
          break;
        default:
          write_line();
      }
    }
    CHECK(report_count_ > 0);
    end();
  }

private:
  struct process {
    int64_t pid = 0;
    bool is_reported = false;
    /// Timers that it has acquired and not released, by its own count.
    std::map<std::string, time_point> held{};
    /// Timers that it has held beyond their deadline, even if released later.
    std::set<std::pair<std::string, time_point>> overruns{};

    void let_go(const std::string& scope, time_point now) {
      if (const auto x = held.find(scope); x != held.end()) {
        if (x->second <= now)
          overruns.insert(*x);
        held.erase(x);
      }
    }
  };

  static constexpr uint32_t slot_count = 4;
  static constexpr int64_t pid_count = 6;

  uint32_t below(uint32_t n) { return uint32_t(random_() % n); }

  static std::string_view name(uint32_t i) {
    static constexpr std::string_view names[] = {"a", "b", "c"};
    return names[i];
  }

  void step(const timer_event& event) {
    for (const auto& x : uut_.step(event, now_))
      std::visit([this](const auto& y) { obey(y); }, x);
  }

  void obey(const arm_timer& x) {
    REQUIRE(x.due > now_);
    armed_.emplace(x.due, x.timer);
    REQUIRE(armed_.size() < 70);
  }

  void obey(const drain_source& x) {
    fifo_.push_back(source_drained{x.round});
    ++order_count_;
  }

  void obey(const record_overrun&) { FAIL("all signals are positive"); }

  void obey(const report_overrun& x) {
    ++report_count_;
    const auto& what = x.what;
    // It lives, it is the right one, it is reported once …
    const auto i = alive_.find(what.who);
    REQUIRE(i != alive_.end());
    REQUIRE(i->second.pid == what.pid);
    REQUIRE(!i->second.is_reported);
    i->second.is_reported = true;
    // … and by its own count it has overrun this very scope.
    i->second.let_go(what.scope, now_);
    REQUIRE(i->second.overruns.contains({what.scope, what.due}));
    REQUIRE(what.due <= now_);
    REQUIRE(what.lateness == now_ - what.due);
  }

  // A worker that is left and stuck is found.
  void end() {
    answer_orders();
    for (const auto& [who, x] : alive_)
      if (!x.is_reported)
        write_acquire(who, "a");
    while (!fifo_.empty())
      read_line();
    while (!armed_.empty()) {
      now_ = armed_.begin()->first;
      fire_timers();
      answer_orders();
    }
    for (const auto& x : alive_)
      REQUIRE(x.second.is_reported);
    REQUIRE(uut_.size() == 0);
  }

  void start_or_end() {
    const auto rank = below(slot_count);
    const auto who = timed_worker{{generation_}, rank};
    if (alive_.contains(who)) {
      alive_.erase(who);
      step(timed_worker_ended{who});
      generation_ += below(4) == 0;
      return;
    }
    auto pid = 1 + int64_t(below(pid_count));
    for (const auto& x : alive_)
      if (x.second.pid == pid)
        return;
    alive_[who] = {.pid = pid};
    step(timed_worker_started{who, pid});
  }

  void write_line() {
    if (alive_.empty())
      return;
    auto i = alive_.begin();
    std::advance(i, below(uint32_t(alive_.size())));
    const auto scope = name(below(3));
    if (below(2) == 0) {
      write_acquire(i->first, scope);
      return;
    }
    i->second.let_go(std::string{scope}, now_);
    fifo_.push_back(timer_requested{.pid = i->second.pid,
                                    .scope = scope,
                                    .is_release = true,
                                    .wall_offset = wall_offset});
  }

  void write_acquire(const timed_worker& who, std::string_view scope) {
    auto& writer = alive_.at(who);
    const auto due = now_ + duration{int64_t(below(20'000'000))};
    writer.let_go(std::string{scope}, now_);
    writer.held[std::string{scope}] = due;
    fifo_.push_back(
      timer_requested{.pid = writer.pid,
                      .scope = scope,
                      .is_release = false,
                      .expiration = due.time_since_epoch() + wall_offset,
                      .signal = 9,
                      .wall_offset = wall_offset});
  }

  void read_line() {
    if (fifo_.empty())
      return;
    const auto x = fifo_.front();
    fifo_.pop_front();
    order_count_ -= std::holds_alternative<source_drained>(x);
    step(x);
  }

  void answer_orders() {
    while (order_count_ > 0)
      read_line();
  }

  void fire_timers() {
    while (!armed_.empty() && armed_.begin()->first <= now_) {
      const auto timer = armed_.begin()->second;
      armed_.erase(armed_.begin());
      // Otherwise it would time out: the answer comes in time.
      answer_orders();
      step(timer_fired{timer});
    }
  }

  std::mt19937 random_;
  timer_table uut_;
  time_point now_{};
  uint64_t generation_ = 1;
  std::map<timed_worker, process> alive_;
  std::deque<timer_event> fifo_;
  uint32_t order_count_ = 0; ///< Orders in the FIFO.
  std::multimap<time_point, timer_id> armed_;
  size_t report_count_ = 0;
};

} // namespace

TEST_CASE("timer_table: in random histories only overrun workers are reported",
          "[core]") {
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    history{seed}.run();
  }
}

} // namespace actorrun::test::table_sim_test
