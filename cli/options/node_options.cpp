#include "cli/options/node_options.hpp"

#include <string>

namespace actorrun::cli {

namespace {

/// torchrun's defaults.
constexpr auto master_address_default = "127.0.0.1";
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

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
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

std::optional<failure> refuse_port_0(const endpoint& x,
                                     const std::string& option) {
  if (x.port != 0)
    return std::nullopt;
  return bad_argument(option + ": port 0 stands for any free port, which the"
                      + " other nodes cannot know");
}

/// What is said of node rank 0 in vain.
void warn_of_master(const run_settings& x, const std::string& why,
                    run_arguments& out) {
  const auto warn = [&](const char* name) {
    out.warnings.push_back(std::string{name} + " is ignored: " + why);
  };
  if (x.node_rank.value_or(0) != 0)
    warn("--node-rank");
  if (const auto master = master_of(x); master && !is_loopback(*master))
    warn("--master-addr");
}

/// `--standalone` wins over everything that names other nodes.
std::optional<failure> settle_standalone(const run_settings& settings,
                                         run_arguments& out) {
  if (settings.nodes.min > 1)
    return bad_argument("--nnodes needs " + std::to_string(settings.nodes.min)
                        + " nodes, and with --standalone nobody else can come;"
                          " leave one of the two out");
  if (settings.nodes.max > 1)
    out.warnings.emplace_back(
      "--standalone: the maximum of --nnodes is ignored,"
      " the job has one node");
  // localhost:0 asks for what --standalone does, and scripts write both.
  const auto named = endpoint_of(settings, master_port_default);
  if (named && named->port != 0)
    out.warnings.emplace_back("--standalone: --rdzv-endpoint is ignored");
  if (settings.backend && *settings.backend != rendezvous_backend::native)
    out.warnings.emplace_back("--standalone: --rdzv-backend is ignored");
  warn_of_master(settings, "with --standalone the job has one node", out);
  return std::nullopt;
}

// With `static`, torchrun would meet itself at the endpoint. Nobody else comes
// there, so the port is for the workers.
std::optional<failure> settle_alone(const run_settings& settings,
                                    run_arguments& out) {
  const auto named = endpoint_of(settings, master_port_default);
  if (named && named->port != 0)
    out.agent.master_port = named->port;
  if (named && !is_loopback(named->host))
    out.warnings.emplace_back("--rdzv-endpoint is ignored but for its port: the"
                              " job has one node");
  if (settings.backend == rendezvous_backend::fixed
      && settings.node_rank.value_or(0) != 0)
    return bad_argument("--node-rank is " + std::to_string(*settings.node_rank)
                        + ", and the one node of the job has rank 0; --nnodes"
                          " says how many there are");
  warn_of_master(settings, "the job has one node", out);
  return std::nullopt;
}

std::optional<failure> settle_fixed(const run_settings& settings,
                                    run_arguments& out) {
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
  if (auto why = refuse_port_0(where, named ? endpoint_name : "--master-port"))
    return why;
  if (rank >= count)
    return bad_argument("--node-rank is " + std::to_string(rank) + ", and the "
                        + std::to_string(count)
                        + " nodes of --nnodes have the ranks 0.."
                        + std::to_string(count - 1));
  if (settings.nodes.min < count)
    out.warnings.emplace_back("--nnodes: with the backend static there are "
                              + std::to_string(count) + " nodes, never fewer");
  out.job.backend = rendezvous_backend::fixed;
  out.job.rendezvous = where;
  out.job.agent_count_min = out.job.agent_count_max = count;
  out.agent.node_rank = rank;
  return std::nullopt;
}

std::optional<failure> meet_through_etcd(const std::string& endpoints,
                                         job_options& out) {
  auto members = endpoints_of(endpoints, etcd_port_default);
  if (members.empty())
    return bad_argument("--rdzv-backend=etcd needs --rdzv-endpoint, the address"
                        " of an etcd server, or of several of one cluster:"
                        " --rdzv-endpoint=etcd1:2379,etcd2:2379");
  for (const auto& member : members)
    if (auto why = refuse_port_0(member, endpoint_name))
      return why;
  out.backend = rendezvous_backend::etcd;
  out.rendezvous = std::move(members.front());
  out.etcd.more_members.assign(members.begin() + 1, members.end());
  return std::nullopt;
}

std::optional<failure> refuse_list(const std::string& endpoints) {
  const auto count = endpoints_of(endpoints, master_port_default).size();
  if (count <= 1)
    return std::nullopt;
  return bad_argument(std::string{endpoint_name} + " names "
                      + std::to_string(count)
                      + " addresses, which is for"
                        " --rdzv-backend=etcd and the members of its cluster;"
                        " all nodes of a job meet at one");
}

std::optional<failure> settle_etcd(const run_settings& settings,
                                   run_arguments& out) {
  if (auto why = meet_through_etcd(settings.rendezvous, out.job))
    return why;
  warn_of_master(settings, "etcd knows where the nodes meet", out);
  out.job.agent_count_min = settings.nodes.min;
  out.job.agent_count_max = settings.nodes.max;
  return std::nullopt;
}

std::optional<failure> settle_native(const run_settings& settings,
                                     run_arguments& out) {
  const auto where = endpoint_of(settings, endpoint{}.port);
  const auto nodes = settings.nodes;
  if (!where && nodes.max > 1)
    return bad_argument(
      "--nnodes with more than one node needs --rdzv-endpoint, the address of"
      " one of them: actorrun --nnodes=2 --rdzv-endpoint=node1:29400 …; or"
      " --node-rank and --master-addr");
  // torchrun's manual starts a job of one node with the endpoint localhost:0.
  if (!where || (where->port == 0 && nodes.max == 1))
    return settle_alone(settings, out);
  if (auto why = refuse_port_0(*where, endpoint_name))
    return why;
  warn_of_master(settings, "only the backend static uses it", out);
  out.job.rendezvous = where;
  out.job.agent_count_min = nodes.min;
  out.job.agent_count_max = nodes.max;
  return std::nullopt;
}

} // namespace

std::optional<failure> settle_meeting(const std::string& endpoints,
                                      rendezvous_backend backend,
                                      job_options& out) {
  if (backend == rendezvous_backend::etcd)
    return meet_through_etcd(endpoints, out);
  if (auto why = refuse_list(endpoints))
    return why;
  const auto where = endpoints_of(
    endpoints, backend == rendezvous_backend::fixed ? master_port_default
                                                    : endpoint{}.port);
  if (where.empty())
    return bad_argument(std::string{endpoint_name} + " is empty");
  out.backend = backend;
  out.rendezvous = where.front();
  return refuse_port_0(where.front(), endpoint_name);
}

std::optional<failure> settle_nodes(const run_settings& settings,
                                    run_arguments& out) {
  if (settings.nodes.max == 1 || settings.standalone)
    if (settings.master_port.value_or(0) != 0)
      out.agent.master_port = port_of(settings);
  if (settings.standalone)
    return settle_standalone(settings, out);
  const auto backend = backend_of(settings);
  if (backend != rendezvous_backend::etcd)
    if (auto why = refuse_list(settings.rendezvous))
      return why;
  switch (backend) {
    case rendezvous_backend::native:
      return settle_native(settings, out);
    case rendezvous_backend::fixed:
      return settings.nodes.max == 1 ? settle_alone(settings, out)
                                     : settle_fixed(settings, out);
    case rendezvous_backend::etcd:
      break;
  }
  return settle_etcd(settings, out);
}

std::optional<failure> settle_job_id(const run_settings& settings,
                                     const host_facts& world,
                                     run_arguments& out) {
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
    // With static, nobody gives jobs ids: address and port tell them apart.
    if (out.job.backend != rendezvous_backend::fixed)
      out.warnings.emplace_back(
        "--rdzv-id is not given: the job is called \"none\","
        " as all jobs without an id are");
  } else {
    out.job.job.value = world.random_id();
  }
  return std::nullopt;
}

} // namespace actorrun::cli
