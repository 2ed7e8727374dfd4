// A voter in virtual time: facts go in, its orders come out as text.
#pragma once

#include "actors/core/succession/succession.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test {

using namespace actorrun::core;
using namespace std::chrono_literals;

inline const auto n1 = agent_id{"n1"};
inline const auto n2 = agent_id{"n2"};
inline const auto n3 = agent_id{"n3"};
inline const auto n4 = agent_id{"n4"};
inline const auto n5 = agent_id{"n5"};

/// Agent n2 of a job with the voters n1, n2, n3, which n1 leads in term 1. Timers and
/// examinations are left out of the text; `armed` has the last timer.
struct succession_fixture {
  using phase = succession::phase;
  using millis = std::chrono::milliseconds;

  succession uut{{.self = n2}};
  arm_timer armed{};
  std::vector<succession_effect> effects;

  static written_charter charter_of(std::vector<agent_id> voters,
                                    std::vector<agent_id> order,
                                    charter_key key = {1, 1}) {
    auto job = charter{.revision = 1};
    job.lease = 1200ms;
    return {.key = key,
            .voters = voter_set{std::move(voters)},
            .order = std::move(order),
            .job = job};
  }

  static written_charter three(charter_key key = {1, 1}) {
    return charter_of({n1, n2, n3}, {n1, n2, n3}, key);
  }

  std::string at(millis t, const succession_event& event) {
    auto trace = std::string{};
    effects = uut.step(event, time_point{t});
    for (const auto& effect : effects) {
      if (const auto* timer = std::get_if<arm_timer>(&effect))
        armed = *timer;
      else if (!std::holds_alternative<examine>(effect))
        trace += (trace.empty() ? "" : "; ") + to_string(effect);
    }
    return trace;
  }

  std::string hear(millis t, agent_id from, succession_message what) {
    return at(t, message_heard{std::move(from), std::move(what)});
  }

  /// The last timer fires when it is due.
  std::string fire() {
    const auto due = armed.due.time_since_epoch();
    return at(std::chrono::ceil<millis>(due), timer_fired{armed.timer});
  }

  template <class Effect>
  const Effect* find() const {
    for (const auto& x : effects)
      if (const auto* out = std::get_if<Effect>(&x))
        return out;
    return nullptr;
  }

  /// The vote that has just been sent.
  vote given() const {
    for (const auto& x : effects)
      if (const auto* out = std::get_if<send_message>(&x))
        if (const auto* y = std::get_if<vote>(&out->what))
          return *y;
    FAIL("no vote was sent");
    return {};
  }

  void follow(written_charter known = three()) {
    hear(0ms, n1, beat{1, time_point{0ms}, std::move(known)});
  }

  /// Promises have lapsed: n3 votes, and stores what it gets, as of 400 ms.
  void lead() {
    follow();
    at(390ms, timer_fired{armed.timer});
    hear(395ms, n3, would{2});
    hear(400ms, n3, vote{2, time_point{395ms}, 395ms, three()});
    hear(400ms, n3, beat_heard{2, time_point{395ms}, {2, 1}});
  }

  /// An agent that stays, on a host of its own.
  static voter_candidate here(const agent_id& who) {
    return {who, "host of " + to_string(who)};
  }
};

} // namespace actorrun::test
