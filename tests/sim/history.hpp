// Records the history as text: one line per step.
#pragma once

#include "actors/core/protocol/membership.hpp"
#include "actors/core/protocol/rendezvous.hpp"

#include <deque>
#include <string>

namespace actorrun::sim {

/// Keeps the latest lines; costs nothing when it is off.
class history {
public:
  enum class mode { off, last_lines, everything };

  explicit history(mode how) : mode_(how) {}

  bool on() const { return mode_ != mode::off; }

  /// `  1234.567 agent-2: lease_granted -> set_fence`
  void add(core::time_point now, const std::string& who,
           const std::string& what);

  template <class Effect>
  void add(core::time_point now, const std::string& who,
           const std::string& event, const std::vector<Effect>& effects) {
    if (!on())
      return;
    auto text = event;
    for (const auto& effect : effects)
      text += (&effect == &effects.front() ? " -> " : "; ") + to_string(effect);
    add(now, who, text);
  }

  std::string text() const;

private:
  static constexpr size_t line_count_max = 80;

  mode mode_;
  std::deque<std::string> lines_;
};

std::string to_string(const core::membership_event& x);
std::string to_string(const core::rendezvous_event& x);

} // namespace actorrun::sim
