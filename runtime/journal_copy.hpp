// Copies the journal of a job that is coordinated elsewhere.
#pragma once

#include "messages/result.hpp"
#include "runtime/jobs.hpp"
#include "runtime/journal.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace actorrun {

/// In memory; what it has is read as any journal is.
class journal_copy {
public:
  /// In bytes.
  static constexpr uint64_t size_max = uint64_t{128} << 20;

  /// Asks for all that the present coordinator has written. Blocks for at most
  /// `limit` for each part of 256 KiB, and twice that for connecting.
  /// @pre job options have a rendezvous
  /// @retval errc::bad_argument  the job keeps no journal, or one that is too long
  /// @retval as `status_of`
  static result<journal_copy> fetch(const located_job& job,
                                    std::chrono::milliseconds limit);

  journal_copy(journal_copy&&) noexcept;
  journal_copy& operator=(journal_copy&&) noexcept;
  ~journal_copy();

  /// Adds what was written since. Blocks, and fails, as `fetch`. Not for a link on which
  /// nothing was asked for a minute.
  /// @retval errc::connection_failed  or another coordinator leads the job
  result<void> go_on();

  /// Of whom it is; its path is for this process only, as long as this object lives.
  journal_place place() const;

private:
  struct members;
  explicit journal_copy(std::unique_ptr<members> x);

  std::unique_ptr<members> members_;
};

} // namespace actorrun
