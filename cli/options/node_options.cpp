#include "cli/options/node_options.hpp"

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"
#include "cli/options/host_list.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace actorrun::cli {

namespace {

// -- each option for itself ---------------------------------------------------

result<rendezvous_backend> parse_backend(const std::string& text) {
  using enum rendezvous_backend;
  static constexpr std::pair<std::string_view, rendezvous_backend> names[]
    = {{"c10d", native},
       {"actor", native},
       {"static", fixed},
       {"etcd", etcd},
       {"etcd-v2", etcd}};
  if (const auto backend = value_of(text, names))
    return *backend;
  return bad_argument(formatted(
    "{} is an unknown backend; c10d, actor, static, etcd and etcd-v2 are known",
    in_quotes(text)));
}

result<std::string> parse_endpoint_text(const std::string& text) {
  if (trimmed(text).empty())
    return std::string{};
  if (auto x = parse_endpoints(text); !x)
    return x.error();
  return text;
}

/// @returns the host without brackets; empty if the text is
result<std::string> parse_master_address(const std::string& text) {
  const auto bare = std::string{trimmed(text)};
  if (bare.empty())
    return bare;
  // An IPv6 address without brackets has two colons at least.
  const auto has_port = std::count(bare.begin(), bare.end(), ':') == 1;
  if (is_host(bare) && !has_port)
    return bare;
  auto x = parse_endpoint(bare + ":1");
  if (!x)
    return bad_argument(in_quotes(text)
                        + " is neither a host name nor an IP address; the port"
                          " goes to --master-port");
  return x->host;
}

/// Stands for all addresses of a host: to listen at, and not to be found at.
bool is_any_address(std::string_view host) {
  return host == "0.0.0.0" || host == "::";
}

result<std::optional<bool>> parse_munge(std::string_view text) {
  static constexpr std::pair<std::string_view, std::optional<bool>> names[]
    = {{"auto", std::nullopt}, {"on", true}, {"off", false}};
  if (const auto found = value_of(text, names))
    return *found;
  return bad_argument(in_quotes(text) + " is none of auto, on and off");
}

// -- how they go together -----------------------------------------------------

/// Whoever names no host of node rank 0 is on it: torchrun listens on all its
/// addresses, and scripts name one of them on the other nodes.
constexpr auto master_address_default = "localhost";
constexpr uint16_t master_port_default = 29'500;
constexpr uint16_t etcd_port_default = 2'379;
constexpr auto endpoint_name = "--rdzv-endpoint";

/// Where node rank 0 is, if that is said.
std::optional<std::string> master_of(const run_settings& x) {
  return x.master_address && x.master_address->empty() ? std::nullopt
                                                       : x.master_address;
}

/// `--master-port`, if it is given.
std::optional<uint16_t> port_of(const run_settings& x) {
  return x.master_port ? std::optional{static_cast<uint16_t>(*x.master_port)}
                       : std::nullopt;
}

/// Whether one of torchrun's options for `static` is set.
bool names_master(const run_settings& x) {
  return x.node_rank || master_of(x) || x.master_port;
}

rendezvous_backend backend_of(const run_settings& x) {
  return x.backend.value_or(names_master(x) ? rendezvous_backend::fixed
                                            : rendezvous_backend::native);
}

/// What `--rdzv-endpoint` says, if it does.
std::vector<endpoint> endpoints_of(const std::string& text,
                                   uint16_t default_port) {
  if (trimmed(text).empty())
    return {};
  auto out = parse_endpoints(text, default_port);
  return out ? std::move(*out) : std::vector<endpoint>{}; // It was checked.
}

/// The first of them.
std::optional<endpoint> endpoint_of(const run_settings& x,
                                    uint16_t default_port) {
  const auto all = endpoints_of(x.rendezvous, default_port);
  return all.empty() ? std::nullopt : std::optional{all.front()};
}

/// Refuses what no other node can find.
result<void> refuse_unusable(const endpoint& x, const std::string& option) {
  if (x.host.empty())
    return bad_argument(formatted("{}: the host is missing in {}; maybe a "
                                  "variable of the shell is not set",
                                  option, in_quotes(to_string(x))));
  const auto is_link_local = core::lowered(x.host).starts_with("fe80:")
                             && x.host.find('%') == x.host.npos;
  if (is_link_local)
    return bad_argument(formatted(
      "{}: {} is an address of each network by itself, and needs the interface "
      "to it: [{}%eth0]",
      option, x.host, x.host));
  if (x.port != 0)
    return {};
  return bad_argument(formatted(
    "{}: port 0 stands for any free port, which the other nodes cannot know",
    option));
}

/// Refuses 0.0.0.0 on a node that is to find another one there.
result<void> refuse_any_address(const endpoint& x, const std::string& option) {
  if (!is_any_address(x.host))
    return {};
  return bad_argument(
    formatted("{}: {} stands for all addresses of a host, and the nodes meet "
              "at one: give "
              "the name or address of the node where the coordinator is to be",
              option, x.host));
}

/// Whether a host of an option is this node for sure. Looks nothing up.
bool is_here(const std::string& host, const host_facts& world) {
  return host.empty() || is_any_address(host)
         || is_this_host(host, world.own_name ? world.own_name() : "");
}

/// Whether the job is this node's alone, whatever else is said of where nodes meet.
/// It is not where another process is said to have the coordinator: etcd knows
/// which, and a node that must not host it waits for one.
bool is_alone(const run_settings& x) {
  if (x.nodes.max > 1 || backend_of(x) == rendezvous_backend::etcd)
    return false;
  return backend_of(x) == rendezvous_backend::fixed
         || x.conf.place != coordinator_place::elsewhere
         || trimmed(x.rendezvous).empty();
}

/// A warning about an option that has no effect. What a variable has set is no
/// mistake of the person who starts this job.
void warn_of(const char* name, std::string text, const run_settings& x,
             run_arguments& out) {
  const auto is_typed
    = std::find(x.typed.begin(), x.typed.end(), name) != x.typed.end();
  (is_typed ? out.warnings : out.details).push_back(std::move(text));
}

/// Warns about options for node rank 0 that have no effect.
void warn_of_master(const run_settings& x, const std::string& why,
                    const host_facts& world, run_arguments& out) {
  const auto warn = [&](const char* name) {
    warn_of(name, formatted("{} is ignored: {}", name, why), x, out);
  };
  if (x.node_rank.value_or(0) != 0)
    warn("--node-rank");
  if (const auto master = master_of(x); master && !is_here(*master, world))
    warn("--master-addr");
}

/// `--standalone` wins over everything that names other nodes.
result<void> settle_standalone(const run_settings& settings,
                               const host_facts& world, run_arguments& out) {
  if (settings.nodes.min > 1)
    return bad_argument(
      formatted("--nnodes needs {} nodes, and with --standalone the job has "
                "one; leave one of the two out",
                settings.nodes.min));
  if (settings.nodes.max > 1)
    out.warnings.emplace_back(
      "--standalone: the maximum of --nnodes is ignored,"
      " the job has one node");
  // localhost:0 asks for what --standalone does, and scripts write both.
  const auto named = endpoint_of(settings, master_port_default);
  if (named && named->port != 0)
    warn_of(endpoint_name, "--standalone: --rdzv-endpoint is ignored", settings,
            out);
  if (settings.backend && *settings.backend != rendezvous_backend::native)
    warn_of("--rdzv-backend", "--standalone: --rdzv-backend is ignored",
            settings, out);
  warn_of_master(settings, "with --standalone the job has one node", world,
                 out);
  return {};
}

// What nodes meet at has no meaning for a node alone. With `static`, torchrun's
// only node would meet itself at the endpoint; no other node connects there, so the
// port is the workers'.
result<void> settle_alone(const run_settings& settings, const host_facts& world,
                          run_arguments& out) {
  const auto is_fixed = backend_of(settings) == rendezvous_backend::fixed;
  const auto named = endpoint_of(settings, master_port_default);
  const auto is_elsewhere = named && !is_here(named->host, world);
  if (is_fixed && named && named->port != 0)
    out.agent.master_port = named->port;
  // torchrun's workers meet there if no option says anything, and some scripts know
  // the number.
  if (!named && !settings.master_port
      && settings.backend != rendezvous_backend::native)
    out.preferred_master_port = master_port_default;
  if (is_fixed && is_elsewhere)
    warn_of(endpoint_name,
            "--rdzv-endpoint is ignored but for its port: the job has one node",
            settings, out);
  else if (is_elsewhere) // Maybe under another name of this node.
    out.notices.push_back(
      formatted("the job has one node, because --nnodes has no more: this one, "
                "and nothing is asked at {}",
                to_string(*named)));
  if (settings.backend == rendezvous_backend::fixed
      && settings.node_rank.value_or(0) != 0)
    return bad_argument(
      formatted("--node-rank is {}, and the one node of the job has rank 0; "
                "--nnodes says how many there are",
                *settings.node_rank));
  warn_of_master(settings, "the job has one node", world, out);
  return {};
}

result<void> settle_fixed(const run_settings& settings, run_arguments& out) {
  const auto count = settings.nodes.max;
  const auto rank = settings.node_rank.value_or(0);
  const auto named = endpoint_of(settings, master_port_default);
  if (named && master_of(settings))
    out.warnings.emplace_back("--master-addr is ignored: --rdzv-endpoint says"
                              " where node rank 0 is");
  if (!named && settings.master_address && !master_of(settings))
    return bad_argument("--master-addr is empty, so that each node would look"
                        " for node rank 0 on itself; maybe a variable of the"
                        " shell is not set");
  const auto where = named.value_or(
    endpoint{.host = master_of(settings).value_or(master_address_default),
             .port = port_of(settings).value_or(master_port_default)});
  if (auto ok = refuse_unusable(where, named ? endpoint_name : "--master-port");
      !ok)
    return ok;
  if (rank != 0)
    if (auto ok
        = refuse_any_address(where, named ? endpoint_name : "--master-addr");
        !ok)
      return ok;
  if (rank >= count)
    return bad_argument(formatted(
      "--node-rank is {}, and the {} nodes of --nnodes have the ranks 0..{}",
      rank, count, count - 1));
  if (settings.nodes.min < count)
    out.warnings.emplace_back(formatted(
      "--nnodes: with the backend static there are {} nodes, never fewer",
      count));
  out.job.backend = rendezvous_backend::fixed;
  out.job.rendezvous = where;
  out.job.agent_count_min = out.job.agent_count_max = count;
  out.agent.node_rank = rank;
  return {};
}

result<void> meet_through_etcd(const std::string& endpoints, job_options& out) {
  auto members = endpoints_of(endpoints, etcd_port_default);
  if (members.empty())
    return bad_argument("--rdzv-backend=etcd needs --rdzv-endpoint, the address"
                        " of an etcd server, or of several of one cluster:"
                        " --rdzv-endpoint=etcd1:2379,etcd2:2379");
  for (const auto& member : members) {
    if (auto ok = refuse_unusable(member, endpoint_name); !ok)
      return ok;
    if (auto ok = refuse_any_address(member, endpoint_name); !ok)
      return ok;
  }
  out.backend = rendezvous_backend::etcd;
  out.rendezvous = std::move(members.front());
  out.etcd.more_members.assign(members.begin() + 1, members.end());
  return {};
}

bool is_own_of_each_node(const std::string& host) {
  return core::lowered(host) == "localhost" || host.starts_with("127.")
         || host == "::1";
}

/// Where a job may begin that has several seeds.
/// @param all Two at least.
result<void> settle_seeds(std::vector<endpoint> all, job_options& out) {
  for (const auto& x : all) {
    if (auto ok = refuse_unusable(x, endpoint_name); !ok)
      return ok;
    if (auto ok = refuse_any_address(x, endpoint_name); !ok)
      return ok;
  }
  const auto loopback_count = std::ranges::count_if(
    all, [](const auto& x) { return is_own_of_each_node(x.host); });
  if (loopback_count != 0 && loopback_count != std::ssize(all))
    return bad_argument(
      formatted("{}: localhost is another host on each node; of several "
                "endpoints all have to be names or addresses that lead to one "
                "host each",
                endpoint_name));
  out.rendezvous = std::move(all.front());
  out.more_seeds.assign(all.begin() + 1, all.end());
  out.succession = true;
  return {};
}

/// Of an even number one could be left out.
std::string remark_on_seeds(size_t count) {
  return formatted(
    "{} names {} hosts, and the job begins when {} of them are there{}: an odd "
    "number tolerates as many losses with one host less",
    endpoint_name, count, count / 2 + 1, count == 2 ? ", which is both" : "");
}

result<void> refuse_list(const std::string& endpoints) {
  const auto count = endpoints_of(endpoints, master_port_default).size();
  if (count <= 1)
    return {};
  return bad_argument(
    formatted("{} names {} addresses, which is for --rdzv-backend=etcd and the "
              "members of its cluster, or for c10d, where the job begins at a "
              "majority of them; nodes with fixed ranks meet at one, and a job "
              "of one node at none",
              endpoint_name, count));
}

result<void> settle_etcd(const run_settings& settings, const host_facts& world,
                         run_arguments& out) {
  if (auto ok = meet_through_etcd(settings.rendezvous, out.job); !ok)
    return ok;
  warn_of_master(settings, "etcd knows where the nodes meet", world, out);
  out.job.agent_count_min = settings.nodes.min;
  out.job.agent_count_max = settings.nodes.max;
  return {};
}

result<void> settle_native(const run_settings& settings,
                           const host_facts& world, run_arguments& out) {
  auto all = endpoints_of(settings.rendezvous, endpoint{}.port);
  const auto where = endpoint_of(settings, endpoint{}.port);
  const auto nodes = settings.nodes;
  if (!where)
    return bad_argument(
      "--nnodes with more than one node needs --rdzv-endpoint, the address of"
      " one of them: actorrun --nnodes=2 --rdzv-endpoint=node1:29400 …; or"
      " --node-rank and --master-addr");
  if (auto ok = refuse_unusable(*where, endpoint_name); !ok)
    return ok;
  if (settings.conf.place != coordinator_place::here)
    if (auto ok = refuse_any_address(*where, endpoint_name); !ok)
      return ok;
  warn_of_master(settings, "only the backend static uses it", world, out);
  out.job.rendezvous = where;
  if (const auto count = all.size(); count > 1) {
    if (settings.conf.succession == false)
      return bad_argument(formatted(
        "{} names {} hosts, and --rdzv-conf has succession=off: where the job "
        "may begin at several, its agents elect the coordinator; leave one of "
        "the two out",
        endpoint_name, count));
    if (count % 2 == 0)
      out.warnings.push_back(remark_on_seeds(count));
    if (auto ok = settle_seeds(std::move(all), out.job); !ok)
      return ok;
  }
  out.job.agent_count_min = nodes.min;
  out.job.agent_count_max = nodes.max;
  return {};
}

} // namespace

result<std::string> parse_local_address(const std::string& text) {
  const auto bare = std::string{trimmed(text)};
  if (is_any_address(bare))
    return bad_argument(in_quotes(text)
                        + " stands for all addresses, and the other nodes need"
                          " one at which they find this node");
  if (bare.empty() || is_host(bare))
    return bare;
  return bad_argument(in_quotes(text)
                      + " is neither a host name nor an IP address");
}

result<void> refuse_endpoint(const endpoint& x) {
  if (auto ok = refuse_unusable(x, endpoint_name); !ok)
    return ok;
  return refuse_any_address(x, endpoint_name);
}

value_reader endpoint_reader(std::string& target) {
  return into(target, parse_endpoint_text);
}

value_reader backend_reader(std::optional<rendezvous_backend>& target) {
  return into(target, parse_backend);
}

void add_trust_options(option_adder& add, std::string& secret_file,
                       tls_options& tls, std::optional<bool>& munge) {
  add("--secret-file", "FILE",
      "file with the job's secret, readable by its owner only (default: "
      "the secret in ACTORRUN_SECRET, or in ~/.config/actorrun/secret if "
      "there is one)",
      into(secret_file, parse_file_name));
  add(
    "--tls-cert", "FILE",
    "this node's certificate (PEM), followed by its intermediate certificates: "
    "it names the address that the node announces and, where the "
    "coordinator runs, the host of the endpoint. With it, and the next two, "
    "the nodes know each other by certificates (default: by the secret alone)",
    into(tls.certificate_file, parse_file_name));
  add("--tls-key", "FILE", "the private key of the certificate (PEM)",
      into(tls.key_file, parse_file_name));
  add("--tls-ca", "FILE",
      "the authority that has to sign the other nodes' certificates (PEM)",
      into(tls.authority_file, parse_file_name));
  add(
    "--munge", "auto|on|off",
    "whether munge(7) proves that those who connect are processes of this "
    "user, which takes the place of a secret (default: auto, that is on under "
    "Slurm if munged answers and there is neither a secret nor a certificate)",
    into(munge, parse_munge));
}

void add_journal_option(option_adder& add, std::optional<std::string>& target,
                        const std::string& help) {
  add("--journal", "FOLDER",
      help
        + " (default: actorrun/journal in $XDG_STATE_HOME or ~/.local/state)",
      into(target, parse_file_name));
}

void add_node_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Nodes and rendezvous"};
  add("--nnodes", "N|MIN:MAX",
      "number of nodes (default: 1); with MIN:MAX the job runs with any "
      "number in this range, and regroups as nodes join and leave",
      into(out.nodes, parse_node_range));
  add("--standalone", "run on this node alone; an endpoint is ignored",
      out.standalone);
  add(
    "--rdzv-endpoint", "HOST[:PORT]",
    "where the nodes meet (default port: 29400); the node with this "
    "address hosts the coordinator. Several, such as a,b,c: the job begins as "
    "soon as most of these hosts are there, and the nodes elect another "
    "coordinator if one is lost. IPv6 addresses stand in brackets: "
    "[::1]:29400. With etcd: the members of its cluster, such as "
    "etcd1:2379,etcd2:2379 (default port: 2379)",
    endpoint_reader(out.rendezvous));
  add("--rdzv-id", "ID",
      "job id, the same on all nodes (default: none; on a single node, a "
      "random id)",
      verbatim(out.job));
  add("--rdzv-backend", "c10d|actor|static|etcd|etcd-v2",
      "which node hosts the coordinator. c10d, actor (default): the node that "
      "the endpoint names. static: node rank 0, and every node is given its "
      "--node-rank. etcd, etcd-v2: any node, and another one if that node dies",
      backend_reader(out.backend));
  add(
    "--rdzv-conf", "KEY=VALUE,...",
    "times in seconds or with a unit (300ms, 30s, 5m) and their defaults: "
    "join_timeout 600, last_call_timeout 30, quiet_period 3, join_settle 1, "
    "rejoin_backoff 60, close_timeout 30, read_timeout 60, heartbeat_timeout "
    "5, keep_alive_interval 0.3 with keep_alive_max_attempt 3 (if neither is "
    "given, as fits the maximum of nodes: 0.06 with 15 up to 24), fence_guard "
    "0.3. Other keys: is_host (yes or no), succession (on or off: whether the "
    "nodes elect another coordinator). For etcd: protocol, cacert, cert, "
    "key, user, password_file, etcd_prefix, lease_ttl",
    into(out.conf, parse_rendezvous_conf));
  add(
    "--node-rank", "N",
    "static: rank of this node (default: 0). This option and the next two "
    "imply --rdzv-backend=static",
    into(out.node_rank, count_parser(0, core::agents_per_generation_max - 1)));
  add("--master-addr", "ADDRESS",
      "static: address of node rank 0 (default: localhost)",
      into(out.master_address, parse_master_address));
  add(
    "--master-port", "PORT",
    "static: port of the coordinator (default: 29500). On a single node: "
    "MASTER_PORT of the workers (default: 29500 or, if it is in use or another "
    "option names the back end or the endpoint, any free port)",
    into(out.master_port,
         count_parser(0, std::numeric_limits<uint16_t>::max())));
  add("--local-addr", "ADDRESS",
      "address at which other nodes reach this one (default: the local "
      "address of its connection to the coordinator)",
      into(out.local_address, parse_local_address));
  add_trust_options(add, out.secret_file, out.tls, out.munge);
  add("--require-secret",
      "refuse to run on several nodes without a secret, certificates or munge",
      out.requires_secret);
  add_journal_option(
    add, out.journal,
    "where the node that hosts the coordinator writes the job's journal, which "
    "actorctl why and actorctl journal read; none: nowhere");
}

result<void> settle_trust(const trust_settings& settings,
                          const host_facts& world, job_options& out) {
  const auto has_to = settings.munge == true;
  if (has_to && (!settings.secret_file.empty() || settings.tls.is_set()))
    return bad_argument("--munge=on: munge takes the place of a secret and of"
                        " certificates; leave out --secret-file and --tls-…");
  // What lies around for all jobs does not count against the option.
  auto secret = has_to ? std::string{} : secret_of(settings.secret_file, world);
  if (!secret)
    return secret.error();
  out.secret = *std::move(secret);
  out.tls = settings.tls;
  const auto is_in_slurm = !world.variable("SLURM_JOB_ID").value_or("").empty()
                           && !world.variable("TORCHELASTIC_RUN_ID");
  out.munge = has_to                    ? munge_use::always
              : settings.munge == false ? munge_use::never
              : is_in_slurm             ? munge_use::if_works
                                        : munge_use::on_demand;
  return {};
}

result<void> settle_meeting(const std::string& endpoints,
                            rendezvous_backend backend, job_options& out) {
  if (backend == rendezvous_backend::etcd)
    return meet_through_etcd(endpoints, out);
  if (backend == rendezvous_backend::fixed)
    if (auto ok = refuse_list(endpoints); !ok)
      return ok;
  const auto where = endpoints_of(
    endpoints, backend == rendezvous_backend::fixed ? master_port_default
                                                    : endpoint{}.port);
  if (where.empty())
    return bad_argument(std::string{endpoint_name} + " is empty");
  out.backend = backend;
  if (where.size() > 1)
    return settle_seeds(where, out);
  out.rendezvous = where.front();
  return refuse_unusable(where.front(), endpoint_name);
}

result<void> settle_nodes(const run_settings& settings, const host_facts& world,
                          run_arguments& out) {
  if (settings.nodes.max == 1 || settings.standalone)
    if (settings.master_port.value_or(0) != 0)
      out.agent.master_port = port_of(settings);
  if (settings.standalone)
    return settle_standalone(settings, world, out);
  const auto backend = backend_of(settings);
  const auto is_one_node = is_alone(settings);
  if (backend == rendezvous_backend::fixed
      || (backend == rendezvous_backend::native && is_one_node))
    if (auto ok = refuse_list(settings.rendezvous); !ok)
      return ok;
  if (is_one_node)
    return settle_alone(settings, world, out);
  switch (backend) {
    case rendezvous_backend::native:
      return settle_native(settings, world, out);
    case rendezvous_backend::fixed:
      return settle_fixed(settings, out);
    case rendezvous_backend::etcd:
      break;
  }
  return settle_etcd(settings, world, out);
}

result<void> settle_job_id(const run_settings& settings,
                           const host_facts& world, run_arguments& out) {
  const auto is_empty = settings.job && settings.job->empty();
  if (is_empty && out.job.agent_count_max > 1)
    return bad_argument("--rdzv-id is empty: every node would make up an id of"
                        " its own, and they would never meet");
  if (is_empty)
    out.warnings.emplace_back("--rdzv-id is empty: the job gets a random id");
  if (settings.job && !is_empty) {
    out.job.job.value = *settings.job;
  } else if (out.job.rendezvous && !is_empty) {
    out.job.job.value = "none";
    // With static, jobs usually have no ids: address and port distinguish them.
    if (out.job.backend != rendezvous_backend::fixed)
      (out.job.agent_count_max == 1 ? out.details : out.warnings)
        .emplace_back("--rdzv-id is not given: the job is called \"none\","
                      " as all jobs without an id are");
  } else {
    out.job.job.value = world.random_id();
  }
  return {};
}

} // namespace actorrun::cli
