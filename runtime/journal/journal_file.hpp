// Names and finds the files of journals.
#pragma once

#include "messages/ids.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// One coordinator of one job.
struct journal_name {
  job_id job;
  std::string host;
  int64_t wall_ms = 0; ///< Of its beginning, Unix time.
  int64_t pid = 0;

  friend bool operator==(const journal_name&, const journal_name&) = default;
};

/// `job1.n1.1785500000123.4711.jsonl`. Characters of ids and hosts that are not
/// letters, digits, `-` or `_` are written as `%2F`.
std::string file_name_of(const journal_name& x);

/// @returns none if no journal is called so
std::optional<journal_name> journal_name_of(const std::string& file_name);

/// Where journals are: `actorrun/journal` in `$XDG_STATE_HOME`, or else in
/// `$HOME/.local/state`. Only absolute paths count.
/// @param variable Of the environment; none if it is not set.
/// @returns an empty text if neither variable is set
std::string journal_folder(
  const std::function<std::optional<std::string>(const std::string& name)>&
    variable);

struct journal_file {
  std::string path;
  journal_name name;
  int64_t changed_ms = 0; ///< Unix time of the last record.
};

/// The journals in a folder, those that were written to last in front.
std::vector<journal_file> find_journals(const std::string& folder);

/// How many there are, roughly: by their names alone.
size_t count_journals(const std::string& folder);

/// Of these, the files beyond the newest ones are removed when a new one begins.
inline constexpr size_t journal_file_count_max = 200;

/// So many more may be there: they are not counted exactly with each launch.
inline constexpr size_t journal_file_slack = 56;

/// Removes the oldest journals of a folder, until so many are left. If there are
/// not more of them, it only reads the folder.
void remove_old_journals(const std::string& folder, size_t count_max);

} // namespace actorrun::detail
