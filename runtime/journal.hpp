// Finds and reads the journals of jobs, also of those that have ended.
#pragma once

#include "actors/core/journal/snapshot.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun {

/// The journal of one coordinator.
struct journal_place {
  std::string path;
  job_id job;
  std::string host;       ///< Of the coordinator.
  int64_t began_ms = 0;   ///< Unix time.
  int64_t changed_ms = 0; ///< Unix time of its last record.
};

/// Where this user's journals are: `actorrun/journal` in `$XDG_STATE_HOME`, or
/// else in `$HOME/.local/state`. Only absolute paths count.
/// @param variable Of the environment; none if it is not set.
/// @returns an empty text if neither variable is set
std::string own_journal_folder(
  const std::function<std::optional<std::string>(const std::string& name)>&
    variable);

/// Those in a folder, those that were written to last in front.
std::vector<journal_place> list_journals(const std::string& folder);

/// Reads a journal record by record, also while it is written. Lines that are
/// damaged are left out.
class journal_reading {
public:
  /// @retval errc::bad_argument  there is no such file, or it cannot be read
  static result<journal_reading> open(const std::string& path);

  journal_reading(journal_reading&&) noexcept;
  journal_reading& operator=(journal_reading&&) noexcept;
  ~journal_reading();

  /// The next record; none: there is none yet.
  std::optional<core::journal::record> next();

  /// What is known after the last record.
  const core::journal::snapshot& known() const;

  /// The last record as JSON, with a line end.
  std::string json() const;

  uint64_t bad_line_count() const;

  /// Of the last line that was damaged; empty: there was none.
  const std::string& last_trouble() const;

private:
  struct members;
  explicit journal_reading(std::unique_ptr<members> x);

  std::unique_ptr<members> members_;
};

/// Whether its coordinator is, or was, on the host with the name of this one.
bool is_of_this_host(const core::journal::snapshot& x);

/// Whether the coordinator may still run: its process lives, or it is on another
/// host.
bool may_run(const core::journal::snapshot& x);

/// Now by the clock of a coordinator of this host.
core::time_point journal_now();

} // namespace actorrun
