// Owns the Unix socket through which operators of this host reach a job.
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "runtime/network/operator_session.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/run_folder.hpp"

#include <memory>

namespace actorrun::detail {

/// A socket in the run-time folder. Its destructor removes the socket, and the
/// folder if that was the last one.
class operator_socket {
public:
  /// Passes the questions of operators to `ask`.
  /// @returns an error if there is no private folder or no socket can be made in it:
  ///          then actorctl cannot reach the job
  static result<operator_socket> open(reactor& home, const job_id& job,
                                      question_sink ask, socket_role role);

private:
  struct members;
  explicit operator_socket(std::shared_ptr<members> x)
    : members_(std::move(x)) {}

  std::shared_ptr<members> members_;
};

} // namespace actorrun::detail
