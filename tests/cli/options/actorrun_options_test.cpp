#include "cli/options/actorrun_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <set>

namespace actorrun::test::actorrun_options_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

/// One option and its effect on the outcome.
struct option_case {
  std::string name; ///< With dashes.
  std::string value;
  bool (*holds)(const run_arguments&);
  words needed = {}; ///< Options without which it would be refused.
};

const option_case value_options[] = {
  {"--nnodes",
   "2:4",
   [](const run_arguments& x) {
     return x.job.agent_count_min == 2 && x.job.agent_count_max == 4;
   },
   {"--rdzv-endpoint=n1"}},
  {"--nproc-per-node", "8",
   [](const run_arguments& x) { return x.agent.workers.slot_count == 8; }},
  {"--rdzv-backend", "c10d", [](const run_arguments&) { return true; }},
  {"--rdzv-endpoint",
   "n1:5000",
   [](const run_arguments& x) {
     return x.job.rendezvous == endpoint{"n1", 5000};
   },
   {"--nnodes=2"}},
  {"--rdzv-id", "job7",
   [](const run_arguments& x) { return x.job.job.value == "job7"; }},
  {"--rdzv-conf", "join_timeout=7",
   [](const run_arguments& x) { return x.job.timeouts.join == 7s; }},
  {"--max-restarts", "3",
   [](const run_arguments& x) { return x.job.restart_count_max == 3; }},
  {"--local-addr", "10.0.0.7",
   [](const run_arguments& x) { return x.agent.local_address == "10.0.0.7"; }},
  {"--role", "trainer",
   [](const run_arguments& x) { return x.agent.workers.role == "trainer"; }},
  {"--monitor-interval", "0.5", [](const run_arguments&) { return true; }},
  {"--shutdown-timeout", "5",
   [](const run_arguments& x) { return x.agent.workers.grace_period == 5s; }},
  {"--secret-file", "secret.txt",
   [](const run_arguments& x) { return x.job.secret == "swordfish"; }},
  {"--log-dir", "logs",
   [](const run_arguments& x) { return x.agent.logs.folder == "logs"; }},
  {"--redirects", "3",
   [](const run_arguments& x) {
     return x.agent.logs.redirects.of(0) == core::std_streams::all;
   }},
  {"--tee", "0:1",
   [](const run_arguments& x) {
     return x.agent.logs.tees.of(0) == core::std_streams::out;
   }},
  {"--local-ranks-filter", "0",
   [](const run_arguments& x) {
     return x.agent.logs.shown_ranks == std::set<uint32_t>{0};
   }},
  {"--log-line-prefix-template", "${rank}: ",
   [](const run_arguments& x) {
     return x.agent.logs.prefix_template == "${rank}: ";
   }},
  {"--duplicate-stdout-filters",
   "a,b",
   [](const run_arguments& x) {
     return x.agent.logs.stdout_filters == words{"a", "b"};
   },
   {"--tee=3"}},
  {"--duplicate-stderr-filters",
   "c",
   [](const run_arguments& x) {
     return x.agent.logs.stderr_filters == words{"c"};
   },
   {"--tee=2"}},
  {"--log-rotate-size",
   "64K",
   [](const run_arguments& x) { return x.agent.logs.rotate_size == 65'536; },
   {"--redirects=3"}},
  {"--log-rotate-keep",
   "7",
   [](const run_arguments& x) { return x.agent.logs.rotate_keep == 7; },
   {"--redirects=3", "--log-rotate-size=1M"}},
  {"--signals-to-handle", "TERM,SIGUSR2",
   [](const run_arguments& x) {
     return x.signals_to_handle == std::vector{SIGTERM, SIGUSR2};
   }},
  {"--signals-to-forward", "SIGUSR1",
   [](const run_arguments& x) {
     return x.signals_to_forward == std::vector{SIGUSR1};
   }},
  {"--node-rank",
   "1",
   [](const run_arguments& x) {
     return x.job.backend == rendezvous_backend::fixed
            && x.agent.node_rank == 1u;
   },
   {"--nnodes=2"}},
  {"--master-addr",
   "n1",
   [](const run_arguments& x) {
     return x.job.rendezvous == endpoint{"n1", 29'500};
   },
   {"--nnodes=2"}},
  {"--master-port",
   "7000",
   [](const run_arguments& x) {
     return x.job.rendezvous == endpoint{"localhost", 7'000};
   },
   {"--nnodes=2"}},
  {"--start-method", "fork", [](const run_arguments&) { return true; }},
  {"--event-log-handler", "console",
   [](const run_arguments& x) { return x.logs_events; }},
  {"--stop-signal", "SIGINT",
   [](const run_arguments& x) {
     return x.agent.workers.stop_signal == SIGINT;
   }},
  {"--notice-signal", "none",
   [](const run_arguments& x) { return x.agent.workers.notice_signal == 0; }},
};

const option_case flags[] = {
  {"--standalone",
   "",
   [](const run_arguments& x) { return !x.job.rendezvous; },
   {"--nnodes=1:2", "--rdzv-endpoint=n1"}},
  {"--module", "", [](const run_arguments& x) { return x.program.is_module; }},
  {"--no-python", "",
   [](const run_arguments& x) { return x.program.no_python; }},
  {"--run-path", "", [](const run_arguments& x) { return x.program.by_runpy; }},
  {"--virtual-local-rank", "",
   [](const run_arguments& x) { return x.agent.virtual_local_rank; }},
  {"--no-agent-store", "",
   [](const run_arguments& x) { return !x.agent.agent_store; }},
  {"--fold-identical",
   "",
   [](const run_arguments& x) { return x.agent.logs.folds_identical; },
   {"--tee=3"}},
};

std::string underscored(std::string name) {
  std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

std::string variable_for(const std::string& name) {
  auto out = "PET_" + underscored(name).substr(2);
  std::transform(out.begin(), out.end(), out.begin(), ::toupper);
  return out;
}

} // namespace

TEST_CASE("arguments: every option has two spellings, two forms and a variable",
          "[cli]") {
  for (const auto& x : value_options) {
    INFO(x.name);
    for (const auto& name : {x.name, underscored(x.name)}) {
      CHECK(x.holds(accepted(with_script(joined(x.needed, {name, x.value})))));
      CHECK(x.holds(
        accepted(with_script(joined(x.needed, {name + "=" + x.value})))));
    }
    CHECK(x.holds(
      accepted(with_script(x.needed), {{variable_for(x.name), x.value}})));
  }
}

TEST_CASE("arguments: every flag has two spellings and a variable", "[cli]") {
  for (const auto& x : flags) {
    INFO(x.name);
    const auto variable = variable_for(x.name);
    CHECK(x.holds(accepted(with_script(joined(x.needed, {x.name})))));
    CHECK(
      x.holds(accepted(with_script(joined(x.needed, {underscored(x.name)})))));
    CHECK(x.holds(accepted(with_script(x.needed), {{variable, "1"}})));
    CHECK(x.holds(accepted(with_script(x.needed), {{variable, "2"}})));
    for (const auto* off : {"0", ""})
      CHECK_FALSE(x.holds(accepted(with_script(x.needed), {{variable, off}})));
    CHECK(has(refused(with_script(x.needed), {{variable, "true"}}), variable));
    CHECK(has(refused(with_script({x.name + "=1"})), "takes no value"));
  }
  CHECK(accepted({"-m", "train"}).program.is_module);
}

TEST_CASE("arguments: the command line beats the environment", "[cli]") {
  const auto environment = variables{{"PET_MAX_RESTARTS", "3"}};
  CHECK(accepted({"--max-restarts=5", "a"}, environment).job.restart_count_max
        == 5);
  CHECK(accepted({"--max-restarts=0", "a"}, environment).job.restart_count_max
        == 0);
  CHECK(accepted({"--max-restarts=5", "a"}, {{"PET_MAX_RESTARTS", "wrong"}})
          .job.restart_count_max
        == 5);
}

TEST_CASE("arguments: of an option given twice the last value counts",
          "[cli]") {
  CHECK(accepted({"--role=a", "--role", "b", "x"}).agent.workers.role == "b");
  CHECK(accepted({"--max-restarts=x", "--max_restarts=2", "a"})
          .job.restart_count_max
        == 2);
}

TEST_CASE("arguments: an invalid variable is named", "[cli]") {
  const std::pair<const char*, const char*> wrong[] = {
    {"PET_NNODES", ""},
    {"PET_NPROC_PER_NODE", "many"},
    {"PET_MAX_RESTARTS", "-1"},
    {"PET_RDZV_BACKEND", "zookeeper"},
    {"PET_RDZV_CONF", "a"},
    {"PET_RDZV_ENDPOINT", "n1:x"},
    {"PET_MONITOR_INTERVAL", "0"},
    {"PET_SHUTDOWN_TIMEOUT", "-3"},
    {"PET_REDIRECTS", ""},
    {"PET_TEE", "4"},
    {"PET_LOCAL_RANKS_FILTER", "a"},
    {"PET_DUPLICATE_STDOUT_FILTERS", "a,"},
    {"PET_DUPLICATE_STDERR_FILTERS", ","},
    {"PET_LOG_ROTATE_SIZE", "1K"},
    {"PET_LOG_ROTATE_KEEP", "0"},
    {"PET_SIGNALS_TO_HANDLE", ""},
    {"PET_SIGNALS_TO_FORWARD", "SIGKILL"},
    {"PET_STOP_SIGNAL", "SIGSTOP"},
    {"PET_NODE_RANK", "first"},
    {"PET_MASTER_ADDR", "n1:5"},
    {"PET_LOCAL_ADDR", "a b"},
    {"PET_SECRET_FILE", ""},
    {"PET_MASTER_PORT", "65536"},
    {"PET_START_METHOD", "bogus"},
    {"PET_EVENT_LOG_HANDLER", ""},
  };
  for (const auto& [name, value] : wrong)
    CHECK(refused({"a"}, {{name, value}}).starts_with(std::string{name} + ":"));
}

TEST_CASE("arguments: torchrun's second variable for the grace period counts",
          "[cli]") {
  const auto second = std::string{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT"};
  const auto grace = [](const words& line, const variables& environment) {
    return accepted(line, environment).agent.workers.grace_period;
  };
  CHECK(grace({"a"}, {{second, "4"}}) == 4s);
  CHECK(grace({"a"}, {{second, "4"}, {"PET_SHUTDOWN_TIMEOUT", "6"}}) == 6s);
  CHECK(grace({"--shutdown-timeout=0", "a"}, {{second, "4"}}) == 0s);
  CHECK(refused({"a"}, {{second, "soon"}}).starts_with(second));
}

TEST_CASE("arguments: invalid values are refused and quoted", "[cli]") {
  const std::pair<const char*, const char*> wrong[] = {
    {"--nnodes", "1:2:3"},
    {"--nnodes", "a"},
    {"--nnodes", "1:b"},
    {"--nnodes", "0"},
    {"--nnodes", "0:2"},
    {"--nnodes", "3:2"},
    {"--nnodes", "1:100001"},
    {"--nnodes", "-1"},
    {"--nproc-per-node", "0"},
    {"--nproc-per-node", "-1"},
    {"--nproc-per-node", "4097"},
    {"--nproc-per-node", "1.5"},
    {"--max-restarts", "-1"},
    {"--max-restarts", "x"},
    {"--max-restarts", "4294967296"},
    {"--monitor-interval", "0"},
    {"--monitor-interval", "-0.1"},
    {"--monitor-interval", "nan"},
    {"--monitor-interval", "inf"},
    {"--shutdown-timeout", "-1"},
    {"--shutdown-timeout", "1.5"},
    {"--shutdown-timeout", "604801"},
    {"--rdzv-endpoint", "n1:65536"},
    {"--rdzv-endpoint", "n1:"},
    {"--rdzv-endpoint", "a b:1"},
    {"--rdzv-backend", "zookeeper"},
    {"--redirects", "0:4"},
    {"--tee", "both"},
    {"--local-ranks-filter", "0;1"},
    {"--duplicate-stdout-filters", "a,b,"},
    {"--log-rotate-size", "65535"},
    {"--log-rotate-size", "16385G"},
    {"--log-rotate-keep", "0"},
    {"--log-rotate-keep", "1001"},
    {"--signals-to-handle", "SIGNAL"},
    {"--signals-to-forward", "10"},
    {"--stop-signal", "SIGRTMIN"},
    {"--notice-signal", "SIGKILL"},
    {"--node-rank", "-1"},
    {"--node-rank", "100000"},
    {"--master-addr", "a b"},
    {"--master-addr", "n1:29500"},
    {"--master-port", "65536"},
    {"--master-port", "-1"},
    {"--start-method", "thread"},
    {"--event-log-handler", "file"},
    {"--logs-specs", "mine"},
    {"--print-completion", "csh"},
  };
  for (const auto& [name, value] : wrong) {
    const auto text = refused({std::string{name} + "=" + value, "train.py"});
    INFO(text);
    CHECK(text.starts_with(std::string{name} + ":"));
    CHECK(has(text, value));
  }
  CHECK(accepted({"--shutdown-timeout=604800", "a"}).agent.workers.grace_period
        == timeout_max);
  CHECK(accepted({"--nproc-per-node=4096", "a"}).agent.workers.slot_count
        == 4096);
}

TEST_CASE("arguments: workers per node may be counted by the CPUs", "[cli]") {
  CHECK(accepted({"--nproc-per-node=cpu", "a"}).agent.workers.slot_count == 12);
}

TEST_CASE("arguments: unknown options are refused with the nearest known one",
          "[cli]") {
  const std::pair<const char*, const char*> typed[] = {
    {"--nproc-per_node", "--nproc-per-node"},
    {"--max-retsarts", "--max-restarts"},
    {"-nnodes", "--nnodes"},
    {"--nodes", "--nnodes"},
  };
  for (const auto& [name, meant] : typed)
    CHECK(refused({name, "2", "a"})
          == "unknown option " + std::string{name} + "; is "
               + std::string{meant} + " meant?");
  CHECK(refused({"--frobnicate=7", "a"}) == "unknown option --frobnicate");
  CHECK(refused({"-x", "a"}) == "unknown option -x");
  CHECK(refused({"-mx", "a"}) == "unknown option -mx");
}

TEST_CASE("arguments: options may be cut short as in argparse", "[cli]") {
  for (const auto* name : {"--nproc-p", "--nproc_per", "--nproc-per-nod"})
    CHECK(accepted({name, "2", "a"}).agent.workers.slot_count == 2);
  CHECK(accepted({"--nproc_per=3", "a"}).agent.workers.slot_count == 3);
  CHECK(accepted({"--max-restart", "2", "a"}).job.restart_count_max == 2);
  CHECK(accepted({"--nn", "2", "--rdzv-e=n1", "a"}).job.agent_count_max == 2);
  CHECK(accepted({"--mod", "a"}).program.is_module);
  // No other option of torchrun begins with it, whatever actorrun adds.
  CHECK(accepted({"--signals-to", "TERM", "a"}).signals_to_handle
        == std::vector{SIGTERM});
  CHECK(refused({"--nproc", "2", "a"})
        == "--nproc is no option; write --nproc-per-node");
  CHECK(has(refused({"--lo=x", "a"}), ", …"));
  CHECK(refused({"--nproc-p", "x", "a"}).starts_with("--nproc-p: "));
}

TEST_CASE("arguments: help may be cut short, too", "[cli]") {
  CHECK(std::holds_alternative<help>(*parse({"--he"})));
  CHECK(std::holds_alternative<version>(*parse({"--vers"})));
}

TEST_CASE("arguments: the help names every option, variable and exit code",
          "[cli]") {
  const auto text = std::get<help>(*parse({"--help=all"})).text;
  for (const auto& x : value_options) {
    CHECK(has(text, x.name + " "));
    CHECK(has(text, "[" + variable_for(x.name) + "]"));
  }
  for (const auto& x : flags)
    CHECK(has(text, x.name));
  for (const auto* code : {"\n  0 ", "\n  6 ", "\n  126 ", "\n  127 ", "128+n"})
    CHECK(has(text, code));
  for (const auto* name : {"\n  -r, --redirects ", "\n  -t, --tee "})
    CHECK(has(text, name));
  CHECK_FALSE(has(text, "--metrics-cfg"));
  for (size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start);
    REQUIRE(end != text.npos);
    INFO(text.substr(start, end - start));
    CHECK(end - start <= 82); // An ellipsis counts three bytes.
    start = end + 1;
  }
}

} // namespace actorrun::test::actorrun_options_test
