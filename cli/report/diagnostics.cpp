#include "cli/report/diagnostics.hpp"

#include "actors/core/shortage.hpp"
#include "actors/core/text.hpp"
#include "cli/report/exit_code.hpp"
#include "messages/formatted.hpp"

namespace actorrun::cli {

namespace {

struct remedy {
  const char* what;   ///< When the failure itself has no text.
  const char* why;    ///< May be empty.
  const char* action; ///< Likewise.
};

remedy remedy_of_meeting(errc code);
remedy remedy_of_workers(errc code);

remedy general_remedy(errc code) {
  switch (code) {
    case errc::none:
      return {"nothing failed", "an error was reported without a code",
              "please report this as a bug of actorrun"};
    case errc::bad_argument:
      return {"an argument is wrong", "", ""}; // Its text says what helps.
    case errc::bad_slot_count:
    case errc::duplicate_agent:
    case errc::too_many_agents:
    case errc::program_not_found:
    case errc::program_not_executable:
    case errc::start_failed:
    case errc::log_failed:
    case errc::system_failure:
    case errc::worker_unkillable:
      return remedy_of_workers(code);
    default:
      return remedy_of_meeting(code);
  }
}

remedy remedy_of_connecting(errc code) {
  switch (code) {
    case errc::unresolvable:
      return {"a host name has no address",
              "the host in --rdzv-endpoint or --local-addr is not known here",
              "check the spelling, or give an IP address"};
    case errc::address_in_use:
      return {"the rendezvous port is taken",
              "another program listens on it, maybe a job that still runs",
              "end it (actorctl status lists jobs), or choose another port"};
    case errc::cannot_listen:
      return {"this node cannot listen at the rendezvous endpoint",
              "its address is not one of this node's, or the port is reserved",
              "check the address in --rdzv-endpoint, --metrics-port or"
              " --dashboard-port; ports below 1024 need privileges"};
    case errc::connection_refused:
    case errc::coordinator_gone:
      return {"no program listens at the rendezvous endpoint",
              "the host is up, but no coordinator runs there on that port",
              "start the node that --rdzv-endpoint names, or set is_host=1"
              " in --rdzv-conf on it"};
    case errc::connection_timed_out:
      return {
        "the rendezvous endpoint does not answer",
        "the host is down, the program there is stopped, or a firewall drops"
        " the packets",
        "check host and port; a larger read_timeout in --rdzv-conf waits "
        "longer"};
    default: // Its text has the reason, which is the system's or the other side's.
      return {"the connection to the job has failed", "",
              "look whether the job runs (actorctl status) or how it has ended"
              " (actorctl why); else check the network between the hosts"};
  }
}

remedy remedy_of_meeting(errc code) {
  switch (code) {
    case errc::not_actorrun:
      return {"what answers at the rendezvous endpoint is not actorrun",
              "another program uses the port, for example torchrun",
              "choose another port in --rdzv-endpoint on all nodes"};
    case errc::protocol_mismatch:
      return {"the coordinator speaks another version of the protocol",
              "the nodes of the job run different versions of actorrun",
              "install one version on all nodes (actorrun --version)"};
    case errc::job_mismatch:
      return {"the coordinator serves another job",
              "--rdzv-id differs, or an old job still uses the endpoint",
              "give all nodes one --rdzv-id; jobs side by side need a port"
              " each"};
    case errc::secret_mismatch:
      return {"the coordinator holds another secret",
              "--secret-file, ACTORRUN_SECRET or --munge differs between the"
              " nodes",
              "give all nodes the same secret, or none at all, and the same"
              " --munge"};
    case errc::user_mismatch:
      return {"the coordinator belongs to another user",
              "a job of yours and one of that user have the same endpoint",
              "choose another port, or run all nodes as one user"};
    case errc::certificate_mismatch:
      return {"one side does not accept the other's certificate",
              "a certificate is of another authority, has expired, or does not"
              " name the host that it is shown for; or only one side has one",
              "give all nodes --tls-cert, --tls-key and --tls-ca, with"
              " certificates of one authority that name --rdzv-endpoint's host"
              " and each node's address (--local-addr)"};
    case errc::bad_plan:
      return {"a message does not fit what this node has offered",
              "a program that is not actorrun has the job's secret",
              "give the job a new secret (actorctl secret create --force)"};
    case errc::settings_mismatch:
      return {"the coordinator's job has other settings",
              "--nnodes, --max-restarts, --rdzv-backend or, with etcd, times in"
              " --rdzv-conf differ between the nodes",
              "start every node with the same values"};
    case errc::rendezvous_timed_out:
      return {"too few nodes joined in time",
              "some were not started, failed, or cannot reach the endpoint",
              "check the missing nodes; a larger join_timeout in --rdzv-conf"
              " waits longer, a smaller MIN in --nnodes needs fewer"};
    case errc::coordinator_lost:
      return {"the coordinator was lost and did not come back",
              "its node failed, or the network to it",
              "look at the node that --rdzv-endpoint names, then start the"
              " job again; with --rdzv-conf=succession=on and three hosts or"
              " more, or with etcd, it outlives that node"};
    case errc::job_over:
      return {"the job ended while this node was away",
              "this node was suspended, stopped or cut off at that time",
              "see the result on the other nodes; started again, this node"
              " begins a new job"};
    case errc::etcd_unreachable:
      return {"etcd does not answer at the rendezvous endpoint",
              "it is down, listens elsewhere or with TLS, or has no v3 API",
              "check it with etcdctl endpoint health; protocol=https in"
              " --rdzv-conf speaks TLS"};
    case errc::etcd_denied:
      return {"etcd refuses this node",
              "the TLS certificates or the user's permissions are wrong",
              "check cacert, cert, key, user and password_file in"
              " --rdzv-conf"};
    default:
      return remedy_of_connecting(code);
  }
}

remedy remedy_of_workers(errc code) {
  switch (code) {
    case errc::bad_slot_count:
      return {"the number of workers of a node is out of range",
              "a node offers no worker, or more than a node may have",
              "check --nproc-per-node"};
    case errc::duplicate_agent:
      return {"a node with this identity is in the job already",
              "two nodes were started with one --node-rank",
              "give every node a rank of its own, 0 to one less than"
              " --nnodes"};
    case errc::too_many_agents:
      return {"the job has no room for more nodes",
              "more nodes try to join than one job may have",
              "start fewer nodes"};
    case errc::program_not_found:
      return {
        "the program or script does not exist",
        "the name is looked up on every node, from its working directory",
        "check the path; a program of its own, no script, needs --no-python"};
    case errc::program_not_executable:
      return {"the program or script cannot be executed",
              "its permissions or its format forbid it",
              "check it with ls -l and file, on this node"};
    case errc::start_failed:
      return {
        "a worker could not be started",
        "the system refuses another process: a limit, or too little memory",
        "check ulimit -u, the cgroup's pids.max and free memory"};
    case errc::log_failed:
      return {"the log folder cannot be used",
              "its permissions forbid it, the disk is full, or it is no folder",
              "check it with ls -ld and df, or choose another --log-dir"};
    case errc::worker_unkillable:
      return {"workers of this node cannot be killed",
              "they wait in the kernel for a disk, a network file system or a"
              " device that does not answer",
              "look at /proc/PID/wchan and the kernel's log; the node probably"
              " needs a reboot"};
    default:
      return {"a call to the system failed", "",
              "if that does not say enough: ulimit -n, free memory and the"
              " system log"};
  }
}

/// What has run out has nothing to do with what was tried.
remedy remedy_for(const failure& problem) {
  auto x = general_remedy(problem.code);
  if (core::shortage_in(problem.text) != 0) {
    x.why = "";
    x.action = "raise the limit that is named, or start less on this host";
  }
  return x;
}

/// One printable line: what was typed may have anything in it, and an escape
/// sequence is to be seen, not obeyed.
std::string in_one_line(std::string_view text) {
  auto out = std::string{};
  for (const unsigned char c : text)
    out += c == '\n'               ? "\\n"
           : c == '\r'             ? "\\r"
           : c < 0x20 || c == 0x7f ? formatted("\\x{:02x}", c)
                                   : std::string(1, static_cast<char>(c));
  return core::printable(out);
}

} // namespace

std::string sentence_of(const failure& problem) {
  return problem.text.empty() ? general_remedy(problem.code).what
                              : in_one_line(problem.text);
}

std::string remedy_of(const failure& problem) {
  return remedy_for(problem).action;
}

std::string messages_page() {
  auto out = std::string{
    "# Messages\n\nWritten by `guide_files` from what the programs print; a "
    "test"
    " compares the two. An error is told in up to\nthree lines: what happened,"
    " mostly with more words than here, why (`why:`), and what to do (`try:`)."
    " Lines of the log\nare in [reports.md](reports.md#log-lines), symptoms in"
    " [troubleshooting.md](troubleshooting.md).\n\n"
    "| error | why | try | exit code |\n|---|---|---|---|\n"};
  for (size_t i = 1; i <= size_t(errc::certificate_mismatch); ++i) {
    const auto x = general_remedy(errc(i));
    out += formatted("| {} | {} | {} | {} |\n", x.what, x.why, x.action,
                     static_cast<int>(exit_code_of(errc(i))));
  }
  out += "\n## Exit codes\n\n| code | |\n|---|---|\n";
  for (const auto& [code, meaning] : exit_code_table())
    out += formatted("| {} | {} |\n", code, meaning);
  return out;
}

std::string explain(const failure& problem, std::string_view program) {
  auto x = remedy_for(problem);
  // An operator starts no node, and asks for a job that may be over.
  if (program == "actorctl"
      && (problem.code == errc::connection_refused
          || problem.code == errc::coordinator_gone))
    x.action = "if the job has ended: actorctl why, on the host of its"
               " coordinator";
  auto out = error_line(sentence_of(problem), program);
  if (*x.why)
    out += formatted("  why: {}\n", x.why);
  if (*x.action)
    out += formatted("  try: {}\n", x.action);
  return out;
}

std::string error_line(std::string_view text, std::string_view program) {
  return formatted("{}: error: {}\n", program, in_one_line(text));
}

std::string warn(std::string_view text, std::string_view program) {
  return formatted("{}: warning: {}\n", program, in_one_line(text));
}

} // namespace actorrun::cli
