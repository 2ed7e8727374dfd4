// Keeps a list of excluded hosts in a file that several jobs may change.
#pragma once

#include "actors/log.hpp"
#include "actors/ports/exclusion_list.hpp"
#include "messages/result.hpp"
#include "runtime/os/task_thread.hpp"

#include <string>
#include <vector>

namespace actorrun::detail {

/// Reads the list. May block with the file's disk.
/// @returns nothing if there is no such file
/// @retval errc::bad_argument    it is broken; the text says in which line
/// @retval errc::system_failure  it cannot be read
result<std::vector<core::excluded_host>>
read_exclusion_file(const std::string& path);

/// A change holds a lock of the file and puts another file in its place: a reader sees
/// the list before it or after it. Changes that fail are warned of, and the job goes
/// on.
class exclusion_file final : public ports::exclusion_list {
public:
  exclusion_file(std::string path, log lines);

  /// Waits a while for changes that have not been made.
  ~exclusion_file() override;
  exclusion_file(const exclusion_file&) = delete;
  exclusion_file& operator=(const exclusion_file&) = delete;

  void add(core::excluded_host x) override;
  void remove(std::string host) override;

private:
  std::string path_;
  log lines_;
  task_thread tasks_;
};

} // namespace actorrun::detail
