// Holds what others can see until the charter that it follows from is stored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace actorrun::core {

/// What the coordinator has had written up to this change is stored where the next one
/// looks for it, whichever that is.
struct charter_written {
  uint64_t change = 0;
};

/// A coordinator that is elected can be followed by one that knows no more than what a
/// majority of voters has stored. So what agents and operators see of a decision waits
/// for that (decision 0061, rule 7), and what comes after it waits behind it: to them the
/// coordinator is slower by the time of a write, and nothing else.
///
/// It holds what a coordinator decides within its lease: without a majority that ends,
/// and what was held is never seen.
///
/// @tparam Output What is to be seen, as its owner knows it.
template <class Output>
class output_gate {
public:
  /// The charter has changed. What is passed from now on follows from it.
  /// @returns the number of the change, from 1 on
  uint64_t change() { return ++changed_; }

  /// All that was passed can be seen.
  bool is_open() const { return held_.empty() && stored_ == changed_; }

  /// @returns `x` if it can be seen now
  std::optional<Output> pass(Output x) {
    if (is_open())
      return x;
    held_.push_back({changed_, std::move(x)});
    return std::nullopt;
  }

  /// @returns what can be seen by that, in the order in which it was passed
  std::vector<Output> on(const charter_written& event) {
    stored_ = std::max(stored_, std::min(event.change, changed_));
    auto out = std::vector<Output>{};
    for (; !held_.empty() && held_.front().change <= stored_; held_.pop_front())
      out.push_back(std::move(held_.front().what));
    return out;
  }

  /// The leadership has ended: the next coordinator decides.
  void drop() { held_.clear(); }

private:
  struct held_output {
    uint64_t change = 0; ///< From which it follows.
    Output what;
  };

  uint64_t changed_ = 0;
  uint64_t stored_ = 0;
  std::deque<held_output> held_;
};

} // namespace actorrun::core
