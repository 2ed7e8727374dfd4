#include "cli/actorrun_arguments.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::actorrun_arguments_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

TEST_CASE("arguments: a script alone runs one worker on this node", "[cli]") {
  const auto x = accepted({"train.py"});
  CHECK_FALSE(x.job.rendezvous);
  CHECK(x.job.agent_count_min == 1);
  CHECK(x.job.agent_count_max == 1);
  CHECK(x.job.restart_count_max == 0);
  CHECK(x.job.job.value == "random-id");
  CHECK(x.job.secret.empty());
  CHECK(x.job.timeouts == core::timeouts{});
  CHECK(x.agent.workers.slot_count == 1);
  CHECK(x.agent.workers.role == "default");
  CHECK(x.agent.workers.grace_period == 30s);
  CHECK(x.program == worker_program{"train.py", {}, false, false, ""});
  CHECK(x.warnings.empty());
}

TEST_CASE("arguments: U11 no journal where the home is another user's",
          "[cli]") {
  auto world = world_with({{"HOME", "/"}});
  const auto folder = [&](const words& line) {
    const auto x = parse_run(line, world);
    REQUIRE(x);
    return std::get<run_arguments>(*x).job.journal_folder;
  };
  CHECK(folder({"a"}) == "//.local/state/actorrun/journal");
  world.may_write_in = [](const std::string&) { return false; };
  CHECK(folder({"a"}).empty());
  CHECK(folder({"--journal=/j", "a"}) == "/j"); // Which is told where it fails.
}

TEST_CASE("arguments: all words after the script are its arguments", "[cli]") {
  const auto x = accepted({"--nproc-per-node", "2", "train.py", "--nnodes", "9",
                           "--help", "--nproc-per-node=7", "-x", "--", "--"});
  CHECK(x.program.name == "train.py");
  CHECK(x.program.arguments
        == words{"--nnodes", "9", "--help", "--nproc-per-node=7", "-x", "--",
                 "--"});
  CHECK(x.agent.workers.slot_count == 2);
}

TEST_CASE("arguments: one dash-dash before the script is dropped", "[cli]") {
  struct {
    words line, expected;
  } const cases[] = {
    {{"--no-python", "--", "echo", "a", "--", "b"}, {"echo", "a", "--", "b"}},
    {{"--no-python", "echo", "--", "a"}, {"echo", "a"}},
    {{"--no-python", "echo", "a", "--", "b"}, {"echo", "a", "--", "b"}},
    {{"--no-python", "--", "echo", "--", "a"}, {"echo", "--", "a"}},
    {{"--no-python", "echo", "--", "--", "a"}, {"echo", "--", "a"}},
    {{"--no-python", "--", "--weird"}, {"--weird"}},
    {{"--no-python", "echo", "--"}, {"echo"}},
    {{"-m", "--", "pkg.main"}, {"pkg.main"}},
    {{"-"}, {"-"}},
  };
  for (const auto& x : cases) {
    const auto program = accepted(x.line).program;
    CHECK(joined({program.name}, program.arguments) == x.expected);
  }
}

TEST_CASE("arguments: something to run is required", "[cli]") {
  CHECK(refused({})
        == "there is nothing to run: actorrun [OPTIONS] SCRIPT [ARGUMENTS…]");
  CHECK(has(refused({"--"}), "SCRIPT"));
  CHECK(has(refused({"-m"}), "-m MODULE"));
  CHECK(has(refused({"--standalone", "--no-python"}), "--no-python PROGRAM"));
  CHECK(refused({"--tee=3", "--role", "train.py"})
          .ends_with("; \"train.py\" is taken for the value of --role"));
  CHECK(has(refused({""}), "the name of what to run is empty"));
  CHECK(has(refused({"--no-python", "-m", "a"}), "exclude each other"));
  CHECK(
    has(refused({"-m", "a"}, {{"PET_NO_PYTHON", "1"}}), "exclude each other"));
}

TEST_CASE("arguments: an option without its value is refused", "[cli]") {
  CHECK(refused({"--role"}) == "--role needs a value: NAME");
  CHECK(has(refused({"--role", "--standalone", "a"}), "looks like an option"));
  CHECK(has(refused({"--role", "--", "a"}), "looks like an option"));
  CHECK(accepted({"--role=--standalone", "a"}).agent.workers.role
        == "--standalone");
  CHECK(accepted({"--role=", "a"}).agent.workers.role.empty());
  CHECK(accepted({"--role", "", "a"}).agent.workers.role.empty());
  CHECK(accepted({"--role=[a,b]", "a"}).agent.workers.role == "[a,b]");
  CHECK(accepted({"--role={}", "a"}).agent.workers.role == "{}");
  CHECK(accepted({"--role", "a=b", "a"}).agent.workers.role == "a=b");
}

TEST_CASE("arguments: help and version override all other options", "[cli]") {
  for (const auto& line : {words{"-h"}, words{"--help", "--bogus"},
                           words{"--nnodes=x", "--help", "a"}})
    CHECK(std::holds_alternative<help>(*parse(line)));
  CHECK(std::holds_alternative<version>(*parse({"--version"})));
  CHECK_FALSE(parse({"--bogus", "--help"}));
  CHECK(accepted({"a", "-h"}).program.arguments == words{"-h"});
}

TEST_CASE("arguments: more than one node needs an endpoint", "[cli]") {
  for (const auto* nodes : {"2", "1:2", "2:4"}) {
    const auto text = refused({"--nnodes", nodes, "a"});
    CHECK(has(text, "needs --rdzv-endpoint"));
    CHECK(has(text, "actorrun --nnodes=2 --rdzv-endpoint=node1:29400"));
  }
  CHECK(has(refused({"--nnodes=2", "--rdzv-endpoint=", "a"}), "needs"));
  const auto x = accepted({"--nnodes=2", "--rdzv-endpoint=n1", "a"});
  CHECK(x.job.rendezvous == endpoint{"n1", 29'400});
  CHECK(x.job.agent_count_min == 2);
}

TEST_CASE("arguments: one node with an endpoint is alone", "[cli]") {
  const auto x = accepted({"--rdzv-endpoint=n1", "--rdzv-id=j", "a"});
  CHECK_FALSE(x.job.rendezvous);
  CHECK(x.job.job.value == "j");
  CHECK(x.warnings.empty());
}

TEST_CASE("arguments: port 0 is for one node, and invalid for several",
          "[cli]") {
  const auto x = accepted(
    {"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--rdzv-id=j", "a"});
  CHECK_FALSE(x.job.rendezvous);
  CHECK(x.job.job.value == "j");
  CHECK(x.warnings.empty());
  CHECK(has(refused({"--nnodes=2", "--rdzv-endpoint=n1:0", "a"}), "port 0"));
}

TEST_CASE("arguments: standalone ignores the endpoint with a warning",
          "[cli]") {
  const auto x = accepted({"--standalone", "--rdzv-endpoint=n1:5", "a"});
  CHECK_FALSE(x.job.rendezvous);
  CHECK(x.job.job.value == "random-id");
  CHECK(x.warnings == words{"--standalone: --rdzv-endpoint is ignored"});
  CHECK(accepted({"--standalone", "--rdzv-endpoint=localhost:0", "a"})
          .warnings.empty());
}

TEST_CASE("arguments: standalone has one node", "[cli]") {
  CHECK(has(refused({"--standalone", "--nnodes=2", "a"}),
            "with --standalone the job has one"));
  const auto x = accepted({"--standalone", "--nnodes=1:4", "a"});
  CHECK(x.job.agent_count_max == 1);
  CHECK(x.warnings.size() == 1);
}

TEST_CASE("arguments: a job id is used, or chosen with a warning", "[cli]") {
  CHECK(accepted({"--standalone", "--rdzv-id=j", "a"}).job.job.value == "j");
  CHECK(accepted({"--rdzv-id=j", "a"}).job.job.value == "j");
  const auto none = accepted({"--rdzv-endpoint=n1", "a"});
  CHECK(none.job.job.value == "random-id");
  CHECK(none.warnings.empty());
  CHECK(none.details.empty());
  const auto many = accepted({"--nnodes=2", "--rdzv-endpoint=n1", "a"});
  CHECK(many.job.job.value == "none");
  CHECK(many.warnings.size() == 1);
  const auto empty = accepted({"--rdzv-id=", "a"});
  CHECK(empty.job.job.value == "random-id");
  CHECK(empty.warnings.size() == 1);
  CHECK(accepted({"--rdzv-id=", "--rdzv-endpoint=n1", "a"}).job.job.value
        == "random-id");
  CHECK(has(refused({"--rdzv-id=", "--nnodes=2", "--rdzv-endpoint=n1", "a"}),
            "never meet"));
}

TEST_CASE("arguments: labels are bounded and printable", "[cli]") {
  const auto longest = std::string(label_length_max, 'x');
  CHECK(accepted({"--rdzv-id=" + longest, "a"}).job.job.value == longest);
  CHECK(has(refused({"--rdzv-id=x" + longest, "a"}), "the job id"));
  CHECK(has(refused({"--rdzv-id=a\nb", "a"}), "control characters"));
  CHECK(has(refused({"--role=x" + longest, "a"}), "the role"));
  CHECK(has(refused({"--local-addr=a b", "a"}), "--local-addr: \"a b\""));
}

TEST_CASE("arguments: the secret comes from a file or the environment",
          "[cli]") {
  const auto environment = variables{{"ACTORRUN_SECRET", "hush"}};
  CHECK(accepted({"a"}, environment).job.secret == "hush");
  CHECK(accepted({"--secret-file=secret.txt", "a"}, environment).job.secret
        == "swordfish");
  CHECK(has(refused({"--secret-file=x", "a"}, environment), "cannot read x"));
  CHECK(has(refused({"a"}, {{"ACTORRUN_SECRET", ""}}), "ACTORRUN_SECRET"));
  CHECK(accepted({"a"}, {{"HOME", "/h"}}).job.secret == "of home");
  CHECK(
    accepted({"a"}, {{"HOME", "/h"}, {"ACTORRUN_SECRET", "hush"}}).job.secret
    == "hush");
}

TEST_CASE("arguments: a secret can be required of several nodes", "[cli]") {
  const auto nodes
    = words{"--nnodes=2", "--rdzv-endpoint=n1", "--rdzv-id=j", "a"};
  CHECK(accepted(nodes).job.secret.empty());
  const auto text = refused(joined({"--require-secret"}, nodes));
  CHECK(has(text, "--require-secret"));
  CHECK(has(text, "actorctl secret create"));
  CHECK(has(refused(nodes, {{"PET_REQUIRE_SECRET", "1"}}), "secret create"));
  CHECK(
    accepted(joined({"--require-secret"}, nodes), {{"HOME", "/h"}}).job.secret
    == "of home");
  accepted({"--require-secret", "a"}); // One node has no link to protect.
}

TEST_CASE("arguments: certificates need three files, and are as good as a "
          "secret",
          "[cli]") {
  const auto nodes
    = words{"--nnodes=2", "--rdzv-endpoint=n1", "--rdzv-id=j", "a"};
  const auto all = words{"--tls-cert=c", "--tls-key=k", "--tls-ca=a"};
  const auto x = accepted(joined({"--require-secret"}, joined(all, nodes))).job;
  CHECK(x.tls == tls_options{"c", "k", "a"});
  for (size_t i = 0; i < all.size(); ++i) {
    auto some = all;
    const auto name = all[i].substr(0, all[i].find('='));
    some.erase(some.begin() + static_cast<ptrdiff_t>(i));
    CHECK(has(refused(joined(some, nodes)), name + " is missing"));
  }
  CHECK(has(refused(nodes, {{"PET_TLS_CERT", "c"}}), "--tls-key is missing"));
  CHECK(has(refused(joined({"--tls-ca="}, nodes)), "no file is named"));
}

TEST_CASE("arguments: munge takes the place of a secret under Slurm", "[cli]") {
  using enum munge_use;
  const auto nodes
    = words{"--nnodes=2", "--rdzv-endpoint=n1", "--rdzv-id=j", "a"};
  const auto with = [&](const words& more, const variables& environment = {}) {
    return accepted(joined(more, nodes), environment).job;
  };
  CHECK(with({}).munge == on_demand);
  CHECK(with({}, {{"SLURM_JOB_ID", "7"}}).munge == if_works);
  CHECK(with({"--munge=auto"}, {{"SLURM_JOB_ID", "7"}}).munge == if_works);
  CHECK(with({}, {{"SLURM_JOB_ID", "7"}, {"PET_MUNGE", "off"}}).munge == never);
  // In a worker, Slurm has started its launcher.
  CHECK(with({}, {{"SLURM_JOB_ID", "7"}, {"TORCHELASTIC_RUN_ID", "x"}}).munge
        == on_demand);
  CHECK(with({"--munge=off"}).munge == never);
  CHECK(with({"--munge=on"}).munge == always);
  // It is asked for, and the file is there for all jobs.
  const auto x = with({"--munge=on"}, {{"HOME", "/h"}});
  CHECK(x.secret.empty());
  CHECK(has(refused(joined({"--munge=on", "--secret-file=s"}, nodes)),
            "leave out --secret-file"));
  CHECK(has(refused(joined({"--munge=on", "--tls-cert=c"}, nodes)),
            "leave out --secret-file and --tls-…"));
  CHECK(has(refused(joined({"--munge=maybe"}, nodes)),
            "\"maybe\" is none of auto, on and off"));
}

TEST_CASE("arguments: munge is as good as a secret that is required", "[cli]") {
  const auto nodes = words{"--require-secret", "--nnodes=2",
                           "--rdzv-endpoint=n1", "--rdzv-id=j", "a"};
  CHECK(accepted(nodes, {{"SLURM_JOB_ID", "7"}}).job.munge
        == munge_use::always);
  CHECK(accepted(joined({"--munge=on"}, nodes)).job.munge == munge_use::always);
  CHECK(has(refused(joined({"--munge=off"}, nodes), {{"SLURM_JOB_ID", "7"}}),
            "--require-secret"));
  CHECK(accepted(nodes, {{"SLURM_JOB_ID", "7"}, {"HOME", "/h"}}).job.secret
        == "of home");
}

TEST_CASE("arguments: the rendezvous configuration reaches the job", "[cli]") {
  const auto x = accepted({"--rdzv-endpoint=n1", "--rdzv-id=j",
                           "--rdzv-conf=timeout=9,is_host=1", "a"});
  CHECK(x.job.timeouts.join == 9s);
  CHECK(x.job.place == coordinator_place::here);
  CHECK(x.warnings.size() == 1);
}

TEST_CASE("arguments: the interpreter comes from the environment", "[cli]") {
  CHECK(accepted({"a"}, {{"PYTHON_EXEC", "/opt/python"}}).program.interpreter
        == "/opt/python");
}

} // namespace actorrun::test::actorrun_arguments_test
