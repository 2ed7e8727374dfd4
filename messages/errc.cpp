#include "messages/errc.hpp"

#include <array>
#include <cstddef>

namespace actorrun {

std::string_view to_string(errc code) {
  static constexpr auto names = std::array{
    "none",
    "bad_argument",
    "unresolvable",
    "address_in_use",
    "cannot_listen",
    "connection_refused",
    "connection_timed_out",
    "connection_failed",
    "not_actorrun",
    "protocol_mismatch",
    "job_mismatch",
    "secret_mismatch",
    "settings_mismatch",
    "rendezvous_timed_out",
    "coordinator_lost",
    "bad_slot_count",
    "duplicate_agent",
    "too_many_agents",
    "program_not_found",
    "program_not_executable",
    "start_failed",
    "log_failed",
    "system_failure",
    "worker_unkillable",
    "etcd_unreachable",
    "etcd_denied",
    "coordinator_gone",
    "job_over",
    "user_mismatch",
    "bad_plan",
    "certificate_mismatch",
  };
  static_assert(names.size()
                == static_cast<size_t>(errc::certificate_mismatch) + 1);
  const auto index = static_cast<size_t>(code);
  return index < names.size() ? names[index] : "unknown";
}

} // namespace actorrun
