// Keeps events in order while some of them wait for a key to be released.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Lets nothing overtake what waits before it.
template <class T, class Key>
class held_queue {
public:
  /// @param waits_for Nothing: ready, when all before it are.
  void push(T x, std::optional<Key> waits_for = std::nullopt) {
    entries_.push_back({std::move(x), std::move(waits_for)});
  }

  /// What waits for `key` does so no more. A key without waiting events is
  /// ignored: it may have been answered twice, or too late.
  void release(const Key& key) {
    for (auto& x : entries_)
      if (x.waits_for == key)
        x.waits_for.reset();
  }

  /// Removes what is ready, oldest first.
  std::vector<T> take_ready() {
    auto out = std::vector<T>{};
    while (!entries_.empty() && !entries_.front().waits_for)
      pop_into(out);
    return out;
  }

  /// Removes all, ready or not, oldest first.
  std::vector<T> take_all() {
    auto out = std::vector<T>{};
    while (!entries_.empty())
      pop_into(out);
    return out;
  }

  bool empty() const { return entries_.empty(); }

private:
  struct entry {
    T fact;
    std::optional<Key> waits_for;
  };

  void pop_into(std::vector<T>& out) {
    out.push_back(std::move(entries_.front().fact));
    entries_.pop_front();
  }

  std::deque<entry> entries_;
};

} // namespace actorrun::core
