// PUBLIC: describes a job, this node's part in it, and who can watch that part.
#pragma once

#include "actors/core/devices/binding.hpp"
#include "actors/core/failure.hpp"
#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "actors/core/workers/worker_settings.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun {

/// Timeouts and grace periods are at most this long.
inline constexpr std::chrono::milliseconds timeout_max
  = std::chrono::hours{7 * 24};

/// At most this many keep-alives may stay unanswered.
inline constexpr uint32_t keep_alive_attempts_max = 1'000;

/// In bytes. Ids, roles and host names appear in logs and in the environment.
inline constexpr size_t label_length_max = 255;
inline constexpr size_t secret_length_max = 4'096;

/// In bytes; the system takes no longer path.
inline constexpr size_t log_folder_length_max = 4'095;

/// In bytes. The prefix of every line on the console.
inline constexpr size_t prefix_template_length_max = 1'024;

/// Every teed line is searched for each filter.
inline constexpr size_t filter_count_max = 64;
inline constexpr size_t filter_length_max = 1'024; ///< In bytes.

/// In bytes. Common file systems take no larger files.
inline constexpr uint64_t rotate_size_max = uint64_t{1} << 44;

/// Where the agents of a job meet.
struct endpoint {
  std::string host;       ///< Name, IPv4 or IPv6 address, without brackets.
  uint16_t port = 29'400; ///< 1..65535; torchrun's default for c10d.

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// `host:port`, with brackets around an IPv6 address.
std::string to_string(const endpoint& x);

/// Reads that; none: it is something else.
std::optional<endpoint> read_endpoint(std::string_view text);

/// Whether `text` has the form of a host name, an IPv4 or an IPv6 address
/// (without brackets, with or without a `%scope`). Does not resolve it.
bool is_host(std::string_view text);

/// Where the coordinator is hosted.
enum class coordinator_place {
  automatic, ///< This agent, if the endpoint names its host.
  here,      ///< This agent, always (`is_host=1`).
  elsewhere, ///< Another agent or `actorctl coordinator` (`is_host=0`).
};

/// How the nodes of a job find each other and get their ranks.
enum class rendezvous_backend {
  native, ///< At a coordinator that one of them hosts (`c10d`, `actor`).
  fixed,  ///< Likewise, and each node has a given rank (`static`).
  etcd,   ///< At the node that etcd has elected (`etcd`, `etcd-v2`).
};

/// In bytes: the path of a certificate file is at most this long.
inline constexpr size_t certificate_path_length_max = 4'095;

/// Shortest and longest lease in etcd, which counts in seconds and grants none
/// shorter than 2.
inline constexpr std::chrono::milliseconds etcd_lease_min{2'000};
inline constexpr std::chrono::milliseconds etcd_lease_max{600'000};

/// At most this many members of one etcd cluster are tried.
inline constexpr size_t etcd_member_count_max = 16;

/// At most this many hosts where a job may begin.
inline constexpr size_t seed_count_max = 9;

/// How to reach etcd, whose address is `job_options::rendezvous`. The comments
/// name the keys of `--rdzv-conf`.
struct etcd_options {
  /// The other members of the cluster, tried in turn while one does not answer.
  std::vector<endpoint> more_members{};
  bool secure = false; ///< TLS (`protocol`: http or https).
  /// PEM files, absolute or from the working directory. Empty: for the first
  /// the system's authorities, for the others no certificate of our own.
  std::string authority_file{};   ///< `cacert`, `ca_cert`
  std::string certificate_file{}; ///< `cert`, `ssl_cert`
  std::string key_file{};         ///< `key`, `ssl_cert_key`
  std::string user{};             ///< `user`. Empty: no login.
  std::string password_file{};    ///< `password_file`; its first line.
  /// In front of our keys (`etcd_prefix`).
  std::string prefix = "/actorrun";
  /// How long a silent leader keeps the leadership, and how long etcd may be
  /// unavailable without harm (`lease_ttl`); whole seconds.
  std::chrono::milliseconds lease{15'000};

  friend bool operator==(const etcd_options&, const etcd_options&) = default;
};

/// Certificates by which the members of a job know each other; PEM files. All
/// three, or none.
struct tls_options {
  /// This node's, with those between it and the authority behind it. It names the
  /// address that the node announces and, where the node hosts the coordinator,
  /// the host of the endpoint.
  std::string certificate_file{};
  std::string key_file{};
  std::string authority_file{}; ///< Of those that sign the nodes' certificates.

  bool is_set() const { return !certificate_file.empty(); }
  friend bool operator==(const tls_options&, const tls_options&) = default;
};

/// Whether munge(7) proves that members of a job without a secret and certificates
/// are processes of one user.
enum class munge_use {
  never,
  on_demand, ///< As client of a coordinator that demands it.
  if_works, ///< Likewise, and it is demanded of others if it works at the start.
  always,   ///< Likewise, and it is an error if it does not work.
};

/// What all agents of a job must agree on, and how they meet.
struct job_options {
  job_id job{"none"};
  /// Proves that a peer belongs to the job. Empty: derived from the job id, and
  /// then no stronger than the id.
  std::string secret;
  tls_options tls{};
  munge_use munge = munge_use::on_demand;
  /// Where the coordinator is, or a member of etcd. None: a job of this node
  /// alone, which listens on no network port.
  std::optional<endpoint> rendezvous;
  /// Seeds beside `rendezvous`, at most `seed_count_max` together: the job begins as
  /// soon as a majority of their hosts is there. With `succession` only.
  std::vector<endpoint> more_seeds{};
  rendezvous_backend backend = rendezvous_backend::native;
  coordinator_place place = coordinator_place::automatic;
  /// The agents elect another coordinator if that of the endpoint's host is lost; of
  /// the native backend only, and all nodes say the same.
  bool succession = false;
  etcd_options etcd{}; ///< For the backend of this name.
  uint32_t agent_count_min
    = 1; ///< Fewest nodes that may form a generation, ≥ 1.
  uint32_t agent_count_max = 1;   ///< Most nodes, `agent_count_min`..100,000.
  uint32_t restart_count_max = 0; ///< Worker failures that cost a restart.
  core::restart_rules rules{};    ///< Of a coordinator of this process.
  /// A file with the hosts that are excluded beyond the job, one per line
  /// (docs/health.md): a coordinator of this process reads it when it begins, and has it
  /// name what is excluded then. Need not exist; empty: none.
  std::string exclude_file{};
  /// Where a coordinator of this process writes the journal of the job; made if it
  /// is missing. Empty: nowhere.
  std::string journal_folder{};
  core::timeouts timeouts; ///< Fitted to the job: `core::fitted`.
};

/// In bytes; the system takes no longer path.
inline constexpr size_t timer_path_length_max = 4'095;

/// A shorter watchdog kills healthy programs; a longer one is of no use.
inline constexpr std::chrono::milliseconds watchdog_min{10};
inline constexpr std::chrono::milliseconds watchdog_max
  = std::chrono::hours{24};

/// Timers that workers set for themselves; see docs/timers.md.
struct timer_options {
  /// Workers get a FIFO: TORCHELASTIC_TIMER_FILE.
  bool enabled = true;
  /// Where it is. Empty: in the folder of the user's jobs.
  std::string path{};
  /// Workers get a socket for sd_notify(3), and one that has sent `WATCHDOG=1`
  /// must send another within this: `watchdog_min`..`watchdog_max`. 0: they
  /// get none.
  std::chrono::milliseconds watchdog{0};
};

inline constexpr std::chrono::milliseconds hang_timeout_min
  = std::chrono::seconds{1};

/// When this node says that its workers show no sign of life; see docs/hangs.md. A job
/// hangs when all its nodes do.
struct hang_options {
  /// Without a line in a log file, a step, a timer, or `WATCHDOG=1` of any worker of the
  /// node:
  /// `hang_timeout_min`..`timeout_max`. 0: the job never counts as hung.
  std::chrono::milliseconds timeout{0};
  /// The worker that hangs is ended, and the group starts again; else the job is only
  /// reported. Of several nodes all must want it.
  bool ends_worker = true;
  /// The time-out is not given but learned: ten times the longest step of this node's
  /// workers, a minute at least. They say how long steps take, or pass safe points, or
  /// use timers.
  bool learns_timeout = false;

  friend bool operator==(const hang_options&, const hang_options&) = default;
};

/// What follows when a worker of this node is slower than the others.
enum class straggler_policy : uint8_t {
  report, ///< It is named.
  check,  ///< The checks of this node run, beside the workers.
  drain,  ///< This node leaves when another one can take its place.
};

/// When a worker that says how long it computes per step counts as slower than the
/// others; see docs/stragglers.md.
struct straggler_options {
  /// So many times the usual difference between workers: 0..1,000. 0: no worker is
  /// watched, and none can say how long it computes. Of several nodes the largest
  /// counts.
  uint32_t distance = 6;
  /// For so many windows in a row: 1..100.
  uint32_t windows = 5;
  straggler_policy policy = straggler_policy::report;

  friend bool operator==(const straggler_options&, const straggler_options&)
    = default;
};

/// In bytes, of one; and so many.
inline constexpr size_t check_command_length_max = 4'096;
inline constexpr size_t check_commands_max = 16;

inline constexpr std::chrono::milliseconds check_limit_min{100};
inline constexpr std::chrono::milliseconds check_limit_max
  = std::chrono::hours{1};
inline constexpr std::chrono::milliseconds check_interval_min
  = std::chrono::seconds{1};
inline constexpr std::chrono::milliseconds check_interval_max
  = std::chrono::hours{7 * 24};

/// Whether this node can take part; see docs/health.md.
struct check_options {
  /// For `/bin/sh -c`, one after the other; each ends with 0 if all is well. `clock`,
  /// `disk`, `gpu-quick` and `gpu` are built in. Empty: the node is not checked.
  std::vector<std::string> commands{};
  /// The program that runs those, with its first arguments, behind which come the name
  /// and folders: `{"/usr/bin/actorctl", "check"}`. Empty: none can be run, and to ask
  /// for one is an error.
  std::vector<std::string> built_in{};
  core::check_moments when{};
  /// Of each command: `check_limit_min`..`check_limit_max`.
  std::chrono::milliseconds limit = std::chrono::minutes{1};

  friend bool operator==(const check_options&, const check_options&) = default;
};

/// In bytes; the system takes no longer path.
inline constexpr size_t notice_path_length_max = 4'095;

/// In bytes.
inline constexpr size_t notice_command_length_max = 4'096;

/// What says that this machine is about to go, so that its node is drained.
struct notice_options {
  /// A file that appears then, or is written again: its first line says why. Empty:
  /// none. Its folder must be there.
  std::string file{};
  /// A command for `/bin/sh -c` that ends with 0 then: its last line of output says
  /// why. Empty: none.
  std::string command{};

  bool is_any_set() const { return !file.empty() || !command.empty(); }
  friend bool operator==(const notice_options&, const notice_options&)
    = default;
};

/// This node's part in a job.
struct agent_options {
  /// The address at which other nodes reach this one. Empty: the local address
  /// of its connection to the coordinator.
  std::string local_address;
  core::worker_settings workers;
  core::log_options logs;
  timer_options timers{};
  hang_options hangs{};
  straggler_options stragglers{};
  check_options checks{};
  notice_options notices{};
  /// TORCHELASTIC_SIGNALS_TO_HANDLE of the workers: the signals that end this
  /// agent, which the program around the launcher handles.
  std::string signals_to_handle = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
  /// Of this node, 0..`job_options::agent_count_max`-1. Set if and only if the
  /// backend is `fixed`.
  std::optional<uint32_t> node_rank{};
  /// MASTER_PORT of a job of this node alone, 1..65535. None: a free one.
  std::optional<uint16_t> master_port{};
  /// The agent of rank 0 serves the store where workers meet (torch's
  /// TCPStore), at MASTER_ADDR and MASTER_PORT. Else the worker with rank 0
  /// listens there itself.
  bool agent_store = true;
  /// Each worker has LOCAL_RANK 0 and sees one device: the one at its local
  /// rank in `visible_devices`, or the device of that number.
  bool virtual_local_rank = false;
  /// CUDA_VISIBLE_DEVICES of the workers, as CUDA names devices. Empty: what
  /// they inherit.
  std::vector<std::string> visible_devices{};
  /// What events call the program; at most `label_length_max` bytes. Empty: the file
  /// that is executed.
  std::string entry_name{};
  /// What the workers are bound to from their start.
  core::binding_mode binding = core::binding_mode::none;
};

/// Each has a numeric address and a port, 0 for any free one; none: that is not
/// served. Two may be the same. What is served there can only be read.
struct http_options {
  /// `/metrics` for Prometheus, and what `health` has.
  std::optional<endpoint> metrics{};
  /// A page for browsers, which is live.
  std::optional<endpoint> page{};
  /// `/healthz` and `/readyz`. The job goes on without them if the port is taken:
  /// a variable, which several jobs may inherit, asks for it.
  std::optional<endpoint> health{};

  bool is_any_set() const { return metrics || page || health; }
  friend bool operator==(const http_options&, const http_options&) = default;
};

/// What a service manager tells the programs that it starts, in `NOTIFY_SOCKET` and
/// `WATCHDOG_USEC`. Workers get neither.
/// @see sd_notify(3), sd_watchdog_enabled(3)
struct service_options {
  /// The manager's socket for datagrams: an absolute path, or `@` and a name of the
  /// abstract namespace. Empty: no manager waits for us.
  std::string socket{};
  /// The manager ends a process that is silent for so long; 0: it does not.
  std::chrono::microseconds watchdog{0};

  friend bool operator==(const service_options&, const service_options&)
    = default;
};

/// Checks the ranges above and those of the fields within.
/// @retval errc::bad_argument  a field is out of its range; the text names it
result<void> validate(const job_options& options);
result<void> validate(const agent_options& options);

/// Checks both, and that they go together.
result<void> validate(const job_options& job, const agent_options& agent);

} // namespace actorrun
