// Compares the two maps with the simplest model of them, and measures the memory of
// a million timers.
#include "actors/core/timers/deadlines.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <malloc.h>

namespace actorrun::test::deadlines_model_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using key = std::pair<uint32_t, std::string>;

struct value {
  time_point due;
  int signal = 0;
  duration limit{0};
};

using model = std::map<key, value>;

constexpr uint32_t worker_count = 12;

/// One seeded history: both get every call, and every answer is compared.
class history {
public:
  explicit history(uint32_t seed) : random_(seed) {}

  void run(int step_count) {
    for (int i = 0; i < step_count; ++i) {
      step();
      check_bounds();
    }
    now_ = time_point::max();
    expire();
    REQUIRE(uut_.size() == 0);
  }

private:
  uint32_t below(uint32_t n) { return uint32_t(random_() % n); }

  // Any magnitude: from nanoseconds to more than a century.
  duration any_span() {
    const auto bits = below(62);
    return duration{int64_t(random_() & ((uint64_t{1} << bits) - 1))};
  }

  key any_key() {
    const auto scope = below(40);
    return {below(worker_count),
            std::string(scope, 's') + std::to_string(scope)};
  }

  time_point any_due() {
    const auto die = below(100);
    if (die < 10)
      return now_; // Many are equal.
    if (die < 20)
      return time_point{duration{now_.time_since_epoch().count() / 1000 * 1000
                                 + int64_t(below(3)) * 1000}};
    if (die < 30)
      return now_ - any_span() / 4;
    if (die < 32)
      return die == 30 ? time_point::max() : time_point::min();
    const auto room = time_point::max() - now_;
    return now_ + std::min<duration>(any_span(), room);
  }

  void step() {
    const auto die = below(100);
    if (die < 50)
      acquire();
    else if (die < 75)
      release();
    else if (die < 77)
      clear();
    else if (die < 85)
      jump_to_next();
    else
      wait();
  }

  duration limit_for(time_point due) const {
    constexpr auto mask = (int64_t{1} << 40) - 1;
    return std::chrono::microseconds{due.time_since_epoch().count() & mask};
  }

  void acquire() {
    const auto who = any_key();
    const auto due = any_due();
    const auto x = value{due, int(below(20)) - 2, limit_for(due)};
    REQUIRE(uut_.acquire(who.first, who.second, x.due, x.signal, x.limit));
    model_[who] = x;
  }

  void release() {
    const auto who = any_key();
    REQUIRE(uut_.release(who.first, who.second) == (model_.erase(who) == 1));
  }

  void clear() {
    const auto worker = below(worker_count);
    uut_.clear(worker);
    std::erase_if(model_,
                  [&](const auto& x) { return x.first.first == worker; });
    REQUIRE(uut_.size_of(worker) == 0);
  }

  void jump_to_next() {
    if (const auto due = uut_.next_due()) {
      now_ = std::max(now_, *due);
      expire();
    }
  }

  void wait() {
    // Mostly short, so that the history does not reach the end of time.
    const auto room = (time_point::max() - now_) / 2;
    now_ += std::min<duration>(
      below(50) == 0 ? any_span() / 64 : any_span() % 50'000'000, room);
    expire();
  }

  using line = std::tuple<time_point, uint32_t, std::string, int, duration>;

  void expire() {
    uut_.advance(now_);
    auto expected = std::vector<line>{};
    for (const auto& [who, x] : model_)
      if (x.due <= now_)
        expected.emplace_back(x.due, who.first, who.second, x.signal, x.limit);
    std::erase_if(model_, [&](const auto& x) { return x.second.due <= now_; });
    REQUIRE(uut_.has_expired() == !expected.empty());
    auto found = std::vector<line>{};
    while (auto x = uut_.take_expired())
      found.emplace_back(x->due, x->worker, x->scope, x->signal, x->limit);
    REQUIRE(std::is_sorted(
      found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::get<time_point>(a) < std::get<time_point>(b);
      }));
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    REQUIRE(found == expected);
    // The lookup has moved the bound into the future.
    REQUIRE((!uut_.next_due() || *uut_.next_due() > now_));
  }

  void check_bounds() {
    REQUIRE(uut_.size() == model_.size());
    REQUIRE(uut_.next_due().has_value() == !model_.empty());
    if (model_.empty())
      return;
    const auto first = std::min_element(
      model_.begin(), model_.end(),
      [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
    REQUIRE(uut_.next_due() == first->second.due);
  }

  std::mt19937_64 random_;
  timer_deadlines uut_;
  model model_;
  time_point now_{};
};

} // namespace

TEST_CASE("timer_deadlines: it agrees with a naive model", "[core]") {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    history{seed}.run(5'000);
  }
}

// Sanitizers have allocators of their own, which mallinfo2 does not know.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

constexpr uint32_t million = 1'000'000;
constexpr size_t timer_size_max = 256;

size_t heap_in_use() {
  const auto x = ::mallinfo2();
  return x.uordblks + x.hblkhd;
}

} // namespace

TEST_CASE("timer_deadlines: a million timers need at most 256 bytes each",
          "[core]") {
  const auto before = heap_in_use();
  auto uut = timer_deadlines{};
  for (uint32_t i = 0; i < million; ++i) {
    const auto worker = i % 8;
    const auto scope = "/src/train_loop.py#" + std::to_string(million + i);
    REQUIRE(uut.acquire(worker, scope, time_point{30s + i * 1us}, 9));
  }
  const auto each = (heap_in_use() - before) / million;
  INFO(each << " bytes each");
  CHECK(uut.size() == million);
  CHECK(each <= timer_size_max);
  for (uint32_t worker = 0; worker < 8; ++worker)
    uut.clear(worker);
  // Nearly all memory is freed again.
  CHECK((heap_in_use() - before) / million == 0);
}

#endif

} // namespace actorrun::test::deadlines_model_test
