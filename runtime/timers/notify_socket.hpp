// Owns the socket that workers send sd_notify(3) datagrams to.
#pragma once

#include "actors/core/timers/progress_notice.hpp"
#include "actors/ports/timer_source.hpp"
#include "messages/result.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/run_folder.hpp"
#include "runtime/os/unique_fd.hpp"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

/// A Unix datagram socket that only this user may send to. The system
/// identifies the sender, so no process can send for another. Received
/// descriptors are closed: a sender that waits for that (`sd_notify_barrier`)
/// knows that we have read.
class notify_socket final : public ports::notice_source {
public:
  /// Makes it in the folder of the user's jobs.
  /// @param loop Lives longer.
  /// @retval errc::system_failure, errc::cannot_listen  the folder cannot be used, its path is too
  ///         long, or the socket cannot be made; the text says so
  static result<std::unique_ptr<notify_socket>> open(reactor& loop);

  /// Removes the socket, and those left there by killed agents.
  ~notify_socket() override;

  notify_socket(const notify_socket&) = delete;
  notify_socket& operator=(const notify_socket&) = delete;

  /// Absolute: for NOTIFY_SOCKET.
  const std::string& path() const { return path_; }

  /// Skips datagrams that are too long, or of processes we cannot see.
  std::optional<ports::notice> next() override;
  void call_when_ready(std::function<void()> fn) override;

private:
  notify_socket(reactor& loop, run_folder folder, std::string path,
                unique_fd fd);

  run_folder folder_;
  std::string path_;
  unique_fd fd_;
  readiness readiness_;
  std::array<char, core::notice_size_max> place_;
};

} // namespace actorrun::detail
