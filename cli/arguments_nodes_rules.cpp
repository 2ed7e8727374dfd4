// The options on the nodes of a job, each for itself.
#include "actorrun/actors/core/rank_assignment.hpp"
#include "actorrun/cli/arguments_run.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace actorrun::cli {

namespace {

constexpr auto group = "Nodes and rendezvous";

result<std::optional<rendezvous_backend>>
parse_backend(const std::string& text) {
  using enum rendezvous_backend;
  static constexpr std::pair<const char*, rendezvous_backend> names[]
    = {{"c10d", native},
       {"actor", native},
       {"static", fixed},
       {"etcd", etcd},
       {"etcd-v2", etcd}};
  for (const auto& [name, backend] : names)
    if (text == name)
      return std::optional{backend};
  return bad_argument(quoted(text) + " is an unknown backend; c10d, actor,"
                      + " static, etcd and etcd-v2 are known");
}

/// Checks an endpoint and keeps it as it was typed: which port it has without
/// one depends on the back end.
result<std::string> parse_endpoint_text(const std::string& text) {
  if (trimmed(text).empty())
    return std::string{};
  if (auto x = parse_endpoint(text); !x)
    return x.error();
  return text;
}

result<std::optional<uint32_t>> parse_node_rank(const std::string& text) {
  auto x = parse_count(text, 0, core::agents_per_epoch_max - 1);
  if (!x)
    return x.error();
  return std::optional{*x};
}

/// @returns the host without brackets
result<std::optional<std::string>>
parse_master_address(const std::string& text) {
  if (trimmed(text).empty())
    return bad_argument("an address is missing");
  const auto bare = std::string{trimmed(text)};
  // An IPv6 address without brackets has two colons at least.
  const auto has_port = std::count(bare.begin(), bare.end(), ':') == 1;
  if (is_host(bare) && !has_port)
    return std::optional{bare};
  auto x = parse_endpoint(bare + ":1");
  if (!x)
    return bad_argument(quoted(text)
                        + " is neither a host name nor an IP address; the port"
                          " goes to --master-port");
  return std::optional{x->host};
}

result<std::optional<uint16_t>> parse_master_port(const std::string& text) {
  auto x = parse_count(text, 0, std::numeric_limits<uint16_t>::max());
  if (!x)
    return x.error();
  return std::optional{static_cast<uint16_t>(*x)};
}

} // namespace

value_reader backend_reader(std::optional<rendezvous_backend>& target) {
  return into(target, parse_backend);
}

option_rules node_rules(run_settings& out) {
  return {
    {"--nnodes", 0, "N|MIN:MAX", group,
     "nodes of the job (default 1); with MIN:MAX it\n"
     "runs with any number between, and regroups as\nnodes come and go",
     into(out.nodes, parse_node_range)},
    {"--standalone", 0, "", group, "this node alone; no endpoint is used",
     switch_on(out.standalone)},
    {"--rdzv-endpoint", 0, "HOST[:PORT]", group,
     "where the nodes meet (default port 29400); the\n"
     "node with this address hosts the coordinator.\n"
     "IPv6 in brackets: [::1]:29400. With etcd: the\n"
     "server's address (default port 2379)",
     into(out.rendezvous, parse_endpoint_text)},
    {"--rdzv-id", 0, "ID", group,
     "name of the job, the same on all nodes (default\n"
     "none; on a single node a random one)",
     verbatim(out.job)},
    {"--rdzv-backend", 0, "c10d|actor|static|etcd|etcd-v2", group,
     "c10d and actor (default): a node hosts the\n"
     "coordinator. static: so does node rank 0, and\n"
     "--node-rank says which this is. etcd, etcd-v2:\n"
     "any node, and another one if that dies",
     backend_reader(out.backend)},
    {"--rdzv-conf", 0, "KEY=VALUE,...", group,
     "times in seconds, or as 300ms, 30s, 5m. Keys:\n"
     "join_timeout 600, last_call_timeout 30,\n"
     "quiet_period 3, join_settle 1, close_timeout 30,\n"
     "read_timeout 60, heartbeat_timeout 5,\n"
     "keep_alive_interval 0.3,\n"
     "keep_alive_max_attempt 3 (a count),\n"
     "fence_guard 0.3, is_host (yes or no)",
     into(out.conf, parse_rendezvous_conf)},
    {"--node-rank", 0, "N", group,
     "static: this node's rank (default 0); implies\n"
     "that backend, as the next two do",
     into(out.node_rank, parse_node_rank)},
    {"--master-addr", 0, "ADDRESS", group,
     "static: where node rank 0 is (default 127.0.0.1)",
     into(out.master_address, parse_master_address)},
    {"--master-port", 0, "PORT", group,
     "static: where it listens (default 29500); on one\n"
     "node MASTER_PORT of the workers (default: any)",
     into(out.master_port, parse_master_port)},
    {"--local-addr", 0, "ADDRESS", group,
     "where other nodes reach this one (default: where\n"
     "its connection to the coordinator goes out)",
     verbatim(out.local_address)},
    {"--secret-file", 0, "FILE", group,
     "the job's secret, readable by its owner only\n"
     "(or the secret itself in ACTORRUN_SECRET)",
     verbatim(out.secret_file)},
  };
}

} // namespace actorrun::cli
