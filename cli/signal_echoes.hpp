// Decides whether a signal is one that has come already, on another way.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace actorrun::cli {

/// A terminal sends Ctrl-C to each process of a group, and one of them may pass it on to
/// this one: then two senders mean one signal. What one sender sends twice is two.
class signal_echoes {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Who passes a signal on does it within this time; a person needs longer.
  static constexpr auto span = std::chrono::milliseconds{300};

  /// @param sender Its pid; others stand for what has none.
  /// @param now    Never decreases between calls.
  /// @returns whether the signal counts
  bool counts(int signal, int64_t sender, time_point now);

private:
  /// One signal, as often as it has come.
  struct heard {
    time_point since; ///< When it counted.
    std::vector<int64_t> senders;
  };

  std::map<int, heard> last_; ///< By signal.
};

} // namespace actorrun::cli
