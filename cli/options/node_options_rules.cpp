// The options on the nodes of a job, each for itself.
#include "actors/core/protocol/rank_assignment.hpp"
#include "cli/options/actorrun_options.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace actorrun::cli {

namespace {

constexpr auto group = "Nodes and rendezvous";

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
  return bad_argument(in_quotes(text) + " is an unknown backend; c10d, actor,"
                      + " static, etcd and etcd-v2 are known");
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

result<std::string> parse_local_address(const std::string& text) {
  const auto bare = std::string{trimmed(text)};
  if (bare.empty() || is_host(bare))
    return bare;
  return bad_argument(in_quotes(text)
                      + " is neither a host name nor an IP address");
}

/// Where a secret was asked for there must be one.
result<std::string> parse_secret_file(const std::string& text) {
  if (text.empty())
    return bad_argument("no file is named");
  return text;
}

} // namespace

value_reader endpoint_reader(std::string& target) {
  return into(target, parse_endpoint_text);
}

value_reader backend_reader(std::optional<rendezvous_backend>& target) {
  return into(target, parse_backend);
}

option_rule secret_rule(const std::string& heading, std::string& target) {
  return {"--secret-file",
          0,
          "FILE",
          heading,
          "the job's secret, readable by its owner only\n"
          "(or the secret itself in ACTORRUN_SECRET)",
          into(target, parse_secret_file)};
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
     "IPv6 in brackets: [::1]:29400. With etcd: its\n"
     "members, as etcd1:2379,etcd2:2379 (default port\n"
     "2379)",
     endpoint_reader(out.rendezvous)},
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
     into(out.node_rank, count_parser(0, core::agents_per_epoch_max - 1))},
    {"--master-addr", 0, "ADDRESS", group,
     "static: where node rank 0 is (default 127.0.0.1)",
     into(out.master_address, parse_master_address)},
    {"--master-port", 0, "PORT", group,
     "static: where it listens (default 29500); on one\n"
     "node MASTER_PORT of the workers (default: any)",
     into(out.master_port,
          count_parser(0, std::numeric_limits<uint16_t>::max()))},
    {"--local-addr", 0, "ADDRESS", group,
     "where other nodes reach this one (default: where\n"
     "its connection to the coordinator goes out)",
     into(out.local_address, parse_local_address)},
    secret_rule(group, out.secret_file),
  };
}

} // namespace actorrun::cli
