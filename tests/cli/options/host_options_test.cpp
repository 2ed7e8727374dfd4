#include "cli/options/host_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"

#include <csignal>

namespace actorrun::test::host_options_test {

namespace {

using namespace actorrun::cli;

const auto files = variables{{"hosts", "a slots=2\nb\n"}};

host_facts world_of(const variables& environment) {
  auto out = world_with(environment);
  out.file = [](const std::string& path, size_t) -> result<std::string> {
    const auto i = files.find(path);
    return i == files.end()
             ? result<std::string>{bad_argument("cannot read " + path)}
             : i->second;
  };
  out.own_name = [] { return std::string{"here"}; };
  return out;
}

hosts_arguments launched(const words& line, const variables& environment = {}) {
  auto x = parse_run(line, world_of(environment));
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  REQUIRE(std::holds_alternative<hosts_arguments>(*x));
  return std::get<hosts_arguments>(*x);
}

std::string not_launched(const words& line, const variables& environment = {}) {
  auto x = parse_run(line, world_of(environment));
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

std::string text(const words& line) {
  auto out = std::string{};
  for (const auto& x : line)
    out += (out.empty() ? "" : " ") + x;
  return out;
}

const auto at_a = known_coordinator{0, {.host = "10.0.0.1", .port = 4711}};

std::string words_of(const hosts_arguments& x, core::host_index host) {
  return text(agent_words(x, host, at_a));
}

TEST_CASE("hosts: all take part, with ranks by the list", "[cli]") {
  const auto x
    = launched({"--hosts=a:4,b", "--rdzv-id=j", "-m", "train", "--nnodes=7"});
  CHECK(x.place == meeting_place::first_host);
  CHECK(x.coordinator == core::host_index{0});
  CHECK(x.nodes == node_range{2, 2});
  CHECK(
    words_of(x, 0)
    == "--module --nnodes=2 --rdzv-id=j --nproc-per-node=4"
       " --rdzv-endpoint=10.0.0.1:4711 --rdzv-backend=static --node-rank=0 --"
       " train --nnodes=7");
  CHECK(words_of(x, 1)
        == "--module --nnodes=2 --rdzv-id=j --rdzv-endpoint=10.0.0.1:4711"
           " --rdzv-backend=static --node-rank=1 -- train --nnodes=7");
}

TEST_CASE("hosts: what agents are told is what they read", "[cli]") {
  const auto x = launched({"--hosts=a:4,b", "--nproc_per_node", "3", "--tee=3",
                           "--max-r=2", "--rdzv-conf=join_timeout=9", "t.py",
                           "--", "-x", ""});
  const auto facts = facts_of_agent(world_of({{"PET_HOSTS", "z"}}), "geheim");
  const auto parsed = parse_run(agent_words(x, 1, at_a), facts);
  REQUIRE(parsed);
  const auto& y = std::get<run_arguments>(*parsed);
  CHECK(y.job.secret == "geheim");
  CHECK(y.job.rendezvous == endpoint{.host = "10.0.0.1", .port = 4711});
  CHECK(y.job.backend == rendezvous_backend::fixed);
  CHECK(y.job.agent_count_min == 2);
  CHECK(y.job.restart_count_max == 2);
  CHECK(y.job.timeouts.join.count() == 9'000);
  CHECK(y.agent.node_rank == 1u);
  CHECK(y.agent.workers.slot_count == 3);
  CHECK(y.program.name == "t.py");
  CHECK(y.program.arguments == words{"-x", ""});
  CHECK(y.warnings.empty());
}

TEST_CASE("hosts: where nodes may be missing, the first that is reached has the"
          " coordinator",
          "[cli]") {
  const auto x = launched({"--hosts=a,b,c", "--nnodes=2:3", "--rdzv-id=j",
                           "--rdzv-conf=quiet_period=1", "t.py"});
  CHECK(x.place == meeting_place::first_reached);
  CHECK_FALSE(x.coordinator);
  CHECK(x.nodes == node_range{2, 3});
  CHECK(
    words_of(x, 0)
    == "--nnodes=2:3 --rdzv-id=j --rdzv-endpoint=10.0.0.1:4711"
       " --rdzv-backend=c10d --rdzv-conf=quiet_period=1,is_host=yes -- t.py");
  CHECK(has(words_of(x, 1), "is_host=no"));
}

TEST_CASE("hosts: an endpoint or etcd is taken as it is", "[cli]") {
  auto x = launched({"--hosts=a,B", "--rdzv-endpoint=b:29400", "t.py"});
  CHECK(x.place == meeting_place::given);
  CHECK(x.coordinator == core::host_index{1});
  CHECK(has(words_of(x, 0), "--rdzv-endpoint=b:29400 -- t.py"));
  x = launched({"--hosts=a,b", "--rdzv-endpoint=far:1", "t.py"});
  CHECK_FALSE(x.coordinator);
  x = launched({"--hosts=a,b", "--rdzv-backend=etcd", "--rdzv-endpoint=e",
                "--rdzv-id=j", "t.py"});
  CHECK(has(words_of(x, 1), "--rdzv-backend=etcd --nnodes=2 --rdzv-id=j"
                            " --rdzv-endpoint=e -- t.py"));
  x = launched({"--hosts=a,b", "--rdzv-backend=static",
                "--rdzv-endpoint=far:29500", "t.py"});
  CHECK(x.coordinator == core::host_index{0});
  CHECK(has(words_of(x, 1), "--rdzv-endpoint=far:29500 --node-rank=1"));
  CHECK(
    has(not_launched({"--hosts=a,b", "--rdzv-endpoint=localhost:1", "t.py"}),
        "is another host on each host"));
}

TEST_CASE("hosts: one host needs no rendezvous", "[cli]") {
  const auto x = launched({"--hosts=a:4", "--rdzv-id=j", "t.py"});
  CHECK(words_of(x, 0) == "--nnodes=1 --rdzv-id=j --nproc-per-node=4 -- t.py");
  CHECK(x.secret.empty());
}

TEST_CASE("hosts: --master-port is the coordinator's", "[cli]") {
  const auto x = launched({"--hosts=a,b", "--master-port=1234", "t.py"});
  CHECK(x.port == 1234);
  CHECK(x.is_fixed);
  CHECK_FALSE(has(words_of(x, 1), "master"));
  // Or that of the workers, where there is no other node.
  const auto one = words{"--hosts=a", "t.py"};
  CHECK(has(words_of(launched(one, {{"PET_MASTER_PORT", "1234"}}), 0),
            " --master-port=1234 -- "));
  CHECK_FALSE(has(words_of(launched(one), 0), "master"));
}

TEST_CASE("hosts: what is said of some ranks counts for all that there may be",
          "[cli]") {
  const auto of_rank_1 = [](const words& more) {
    return joined(more, {"--tee=1:3", "--fold-identical", "t.py"});
  };
  launched(of_rank_1({"--hosts=a", "--nproc-per-node=2"}));
  launched(of_rank_1({"--hosts=a,b:2"}));
  launched(of_rank_1({"--hosts=a", "--nproc-per-node=gpu"}));
  CHECK(has(not_launched(of_rank_1({"--hosts=a,b"})), "--fold-identical"));
}

TEST_CASE("hosts: numbers of workers add up", "[cli]") {
  const auto slots = [](const words& line) {
    auto out = std::string{};
    for (const auto& x : launched(line).hosts)
      out += std::to_string(x.slots) + " ";
    return out;
  };
  CHECK(slots({"--hosts=a,b:3,a,b", "t.py"}) == "2 4 ");
  CHECK(slots({"--hosts=a,b:3,a,b", "--nproc-per-node=4", "t.py"}) == "8 7 ");
  CHECK(slots({"--hosts=a,b:3", "--nproc-per-node=gpu", "t.py"}) == "0 3 ");
  CHECK(has(not_launched({"--hosts=a,a", "--nproc-per-node=gpu", "t.py"}),
            "a stands in the list more than once"));
  CHECK(has(not_launched({"--hosts=a,a", "--nproc-per-node=4096", "t.py"}),
            "more than 4096 workers"));
}

TEST_CASE("hosts: a file, and which of two lists counts", "[cli]") {
  CHECK(launched({"--hostfile=hosts", "t.py"}).hosts
        == std::vector<host_share>{{"a", 2, 0}, {"b", 0, 1}});
  CHECK(launched({"--hosts=x", "t.py"}, {{"PET_HOSTFILE", "hosts"}}).hosts
        == std::vector<host_share>{{"x", 0, 1}});
  CHECK(
    launched({"--hostfile=hosts", "t.py"}, {{"PET_HOSTS", "x"}}).hosts.size()
    == 2);
  CHECK(launched({"t.py"}, {{"PET_HOSTS", "x"}}).hosts.size() == 1);
  CHECK(not_launched({"--hosts=x", "--hostfile=hosts", "t.py"})
        == "--hosts and --hostfile exclude each other");
  CHECK(not_launched({"--hostfile=none", "t.py"})
        == "--hostfile: cannot read none");
}

TEST_CASE("hosts: options about this node alone are refused", "[cli]") {
  for (const auto* option : {"--standalone", "--node-rank=0", "--master-addr=a",
                             "--local-addr=a", "--rdzv-conf=is_host=yes"}) {
    INFO(option);
    CHECK(has(not_launched({"--hosts=a,b", option, "t.py"}),
              "does not go with a list of hosts"));
  }
  CHECK(has(not_launched({"--hosts=a,b", "--nnodes=3", "t.py"}),
            "--nnodes needs 3 nodes, and the list has 2 hosts"));
  CHECK(has(not_launched(
              {"--hosts=a,b", "--nnodes=1", "--rdzv-backend=static", "t.py"}),
            "all 2 hosts of the list take part"));
  for (const auto* nodes : {"--nnodes=1", "--nnodes=1:1"})
    CHECK(has(not_launched({"--hosts=a,b", nodes, "t.py"}),
              "--nnodes allows one node, and the list has 2 hosts"));
}

TEST_CASE(
  "hosts: what is wrong for every host is found before there are agents",
  "[cli]") {
  CHECK(has(not_launched({"--hosts=a,b"}), "there is nothing to run"));
  CHECK(has(not_launched({"--hosts=a,b", "--no-python", "-m", "x"}),
            "exclude each other"));
  CHECK(
    has(not_launched({"--hosts=a,b", "--tls-cert=c", "t.py"}), "--tls-key"));
  CHECK(has(not_launched({"--hosts=a,b", "t.py"}, {{"PET_MAX_RESTARTS", "x"}}),
            "PET_MAX_RESTARTS"));
  // Devices are those of the hosts.
  CHECK(launched({"--hosts=a,b", "--nproc-per-node=gpu", "--virtual-local-rank",
                  "t.py"})
          .hosts.size()
        == 2);
}

TEST_CASE("hosts: the secret is the user's, or one for this job", "[cli]") {
  CHECK(launched({"--hosts=a,b", "--secret-file=secret.txt", "t.py"}).secret
        == "swordfish");
  CHECK(launched({"--hosts=a,b", "t.py"}, {{"ACTORRUN_SECRET", "x"}}).secret
        == "x");
  CHECK(launched({"--hosts=a,b", "t.py"}, {{"HOME", "/"}}).secret == "of home");
  CHECK(launched({"--hosts=a,b", "t.py"}).secret == "random-idrandom-id");
  CHECK(launched({"--hosts=a,b", "--require-secret", "t.py"}).secret
        == "random-idrandom-id");
  const auto with_tls = launched(
    {"--hosts=a,b", "--tls-cert=c", "--tls-key=k", "--tls-ca=a", "t.py"});
  CHECK(with_tls.secret.empty());
  CHECK(with_tls.names_matter);
}

TEST_CASE("hosts: the secret is in no word and no variable of an agent",
          "[cli]") {
  const auto x = launched({"--hosts=a,b", "--export=A*", "t.py"},
                          {{"ACTORRUN_SECRET", "geheim"}, {"A", "1"}});
  CHECK_FALSE(has(words_of(x, 0), "geheim"));
  for (const auto& [name, value] : x.variables)
    CHECK_FALSE(has(name + "=" + value, "geheim"));
  CHECK(has(not_launched({"--hosts=a,b", "--export=ACTORRUN_SECRET", "t.py"}),
            "reaches the other hosts by itself"));
}

TEST_CASE(
  "hosts: variables of the job are exported, and those that are asked for",
  "[cli]") {
  const auto environment
    = variables{{"PATH", "/bin"},         {"PET_MAX_RESTARTS", "1"},
                {"PET_NODE_RANK_X", "1"}, {"PET_EXPORT", "NCCL_*"},
                {"NCCL_DEBUG", "INFO"},   {"NCCL_X", "a,b"},
                {"HOME", "/h"},           {"LOGLEVEL", "DEBUG"}};
  const auto names = [&](const words& line) {
    auto out = std::string{};
    for (const auto& [name, value] : launched(line, environment).variables)
      out += name + "=" + value + " ";
    return out;
  };
  CHECK(names({"--hosts=a", "t.py"})
        == "LOGLEVEL=DEBUG NCCL_DEBUG=INFO NCCL_X=a,b PATH=/bin"
           " PET_MAX_RESTARTS=1 PET_NODE_RANK_X=1 ");
  CHECK(names({"--hosts=a", "--export=HOME,X=1,EMPTY=", "t.py"})
        == "HOME=/h LOGLEVEL=DEBUG PATH=/bin PET_MAX_RESTARTS=1"
           " PET_NODE_RANK_X=1 X=1 EMPTY= ");
  CHECK(launched({"--hosts=a", "--export=NONE,NO_*", "t.py"}).warnings
        == words{"--export: NONE is not set, and so not exported",
                 "--export: NO_* is not set, and so not exported"});
  for (const auto* wrong : {"", "A,", "1A", "A*B", "*A", "A B", "A*=1"})
    CHECK(
      has(not_launched({"--hosts=a", std::string{"--export="} + wrong, "t.py"}),
          "is neither NAME nor NAME=VALUE"));
}

TEST_CASE("hosts: --rsh is cut into words as a shell cuts them", "[cli]") {
  const auto shell = [](const std::string& command) {
    return launched({"--hosts=a", "--rsh=" + command, "t.py"}).remote_shell;
  };
  CHECK(launched({"--hosts=a", "t.py"}).remote_shell.empty());
  CHECK(shell("ssh -p 22") == words{"ssh", "-p", "22"});
  CHECK(shell(" x  'a b' \"c 'd'\" e\\ f \"\" g'h'i ")
        == words{"x", "a b", "c 'd'", "e f", "", "ghi"});
  CHECK(
    has(not_launched({"--hosts=a", "--rsh=x 'a", "t.py"}), "a quote without"));
  CHECK(has(not_launched({"--hosts=a", "--rsh= ", "t.py"}), "no command"));
}

TEST_CASE("hosts: signals and the grace are those of the agents", "[cli]") {
  const auto x
    = launched({"--hosts=a,b", "--signals-to-forward=SIGUSR1",
                "--signals-to-handle=SIGTERM", "--shutdown-timeout=7", "t.py"});
  CHECK(x.signals_to_forward == std::vector{SIGUSR1});
  CHECK(x.signals_to_handle == std::vector{SIGTERM});
  CHECK(x.grace == std::chrono::seconds{7});
}

TEST_CASE("hosts: where the others find the coordinator", "[cli]") {
  const auto there = [](const std::string& list, const std::string& address,
                        const words& more = {}) {
    const auto x
      = launched(joined({"--hosts=" + list}, joined(more, {"t.py"})));
    return to_string(coordinator_endpoint(
      x, 0, {.program = "1", .port = 4711, .address = address}, "here"));
  };
  CHECK(there("a,b", "") == "a:4711");
  CHECK(there("me@a,b", "") == "a:4711");
  CHECK(there("a,b", "10.0.0.1") == "10.0.0.1:4711");
  CHECK(there("a,b", "fd00::1") == "[fd00::1]:4711");
  CHECK(there("a,b", "127.0.0.1") == "here:4711");
  CHECK(there("a,b", "fe80::1%eth0") == "a:4711");
  CHECK(there("localhost,b", "") == "here:4711");
  CHECK(there("localhost,here", "") == "localhost:4711");
  CHECK(there("here,b", "") == "here:4711");
  CHECK(there("a,b", "", {"--master-port=99"}) == "a:99");
  CHECK(there("a,b", "10.0.0.1", {"--tls-cert=c", "--tls-key=k", "--tls-ca=a"})
        == "a:4711");
}

TEST_CASE("hosts: the command for the shell of a host", "[cli]") {
  CHECK(
    agent_command("/usr/bin/actorrun")
    == "test -x /usr/bin/actorrun && exec /usr/bin/actorrun --agent-by-order;"
       " exec actorrun --agent-by-order");
  CHECK(agent_command("/a b'c")
        == "test -x '/a b'\\''c' && exec '/a b'\\''c' --agent-by-order;"
           " exec actorrun --agent-by-order");
}

} // namespace

} // namespace actorrun::test::host_options_test
