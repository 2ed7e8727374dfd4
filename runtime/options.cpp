#include "runtime/options.hpp"

#include "actors/core/checks/built_in.hpp"
#include "actors/core/protocol/charter.hpp"
#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/stragglers/straggler.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>

namespace actorrun {

namespace {

using std::chrono::milliseconds;

bool is_control(char c) {
  return std::iscntrl(static_cast<unsigned char>(c)) != 0;
}

/// Labels travel through logs, environments and terminals.
result<void> check_label(const std::string& name, const std::string& text) {
  if (text.size() > label_length_max)
    return bad_argument(
      formatted("{} is longer than {} bytes", name, label_length_max));
  if (std::any_of(text.begin(), text.end(), is_control))
    return bad_argument(name + " has control characters in it");
  if (!core::is_utf8(text))
    return bad_argument(name + " is not UTF-8");
  return {};
}

result<void> check_span(const std::string& name, milliseconds x,
                        milliseconds min, milliseconds max = timeout_max) {
  if (x >= min && x <= max)
    return {};
  return bad_argument(formatted("{} is {} ms, not {}..{} ms", name, x.count(),
                                min.count(), max.count()));
}

result<void> check_count(const std::string& name, uint32_t x, uint32_t min,
                         uint32_t max) {
  if (x >= min && x <= max)
    return {};
  return bad_argument(formatted("{} is {}, not {}..{}", name, x, min, max));
}

result<void> check_timeouts(const core::timeouts& x) {
  const std::pair<const char*, milliseconds> spans[] = {
    {"join_timeout", x.join},
    {"last_call_timeout", x.last_call},
    {"quiet_period", x.quiet},
    {"join_settle", x.join_settle},
    {"rejoin_backoff", x.rejoin_backoff},
    {"read_timeout", x.seek},
    {"heartbeat_timeout", x.connect},
    {"close_timeout", x.close},
    {"keep_alive_interval", x.keep_alive_interval},
    {"fence_guard", x.fence_guard},
  };
  for (const auto& [name, span] : spans)
    if (auto ok = check_span(name, span, milliseconds{1}); !ok)
      return ok;
  if (auto ok
      = check_span("the timeout of safe points", x.safe_point, milliseconds{0});
      !ok)
    return ok;
  if (auto ok = check_count("keep_alive_max_attempt", x.keep_alive_attempts, 1,
                            keep_alive_attempts_max);
      !ok)
    return ok;
  // A successor may have to wait for so long before it does anything.
  if (x.lease() > core::lease_max)
    return bad_argument(formatted(
      "keep_alive_interval times keep_alive_max_attempt, and fence_guard, are"
      " {} ms together; {} ms is the most",
      x.lease().count(), core::lease_max.count()));
  return {};
}

result<void> check_agent_counts(const job_options& x) {
  if (auto ok = check_count("the minimum of nodes", x.agent_count_min, 1,
                            core::agents_per_generation_max);
      !ok)
    return ok;
  if (auto ok = check_count("the maximum of nodes", x.agent_count_max,
                            x.agent_count_min, core::agents_per_generation_max);
      !ok)
    return ok;
  if (x.succession
      && (x.backend != rendezvous_backend::native || !x.rendezvous))
    return bad_argument(
      "succession needs the back end c10d and an endpoint: only "
      "there agents can elect the coordinator");
  if (!x.rendezvous && x.agent_count_max > 1)
    return bad_argument(
      formatted("a job without a rendezvous endpoint has one node, not {}",
                x.agent_count_max));
  return {};
}

result<void> check_endpoint(const endpoint& x) {
  if (!is_host(x.host))
    return bad_argument(formatted(
      "the rendezvous host \"{}\" is neither a host name nor an IP address",
      x.host));
  if (x.port == 0)
    return bad_argument("the rendezvous port is 0, not 1..65535");
  return {};
}

/// Where the job may begin.
result<void> check_seeds(const job_options& x) {
  if (x.more_seeds.empty())
    return {};
  if (!x.rendezvous || !x.succession || x.backend != rendezvous_backend::native)
    return bad_argument("several endpoints need the back end c10d and"
                        " succession: agents elect the coordinator then");
  if (x.place != coordinator_place::automatic)
    return bad_argument("is_host does not go with several endpoints: the job"
                        " begins at a majority of them");
  auto all = x.more_seeds;
  all.push_back(*x.rendezvous);
  if (all.size() > seed_count_max)
    return bad_argument(
      formatted("{} endpoints are named; a job may begin at {} at most, and 3"
                " or 5 are enough",
                all.size(), seed_count_max));
  for (const auto& seed : all) {
    if (auto ok = check_endpoint(seed); !ok)
      return ok;
    if (std::ranges::count_if(all,
                              [&](const auto& y) {
                                return core::lowered(to_string(y))
                                       == core::lowered(to_string(seed));
                              })
        > 1)
      return bad_argument(
        formatted("the endpoint {} is named twice; name each host once",
                  to_string(seed)));
  }
  return {};
}

/// Whole seconds, for that is what etcd counts in.
result<void> check_lease(const job_options& x) {
  const auto lease = x.etcd.lease;
  if (lease < etcd_lease_min || lease > etcd_lease_max
      || lease % std::chrono::seconds{1} != milliseconds{0})
    return bad_argument(formatted(
      "lease_ttl is {} ms, not a number of seconds in 2..600", lease.count()));
  if (x.timeouts.fence_guard >= lease)
    return bad_argument("fence_guard is not shorter than lease_ttl");
  return {};
}

result<void> check_etcd(const job_options& x) {
  if (!x.rendezvous)
    return bad_argument("the address of the etcd server is missing");
  if (x.etcd.more_members.size() >= etcd_member_count_max)
    return bad_argument(
      formatted("more than {} members of an etcd cluster are named",
                etcd_member_count_max));
  for (const auto& member : x.etcd.more_members)
    if (auto ok = check_endpoint(member); !ok)
      return ok;
  for (const auto& [name, path] :
       {std::pair{"cacert", x.etcd.authority_file},
        std::pair{"cert", x.etcd.certificate_file},
        std::pair{"key", x.etcd.key_file},
        std::pair{"password_file", x.etcd.password_file}})
    if (path.size() > certificate_path_length_max)
      return bad_argument(formatted("{} is longer than {} bytes", name,
                                    certificate_path_length_max));
  for (const auto& [name, text] : {std::pair{"user", x.etcd.user},
                                   std::pair{"etcd_prefix", x.etcd.prefix}})
    if (auto ok = check_label(name, text); !ok)
      return ok;
  if (x.etcd.prefix.empty() || x.etcd.prefix.front() != '/')
    return bad_argument(formatted(
      "etcd_prefix is \"{}\" and has to begin with /", x.etcd.prefix));
  if (x.etcd.certificate_file.empty() != x.etcd.key_file.empty())
    return bad_argument("cert and key go together, and one of them is missing");
  if (x.etcd.user.empty() != x.etcd.password_file.empty())
    return bad_argument(
      "user and password_file go together, and one is missing");
  const auto has_files
    = !x.etcd.authority_file.empty() || !x.etcd.certificate_file.empty();
  if (has_files && !x.etcd.secure)
    return bad_argument("cacert, cert and key need protocol=https");
  return check_lease(x);
}

result<void> check_workers(const core::worker_settings& x) {
  if (x.command.empty() || x.command.front().empty())
    return bad_argument("there is no program to run");
  if (auto ok = check_label("the role", x.role); !ok)
    return ok;
  if (auto ok = check_count("the number of workers per node", x.slot_count, 1,
                            core::slots_per_agent_max);
      !ok)
    return ok;
  if (x.notice_signal < 0 || x.notice_signal > SIGRTMAX)
    return bad_argument(formatted("the notice signal is {}, not 0..{}",
                                  x.notice_signal, SIGRTMAX));
  if (x.stop_signal < 1 || x.stop_signal > SIGRTMAX)
    return bad_argument(
      formatted("the stop signal is {}, not 1..{}", x.stop_signal, SIGRTMAX));
  if (auto grace
      = check_span("the grace period", x.grace_period, milliseconds{0});
      !grace)
    return grace;
  if (auto start
      = check_span("the timeout of starts", x.start_timeout, milliseconds{0});
      !start)
    return start;
  return check_span("the timeout after SIGKILL", x.kill_timeout,
                    milliseconds{0});
}

/// Text in which `forbidden` bytes would break paths or lines.
result<void> check_text(const std::string& name, const std::string& text,
                        size_t length_max, std::string_view forbidden) {
  if (text.size() > length_max)
    return bad_argument(
      formatted("{} is longer than {} bytes", name, length_max));
  if (text.find_first_of(forbidden) != text.npos)
    return bad_argument(name + " has a line end or NUL in it");
  return {};
}

result<void> check_rank(const std::string& name, uint32_t rank,
                        uint32_t count) {
  if (rank < count)
    return {};
  return bad_argument(
    formatted("{} local rank {}, and the workers of this node are 0..{}", name,
              rank, count - 1));
}

result<void> check_ranks(const core::log_options& x, uint32_t slot_count) {
  for (const auto& [rank, streams] : x.redirects.by_rank)
    if (auto ok = check_rank("the redirects name", rank, slot_count); !ok)
      return ok;
  for (const auto& [rank, streams] : x.tees.by_rank)
    if (auto ok = check_rank("the tees name", rank, slot_count); !ok)
      return ok;
  if (!x.shown_ranks || x.shown_ranks->empty())
    return {};
  return check_rank("the shown ranks name", *x.shown_ranks->rbegin(),
                    slot_count);
}

result<void> check_filters(const std::string& name,
                           const std::vector<std::string>& filters) {
  if (filters.size() > filter_count_max)
    return bad_argument(formatted("{} are {}, not 0..{}", name, filters.size(),
                                  filter_count_max));
  for (const auto& x : filters) {
    if (x.empty())
      return bad_argument(
        formatted("one of {} is empty, and would pass every line", name));
    if (auto ok = check_text("one of " + name, x, filter_length_max, "\n"); !ok)
      return ok;
  }
  return {};
}

result<void> check_rotation(const core::log_options& x) {
  const auto is_in_range = x.rotate_size >= core::rotate_size_min
                           && x.rotate_size <= rotate_size_max;
  if (x.rotate_size != 0 && !is_in_range)
    return bad_argument(
      formatted("the size to rotate at is {} bytes, not 0 or {}..{}",
                x.rotate_size, core::rotate_size_min, rotate_size_max));
  return check_count("the number of rotated files kept", x.rotate_keep, 1,
                     core::rotate_keep_max);
}

result<void> check_logs(const core::log_options& x, uint32_t slot_count) {
  constexpr auto nul = std::string_view{"\0", 1};
  constexpr auto line_ends = std::string_view{"\0\r\n", 3};
  if (auto ok
      = check_text("the log folder", x.folder, log_folder_length_max, nul);
      !ok)
    return ok;
  if (auto ok = check_text("the prefix template", x.prefix_template,
                           prefix_template_length_max, line_ends);
      !ok)
    return ok;
  if (auto ok = check_ranks(x, slot_count); !ok)
    return ok;
  if (auto ok = check_filters("the filters of stdout", x.stdout_filters); !ok)
    return ok;
  if (auto ok = check_filters("the filters of stderr", x.stderr_filters); !ok)
    return ok;
  return check_rotation(x);
}

result<void> check_devices(const agent_options& x) {
  if (!x.virtual_local_rank || x.visible_devices.empty()
      || x.visible_devices.size() >= x.workers.slot_count)
    return {};
  return bad_argument(formatted(
    "there are {} devices for {} workers, each of which is to see its own",
    x.visible_devices.size(), x.workers.slot_count));
}

/// A spare has no local rank before it has taken a place.
result<void> check_spares(const agent_options& x) {
  const auto& workers = x.workers;
  if (workers.spare_count == 0)
    return {};
  if (auto ok = check_count(
        "the number of workers and spares per node",
        workers.slot_count
          + std::min(workers.spare_count, core::slots_per_agent_max),
        1, core::slots_per_agent_max);
      !ok)
    return ok;
  const auto names_rank
    = std::ranges::any_of(workers.command, [](const auto& text) {
        return core::expand(text, 0) != core::expand(text, 1);
      });
  const auto& logs = x.logs;
  const auto has_own_outputs = !logs.redirects.by_rank.empty()
                               || !logs.tees.by_rank.empty()
                               || logs.shown_ranks.has_value();
  const auto* what = names_rank             ? "${local_rank} in its arguments"
                     : x.virtual_local_rank ? "virtual local ranks"
                     : x.binding != core::binding_mode::none ? "bindings"
                     : has_own_outputs
                       ? "redirects, tees or filters of single local ranks"
                       : nullptr;
  if (what == nullptr)
    return {};
  return bad_argument(formatted("a job with spares cannot have {}: a spare has "
                                "no local rank before it takes "
                                "the place of a worker",
                                what));
}

result<void> check_timers(const timer_options& x) {
  if (auto ok = check_text("the path of the timer FIFO", x.path,
                           timer_path_length_max, {"\0", 1});
      !ok)
    return ok;
  if (x.watchdog.count() == 0)
    return {};
  return check_span("the watchdog", x.watchdog, watchdog_min, watchdog_max);
}

result<void> check_built_in(const std::string& command,
                            const check_options& x) {
  const auto which = core::built_in_of(command);
  if (!which)
    return {};
  if (x.built_in.empty() || x.built_in.front().empty())
    return bad_argument(formatted(
      "the check {} is built into actorrun, and this program has not said "
      "which "
      "program runs it (check_options::built_in); a command of this name for "
      "the shell is ./{}",
      command, command));
  if (x.when.every && core::disturbs_workers(*which))
    return bad_argument(formatted(
      "the check {} takes the memory that workers need: it cannot run "
      "beside them (every:TIME); gpu-quick can",
      command));
  return {};
}

result<void> check_checks(const check_options& x) {
  if (x.commands.size() > check_commands_max)
    return bad_argument(
      formatted("{} checks are given; at most {} are possible",
                x.commands.size(), check_commands_max));
  for (const auto& command : x.commands) {
    if (command.find_first_not_of(" \t\n") == std::string::npos)
      return bad_argument("a check is empty; it is a command for the shell");
    if (auto ok
        = check_text("a check", command, check_command_length_max, {"\0", 1});
        !ok)
      return ok;
    if (auto ok = check_built_in(command, x); !ok)
      return ok;
  }
  if (x.when.every)
    if (auto ok = check_span(
          "the time between two checks",
          std::chrono::duration_cast<std::chrono::milliseconds>(*x.when.every),
          check_interval_min, check_interval_max);
        !ok)
      return ok;
  return check_span("the time limit of a check", x.limit, check_limit_min,
                    check_limit_max);
}

result<void> check_stragglers(const agent_options& x) {
  const auto& asked = x.stragglers;
  if (asked.distance > core::straggler_distance_max)
    return bad_argument(
      formatted("the distance of a straggler is {}; at most {} is possible",
                asked.distance, core::straggler_distance_max));
  if (asked.windows == 0 || asked.windows > core::straggler_windows_max)
    return bad_argument(
      formatted("a straggler is to be one for {} windows; 1 to {} are possible",
                asked.windows, core::straggler_windows_max));
  if (asked.policy == straggler_policy::check && x.checks.commands.empty())
    return bad_argument(
      "the node of a straggler is to be checked, and no check is given");
  return {};
}

result<void> check_exclude_file(const std::string& path) {
  return check_text("the path of the list of excluded hosts", path,
                    notice_path_length_max, {"\0", 1});
}

result<void> check_notices(const notice_options& x) {
  if (auto ok = check_text("the path of the notice file", x.file,
                           notice_path_length_max, {"\0", 1});
      !ok)
    return ok;
  return check_text("the notice command", x.command, notice_command_length_max,
                    {"\0", 1});
}

} // namespace

std::string to_string(const endpoint& x) {
  const auto is_v6 = x.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + x.host + "]" : x.host) + ":" + std::to_string(x.port);
}

std::optional<endpoint> read_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos)
    return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  auto port = uint16_t{0};
  const auto* end = text.data() + text.size();
  const auto [stop, error]
    = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc{} || stop != end || port == 0 || !is_host(host))
    return std::nullopt;
  return endpoint{std::string{host}, port};
}

namespace {

template <class Address>
bool is_address(int family, std::string_view text) {
  auto out = Address{};
  return ::inet_pton(family, std::string{text}.c_str(), &out) == 1;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The letters of labels, and of the names of network interfaces.
bool is_label(std::string_view text) {
  return !text.empty() && text.front() != '-'
         && std::all_of(text.begin(), text.end(), [](unsigned char c) {
              return std::isalnum(c) || c == '-' || c == '_';
            });
}

/// The system would take it for the last part of an IPv4 address in an old form:
/// there 30000 is 0.0.117.48, and 0x7f.1 is 127.0.0.1.
bool is_numeric(std::string_view label) {
  if (std::all_of(label.begin(), label.end(), is_digit))
    return true;
  return (label.starts_with("0x") || label.starts_with("0X"))
         && std::all_of(label.begin() + 2, label.end(),
                        [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// A dot at the end is the root's: `node1.example.org.`
bool is_name(std::string_view text) {
  if (text.ends_with('.'))
    text.remove_suffix(1);
  for (;;) {
    const auto dot = text.find('.');
    if (!is_label(text.substr(0, dot)))
      return false;
    if (dot == text.npos)
      return !is_numeric(text);
    text.remove_prefix(dot + 1);
  }
}

} // namespace

bool is_host(std::string_view text) {
  if (text.empty() || text.size() > label_length_max)
    return false;
  const auto scope = text.find('%');
  if (scope != text.npos) {
    const auto is_v6 = text.substr(0, scope).find(':') != text.npos;
    const auto zone = text.substr(scope + 1); // May have dots: eth0.100.
    return is_v6 && is_host(text.substr(0, scope)) && !zone.empty()
           && std::all_of(zone.begin(), zone.end(), [](unsigned char c) {
                return std::isalnum(c) || c == '.' || c == '-' || c == '_';
              });
  }
  if (text.find(':') != text.npos)
    return is_address<in6_addr>(AF_INET6, text);
  return is_name(text) || is_address<in_addr>(AF_INET, text);
}

namespace {

result<void> check_tls(const tls_options& x) {
  const auto is_all_or_none = x.certificate_file.empty() == x.key_file.empty()
                              && x.key_file.empty() == x.authority_file.empty();
  if (is_all_or_none)
    return {};
  const auto* missing = x.certificate_file.empty() ? "--tls-cert"
                        : x.key_file.empty()       ? "--tls-key"
                                                   : "--tls-ca";
  return bad_argument(formatted(
    "--tls-cert, --tls-key and --tls-ca go together; {} is missing", missing));
}

} // namespace

result<void> validate(const job_options& options) {
  if (options.job.value.empty())
    return bad_argument("the job id is empty");
  if (auto ok = check_label("the job id", options.job.value); !ok)
    return ok;
  if (options.secret.size() > secret_length_max)
    return bad_argument(
      formatted("the secret is longer than {} bytes", secret_length_max));
  if (auto ok = check_tls(options.tls); !ok)
    return ok;
  if (options.munge == munge_use::always
      && (!options.secret.empty() || options.tls.is_set()))
    return bad_argument("munge stands in for a secret and for certificates: no"
                        " job has both");
  if (options.rendezvous)
    if (auto ok = check_endpoint(*options.rendezvous); !ok)
      return ok;
  if (auto ok = check_agent_counts(options); !ok)
    return ok;
  if (auto ok = check_seeds(options); !ok)
    return ok;
  if (auto ok = check_timeouts(options.timeouts); !ok)
    return ok;
  if (auto ok = check_exclude_file(options.exclude_file); !ok)
    return ok;
  if (options.backend == rendezvous_backend::etcd)
    return check_etcd(options);
  if (!options.etcd.more_members.empty())
    return bad_argument("several rendezvous addresses are for etcd clusters");
  if (options.backend == rendezvous_backend::fixed
      && options.agent_count_min != options.agent_count_max)
    return bad_argument(
      "with fixed node ranks the number of nodes is fixed, too");
  return {};
}

result<void> validate(const agent_options& options) {
  if (!options.local_address.empty() && !is_host(options.local_address))
    return bad_argument(formatted(
      "the local address \"{}\" is neither a host name nor an IP address",
      options.local_address));
  if (auto ok = check_workers(options.workers); !ok)
    return ok;
  if (auto ok = check_label("the signals to handle", options.signals_to_handle);
      !ok)
    return ok;
  if (auto ok = check_label("the name of the program", options.entry_name); !ok)
    return ok;
  if (auto ok = check_timers(options.timers); !ok)
    return ok;
  if (options.hangs.timeout.count() != 0)
    if (auto ok = check_span("the hang timeout", options.hangs.timeout,
                             hang_timeout_min, timeout_max);
        !ok)
      return ok;
  if (auto ok = check_checks(options.checks); !ok)
    return ok;
  if (auto ok = check_stragglers(options); !ok)
    return ok;
  if (auto ok = check_notices(options.notices); !ok)
    return ok;
  if (auto ok = check_spares(options); !ok)
    return ok;
  if (auto ok = check_devices(options); !ok)
    return ok;
  return check_logs(options.logs, options.workers.slot_count);
}

result<void> validate(const job_options& job, const agent_options& agent) {
  if (auto ok = validate(job); !ok)
    return ok;
  if (auto ok = validate(agent); !ok)
    return ok;
  if (agent.node_rank.has_value() != (job.backend == rendezvous_backend::fixed))
    return bad_argument(
      "a node rank is needed with the backend static, and has no"
      " meaning with another");
  if (agent.node_rank)
    return check_count("the node rank", *agent.node_rank, 0,
                       job.agent_count_max - 1);
  return {};
}

} // namespace actorrun
