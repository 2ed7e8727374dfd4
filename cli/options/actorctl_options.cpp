#include "cli/options/actorctl_options.hpp"

#include "actors/core/logs/log_selection.hpp"
#include "cli/options/http_options.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/worker_options.hpp"

#include <set>

namespace actorrun::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto heading = "Options";

// -- options of several commands ----------------------------------------------

void add_endpoint(option_adder& add, control_settings& x) {
  add("--rdzv-endpoint", "HOST[:PORT]",
      "where the nodes of the job meet (default port: 29400, with static "
      "29500); with etcd the members of its cluster, separated by commas "
      "(default port: 2379)",
      endpoint_reader(x.rendezvous));
}

constexpr auto same_as_word = "the same as the word JOB";
constexpr auto only_job
  = "the same as the word JOB (default: the only job of this host)";

/// Lead to a job of this host or on any other; and `--help`, which is the last.
void add_job_options(option_adder& add, control_settings& x,
                     const char* job_text) {
  add("--job", "JOB", job_text, x.local_job);
  add_endpoint(add, x);
  add("--rdzv-id", "ID", "job id (default: none)", verbatim(x.job));
  add("--rdzv-backend", "c10d|actor|static|etcd|etcd-v2",
      "back end of the job (default: c10d); with etcd and etcd-v2, etcd "
      "is asked where the coordinator is",
      backend_reader(x.backend));
  add("--rdzv-conf", "KEY=VALUE,...",
      "settings of the job, of which only the keys for etcd are used",
      into(x.conf, parse_rendezvous_conf));
  add_trust_options(add, x.secret_file, x.tls, x.munge);
  add_help(add, x.shown);
}

/// Lead to a journal.
void add_past_options(option_adder& add, control_settings& x) {
  add_journal_option(add, x.journal, "where journals are");
  add("--job", "JOB", same_as_word, x.local_job);
  add_help(add, x.shown);
}

void add_reason(option_adder& add, control_settings& x) {
  add("--reason", "TEXT", "why, for the job's log and journal",
      into(x.reason, parse_text));
}

/// Of commands that may lose work.
void add_yes(option_adder& add, control_settings& x) {
  add("-y,--yes",
      "do not ask before work is lost; without a terminal there is no question",
      x.yes);
}

/// Whether a row is printed for each worker.
result<bool> parse_width(std::string_view text) {
  if (text == "wide" || text == "text")
    return text == "wide";
  return bad_argument(in_quotes(text) + " is not an output; text and wide are");
}

/// Of a node per hour.
result<double> parse_price(std::string_view text) {
  constexpr auto price_max = 1e9;
  const auto x = parse_positive(text);
  if (x && *x > price_max)
    return bad_argument(in_quotes(text) + " is no price of a node per hour");
  return x;
}

// -- the commands -------------------------------------------------------------

void add_status_options(option_adder& add, control_settings& x) {
  add("--json", "print one JSON document", x.json);
  add("-o,--output", "text|wide",
      "wide: print also times, load and memory of each node, a row for "
      "each worker (its state, age, CPU use, memory, threads and "
      "output), and the last generations",
      into(x.wide, parse_width));
  add_journal_option(add, x.journal,
                     "where journals are, for jobs that have ended");
  add_job_options(add, x, same_as_word);
}

void add_top_options(option_adder& add, control_settings& x) {
  add("--once", "print one picture as text, and end", x.once);
  add_journal_option(add, x.journal, "where journals are, for jobs that end");
  add_job_options(add, x, same_as_word);
}

void add_why_options(option_adder& add, control_settings& x) {
  add("--all", "tell of every generation, from the first on", x.all);
  add("--json", "print one JSON document per line", x.json);
  add_journal_option(add, x.journal, "where journals are");
  add_job_options(add, x, same_as_word);
}

void add_journal_options(option_adder& add, control_settings& x) {
  add("-f,--follow", "go on as the job goes on, until it ends", x.follow);
  add("--since", "TIME",
      "only what was at this moment or later: 5m (ago), 03:10, 2026-11-30 "
      "03:10:05, +12s (after the beginning), -2m (before the end)",
      into(x.from, parse_moment));
  add("--until", "TIME", "only what was at this moment or earlier",
      into(x.until, parse_moment));
  add("--node", "NODE",
      "only what is about this node: its host, node rank or agent id",
      into(x.node, parse_text));
  add("--json", "print the records as they are, one JSON document per line",
      x.json);
  add_journal_option(add, x.journal, "where journals are");
  add_job_options(add, x, same_as_word);
}

void add_replay_options(option_adder& add, control_settings& x) {
  add("--at", "TIME",
      "the moment: by the clock (03:10, 2026-11-30 03:10:05), ago (5m), so "
      "much after the coordinator began (+12.3s) or before the end of the "
      "journal (-2s; default: its end)",
      into(x.at, parse_moment));
  add_journal_option(add, x.journal, "where journals are");
  add_job_options(add, x, same_as_word);
}

void add_time_options(option_adder& add, control_settings& x) {
  add(
    "--price-per-node-hour", "N",
    "also say what it cost, at this price of a node per hour, in any currency",
    into(x.node_price, parse_price));
  add("--json", "print one JSON document", x.json);
  add_journal_option(add, x.journal, "where journals are");
  add_job_options(add, x, same_as_word);
}

void add_bundle_options(option_adder& add, control_settings& x) {
  add("--output", "FILE",
      "the file to write (default: actorrun-JOB-TIME.tar.gz in this folder)",
      into(x.output, parse_text));
  add("--tail", "N",
      "so many last lines of each output of a worker (default: 200)",
      into(x.tail, count_parser(0, 1'000'000)));
  add_past_options(add, x);
}

void add_ranks(option_adder& add, control_settings& x) {
  add("--rank", "RANK,...", "only these workers, as 0,2-5",
      into(x.ranks, parse_ranks));
}

void add_logs_options(option_adder& add, control_settings& x) {
  add(
    "-f,--follow",
    "go on as the workers write, also in later generations, until the job ends",
    x.follow);
  add_ranks(add, x);
  add("--node", "NODE",
      "only the workers of this node: its host, node rank or agent id",
      into(x.node, parse_text));
  add("--tail", "N", "only the last N lines of each output of a worker",
      into(x.tail, count_parser(0, 1'000'000'000)));
  add("--since", "TIME",
      "only outputs that have changed within this time (30s, 5m)",
      into(x.since, span_parser(1ms)));
  add("--grep", "RE",
      "only lines that this extended regular expression matches", x.grep);
  add("--previous", "of the job's generation before the newest one",
      x.previous);
  add("--stdout", "only standard output", x.only_out);
  add("--stderr", "only standard error", x.only_err);
  add_journal_option(add, x.journal,
                     "where agents note their log files, for jobs that have "
                     "ended: in the folder of the journals");
  add_job_options(add, x, only_job);
}

void add_stacks_options(option_adder& add, control_settings& x) {
  add_ranks(add, x);
  add("--json", "print one JSON document", x.json);
  add_job_options(add, x, only_job);
}

void add_nodes_options(option_adder& add, control_settings& x) {
  add("--json", "print one JSON document", x.json);
  add_job_options(add, x, same_as_word);
}

void add_node_check_options(option_adder& add, control_settings& x) {
  add_help(add, x.shown);
}

void add_drain_options(option_adder& add, control_settings& x) {
  add("--deadline", "TIME",
      "time that the workers of the node get (default: 60 s)",
      into(x.deadline, span_parser(0ms)));
  add("--wait-for-replacement",
      "if too few nodes are left without this one, let it stay "
      "until another one can take its place",
      x.waits_for_replacement);
  add("--cancel", "let a node stay that waits for a replacement, to leave",
      x.cancels);
  add_yes(add, x);
  add_job_options(add, x, only_job);
}

void add_steer_options(option_adder& add, control_settings& x) {
  add_yes(add, x);
  add_job_options(add, x, only_job);
}

void add_lead_options(option_adder& add, control_settings& x) {
  add_job_options(add, x, only_job);
}

void add_elect_options(option_adder& add, control_settings& x) {
  add(
    "--accept-loss", "HOST,...",
    "these are lost for good: all voters that do not answer, by host, address "
    "or agent",
    into(x.lost_hosts, parse_lost_hosts));
  add("-y,--yes",
      "do not ask before it is done; without a terminal there is no question",
      x.yes);
  add_job_options(add, x, only_job);
}

void add_reasoned_options(option_adder& add, control_settings& x) {
  add_reason(add, x);
  add_steer_options(add, x);
}

void add_loglevel_options(option_adder& add, control_settings& x) {
  add("--node", "NODE",
      "this node only: its host, its agent or its node rank (default: "
      "all nodes and the coordinator)",
      into(x.node, parse_text));
  add_job_options(add, x, only_job);
}

void add_coordinator_options(option_adder& add, control_settings& x) {
  add_endpoint(add, x);
  add("--rdzv-id", "ID", "job id", verbatim(x.job));
  add("--nnodes", "N|MIN:MAX", "number of nodes of the job",
      into(x.nodes, parse_node_range));
  add("--max-restarts", "N",
      "number of worker failures that the job survives (default: 0)",
      restart_count_reader(x.restart_count_max));
  add_failure_options(add, x.failures);
  add_exclude_file(add, x.exclude_file);
  add_safe_point_timeout(add, x.safe_point_timeout);
  add("--rdzv-backend", "c10d|actor|etcd|etcd-v2",
      "c10d, actor (default): host the coordinator at the endpoint. "
      "etcd, etcd-v2: host it whenever etcd, which is at the endpoint, "
      "elects this program",
      backend_reader(x.backend));
  add("--rdzv-conf", "KEY=VALUE,...",
      "timeouts and further settings, as for actorrun. succession=on: be a "
      "witness, which votes with the agents on who hosts the coordinator, and "
      "may come to host it, at any address",
      into(x.conf, parse_rendezvous_conf));
  add("--local-addr", "ADDRESS",
      "address at which the agents reach this witness (default: that of its "
      "way to the endpoint)",
      into(x.local_address, parse_local_address));
  add_trust_options(add, x.secret_file, x.tls, x.munge);
  add_http_options(add, x.http);
  add_journal_option(add, x.journal,
                     "where the job's journal is written; none: nowhere");
  add_help(add, x.shown);
}

void add_secret_options(option_adder& add, control_settings& x) {
  add("--force", "replace the secret if there is one", x.force);
  add_help(add, x.shown);
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

result<std::vector<std::string>> parse_lost_hosts(std::string_view text) {
  constexpr size_t count_max = 16;
  auto out = std::vector<std::string>{};
  for (const auto part : split(text, ',')) {
    const auto name = trimmed(part);
    if (!is_host(name))
      return bad_argument(in_quotes(name) + " is no name of a host");
    out.emplace_back(name);
  }
  if (out.size() > count_max)
    return bad_argument("these are more than 16 hosts");
  return out;
}

control_program::control_program()
  : app(make_program(
    {"actorctl",
     "inspect, explain and steer jobs of actorrun, host their coordinators",
     "Inspects, explains and steers jobs of actorrun, hosts their coordinators "
     "and makes their secret.",
     {"actorctl COMMAND [OPTIONS]"}})) {
  auto add = option_adder{*app, heading};
  add_common_options(add, "actorctl", settings.shown);
  struct command {
    command_texts texts;
    void (*add_options)(option_adder& add, control_settings& x);
  };
  const command commands[] = {
    {{"status",
      "print the status of jobs",
      "Prints the status of this user's jobs on this host, of one of them, or "
      "of the job that meets at an endpoint, and lists the jobs of this host "
      "that ended in the last day. The exit code is 0 if all that run are "
      "healthy, 1 if one waits or is degraded, 3 if there is none.",
      {"actorctl status [--json | -o wide] [JOB]",
       "actorctl status [--json | -o wide] --rdzv-endpoint=HOST[:PORT] "
       "--rdzv-id=ID [OPTIONS]"}},
     add_status_options},
    {{"top",
      "watch jobs, their nodes and workers",
      "Shows jobs, their nodes and workers on the terminal, and each change at "
      "once: of this user's jobs on this host, of one of them, or of the job "
      "that meets at an endpoint. The key ? lists the keys. A job whose "
      "coordinator is gone is looked for again.",
      {"actorctl top [--once] [JOB]",
       "actorctl top [--once] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
       "[OPTIONS]"}},
     add_top_options},
    {{"why",
      "explain why a job waits, regrouped or failed",
      "Says in one sentence why a job waits, why its last generation ended or "
      "how "
      "it ended, and what that rests on. Reads the journal of the job, also "
      "after its end, on the host of its coordinator. Without JOB: the job "
      "that was last heard of. With --rdzv-endpoint its coordinator is asked, "
      "from any host.",
      {"actorctl why [--all] [--json] [--journal=FOLDER] [JOB|FILE]",
       "actorctl why [--all] [--json] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
       "[OPTIONS]"}},
     add_why_options},
    {{"journal",
      "print what has happened in a job",
      "Prints each event and decision of a job with its time and reason, one "
      "per line: while it runs, on any host with an agent of it; after its "
      "end, on the host of its coordinator. Without JOB: the job that was last "
      "heard of. With --rdzv-endpoint its coordinator is asked, from any host.",
      {"actorctl journal [-f] [--since=TIME] [--until=TIME] [--node=NODE] "
       "[--json] [--journal=FOLDER] [JOB|FILE]",
       "actorctl journal [-f] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
       "[OPTIONS]"}},
     add_journal_options},
    {{"replay",
      "show a job as it was at a moment",
      "Shows the status of a job as it was at a moment, from its journal, "
      "which is found as by actorctl journal.",
      {"actorctl replay [--at=TIME] [--journal=FOLDER] [JOB|FILE]",
       "actorctl replay [--at=TIME] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
       "[OPTIONS]"}},
     add_replay_options},
    {{"time",
      "account for the time of a job, and what it lost by failures",
      "Says where the time of a job's workers went: training, starting, "
      "regrouping, waiting for nodes and so on, in all, by generation and by "
      "node, and what each end of a generation has cost. Reads the journal of "
      "the job, which is found as by actorctl journal. Without JOB: the job "
      "that was last heard of.",
      {"actorctl time [--price-per-node-hour=N] [--json] [--journal=FOLDER] "
       "[JOB|FILE]",
       "actorctl time [--price-per-node-hour=N] [--json] "
       "--rdzv-endpoint=HOST[:PORT] --rdzv-id=ID [OPTIONS]"}},
     add_time_options},
    {{"bundle",
      "pack what is known of a job into one file to send",
      "Writes one archive with what the other commands know of a job on this "
      "host: why, status, time, the journal, stacks if it runs, the last lines "
      "of its workers, their error files, versions, limits and command lines. "
      "Bounded in size; README.txt in it lists what is there and what was left "
      "out. Secrets of the job are not in it; lines of workers are as they "
      "wrote them. Without JOB: the only job of this host, or the last.",
      {"actorctl bundle [--output=FILE] [--tail=N] [--journal=FOLDER] "
       "[JOB]"}},
     add_bundle_options},
    {{"logs",
      "print what workers have written to log files",
      "Prints the lines of the workers' log files, from all nodes, each behind "
      "its global rank. Without JOB: the only job of this host. An agent of "
      "this host knows the workers of its node only; with --rdzv-endpoint the "
      "coordinator is asked. Output that goes to the console alone is in no "
      "file: actorrun needs --tee or --redirects.",
      {"actorctl logs [-f] [--rank=RANK,...] [--node=NODE] [--tail=N] "
       "[--since=TIME] [--grep=RE] [--previous] [--stdout|--stderr] [JOB]",
       "actorctl logs [...] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
       "[OPTIONS]"}},
     add_logs_options},
    {{"stacks",
      "print where workers are now, and who is the odd one out",
      "Prints where each worker is: its Python stack, where py-spy is "
      "installed on its node and may look at it, else what the kernel shows. "
      "If one is elsewhere than all others, it is named first.",
      {"actorctl stacks [--rank=RANK,...] [--json] [JOB]",
       "actorctl stacks [--rank=RANK,...] [--json] --rdzv-endpoint=HOST[:PORT] "
       "--rdzv-id=ID [OPTIONS]"}},
     add_stacks_options},
    {{"nodes",
      "list every node of a job, and why it gets no place",
      "Prints for each node of a job its state, its ranks, what its checks "
      "have "
      "found, how many generations it has had a place in, how many have ended "
      "with a failure on its host first, and why it gets no place; then hosts "
      "that are excluded, and nodes that are gone. Without JOB: all jobs of "
      "this user on this host.",
      {"actorctl nodes [--json] [JOB]",
       "actorctl nodes [--json] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
       "[OPTIONS]"}},
     add_nodes_options},
    {{"check",
      "run a built-in check on this node",
      "Runs one of the checks that actorrun --check=NAME has, here and now, "
      "and "
      "ends with 0 if all is well, otherwise with 1 after a line that says "
      "what "
      "is wrong. clock: the kernel takes its clock for synchronised. disk: "
      "files can be written to the folder for temporary files and to each "
      "FOLDER, and read back. gpu-quick: the NVIDIA driver reports no fault of "
      "a visible GPU. gpu: the same, and the free memory of each keeps what is "
      "written; takes seconds, and memory that others may need.",
      {"actorctl check clock|disk|gpu-quick|gpu [FOLDER...]"}},
     add_node_check_options},
    {{"drain",
      "let a node leave a job gently",
      "Gives the workers of a node notice by SIGUSR1. The node leaves when "
      "they have ended, or at the deadline; the others go on without it at "
      "once. This does not count against --max-restarts. NODE is the node's "
      "host, its agent or its node rank, as actorctl status shows them. "
      "Refused "
      "if too few nodes would be left.",
      {"actorctl drain NODE [--deadline=TIME] [--wait-for-replacement] "
       "[OPTIONS] [JOB]",
       "actorctl drain NODE --cancel [OPTIONS] [JOB]"}},
     add_drain_options},
    {{"resize",
      "change the number of nodes of a job",
      "Gives a job another minimum and maximum of nodes. Nodes beyond the new "
      "maximum stand by: those with the highest ranks. Nodes that stand by get "
      "the new places. This does not count against --max-restarts.",
      {"actorctl resize N|MIN:MAX [OPTIONS] [JOB]"}},
     add_steer_options},
    {{"restart",
      "start the workers of a job again",
      "Stops the workers of a job on all its nodes and starts them again. Work "
      "since the last checkpoint is lost. This does not count against "
      "--max-restarts.",
      {"actorctl restart [--reason=TEXT] [OPTIONS] [JOB]"}},
     add_reasoned_options},
    {{"stop",
      "end a job",
      "Stops the workers of a job on all its nodes and ends it, as SIGTERM to "
      "the node that hosts its coordinator does: each node ends with 143.",
      {"actorctl stop [--reason=TEXT] [OPTIONS] [JOB]"}},
     add_reasoned_options},
    {{"exclude",
      "give the nodes of a host no place in a job",
      "Takes the nodes of a host out of a job; they stand by, also those that "
      "come later. The others go on without them at once. This does not count "
      "against --max-restarts. Refused if too few nodes would be left.",
      {"actorctl exclude HOST [--reason=TEXT] [OPTIONS] [JOB]"}},
     add_reasoned_options},
    {{"include",
      "let the nodes of an excluded host take part again",
      "Undoes actorctl exclude, and what --exclude-after has done.",
      {"actorctl include HOST [OPTIONS] [JOB]"}},
     add_steer_options},
    {{"lead",
      "have another node lead a job",
      "Where the nodes of a job elect its coordinator "
      "(--rdzv-conf=succession=on), hands the lead over to the coordinator of "
      "this node, a voter or the deputy: actorctl status lists them. No worker "
      "is stopped. It leads until it is lost or leaves, or until another one "
      "is "
      "asked to. Refused with a reason where no other node can lead.",
      {"actorctl lead NODE [OPTIONS] [JOB]"}},
     add_lead_options},
    {{"elect",
      "have an agent lead a job whose other voters are lost",
      "For a job whose nodes elect its coordinator and have lost most of those "
      "that vote, at once and without a proof: all that are left look for a "
      "coordinator. Has the agent that is asked, a voter or the one that leads "
      "next, lead without those on the hosts that --accept-loss names; the "
      "others find it. If one of these hosts lives, two groups of the job run "
      "from then on. Refused if a leader is known, or if a voter that is not "
      "named does not answer.",
      {"actorctl elect --accept-loss=HOST,... [OPTIONS] [JOB]"}},
     add_elect_options},
    {{"loglevel",
      "change what the nodes of a job log",
      "Has one node, or all nodes and the coordinator, log lines of LEVEL and "
      "above: debug, info, warning, error or critical. At their start it is "
      "that of LOGLEVEL.",
      {"actorctl loglevel LEVEL [--node=NODE] [OPTIONS] [JOB]"}},
     add_loglevel_options},
    {{"coordinator",
      "host the coordinator of a job, without workers",
      "Hosts the coordinator of one job, without workers, until the job ends.",
      {"actorctl coordinator --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
       "--nnodes=N|MIN:MAX [OPTIONS]"}},
     add_coordinator_options},
    {{"secret",
      "make the secret of this user's jobs",
      "Makes a random secret in ~/.config/actorrun/secret (or in "
      "actorrun/secret below $XDG_CONFIG_HOME), readable by this user only. "
      "actorrun and actorctl use it if there is no other. Nodes that share "
      "this home have it, too; to others, copy it.",
      {"actorctl secret create [--force]"}},
     add_secret_options}};
  for (const auto& x : commands) {
    auto add_to_command = option_adder{add_command(*app, x.texts), heading};
    x.add_options(add_to_command, settings);
  }
}

} // namespace actorrun::cli
