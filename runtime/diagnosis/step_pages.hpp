// Owns the files by which workers say how long their steps take.
#pragma once

#include "actors/ports/step_counters.hpp"
#include "messages/result.hpp"
#include "runtime/os/run_folder.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Each worker makes a file of its own in the folder of the user's jobs, named by its
/// session: what it starts is in the same. A worker that says nothing has none.
class step_pages final : public ports::step_counters {
public:
  /// @retval errc::system_failure  the folder cannot be used
  static result<std::unique_ptr<step_pages>> open();

  /// Removes the files of this agent, and those left by killed agents.
  ~step_pages() override;

  step_pages(const step_pages&) = delete;
  step_pages& operator=(const step_pages&) = delete;

  const std::string& prefix() const override { return prefix_; }

  /// Removes the files of workers that were read before, are not named now, and are
  /// used by none.
  std::map<int64_t, core::step_reading>
  read(const std::vector<int64_t>& pids) override;

private:
  explicit step_pages(run_folder folder);
  std::string path_of(int64_t pid) const;

  run_folder folder_;
  std::string prefix_;
  std::set<int64_t> known_; ///< Workers with files.
};

} // namespace actorrun::detail
