#include "cli/options/actorctl_options.hpp"

#include "actors/core/logs/log_selection.hpp"
#include "cli/options/http_options.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/worker_options.hpp"

#include <set>

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

option_rule job_rule(control_settings& out) {
  return {"--job",
          0,
          "JOB",
          group,
          "a job of this host (default: the only one there is)",
          verbatim(out.local_job)};
}

/// In place of the word JOB.
option_rule job_instead_rule(control_settings& out) {
  return {"--job",
          0,
          "JOB",
          group,
          "the same as the word JOB",
          verbatim(out.local_job)};
}

/// Leads to a job on any host.
option_rules remote_rules(control_settings& out) {
  auto rules = option_rules{
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
  append(rules, {munge_rule(group, out.munge)});
  return rules;
}

/// Whether a row is printed for each worker.
result<bool> parse_width(std::string_view text) {
  if (text == "wide" || text == "text")
    return text == "wide";
  return bad_argument(in_quotes(text) + " is not an output; text and wide are");
}

} // namespace

result<std::vector<uint32_t>> parse_ranks(std::string_view text) {
  auto out = std::set<uint32_t>{};
  for (const auto part : split(text, ',')) {
    const auto ends = split(trimmed(part), '-');
    constexpr auto rank_max = uint32_t{1'000'000};
    const auto first = parse_count(ends.front(), 0, rank_max);
    const auto last = parse_count(ends.back(), 0, rank_max);
    if (!first || !last || ends.size() > 2 || *first > *last)
      return bad_argument(in_quotes(part)
                          + " is no rank; ranks are written as 3 or 0,2-5");
    if (*last - *first >= core::selected_ranks_max)
      return bad_argument(in_quotes(part) + " are too many ranks");
    for (auto i = *first; i <= *last; ++i)
      out.insert(i);
  }
  if (out.size() > core::selected_ranks_max)
    return bad_argument(in_quotes(text) + " are too many ranks");
  return std::vector<uint32_t>{out.begin(), out.end()};
}

option_rules actorctl_rules(control_settings& out) {
  return {help_rule(group), version_rule(group),
          completion_rule("actorctl", group, out.completion)};
}

option_rules status_rules(control_settings& out) {
  auto rules = option_rules{
    {"--json", 0, "", group, "print one JSON document", switch_on(out.json)},
    {"--output", 'o', "text|wide", group,
     "wide: print also times, load and memory of each node, a row for each"
     " worker (its state, age, CPU use, memory, threads and output), and the"
     " last epochs",
     into(out.wide, parse_width)},
    journal_rule(group, out.journal,
                 "where journals are, for jobs that have ended"),
    job_instead_rule(out)};
  append(rules, remote_rules(out));
  append(rules, {help_rule(group)});
  return rules;
}

option_rules top_rules(control_settings& out) {
  auto rules = option_rules{
    {"--once", 0, "", group, "print one picture as text, and end",
     switch_on(out.once)},
    journal_rule(group, out.journal, "where journals are, for jobs that end"),
    job_instead_rule(out)};
  append(rules, remote_rules(out));
  append(rules, {help_rule(group)});
  return rules;
}

option_rules logs_rules(control_settings& out) {
  const auto parse_since = [](std::string_view text) {
    return parse_span(text, std::chrono::milliseconds{1});
  };
  auto rules = option_rules{
    {"--follow", 'f', "", group,
     "go on as the workers write, also in later epochs, until the job ends",
     switch_on(out.follow)},
    {"--rank", 0, "RANK,...", group, "only these workers, as 0,2-5",
     into(out.ranks, parse_ranks)},
    {"--node", 0, "NODE", group,
     "only the workers of this node: its host, node rank or agent id",
     into(out.node, parse_text)},
    {"--tail", 0, "N", group,
     "only the last N lines of each output of a worker",
     into(out.tail, count_parser(0, 1'000'000'000))},
    {"--since", 0, "TIME", group,
     "only outputs that have changed within this time (30s, 5m)",
     into(out.since, parse_since)},
    {"--grep", 0, "RE", group,
     "only lines that this extended regular expression matches",
     verbatim(out.grep)},
    {"--previous", 0, "", group, "of the epoch before the newest one",
     switch_on(out.previous)},
    {"--stdout", 0, "", group, "only standard output", switch_on(out.only_out)},
    {"--stderr", 0, "", group, "only standard error", switch_on(out.only_err)},
    job_instead_rule(out),
  };
  append(rules, remote_rules(out));
  append(rules, {help_rule(group)});
  return rules;
}

option_rules stacks_rules(control_settings& out) {
  auto rules = option_rules{
    job_rule(out),
    {"--json", 0, "", group, "print one JSON document", switch_on(out.json)},
  };
  append(rules, remote_rules(out));
  append(rules, {help_rule(group)});
  return rules;
}

option_rules drain_rules(control_settings& out) {
  auto rules = option_rules{
    {"--deadline", 0, "TIME", group,
     "time that the workers of the node get (default: 60 s)",
     into(out.deadline,
          [](const std::string& text) {
            return parse_span(text, std::chrono::milliseconds{0});
          })},
    {"--wait-for-replacement", 0, "", group,
     "if too few nodes are left without this one, let it stay until another one"
     " can take its place",
     switch_on(out.waits_for_replacement)},
    {"--cancel", 0, "", group,
     "let a node stay that waits for a replacement, to leave",
     switch_on(out.cancels)}};
  append(rules, steer_rules(out));
  return rules;
}

option_rules reasoned_rules(control_settings& out) {
  auto rules = option_rules{{"--reason", 0, "TEXT", group,
                             "why, for the job's log and journal",
                             into(out.reason, parse_text)}};
  append(rules, steer_rules(out));
  return rules;
}

option_rules log_level_rules(control_settings& out) {
  auto rules
    = option_rules{{"--node", 0, "NODE", group,
                    "this node only: its host, its agent or its node rank"
                    " (default: all nodes and the coordinator)",
                    into(out.node, parse_text)}};
  append(rules, steer_rules(out));
  return rules;
}

option_rules steer_rules(control_settings& out) {
  auto rules = option_rules{job_rule(out)};
  append(rules, remote_rules(out));
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
    exclude_after_rule(group, out.exclude_after),
    safe_point_timeout_rule(group, out.safe_point_timeout),
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
  append(rules, {munge_rule(group, out.munge)});
  append(rules, http_rules(group, out.http));
  append(rules, {journal_rule(group, out.journal,
                              "where the job's journal is written; none:"
                              " nowhere"),
                 help_rule(group)});
  return rules;
}

option_rules journal_rules(control_settings& out) {
  return {
    {"--follow", 'f', "", group, "go on as the job goes on, until it ends",
     switch_on(out.follow)},
    {"--json", 0, "", group,
     "print the records as they are, one JSON document"
     " per line",
     switch_on(out.json)},
    journal_rule(group, out.journal, "where journals are"),
    job_instead_rule(out),
    help_rule(group),
  };
}

option_rules why_rules(control_settings& out) {
  auto rules = option_rules{
    {"--all", 0, "", group, "tell of every epoch, from the first on",
     switch_on(out.all)},
    {"--json", 0, "", group, "print one JSON document per line",
     switch_on(out.json)},
    journal_rule(group, out.journal, "where journals are"),
    job_instead_rule(out)};
  append(rules, remote_rules(out));
  append(rules, {help_rule(group)});
  return rules;
}

option_rules replay_rules(control_settings& out) {
  return {
    {"--at", 0, "TIME", group,
     "the moment: so much after the coordinator began (+12.3s, +5m) or before "
     "the"
     " end of the journal (-2s; default: its end)",
     verbatim(out.at)},
    journal_rule(group, out.journal, "where journals are"),
    job_instead_rule(out),
    help_rule(group),
  };
}

option_rules secret_rules(control_settings& out) {
  return {
    {"--force", 0, "", group, "replace the secret if there is one",
     switch_on(out.force)},
    help_rule(group),
  };
}

} // namespace actorrun::cli
