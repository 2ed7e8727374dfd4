// Keeps events in order while some of them wait for a key to be released.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <variant>

namespace actorrun::core {

/// Lets nothing overtake what waits before it.
template <class T, class Key>
class held_queue {
public:
  /// @param waits_for Nothing: ready, when all before it are.
  void push(T x, std::optional<Key> waits_for = std::nullopt) {
    entries_.push_back({std::move(x), std::move(waits_for)});
  }

  /// What waits for a key that fits does so no more. A key without waiting events
  /// is ignored: it may have been answered twice, or too late.
  /// @returns how many waited for it
  template <class Predicate>
  size_t release_if(Predicate fits) {
    auto count = size_t{0};
    for (auto& x : entries_) {
      if (!x.waits_for || !fits(*x.waits_for))
        continue;
      x.waits_for.reset();
      ++count;
    }
    return count;
  }

  size_t release(const Key& key) {
    return release_if([&](const Key& x) { return x == key; });
  }

  /// The oldest, if it is ready; else null.
  const T* front() const {
    const auto is_ready = !entries_.empty() && !entries_.front().waits_for;
    return is_ready ? &entries_.front().fact : nullptr;
  }

  /// The oldest, which is ready, waits once more.
  /// @pre `front()`
  void hold(Key key) {
    assert(front() != nullptr);
    entries_.front().waits_for = std::move(key);
  }

  /// Removes the oldest.
  /// @pre `front()`
  T pop() {
    assert(front() != nullptr);
    auto out = std::move(entries_.front().fact);
    entries_.pop_front();
    return out;
  }

  bool empty() const { return entries_.empty(); }

private:
  struct entry {
    T fact;
    std::optional<Key> waits_for;
  };

  std::deque<entry> entries_;
};

/// A death waits until its worker's last lines are on the console, …
struct lines_shown {
  uint32_t local_rank = 0;
  friend bool operator==(const lines_shown&, const lines_shown&) = default;
};

/// … and then until files have been asked why it died.
struct examination {
  uint64_t number = 0;
  friend bool operator==(const examination&, const examination&) = default;
};

/// Keeps what becomes of a group's workers in order.
template <class T>
using worker_queue = held_queue<T, std::variant<lines_shown, examination>>;

} // namespace actorrun::core
