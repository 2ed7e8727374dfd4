// Renders where the time of a job went: as tables for people, as JSON for programs.
#pragma once

#include "actors/core/journal/story.hpp"
#include "actors/core/journal/time_account.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// What people are told beside the sums.
struct time_report {
  std::string job;   ///< Printable.
  std::string state; ///< In one word, as `actorctl why` says it.
  core::journal::job_time time{};
  /// Of generations that have ended, the oldest in front.
  std::vector<core::journal::explanation> ends{};
  size_t coordinator_count = 1;
  /// An earlier coordinator has a journal elsewhere.
  bool begins_late = false;
  std::optional<double> node_price{}; ///< Per hour.
};

std::string to_text(const time_report& x);

/// Of what `actorctl time --json` says; docs/time.md describes it.
inline constexpr int time_version = 1;

/// One document, in one line.
std::string to_json(const time_report& x);

} // namespace actorrun::cli
