// A rendezvous in virtual time whose journal is kept.
#pragma once

#include "actors/core/journal/chronicle.hpp"
#include "tests/support/rendezvous_fixture.hpp"

#include <string>
#include <vector>

namespace actorrun::test {

struct chronicle_fixture : rendezvous_fixture {
  using rendezvous_fixture::rendezvous_fixture;

  /// Unix time in ms at time 0.
  static constexpr int64_t wall_begin = 1'785'500'000'000;

  static journal::moment moment_at(milliseconds t) {
    return {time_point{t}, wall_begin + t.count()};
  }

  void begin() {
    keep(chronicle.begin({.job = {"job1"},
                          .host = "n0",
                          .pid = 99,
                          .is_successor = false,
                          .settings = settings},
                         moment_at(0ms)));
  }

  /// Applies an event. @returns the kinds of its records, joined by spaces
  std::string note(milliseconds t, const rendezvous_event& event) {
    at(t, event);
    auto out = chronicle.note(event, effects, uut, moment_at(t));
    const auto first = records.size();
    keep(std::move(out));
    auto text = std::string{};
    for (auto i = first; i < records.size(); ++i)
      text += (text.empty() ? "" : " ") + name_of(*records[i].what);
    return text;
  }

  void keep(journal::chronicle::records x) {
    records.insert(records.end(), x.begin(), x.end());
  }

  /// Generation 1 of `a`, `b` and `c`, workers running.
  void run_noted() {
    begin();
    for (const auto* agent : {"a", "b", "c"})
      note(0ms, join(agent));
    for (const auto* agent : {"a", "b", "c"})
      note(100ms, workers_started{{agent}, {1}, {1'000, 1'001}});
  }

  /// All of its workers have ended.
  void stop_noted(milliseconds t, uint64_t generation = 1) {
    for (const auto* agent : {"a", "b", "c"})
      note(t, stopped(agent, generation));
  }

  static std::string name_of(const journal::fact& x) {
    static constexpr const char* names[]
      = {"began",      "phase",    "wait",       "node",    "quarantine",
         "exclusions", "settings", "joined",     "refused", "touch",
         "leaving",    "gone",     "formed",     "running", "died",
         "revoked",    "stopped",  "asked",      "steered", "ended",
         "over",       "gpus",     "leader",     "voters",  "left",
         "hang",       "slow",     "attributed", "saved"};
    static_assert(std::size(names) == std::variant_size_v<journal::fact>);
    return names[x.index()];
  }

  /// What the records add up to.
  journal::snapshot replayed() const {
    auto out = journal::snapshot{};
    for (const auto& x : records)
      out.apply(x);
    return out;
  }

  journal::chronicle chronicle;
  journal::chronicle::records records;
};

} // namespace actorrun::test
