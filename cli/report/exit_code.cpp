#include "cli/report/exit_code.hpp"

#include <cassert>
#include <utility>

namespace actorrun::cli {

exit_code exit_code_of(errc code) {
  switch (code) {
    case errc::none:
      return exit_code::succeeded;
    case errc::bad_argument:
      return exit_code::bad_arguments;
    case errc::unresolvable:
    case errc::connection_refused:
    case errc::coordinator_gone:
    case errc::connection_timed_out:
    case errc::connection_failed:
    case errc::not_actorrun:
    case errc::rendezvous_timed_out:
    case errc::etcd_unreachable:
      return exit_code::rendezvous_failed;
    case errc::protocol_mismatch:
    case errc::job_mismatch:
    case errc::secret_mismatch:
    case errc::user_mismatch:
    case errc::bad_plan:
    case errc::certificate_mismatch:
    case errc::settings_mismatch:
    case errc::bad_slot_count:
    case errc::duplicate_agent:
    case errc::too_many_agents:
    case errc::etcd_denied:
      return exit_code::refused;
    case errc::coordinator_lost:
    case errc::job_over:
      return exit_code::coordinator_lost;
    case errc::address_in_use:
    case errc::cannot_listen:
    case errc::start_failed:
    case errc::log_failed:
    case errc::system_failure:
      return exit_code::machine_refused;
    case errc::worker_unkillable:
      return exit_code::worker_unkillable;
    case errc::program_not_found:
      return exit_code::program_not_found;
    case errc::program_not_executable:
      return exit_code::program_not_executable;
  }
  return exit_code::machine_refused; // A code from a newer version.
}

exit_code exit_code_of(core::end_class what) {
  switch (what) {
    case core::end_class::program:
      return exit_code::failed_program;
    case core::end_class::user:
      return exit_code::failed_user;
    case core::end_class::node:
      return exit_code::failed_node;
    case core::end_class::network:
      return exit_code::failed_network;
    case core::end_class::preemption:
      return exit_code::failed_preemption;
    case core::end_class::hang:
      return exit_code::failed_hang;
    case core::end_class::unknown:
    case core::end_class::none:
      break;
  }
  return exit_code::failed_unknown;
}

int exit_code_of_signal(int signal) {
  assert(signal > 0 && signal <= 64);
  return 128 + signal;
}

std::vector<std::pair<std::string, std::string>> exit_code_table() {
  static constexpr std::pair<exit_code, const char*> table[] = {
    {exit_code::succeeded, "the job succeeded, or did what was asked; of"
                           " actorctl status and why: the jobs are healthy"},
    {exit_code::workers_failed,
     "workers failed and no restart was left; a request to a job was refused; "
     "of"
     " actorctl status and why: a job waits, is degraded or has failed"},
    {exit_code::bad_arguments, "wrong arguments"},
    {exit_code::rendezvous_failed,
     "too few nodes joined in time, no coordinator answers at the endpoint, or"
     " this host has no such job"},
    {exit_code::refused, "the coordinator refused this node: job id, secret,"
                         " certificate, user, settings or version differ"},
    {exit_code::coordinator_lost,
     "the coordinator was lost and did not come back, or the job ended while"
     " this node was away"},
    {exit_code::machine_refused, "this machine refused, for example because a "
                                 "port is in use or a log folder is"
                                 " not writable"},
    {exit_code::worker_unkillable,
     "workers of this node outlived SIGKILL and hang in the kernel"},
    {exit_code::stood_by, "the job succeeded without this node, which stood by:"
                          " what it was to run has not run to its end"},
    {exit_code::declined, "actorctl asked first, and the answer was no: nothing"
                          " was done"},
    {exit_code::failed_program,
     "with --class-exit-codes: the program has failed"},
    {exit_code::failed_user, "likewise: what was typed cannot be right"},
    {exit_code::failed_node, "likewise: a machine has failed"},
    {exit_code::failed_network, "likewise: a connection was lost"},
    {exit_code::failed_preemption, "likewise: a machine was wanted"},
    {exit_code::failed_hang, "likewise: a worker stood still"},
    {exit_code::failed_unknown, "likewise: the evidence names no cause"},
    {exit_code::no_progress, "likewise: restarts brought no new step"},
    {exit_code::program_not_executable, "the program cannot be executed"},
    {exit_code::program_not_found, "the program or script does not exist"},
  };
  auto out = std::vector<std::pair<std::string, std::string>>{};
  for (const auto& [code, meaning] : table)
    out.emplace_back(std::to_string(static_cast<int>(code)), meaning);
  out.emplace_back("128+n", "ended by signal n");
  return out;
}

} // namespace actorrun::cli
