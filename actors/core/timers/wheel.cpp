#include "actors/core/timers/wheel.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace actorrun::core {

namespace {

int64_t count_of(time_point x) {
  return std::chrono::duration_cast<duration>(x.time_since_epoch()).count();
}

// What was taken when timers were many is kept until they are few: a worker that
// acquires and releases one timer must not allocate each time.
constexpr size_t kept_capacity = 4096;

// A slot with more than this share of all timers is crowded.
constexpr size_t crowded_share = 16;

} // namespace

timer_wheel::timer_wheel(timer_limits limits)
  : limits_(limits), scopes_(limits.long_text_max) {}

bool timer_wheel::acquire(uint32_t worker, std::string_view scope,
                          time_point due, int signal, duration limit) {
  const auto held = scopes_.hold(scope);
  if (held == timer_scopes::none)
    return false;
  auto number = find(worker, held);
  if (number != timer_index::none) {
    scopes_.drop(held);
    unput(number);
  } else if (size() >= limits_.timer_count_max
             || size_of(worker) >= limits_.timers_per_worker_max) {
    scopes_.drop(held);
    return false;
  } else {
    number = add(worker, held);
  }
  auto& x = timers_[number];
  x.due = count_of(due);
  x.limit = static_cast<uint64_t>(std::clamp<int64_t>(
    std::chrono::ceil<std::chrono::microseconds>(limit).count(), 0,
    (int64_t{1} << limit_bits) - 1));
  x.signal = std::clamp(signal, INT8_MIN, INT8_MAX);
  put(number, slot_for(x.due));
  return true;
}

bool timer_wheel::release(uint32_t worker, std::string_view scope) {
  const auto held = scopes_.find(scope);
  if (held == timer_scopes::none)
    return false;
  const auto number = find(worker, held);
  if (number == timer_index::none)
    return false;
  remove(number);
  return true;
}

void timer_wheel::clear(uint32_t worker) {
  while (size_of(worker) > 0)
    remove(shares_[worker].head);
}

void timer_wheel::advance(time_point now) {
  const auto due = count_of(now);
  const auto tick = std::max(tick_of(due), tick_);
  const auto& here = slots_[digit_of(tick, 0)];
  if (tick == tick_ && (here.head == no_record || here.least > due))
    return;
  auto expired = batch{};
  for (const auto number : turn(tick)) {
    auto& x = timers_[number];
    if (x.due <= due)
      expired.push_back(number);
    else
      put(number, slot_for(x.due));
  }
  if (!expired.empty())
    line_up(std::move(expired));
}

// Moves the wheel to `tick` and takes out all that may be due there. Below the
// highest digit that changes, everything lies in the past; on its level, what
// lies up to the new digit does, or has to sink.
timer_wheel::batch timer_wheel::turn(uint64_t tick) {
  auto out = batch{};
  const auto top = level_of(tick);
  tick_ = tick;
  for (uint32_t level = 0; level <= top; ++level) {
    const auto last = level < top ? slots_per_level - 1 : digit_of(tick, level);
    while (used_[level] != 0) {
      const auto i = static_cast<uint32_t>(std::countr_zero(used_[level]));
      if (i > last)
        break;
      empty_slot(static_cast<uint16_t>(level * slots_per_level + i), out);
    }
  }
  return out;
}

// A long list is found by looking at all timers in the order of memory: that
// takes a tenth of the time, since a list visits them in any order.
void timer_wheel::empty_slot(uint16_t where, batch& out) {
  auto& list = slots_[where];
  if (list.count > timers_.capacity() / crowded_share) {
    for (uint32_t i = 0; i < timers_.capacity(); ++i)
      if (timers_[i].slot == where)
        out.push_back(i);
  } else {
    for (auto i = list.head; i != no_record; i = timers_[i].link)
      out.push_back(i);
  }
  list.head = no_record;
  list.count = 0;
  if (where != expired_slot)
    used_[where / slots_per_level]
      &= ~(uint64_t{1} << (where % slots_per_level));
}

// Those found before and not taken yet are sorted in with the new ones.
void timer_wheel::line_up(batch expired) {
  empty_slot(expired_slot, expired);
  auto order = std::vector<std::pair<int64_t, uint32_t>>{};
  order.reserve(expired.size());
  for (const auto number : expired)
    order.emplace_back(timers_[number].due, number);
  std::sort(order.begin(), order.end(), std::greater{});
  for (const auto& x : order)
    put(x.second, expired_slot);
}

std::optional<expired_timer> timer_wheel::take_expired() {
  const auto number = slots_[expired_slot].head;
  if (number == no_record)
    return std::nullopt;
  const auto& x = timers_[number];
  auto taken = expired_timer{.worker = x.worker,
                             .scope = std::string{scopes_.text(x.scope)},
                             .due = time_point{duration{x.due}},
                             .signal = static_cast<int>(x.signal),
                             .limit = std::chrono::microseconds{x.limit}};
  remove(number);
  return taken;
}

std::optional<time_point> timer_wheel::next_due() const {
  if (has_expired())
    return time_point{duration{timers_[slots_[expired_slot].head].due}};
  for (uint32_t level = 0; level < level_count; ++level)
    if (used_[level] != 0) {
      const auto i = static_cast<uint32_t>(std::countr_zero(used_[level]));
      return time_point{duration{slots_[level * slots_per_level + i].least}};
    }
  return std::nullopt;
}

size_t timer_wheel::size_of(uint32_t worker) const {
  return worker < shares_.size() ? shares_[worker].count : 0;
}

// -- time ---------------------------------------------------------------------

// The order of signed times as an order of unsigned ticks.
uint64_t timer_wheel::tick_of(int64_t time) {
  return (static_cast<uint64_t>(time) ^ (uint64_t{1} << 63)) >> tick_bits;
}

uint32_t timer_wheel::digit_of(uint64_t tick, uint32_t level) {
  return static_cast<uint32_t>(tick >> (level * digit_bits)) % slots_per_level;
}

// The highest digit in which a tick differs from the wheel's own time.
uint32_t timer_wheel::level_of(uint64_t tick) const {
  const auto width = std::bit_width(tick ^ tick_);
  return width == 0 ? 0 : (static_cast<uint32_t>(width) - 1) / digit_bits;
}

uint16_t timer_wheel::slot_for(int64_t due) const {
  const auto tick = std::max(tick_of(due), tick_);
  const auto level = level_of(tick);
  return static_cast<uint16_t>(level * slots_per_level + digit_of(tick, level));
}

// -- keys ---------------------------------------------------------------------

uint32_t timer_wheel::hash_of(uint32_t worker, uint32_t scope) {
  // A multiplication spreads the low bits upwards; the table uses the low ones.
  const auto x
    = ((uint64_t{worker} << 32) | scope) * uint64_t{0x9E37'79B9'7F4A'7C15};
  return static_cast<uint32_t>(x >> 32);
}

uint32_t timer_wheel::find(uint32_t worker, uint32_t scope) const {
  return index_.find(hash_of(worker, scope), [&](uint32_t number) {
    const auto& x = timers_[number];
    return x.worker == worker && x.scope == scope;
  });
}

// It lies in no slot yet.
uint32_t timer_wheel::add(uint32_t worker, uint32_t scope) {
  const auto number = timers_.take();
  auto& x = timers_[number];
  x.worker = worker;
  x.scope = scope;
  index_.insert(number, [this](uint32_t i) {
    return hash_of(timers_[i].worker, timers_[i].scope);
  });
  link_own(number);
  return number;
}

void timer_wheel::remove(uint32_t number) {
  unput(number);
  unlink_own(number);
  index_.erase(number, [this](uint32_t i) {
    return hash_of(timers_[i].worker, timers_[i].scope);
  });
  scopes_.drop(timers_[number].scope);
  timers_.give_back(number);
  if (size() == 0 && timers_.capacity() > kept_capacity) {
    timers_.clear();
    index_.clear();
  }
}

// -- lists --------------------------------------------------------------------

void timer_wheel::link_own(uint32_t number) {
  const auto worker = timers_[number].worker;
  if (worker >= shares_.size())
    shares_.resize(worker + 1);
  auto& own = shares_[worker];
  timers_[number].previous_own = no_record;
  timers_[number].next_own = own.head;
  if (own.head != no_record)
    timers_[own.head].previous_own = number;
  own.head = number;
  ++own.count;
}

void timer_wheel::unlink_own(uint32_t number) {
  const auto& x = timers_[number];
  auto& own = shares_[x.worker];
  if (x.previous_own == no_record)
    own.head = x.next_own;
  else
    timers_[x.previous_own].next_own = x.next_own;
  if (x.next_own != no_record)
    timers_[x.next_own].previous_own = x.previous_own;
  --own.count;
}

void timer_wheel::put(uint32_t number, uint16_t where) {
  auto& x = timers_[number];
  auto& list = slots_[where];
  list.least = list.head == no_record ? x.due : std::min(list.least, x.due);
  x.slot = where;
  x.previous = no_record;
  x.link = list.head;
  if (list.head != no_record)
    timers_[list.head].previous = number;
  list.head = number;
  ++list.count;
  if (where != expired_slot)
    used_[where / slots_per_level] |= uint64_t{1} << (where % slots_per_level);
}

void timer_wheel::unput(uint32_t number) {
  auto& x = timers_[number];
  auto& list = slots_[x.slot];
  --list.count;
  if (x.previous == no_record)
    list.head = x.link;
  else
    timers_[x.previous].link = x.link;
  if (x.link != no_record)
    timers_[x.link].previous = x.previous;
  if (list.count == 0 && x.slot != expired_slot)
    used_[x.slot / slots_per_level]
      &= ~(uint64_t{1} << (x.slot % slots_per_level));
  else if (list.count == 1)
    list.least = timers_[list.head].due; // Exact again.
  x.slot = nowhere;
}

} // namespace actorrun::core
