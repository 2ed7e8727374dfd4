#include "cli/options/actorctl_options.hpp"

#include "cli/options/node_options.hpp"
#include "cli/options/worker_options.hpp"

namespace actorrun::cli {

namespace {

constexpr auto group = "Options";

option_rule endpoint_rule(control_settings& out) {
  return {"--rdzv-endpoint",
          0,
          "HOST[:PORT]",
          group,
          "where the nodes of the job meet (default port: 29400, with static"
          " 29500); with etcd the members of its cluster, separated by commas"
          " (default port: 2379)",
          endpoint_reader(out.rendezvous)};
}

} // namespace

option_rules actorctl_rules(control_settings& out) {
  return {help_rule(group), version_rule(group),
          completion_rule("actorctl", group, out.completion)};
}

option_rules status_rules(control_settings& out) {
  auto rules = option_rules{
    {"--json", 0, "", group, "print one JSON document", switch_on(out.json)},
    endpoint_rule(out),
    {"--rdzv-id", 0, "ID", group, "job id (default: none)", verbatim(out.job)},
    {"--rdzv-backend", 0, "c10d|actor|static|etcd|etcd-v2", group,
     "back end of the job (default: c10d); with etcd and etcd-v2, etcd is asked"
     " where the coordinator is",
     backend_reader(out.backend)},
    {"--rdzv-conf", 0, "KEY=VALUE,...", group,
     "settings of the job, of which only the keys for etcd are used",
     into(out.conf, parse_rendezvous_conf)},
    secret_rule(group, out.secret_file),
  };
  append(rules, tls_rules(group, out.tls));
  append(rules, {help_rule(group)});
  return rules;
}

option_rules coordinator_rules(control_settings& out) {
  auto rules = option_rules{
    endpoint_rule(out),
    {"--rdzv-id", 0, "ID", group, "job id", verbatim(out.job)},
    {"--nnodes", 0, "N|MIN:MAX", group, "number of nodes of the job",
     into(out.nodes, parse_node_range)},
    {"--max-restarts", 0, "N", group,
     "number of worker failures that the job survives (default: 0)",
     restart_count_reader(out.restart_count_max)},
    {"--rdzv-backend", 0, "c10d|actor|etcd|etcd-v2", group,
     "c10d, actor (default): host the coordinator at the endpoint. etcd,"
     " etcd-v2: host it whenever etcd, which is at the endpoint, elects this"
     " program",
     backend_reader(out.backend)},
    {"--rdzv-conf", 0, "KEY=VALUE,...", group,
     "timeouts and further settings, as for actorrun",
     into(out.conf, parse_rendezvous_conf)},
    secret_rule(group, out.secret_file),
  };
  append(rules, tls_rules(group, out.tls));
  append(rules, {help_rule(group)});
  return rules;
}

option_rules secret_rules(control_settings& out) {
  return {
    {"--force", 0, "", group, "replace the secret if there is one",
     switch_on(out.force)},
    help_rule(group),
  };
}

} // namespace actorrun::cli
