// Owns the Unix socket through which operators of this host reach a job.
#pragma once

#include "actors/log.hpp"
#include "messages/ids.hpp"
#include "runtime/network/operator_session.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/run_folder.hpp"

#include <memory>
#include <optional>

namespace actorrun::detail {

/// A socket in the run-time folder. Its destructor removes the socket, and the
/// folder if that was the last one.
class operator_socket {
public:
  /// Passes the questions of operators to `ask`.
  /// @returns nothing, and warns, if there is no private folder or no socket
  ///          can be made in it
  static std::optional<operator_socket> open(reactor& home, const job_id& job,
                                             question_sink ask,
                                             socket_role role,
                                             const log& lines);

private:
  struct members;
  explicit operator_socket(std::shared_ptr<members> x)
    : members_(std::move(x)) {}

  std::shared_ptr<members> members_;
};

} // namespace actorrun::detail
