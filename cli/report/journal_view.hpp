// Shows journals to people: records as lines, moments as screens, explanations.
#pragma once

#include "actors/core/journal/snapshot.hpp"
#include "actors/core/journal/story.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// `12:03:04.123` in the time zone of this process.
std::string clock_text(int64_t wall_ms);

/// `2026-11-30T03:10:05.250+01:00` in the time zone of this process.
std::string date_text(int64_t wall_ms);

/// Whether a record is about a node.
/// @param node  Its host, or its agent's id.
/// @param known After the record.
bool is_about(const core::journal::record& x,
              const core::journal::snapshot& known, const std::string& node);

/// One line per record that people care about: its time, how much later than the
/// coordinator's beginning it was, its generation, what has happened.
/// @param known After the record.
/// @returns none if the record only changes numbers behind others
std::optional<std::string> line_of(const core::journal::record& x,
                                   const core::journal::snapshot& known);

/// The sentence, and the evidence below it.
std::string to_text(const core::journal::explanation& x);

/// One below the other. Of four or more generations in a row with the same cause, the first
/// and the last are told in full.
std::string to_text(const std::vector<core::journal::explanation>& parts);

/// Of what `actorctl why --json` says; docs/journal.md describes it.
inline constexpr int why_version = 1;

/// As one line of JSON.
/// @param state Of the job, in one word.
/// @param logs  Where log files are: `n1:/logs/…`.
std::string to_json(const core::journal::explanation& x,
                    const std::string& state,
                    const std::vector<std::string>& logs = {});

} // namespace actorrun::cli
