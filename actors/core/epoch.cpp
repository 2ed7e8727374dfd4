#include "actorrun/actors/core/epoch.hpp"

#include <cerrno>

#include <string.h>

namespace actorrun::core {

namespace {

std::string signal_text(int signal) {
  const auto* abbreviation = ::sigabbrev_np(signal);
  const auto number = std::to_string(signal);
  return abbreviation == nullptr
           ? "signal " + number
           : std::string{"SIG"} + abbreviation + " (signal " + number + ")";
}

// The number may come from another host, whose system knows more errors.
std::string error_text(int error) {
  const auto* description = ::strerrordesc_np(error);
  return description == nullptr ? "error " + std::to_string(error)
                                : description;
}

std::string what_happened(const worker_failure& x) {
  switch (x.kind) {
    case failure_kind::exited:
      return "exited with code " + std::to_string(x.code);
    case failure_kind::signalled:
      return "was killed by " + signal_text(x.code)
             + (x.dumped ? ", core dumped" : "");
    case failure_kind::not_started:
      return "could not be started: " + error_text(x.code);
  }
  return "failed";
}

} // namespace

bool is_permanent(const worker_failure& x) {
  return x.kind == failure_kind::not_started
         && (x.code == ENOENT || x.code == EACCES || x.code == ENOEXEC
             || x.code == ENOTDIR || x.code == E2BIG || x.code == ELOOP);
}

std::string to_string(const worker_failure& x) {
  auto text = "rank " + std::to_string(x.global_rank) + " (local rank "
              + std::to_string(x.local_rank);
  if (x.pid != 0)
    text += ", pid " + std::to_string(x.pid);
  return text + ") on " + x.host + " " + what_happened(x);
}

std::string to_string(share_state x) {
  switch (x) {
    case share_state::idle:
      return "idle";
    case share_state::starting:
      return "starting";
    case share_state::running:
      return "running";
    case share_state::succeeded:
      return "succeeded";
    case share_state::failed:
      return "failed";
    case share_state::stopping:
      return "stopping";
  }
  return "unknown";
}

std::string to_string(outcome::verdict x) {
  switch (x) {
    case outcome::verdict::succeeded:
      return "succeeded";
    case outcome::verdict::failed:
      return "failed";
    case outcome::verdict::stopped:
      return "stopped";
    case outcome::verdict::unmet:
      return "unmet";
  }
  return "unknown";
}

} // namespace actorrun::core
