#include "cli/actorctl_arguments.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::actorctl_arguments_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

template <class Command>
Command control(const words& line, const variables& environment = {}) {
  auto x = parse_control(line, world_with(environment));
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  REQUIRE(std::holds_alternative<Command>(*x));
  return std::get<Command>(*x);
}

std::string refused_control(const words& line,
                            const variables& environment = {}) {
  auto x = parse_control(line, world_with(environment));
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

} // namespace

TEST_CASE("actorctl: status asks for all jobs of this host", "[cli]") {
  const auto x = control<status_arguments>({"status"});
  CHECK_FALSE(x.json);
  CHECK(x.job.empty());
  CHECK_FALSE(x.remote);
}

TEST_CASE("actorctl: status asks for one job, options anywhere", "[cli]") {
  for (const auto& line :
       {words{"status", "--json", "j"}, words{"status", "j", "--json"},
        words{"status", "--json", "--", "j"}}) {
    const auto x = control<status_arguments>(line);
    CHECK(x.json);
    CHECK(x.job == "j");
  }
}

TEST_CASE("actorctl: a job is named by --job, too", "[cli]") {
  CHECK(control<status_arguments>({"status", "--job=j"}).job == "j");
  CHECK(control<top_arguments>({"top", "--job", "j"}).job == "j");
  CHECK(control<logs_arguments>({"logs", "--job=j", "-f"}).job.local == "j");
  CHECK(control<why_arguments>({"why", "--job=j", "--journal=/j"}).what.name
        == "j");
  CHECK(
    control<journal_arguments>({"journal", "--job=j", "--journal=/j"}).what.name
    == "j");
  CHECK(
    control<replay_arguments>({"replay", "--job=j", "--journal=/j"}).what.name
    == "j");
  CHECK(has(refused_control({"status", "--job=j", "k"}), "the word \"k\""));
  CHECK(has(refused_control({"why", "--job=j", "--rdzv-endpoint=n:1"}),
            "give --rdzv-id"));
}

TEST_CASE("actorctl: status shows workers if it is asked to", "[cli]") {
  for (const auto& line :
       {words{"status", "-o", "wide"}, words{"status", "-owide"},
        words{"status", "--output=wide"}, words{"status", "--output", "wide"}})
    CHECK(control<status_arguments>(line).wide);
  CHECK_FALSE(control<status_arguments>({"status"}).wide);
  CHECK_FALSE(control<status_arguments>({"status", "-o", "text"}).wide);
  CHECK(has(refused_control({"status", "-o", "tall"}), "\"tall\""));
}

TEST_CASE("actorctl: status knows where jobs that have ended are", "[cli]") {
  CHECK(control<status_arguments>({"status", "--journal=/j"}).journal_folder
        == "/j");
}

TEST_CASE("actorctl: top watches this host, a job, or an endpoint", "[cli]") {
  const auto all = control<top_arguments>({"top"});
  CHECK(all.job.empty());
  CHECK_FALSE(all.once);
  CHECK_FALSE(all.remote);
  const auto one = control<top_arguments>({"top", "--once", "j"});
  CHECK(one.job == "j");
  CHECK(one.once);
  const auto far
    = control<top_arguments>({"top", "--rdzv-endpoint=n1:5", "--rdzv-id=j"});
  REQUIRE(far.remote);
  CHECK(far.remote->job.value == "j");
  CHECK(has(refused_control({"top", "a", "b"}), "\"b\""));
  CHECK(has(refused_control({"top", "--rdzv-id=j"}), "by the word JOB"));
}

TEST_CASE("actorctl: journals are asked for at an endpoint", "[cli]") {
  const auto job_of = [](const journal_subject& x) {
    return x.remote.value_or(job_options{}).job.value;
  };
  const auto with = [](const char* command) {
    return words{command, "--rdzv-endpoint=n1:5", "--rdzv-id=j"};
  };
  CHECK(job_of(control<journal_arguments>(with("journal")).what) == "j");
  CHECK(job_of(control<replay_arguments>(with("replay")).what) == "j");
  CHECK(job_of(control<time_arguments>(with("time")).what) == "j");
  CHECK(has(refused_control({"time", "--rdzv-endpoint=n1:5", "j"}), "JOB"));
}

TEST_CASE("actorctl: why asks at an endpoint, or reads a journal", "[cli]") {
  const auto far = control<why_arguments>(
    {"why", "--all", "--json", "--rdzv-endpoint=n1:5", "--rdzv-id=j"});
  REQUIRE(far.what.remote);
  CHECK(far.all);
  CHECK(far.json);
  CHECK(far.what.remote->job.value == "j");
  CHECK_FALSE(control<why_arguments>({"why", "/f.jsonl"}).what.remote);
  CHECK(has(refused_control({"why", "--rdzv-endpoint=n1:5", "j"}), "JOB"));
}

TEST_CASE("actorctl: status asks at an endpoint", "[cli]") {
  const auto x
    = control<status_arguments>({"status", "--rdzv-endpoint=n1:5", "--rdzv_id",
                                 "j", "--secret-file=secret.txt"});
  REQUIRE(x.remote);
  CHECK(x.remote->rendezvous == endpoint{"n1", 5});
  CHECK(x.remote->job.value == "j");
  CHECK(x.remote->secret == "swordfish");
  const auto y = control<status_arguments>({"status", "--rdzv-endpoint=n1"},
                                           {{"ACTORRUN_SECRET", "hush"}});
  CHECK(y.remote->job.value == "none");
  CHECK(y.remote->secret == "hush");
}

TEST_CASE(
  "actorctl: an operator uses munge if the job demands it, a coordinator"
  " demands it under Slurm",
  "[cli]") {
  using enum munge_use;
  const auto slurm = variables{{"SLURM_JOB_ID", "7"}};
  const auto asks = [&](const words& more) {
    return control<status_arguments>(
             joined({"status", "--rdzv-endpoint=n1"}, more), slurm)
      .remote->munge;
  };
  CHECK(asks({}) == on_demand);
  CHECK(asks({"--munge=on"}) == always);
  CHECK(asks({"--munge=off"}) == never);
  CHECK(has(refused_control({"status", "--munge=on"}), "--munge"));
  const auto coordinator
    = words{"coordinator", "--rdzv-endpoint=n1", "--rdzv-id=j", "--nnodes=2"};
  CHECK(control<coordinator_arguments>(coordinator).job.munge == on_demand);
  CHECK(control<coordinator_arguments>(coordinator, slurm).job.munge
        == if_works);
}

TEST_CASE("actorctl: a secret is made in the user's place", "[cli]") {
  const auto home = variables{{"HOME", "/h"}};
  const auto x = control<secret_arguments>({"secret", "create"}, home);
  CHECK(x.path == "/h/.config/actorrun/secret");
  CHECK_FALSE(x.replaces);
  CHECK(
    control<secret_arguments>({"secret", "create", "--force"}, home).replaces);
  CHECK(has(refused_control({"secret"}, home), "actorctl secret create"));
  CHECK(has(refused_control({"secret", "show"}, home), "show"));
  CHECK(has(refused_control({"secret", "create", "x"}, home), "x"));
  CHECK(has(refused_control({"secret", "create"}), "HOME"));
}

TEST_CASE("actorctl: status asks where the back end of the job meets",
          "[cli]") {
  const auto at = [](const words& more) {
    const auto x
      = control<status_arguments>(joined({"status", "--rdzv-id=j"}, more));
    return x.remote.value_or(job_options{});
  };
  CHECK(at({"--rdzv-endpoint=n1"}).rendezvous == endpoint{"n1", 29'400});
  CHECK(at({"--rdzv-endpoint=n1", "--rdzv-backend=static"}).rendezvous
        == endpoint{"n1", 29'500});
  const auto x
    = at({"--rdzv-endpoint=e1,e2:7", "--rdzv-backend=etcd-v2",
          "--rdzv-conf=cacert=a.pem,read_timeout=5,etcd_prefix=/jobs"});
  CHECK(x.backend == rendezvous_backend::etcd);
  CHECK(x.rendezvous == endpoint{"e1", 2'379});
  CHECK(x.etcd.more_members == std::vector<endpoint>{{"e2", 7}});
  CHECK(x.etcd.secure);
  CHECK(x.etcd.prefix == "/jobs");
}

TEST_CASE("actorctl: status refuses options that do not go together", "[cli]") {
  for (const auto* idle : {"--rdzv-backend=etcd", "--rdzv-conf=cacert=x"})
    CHECK(has(refused_control({"status", idle}), "need --rdzv-endpoint"));
  CHECK(has(refused_control(
              {"status", "--rdzv-endpoint=n1,n2", "--rdzv-backend=static"}),
            "names 2 addresses"));
  CHECK(has(refused_control({"coordinator", "--rdzv-endpoint=n1,n2,n3",
                             "--rdzv-id=j", "--nnodes=2"}),
            "is at one endpoint"));
  CHECK(has(
    refused_control({"status", "--rdzv-endpoint=n1", "--rdzv-conf=cacert=x"}),
    "--rdzv-backend=etcd"));
  CHECK(has(refused_control({"status", "a", "b"}), "\"b\""));
  CHECK(has(refused_control({"status", "--rdzv-id=j"}), "--rdzv-endpoint"));
  CHECK(has(refused_control({"status", "--secret-file=secret.txt"}),
            "--rdzv-endpoint"));
  CHECK(
    has(refused_control({"status", "j", "--rdzv-endpoint=n1"}), "--rdzv-id"));
  CHECK(has(refused_control({"status", "--rdzv-endpoint=n1:0"}), "port"));
  CHECK(has(refused_control({"status", "--rdzv-endpoint=n1", "--rdzv-id="}),
            "job id"));
  CHECK(has(refused_control({"status", "--jsn"}), "is --json meant?"));
  CHECK(has(refused_control({"status", "--nnodes=2"}), "unknown option"));
}

TEST_CASE("actorctl: coordinator hosts a job here", "[cli]") {
  const auto x = control<coordinator_arguments>(
    {"coordinator", "--rdzv-endpoint=n1", "--rdzv-id=j", "--nnodes=1:4",
     "--max-restarts=2", "--rdzv-conf=timeout=5", "--secret-file=secret.txt"});
  CHECK(x.job.rendezvous == endpoint{"n1", 29'400});
  CHECK(x.job.job.value == "j");
  CHECK(x.job.agent_count_min == 1);
  CHECK(x.job.agent_count_max == 4);
  CHECK(x.job.restart_count_max == 2);
  CHECK(x.job.timeouts.join == 5s);
  CHECK(x.job.secret == "swordfish");
  CHECK(x.job.place == coordinator_place::here);
  CHECK(x.warnings.size() == 1);
}

TEST_CASE("actorctl: with succession the coordinator is a witness", "[cli]") {
  const auto all
    = words{"coordinator", "--rdzv-endpoint=n1", "--rdzv-id=j", "--nnodes=2"};
  const auto with = [&](const words& more) { return joined(all, more); };
  const auto x = control<coordinator_arguments>(
    with({"--rdzv-conf=succession=on", "--local-addr=10.0.0.3"}));
  CHECK(x.job.succession);
  CHECK(x.job.place == coordinator_place::automatic);
  CHECK(x.local_address == "10.0.0.3");
  CHECK(x.warnings.empty());
  CHECK(control<coordinator_arguments>(
          with({"--rdzv-conf=succession=on,is_host=0"}))
          .job.place
        == coordinator_place::elsewhere);
  const auto several = control<coordinator_arguments>(
    {"coordinator", "--rdzv-endpoint=n1,n2,n3", "--rdzv-id=j", "--nnodes=2",
     "--rdzv-conf=succession=on"});
  CHECK(several.job.succession);
  CHECK(several.job.more_seeds.size() == 2);
  CHECK_FALSE(
    control<coordinator_arguments>(with({"--rdzv-conf=succession=off"}))
      .job.succession);
  CHECK(has(refused_control(with({"--local-addr=10.0.0.3"})),
            "--local-addr is for a witness"));
  CHECK(has(refused_control(
              with({"--rdzv-conf=succession=on", "--local-addr=0.0.0.0"})),
            "stands for all addresses"));
  CHECK(has(
    refused_control(with({"--rdzv-backend=etcd", "--rdzv-conf=succession=on"})),
    "succession needs the back end c10d"));
}

TEST_CASE("actorctl: coordinator needs endpoint, id and nodes", "[cli]") {
  const auto all = words{"--rdzv-endpoint=n1", "--rdzv-id=j", "--nnodes=1:4"};
  control<coordinator_arguments>(joined({"coordinator"}, all));
  for (size_t i = 0; i < all.size(); ++i) {
    auto line = joined({"coordinator"}, all);
    line.erase(line.begin() + 1 + ptrdiff_t(i));
    CHECK(has(refused_control(line), "needs --rdzv-endpoint, --rdzv-id and"));
  }
  const auto with = [&](const std::string& word) {
    return refused_control(joined({"coordinator"}, joined(all, {word})));
  };
  CHECK(has(with("word"), "\"word\""));
  CHECK(has(with("--rdzv-conf=is_host=0"), "is_host"));
  CHECK(has(with("--rdzv-endpoint=n1:0"), "port"));
  CHECK(has(with("--rdzv-id="), "job id"));
  CHECK(has(with("--nnodes=3:1"), "--nnodes:"));
  CHECK(has(with("--secret-file=x"), "--secret-file:"));
}

TEST_CASE("actorctl: coordinator may campaign in etcd", "[cli]") {
  const auto all = words{"coordinator", "--rdzv-id=j", "--nnodes=1:4"};
  const auto with = [&](const words& more) { return joined(all, more); };
  const auto x = control<coordinator_arguments>(with(
    {"--rdzv-endpoint=n1", "--rdzv-backend=etcd", "--rdzv-conf=lease_ttl=5"}));
  CHECK(x.job.backend == rendezvous_backend::etcd);
  CHECK(x.job.rendezvous == endpoint{"n1", 2'379});
  CHECK(x.job.etcd.lease == 5s);
  const auto y = control<coordinator_arguments>(
    with({"--rdzv-endpoint=n1:7", "--rdzv-backend=etcd-v2"}));
  CHECK(y.job.rendezvous == endpoint{"n1", 7});
  const auto z = control<coordinator_arguments>(
    with({"--rdzv-endpoint=n1", "--rdzv-backend=actor"}));
  CHECK(z.job.backend == rendezvous_backend::native);
  CHECK(
    has(refused_control(with({"--rdzv-endpoint=n1", "--rdzv-backend=static"})),
        "rank 0"));
  CHECK(
    has(refused_control(with({"--rdzv-endpoint=n1", "--rdzv-conf=cacert=x"})),
        "--rdzv-backend=etcd"));
}

TEST_CASE("actorctl: variables of a job are ignored", "[cli]") {
  const auto x = control<status_arguments>(
    {"status"}, {{"PET_RDZV_ENDPOINT", "n1"}, {"PET_NNODES", "x"}});
  CHECK_FALSE(x.remote);
}

TEST_CASE("actorctl: unknown commands and options are refused", "[cli]") {
  CHECK(
    has(refused_control({}),
        "status, top, why, journal, replay, time, bundle, logs, stacks, nodes,"
        " check, drain, resize, restart, stop, exclude, include, lead, elect, "
        "loglevel,"
        " coordinator and secret"));
  CHECK(has(refused_control({"stat"}), "is status meant?"));
  CHECK(
    has(refused_control({"begin"}),
        "status, top, why, journal, replay, time, bundle, logs, stacks, nodes,"
        " check, drain, resize, restart, stop, exclude, include, lead, elect, "
        "loglevel,"
        " coordinator and secret"));
  CHECK(has(refused_control({"--json"}), "unknown option --json"));
}

TEST_CASE("actorctl: journals are read by job or by path", "[cli]") {
  const auto home = variables{{"HOME", "/h"}};
  const auto x = control<journal_arguments>({"journal", "-f", "job1"}, home);
  CHECK(x.what.folder == "/h/.local/state/actorrun/journal");
  CHECK(x.what.name == "job1");
  CHECK(x.follow);
  CHECK(control<why_arguments>({"why"}, {{"XDG_STATE_HOME", "/s"}}).what.folder
        == "/s/actorrun/journal");
  CHECK(
    control<why_arguments>({"why", "--all", "--journal=j"}, home).what.folder
    == "j");
  CHECK(has(refused_control({"why", "a", "b"}, home), "b"));
  CHECK(has(refused_control({"why"}), "--journal"));
  CHECK(control<why_arguments>({"why", "./x.jsonl"}).what.name == "./x.jsonl");
}

TEST_CASE("actorctl: the time of a job is counted from its journal", "[cli]") {
  const auto home = variables{{"HOME", "/h"}};
  const auto x = control<time_arguments>({"time", "job1"}, home);
  CHECK(x.what.name == "job1");
  CHECK_FALSE(x.json);
  CHECK_FALSE(x.node_price);
  const auto y = control<time_arguments>(
    {"time", "--json", "--price-per-node-hour=12.5", "./x.jsonl"}, home);
  CHECK(y.what.name == "./x.jsonl");
  CHECK(y.json);
  CHECK(y.node_price == 12.5);
  for (const auto* price : {"0", "-1", "x", "inf", "1000000001"})
    CHECK(has(refused_control(
                {"time", "./x", std::string{"--price-per-node-hour="} + price}),
              "--price-per-node-hour"));
  CHECK(
    control<time_arguments>({"time", "./x", "--price-per-node-hour=1000000000"})
      .node_price
    == 1e9);
}

TEST_CASE("actorctl: a moment of a journal is told from either end", "[cli]") {
  const auto at = [](const std::string& text) {
    return control<replay_arguments>({"replay", "./x", "--at=" + text}).at;
  };
  CHECK_FALSE(control<replay_arguments>({"replay", "./x"}).at);
  using enum given_moment::kind;
  CHECK(at("+12.3s")->ms == 12'300);
  CHECK(at("+12.3s")->how == after_begin);
  CHECK(at("5m")->how == before_now);
  CHECK(at("-2s")->how == before_end);
  CHECK(at("-2s")->ms == 2'000);
  CHECK(at("03:10")->how == clock);
  CHECK(at("2026-11-30 03:10:05")->how == date);
  CHECK(has(refused_control({"replay", "./x", "--at=noon"}), "--at"));
}

TEST_CASE("actorctl: a journal is cut by time and node", "[cli]") {
  const auto x = control<journal_arguments>(
    {"journal", "./x", "--since=03:10", "--until=-1m", "--node=n2"});
  REQUIRE(x.since);
  REQUIRE(x.until);
  CHECK(x.since->how == given_moment::kind::clock);
  CHECK(x.until->ms == 60'000);
  CHECK(x.node == "n2");
  CHECK_FALSE(control<journal_arguments>({"journal", "./x"}).since);
  CHECK(has(refused_control({"journal", "./x", "-f", "--until=1m"}),
            "makes no sense"));
  CHECK(has(refused_control({"journal", "./x", "--since=soon"}), "--since"));
}

TEST_CASE("actorctl: a bundle has a job, a file and a length", "[cli]") {
  const auto x = control<bundle_arguments>(
    {"bundle", "j", "--output=x.tgz", "--tail=9", "--journal=/j"});
  CHECK(x.job == "j");
  CHECK(x.output == "x.tgz");
  CHECK(x.tail == 9U);
  CHECK(x.journal_folder == "/j");
  CHECK_FALSE(control<bundle_arguments>({"bundle", "--journal=/j"}).tail);
  CHECK(has(refused_control({"bundle", "j", "k"}), "\"k\""));
}

TEST_CASE("actorctl: nodes are those of all jobs here, or of one", "[cli]") {
  CHECK(control<nodes_arguments>({"nodes"}).job.local.empty());
  const auto x = control<nodes_arguments>({"nodes", "--json", "j"});
  CHECK(x.json);
  CHECK(x.job.local == "j");
  CHECK(
    control<nodes_arguments>({"nodes", "--rdzv-endpoint=n:1", "--rdzv-id=j"})
      .job.remote->job
    == job_id{"j"});
  CHECK(has(refused_control({"nodes", "j", "k"}), "\"k\""));
}

TEST_CASE("actorctl: a check is built in, and disk takes folders", "[cli]") {
  CHECK(control<check_arguments>({"check", "clock"}).which
        == core::built_in_check::clock);
  const auto x = control<check_arguments>({"check", "disk", "/a", "/b c"});
  CHECK(x.which == core::built_in_check::disk);
  CHECK(x.folders == words{"/a", "/b c"});
  CHECK(has(refused_control({"check"}), "there is no check; clock, disk,"));
  CHECK(
    has(refused_control({"check", "disc"}),
        "\"disc\" is no built-in check; clock, disk, gpu-quick and gpu are"));
  CHECK(has(refused_control({"check", "gpu", "/a"}),
            "only the check disk takes folders, such as \"/a\""));
}

TEST_CASE("actorctl: logs of jobs that have ended are where journals are",
          "[cli]") {
  CHECK(control<logs_arguments>({"logs", "j", "--journal=/j"}).journal_folder
        == "/j");
  CHECK(
    control<logs_arguments>({"logs"}, {{"XDG_STATE_HOME", "/s"}}).journal_folder
    == "/s/actorrun/journal");
}

TEST_CASE("actorctl: help and version", "[cli]") {
  CHECK(has(control<help>({"--help"}).text, "coordinator"));
  CHECK(has(control<help>({"status", "-h"}).text, "--json"));
  CHECK(has(control<help>({"status", "j", "--help"}).text, "[JOB]"));
  CHECK(has(control<help>({"coordinator", "--help"}).text, "--max-restarts"));
  control<version>({"--version"});
}

// -- steering ------------------------------------------------------------------

TEST_CASE("actorctl: drain names a node, and how long it has", "[cli]") {
  const auto x = control<steer_arguments>(
    {"drain", "n2", "--deadline=2m", "--wait-for-replacement", "--job=j"});
  CHECK(x.request.drain().node() == "n2");
  CHECK(x.request.drain().deadline_ms() == 120'000);
  CHECK(x.request.drain().wait_for_replacement());
  CHECK(x.job.local == "j");
  CHECK_FALSE(x.job.remote);
  const auto brief = control<steer_arguments>({"drain", "1"});
  CHECK(brief.request.drain().deadline_ms() == 0); // The default.
  const auto at_once = control<steer_arguments>({"drain", "1", "--deadline=0"});
  CHECK(at_once.request.drain().deadline_ms() == 1);
  CHECK(has(refused_control({"drain"}), "the node is missing"));
  CHECK(has(refused_control({"drain", "a", "b", "c"}), "\"c\""));
  CHECK(has(refused_control({"drain", "a", "--deadline=soon"}), "--deadline"));
}

TEST_CASE("actorctl: lead names a node", "[cli]") {
  const auto x = control<steer_arguments>({"lead", "n2", "--job=j"});
  CHECK(x.request.lead().node() == "n2");
  CHECK(x.job.local == "j");
  CHECK(has(refused_control({"lead"}), "the node is missing"));
}

TEST_CASE("actorctl: elect names what is lost", "[cli]") {
  const auto x = control<steer_arguments>(
    {"elect", "--accept-loss=n1, 10.0.0.2,n3-4711-ab", "--yes", "j"});
  REQUIRE(x.request.elect().accept_loss_size() == 3);
  CHECK(x.request.elect().accept_loss(0) == "n1");
  CHECK(x.request.elect().accept_loss(1) == "10.0.0.2");
  CHECK(x.request.elect().accept_loss(2) == "n3-4711-ab");
  CHECK(x.is_confirmed);
  CHECK(x.job.local == "j");
  CHECK(has(refused_control({"elect", "j"}), "--accept-loss is missing"));
  CHECK(
    has(refused_control({"elect", "--accept-loss=n1,,n2"}), "--accept-loss"));
  auto many = std::string{"--accept-loss=n0"};
  for (auto i = 1; i < 17; ++i)
    many += ",n" + std::to_string(i);
  CHECK(has(refused_control({"elect", many}), "more than 16"));
}

TEST_CASE("actorctl: a drain that waits is taken back", "[cli]") {
  const auto x = control<steer_arguments>({"drain", "n2", "--cancel"});
  CHECK(x.request.cancel_drain().node() == "n2");
  CHECK_FALSE(x.request.has_drain());
  CHECK(has(refused_control({"drain", "n2", "--cancel", "--deadline=1"}),
            "--cancel"));
  CHECK(
    has(refused_control({"drain", "n2", "--cancel", "--wait-for-replacement"}),
        "--cancel"));
}

TEST_CASE("actorctl: resize takes a range as --nnodes does", "[cli]") {
  const auto x = control<steer_arguments>({"resize", "2:8"});
  CHECK(x.request.resize().agent_count_min() == 2);
  CHECK(x.request.resize().agent_count_max() == 8);
  CHECK(
    control<steer_arguments>({"resize", "3"}).request.resize().agent_count_max()
    == 3);
  refused_control({"resize"});
  refused_control({"resize", "3:2"});
  refused_control({"resize", "0"});
}

TEST_CASE("actorctl: restart, stop and exclude take a reason", "[cli]") {
  CHECK(control<steer_arguments>({"restart", "--reason=new data"})
          .request.restart()
          .reason()
        == "new data");
  CHECK(control<steer_arguments>({"stop"}).request.has_stop());
  const auto x
    = control<steer_arguments>({"exclude", "n2", "--reason", "bad disk"});
  CHECK(x.request.exclude().host() == "n2");
  CHECK(x.request.exclude().reason() == "bad disk");
  CHECK(control<steer_arguments>({"include", "n2"}).request.include().host()
        == "n2");
  CHECK(has(refused_control({"exclude", "no host"}), "\"no host\""));
  refused_control({"include"});
  CHECK(has(refused_control({"include", "n2", "--reason=x"}), "--reason"));
}

TEST_CASE("actorctl: loglevel knows the levels", "[cli]") {
  const auto x = control<steer_arguments>({"loglevel", "Debug", "--node=1"});
  CHECK(x.request.log_level().level() == "DEBUG");
  CHECK(x.request.log_level().node() == "1");
  CHECK(has(refused_control({"loglevel", "loud"}), "\"loud\""));
  refused_control({"loglevel"});
}

TEST_CASE("actorctl: jobs elsewhere are steered at their endpoint", "[cli]") {
  const auto x
    = control<steer_arguments>({"stop", "--rdzv-endpoint=n1:5", "--rdzv-id=j"});
  REQUIRE(x.job.remote);
  CHECK(x.job.remote->job.value == "j");
  CHECK(has(refused_control({"stop", "--rdzv-id=j"}), "--job=JOB"));
  CHECK(has(
    refused_control({"stop", "--rdzv-endpoint=n1", "--rdzv-id=j", "--job=k"}),
    "--rdzv-id"));
}

TEST_CASE("actorctl: every command takes its job in the same way (P5)",
          "[cli]") {
  const words commands[]
    = {{"restart"},         {"stop"},          {"drain", "n2"},
       {"resize", "2:4"},   {"exclude", "n2"}, {"include", "n2"},
       {"loglevel", "info"}};
  for (const auto& command : commands) {
    INFO(command.front());
    const auto with = [&](const words& more) { return joined(command, more); };
    CHECK(control<steer_arguments>(command).job.local.empty());
    CHECK(control<steer_arguments>(with({"big"})).job.local == "big");
    CHECK(control<steer_arguments>(with({"--job=big"})).job.local == "big");
    CHECK(has(refused_control(with({"big", "more"})), "the word \"more\""));
    CHECK(has(refused_control(with({"--job=big", "more"})), "\"more\""));
    CHECK(has(refused_control(with({"big", "--rdzv-endpoint=n1"})),
              "give --rdzv-id"));
  }
  const auto drain = control<steer_arguments>({"drain", "n2", "big"});
  CHECK(drain.request.drain().node() == "n2");
  CHECK(has(refused_control({"drain", "--job=big"}), "the node is missing"));
  const auto stacks
    = control<stacks_arguments>({"stacks", "--rank=0,2", "big"});
  CHECK(stacks.job.local == "big");
  CHECK(stacks.ranks == std::vector<uint32_t>{0, 2});
  CHECK(control<logs_arguments>({"logs", "big"}).job.local == "big");
}

TEST_CASE("actorctl: a question can be answered in advance (P5)", "[cli]") {
  for (const auto& command :
       {words{"stop"}, words{"restart"}, words{"drain", "n2"},
        words{"resize", "2"}, words{"exclude", "n2"}, words{"include", "n2"}}) {
    CHECK_FALSE(control<steer_arguments>(command).is_confirmed);
    for (const auto* yes : {"-y", "--yes"})
      CHECK(control<steer_arguments>(joined(command, {yes})).is_confirmed);
  }
  CHECK(has(refused_control({"loglevel", "info", "-y"}), "unknown option -y"));
}

} // namespace actorrun::test::actorctl_arguments_test
