#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::node_options_test {

using namespace actorrun::cli;
using enum rendezvous_backend;

namespace {

/// `static n1:29500 rank 1 of 2`, for a job of several nodes.
std::string meeting_of(const run_arguments& x) {
  if (!x.job.rendezvous)
    return "alone";
  const auto* name = x.job.backend == native  ? "native "
                     : x.job.backend == fixed ? "static "
                                              : "etcd ";
  auto out = name + to_string(*x.job.rendezvous);
  if (x.agent.node_rank)
    out += " rank " + std::to_string(*x.agent.node_rank);
  const auto min = x.job.agent_count_min;
  const auto max = x.job.agent_count_max;
  return out + " of " + (min == max ? "" : std::to_string(min) + ":")
         + std::to_string(max);
}

std::string meeting(const words& line, const variables& environment = {}) {
  return meeting_of(accepted(with_script(line), environment));
}

std::string one_warning(const words& line) {
  const auto warnings = accepted(with_script(line)).warnings;
  REQUIRE(warnings.size() == 1);
  return warnings.front();
}

} // namespace

TEST_CASE("nodes: every back end of torchrun has its name", "[cli]") {
  const auto at = [](const std::string& name) {
    return meeting({"--rdzv-backend", name, "--rdzv-endpoint=n1", "--nnodes=2",
                    "--rdzv-id=j"});
  };
  CHECK(at("c10d") == "native n1:29400 of 2");
  CHECK(at("actor") == "native n1:29400 of 2");
  CHECK(at("static") == "static n1:29500 rank 0 of 2");
  CHECK(at("etcd") == "etcd n1:2379 of 2");
  CHECK(at("etcd-v2") == "etcd n1:2379 of 2");
  for (const auto* name : {"zookeeper", "", "C10D"})
    CHECK(has(refused({"--rdzv-backend", name, "a"}), "c10d, actor, static,"
                                                      " etcd and etcd-v2"));
}

TEST_CASE("nodes: U1 U2 U6 a maximum of one node is a job of this node alone",
          "[cli]") {
  for (const auto* endpoint :
       {"0.0.0.0:29502", "[::]:29502", "localhost:29502", "localhost",
        "n1:29502", "127.0.0.1:29502", "[::1]", "10.0.0.1", "localhost:0",
        ":29502", ":0"})
    for (const auto* backend : {"", "c10d", "actor", "static"})
      for (const auto* place : {"", "is_host=1"}) {
        auto line = words{"--nnodes=1", "--rdzv-id=mine"};
        line.push_back(std::string{"--rdzv-endpoint="} + endpoint);
        if (*backend != '\0')
          line.push_back(std::string{"--rdzv-backend="} + backend);
        if (*place != '\0')
          line.push_back(std::string{"--rdzv-conf="} + place);
        INFO(endpoint << " " << backend << " " << place);
        const auto x = accepted(with_script(line));
        CHECK(meeting_of(x) == "alone");
        CHECK(x.job.job.value == "mine");
        CHECK(x.job.agent_count_max == 1);
      }
  CHECK(meeting({"--nnodes=1:1", "--rdzv-endpoint=n1:5"}) == "alone");
  CHECK(meeting({"--rdzv-endpoint=n1:5"}) == "alone"); // Its default.
  CHECK(meeting({"--nnodes=1", "--node-rank=0", "--master-addr=n1",
                 "--master-port=5"})
        == "alone");
}

TEST_CASE("nodes: U6 a node alone warns of nothing that others would need",
          "[cli]") {
  auto world = world_with({});
  world.own_name = [] { return std::string{"n1.example.org"}; };
  const auto heard = [&](const std::string& endpoint) {
    const auto x = parse_run(
      {"--nnodes=1", "--rdzv-backend=c10d", "--rdzv-endpoint=" + endpoint, "a"},
      world);
    REQUIRE(x);
    const auto& run = std::get<run_arguments>(*x);
    CHECK(run.warnings.empty());
    return run.notices;
  };
  for (const auto* endpoint : {"n1:5", "n1.example.org:5", "N1:5", "0.0.0.0:5",
                               "localhost:5", "127.0.0.1:5", ":5"})
    CHECK(heard(endpoint).empty());
  CHECK(heard("n2:5")
        == words{"the job has one node, because --nnodes has no more: this one,"
                 " and nothing is asked at n2:5"});
  const auto fixed = parse_run(
    {"--nnodes=1", "--node-rank=0", "--master-addr=n1", "--master-port=5", "a"},
    world);
  REQUIRE(fixed);
  CHECK(std::get<run_arguments>(*fixed).warnings.empty());
  CHECK(std::get<run_arguments>(*fixed).agent.master_port == 5);
}

TEST_CASE("nodes: U2 where c10d's only node meets no other, its port is free",
          "[cli]") {
  const auto x
    = accepted({"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:29502", "a"});
  CHECK_FALSE(x.agent.master_port); // A second job beside it has one, too.
  CHECK_FALSE(x.preferred_master_port);
}

TEST_CASE("nodes: who says that the coordinator is elsewhere is not alone",
          "[cli]") {
  CHECK(meeting({"--nnodes=1", "--rdzv-endpoint=n1:5", "--rdzv-id=j",
                 "--rdzv-conf=is_host=0"})
        == "native n1:5 of 1");
  CHECK(meeting({"--nnodes=1", "--rdzv-conf=is_host=0"}) == "alone");
}

TEST_CASE("nodes: U3 whoever names no node rank 0 is its host", "[cli]") {
  CHECK(meeting({"--nnodes=2", "--node-rank=0"})
        == "static localhost:29500 rank 0 of 2");
  CHECK(meeting({"--nnodes=2", "--node-rank=0", "--master-addr=0.0.0.0"})
        == "static 0.0.0.0:29500 rank 0 of 2");
}

namespace {

/// A form of an endpoint, and what becomes of it on two nodes: where they meet, or a
/// part of the refusal.
struct endpoint_form {
  std::string text;
  std::string meaning;
};

} // namespace

TEST_CASE(
  "nodes: U13 U14 every form of an endpoint is right or refused at once",
  "[cli]") {
  const auto forms = std::vector<endpoint_form>{
    {"n1", "n1:29400"},
    {"n1:5", "n1:5"},
    {" n1:5 ", "n1:5"},
    {"n1.example.org.:5", "n1.example.org.:5"},
    {"n_1:5", "n_1:5"},
    {"10.0.0.1:5", "10.0.0.1:5"},
    {"[fd00::1]", "[fd00::1]:29400"},
    {"[fd00::1]:5", "[fd00::1]:5"},
    {"[fe80::1%eth0]:5", "[fe80::1%eth0]:5"},
    {"localhost:65535", "localhost:65535"},
    {"127.0.0.1:5", "127.0.0.1:5"},
    {":29400",
     "the host is missing in \":29400\"; maybe a variable of the shell"
     " is not set"},
    {":0", "the host is missing"},
    {"n1:", "the port is missing behind the colon"},
    {"n1:0", "port 0 stands for any free port"},
    {"n1:65536", "the port \"65536\" is not an integer in 0..65535"},
    {"n1:-1", "is not an integer in"},
    {"n1:5 6", "is not an integer in"},
    {"n1:http", "is not an integer in"},
    {"30000",
     "\"30000\" is neither a host name nor an IP address; a port stands"
     " behind a host: node1:30000"},
    {"30000:5", "neither a host name"},
    {"127.1:5", "neither a host name"},
    {"0x7f000001:5", "neither a host name"},
    {"10.0.0.256:5", "neither a host name"},
    {"10.0.0.1.:5", "neither a host name"},
    {"fd00::1", "an IPv6 address stands in brackets"},
    {"fd00::1:5", "an IPv6 address stands in brackets"},
    {"[fd00::1", "several colons"},
    {"[fd00::g]:5", "neither a host name"},
    {"[fd00::1]x:5", "several colons"},
    {"[]:5", "neither a host name"},
    {"[fe80::1]:5", "needs the interface to it: [fe80::1%eth0]"},
    {"n1%eth0:5", "neither a host name"},
    {"tcp://n1:5", "begins with a protocol; HOST[:PORT] is wanted: n1:5"},
    {"tcp:n1:5", "several colons"},
    {"me@n1:5", "without a user's name it is n1"},
    {"n1/x:5", "neither a host name"},
    {"n 1:5", "neither a host name"},
    {"n1..a:5", "neither a host name"},
    {".n1:5", "neither a host name"},
    {"-n1:5", "neither a host name"},
    {"$HOST:5", "neither a host name"},
    {"0.0.0.0:5", "stands for all addresses of a host"},
    {"[::]:5", "stands for all addresses of a host"},
  };
  for (const auto& x : forms) {
    INFO(x.text);
    const auto line = words{"--nnodes=2", "--rdzv-id=j",
                            "--rdzv-endpoint=" + x.text, "train.py"};
    const auto taken = parse(line);
    if (taken)
      CHECK(meeting_of(std::get<run_arguments>(*taken))
            == "native " + x.meaning + " of 2");
    else
      CHECK(has(taken.error().text, x.meaning));
  }
}

TEST_CASE("nodes: a job may begin at several hosts", "[cli]") {
  const auto line = [](const std::string& where, words more = {}) {
    more.insert(more.begin(),
                {"--nnodes=2", "--rdzv-id=j", "--rdzv-endpoint=" + where});
    more.emplace_back("a");
    return more;
  };
  const auto three = accepted(line("n1,n2:5,n3"));
  CHECK(three.job.rendezvous == endpoint{"n1", 29'400});
  CHECK(three.job.more_seeds
        == std::vector<endpoint>{{"n2", 5}, {"n3", 29'400}});
  CHECK(three.job.succession);
  CHECK(three.warnings.empty());
  const auto two = accepted(line("n1,n2"));
  REQUIRE(two.warnings.size() == 1);
  CHECK(has(two.warnings[0], "when 2 of them are there, which is both"));
  const auto four = accepted(line("n1,n2,n3,n4"));
  REQUIRE(four.warnings.size() == 1);
  CHECK(has(four.warnings[0], "names 4 hosts, and the job begins when 3"));
  CHECK(has(refused(line("n1,n2,N1")), "is named twice"));
  CHECK(has(refused(line("n1,n2:0,n3")), "port 0 stands for any free port"));
  CHECK(has(refused(line("n1,0.0.0.0,n3")), "all addresses of a host"));
  CHECK(has(refused(line("n1,localhost,n3")), "another host on each node"));
  CHECK(has(refused(line("a,b,c,d,e,f,g,h,i,j")), "10 endpoints are named"));
  CHECK(has(refused(line("n1,n2,n3", {"--rdzv-conf=is_host=1"})),
            "is_host does not go with several endpoints"));
  CHECK(has(refused(line("n1,n2,n3", {"--rdzv-conf=succession=off"})),
            "leave one of the two out"));
  CHECK(has(refused(line("n1,n2,n3", {"--node-rank=1"})), "names 3 addresses"));
  CHECK(has(refused({"--rdzv-id=j", "--rdzv-endpoint=n1,n2,n3", "a"}),
            "names 3 addresses"));
  CHECK(accepted(line("127.0.0.1,127.0.0.2,127.0.0.3")).warnings.empty());
}

TEST_CASE("nodes: U13 U14 so is every form of another address", "[cli]") {
  for (const auto* option : {"--master-addr", "--local-addr"})
    for (const auto* text : {"30000", "127.1", "me@n1", "tcp://n1", "n1:5",
                             "n 1", "-n1", "n1..a"}) {
      INFO(option << " " << text);
      refused(
        {"--nnodes=2", "--node-rank=1", std::string{option} + "=" + text, "a"});
    }
  CHECK(has(refused({"--nnodes=2", "--local-addr=0.0.0.0", "a"}),
            "stands for all addresses"));
  CHECK(
    has(refused({"--nnodes=2", "--node-rank=1", "--master-addr=0.0.0.0", "a"}),
        "--master-addr: 0.0.0.0 stands for all addresses"));
  CHECK(has(refused({"--rdzv-backend=etcd", "--rdzv-endpoint=e1,:2379", "a"}),
            "the host is missing"));
  CHECK(has(refused({"--hosts=a,b", "--rdzv-endpoint=:5", "a"}),
            "the host is missing"));
  for (const auto* hosts : {"4", "a,4", "10.0.0.256", "a,-b"})
    refused({std::string{"--hosts="} + hosts, "a"});
}

TEST_CASE("nodes: an option of the master implies static", "[cli]") {
  CHECK(meeting({"--nnodes=2", "--node-rank=1", "--master-addr=n1",
                 "--master-port=7000"})
        == "static n1:7000 rank 1 of 2");
  CHECK(meeting({"--nnodes=2", "--master-addr=n1"})
        == "static n1:29500 rank 0 of 2");
  CHECK(meeting({"--nnodes=2", "--node-rank=0"})
        == "static localhost:29500 rank 0 of 2");
  CHECK(meeting({"--nnodes=2", "--node-rank=1", "--rdzv-endpoint=n1:5000"})
        == "static n1:5000 rank 1 of 2");
  CHECK(meeting({}, {{"PET_NNODES", "2"},
                     {"PET_NODE_RANK", "1"},
                     {"PET_MASTER_ADDR", "n1"},
                     {"PET_MASTER_PORT", "7000"}})
        == "static n1:7000 rank 1 of 2");
  CHECK(meeting({"--nnodes=2", "--rdzv-endpoint=n1", "--rdzv-id=j"})
        == "native n1:29400 of 2");
}

TEST_CASE("nodes: addresses of masters may have brackets", "[cli]") {
  for (const auto* address : {"::1", "[::1]"})
    CHECK(meeting({"--nnodes=2", "--master-addr", address})
          == "static [::1]:29500 rank 0 of 2");
}

TEST_CASE("nodes: static has all its nodes, each with a rank", "[cli]") {
  const auto line = words{"--nnodes=1:3", "--node-rank=2"};
  CHECK(meeting(line) == "static localhost:29500 rank 2 of 3");
  CHECK(has(one_warning(line), "never fewer"));
  CHECK(has(refused({"--nnodes=3", "--node-rank=3", "a"}),
            "--node-rank is 3, and the 3 nodes of --nnodes have the ranks"
            " 0..2"));
  CHECK(has(refused({"--nnodes=2", "--master-port=0", "a"}),
            "--master-port: port 0"));
  CHECK(has(refused({"--nnodes=2", "--rdzv-backend=static",
                     "--rdzv-endpoint=n1:0", "a"}),
            "--rdzv-endpoint: port 0"));
  CHECK(
    has(one_warning({"--nnodes=2", "--master-addr=n1", "--rdzv-endpoint=n2:1"}),
        "--master-addr is ignored"));
}

TEST_CASE("nodes: static jobs need no id and get no warning about it",
          "[cli]") {
  const auto x = accepted({"--nnodes=2", "--node-rank=1", "a"});
  CHECK(x.job.job.value == "none");
  CHECK(x.warnings.empty());
}

TEST_CASE("nodes: a job of one node uses the master's port for its workers",
          "[cli]") {
  for (const auto& line : {words{"--master-port=7000"},
                           words{"--standalone", "--master-port=7000"},
                           words{"--rdzv-backend=static", "--master-port=7000"},
                           words{"--master-addr=127.0.0.1",
                                 "--master-port=7000", "--node-rank=0"}}) {
    const auto x = accepted(with_script(line));
    CHECK(meeting_of(x) == "alone");
    CHECK(x.agent.master_port == 7'000);
    CHECK_FALSE(x.agent.node_rank);
    CHECK(x.warnings.empty());
  }
  CHECK_FALSE(accepted({"--master-port=0", "a"}).agent.master_port);
  CHECK_FALSE(accepted({"a"}).agent.master_port);
  CHECK(accepted({"--master-port=65535", "a"}).agent.master_port == 65'535);
}

TEST_CASE("nodes: a job of one node is on loopback, which may be given",
          "[cli]") {
  for (const auto* host : {"localhost", "127.0.0.1", "127.1.2.3", "[::1]", ""})
    CHECK(accepted({"--master-addr", host, "a"}).warnings.empty());
  const auto x = accepted(
    {"--rdzv-backend=static", "--rdzv-endpoint=localhost:7000", "a"});
  CHECK(x.agent.master_port == 7'000);
  CHECK(x.warnings.empty());
}

TEST_CASE("nodes: an empty address of the master is none", "[cli]") {
  CHECK(meeting({"--nnodes=2", "--rdzv-endpoint=n1", "--rdzv-id=j"},
                {{"PET_MASTER_ADDR", ""}})
        == "native n1:29400 of 2");
  CHECK(has(refused({"--nnodes=2", "--node-rank=1", "--master-addr=", "a"}),
            "--master-addr is empty"));
}

TEST_CASE("nodes: a job of one node ignores the master with a warning",
          "[cli]") {
  CHECK(has(one_warning({"--node-rank=1"}),
            "--node-rank is ignored: the job has one node"));
  CHECK(has(one_warning({"--master-addr=n1"}), "--master-addr is ignored"));
  CHECK(has(one_warning({"--standalone", "--node-rank=1"}),
            "--node-rank is ignored"));
  CHECK(has(one_warning({"--node-rank=0", "--rdzv-endpoint=n1:5"}),
            "--rdzv-endpoint is ignored but for its port"));
  CHECK(has(refused({"--rdzv-backend=static", "--node-rank=1", "a"}),
            "--node-rank is 1, and the one node"));
}

TEST_CASE("nodes: what a variable has set is ignored without a warning",
          "[cli]") {
  const auto x = accepted(
    {"a"},
    {{"PET_NODE_RANK", "1"}, {"PET_MASTER_ADDR", "n1"}, {"PET_NNODES", "1"}});
  CHECK(meeting_of(x) == "alone");
  CHECK(x.warnings.empty());
  CHECK(x.details
        == words{"--node-rank is ignored: the job has one node",
                 "--master-addr is ignored: the job has one node"});
  const auto y = accepted({"--node-rank=1", "a"}, {{"PET_MASTER_ADDR", "n1"}});
  CHECK(y.warnings == words{"--node-rank is ignored: the job has one node"});
  CHECK(accepted({"--standalone", "a"}, {{"PET_RDZV_ENDPOINT", "n1:5"},
                                         {"PET_RDZV_BACKEND", "static"}})
          .warnings.empty());
}

TEST_CASE("nodes: a node alone with an endpoint needs no id", "[cli]") {
  const auto x = accepted({"--rdzv-backend=c10d", "--rdzv-endpoint=n1", "a"});
  CHECK(x.warnings.empty());
  CHECK(x.job.job.value == "random-id");
  CHECK(accepted({"--nnodes=1:2", "--rdzv-endpoint=n1", "a"}).warnings.size()
        == 1);
}

TEST_CASE("nodes: without options the workers meet at 29500 if it is free",
          "[cli]") {
  for (const auto& line :
       {words{}, words{"--nnodes=1"}, words{"--node-rank=0"},
        words{"--rdzv-backend=static"}, words{"--master-addr=127.0.0.1"}}) {
    const auto x = accepted(with_script(line));
    CHECK(x.preferred_master_port == 29'500);
    CHECK_FALSE(x.agent.master_port);
  }
  for (const auto& line :
       {words{"--standalone"}, words{"--master-port=0"},
        words{"--master-port=7000"}, words{"--rdzv-endpoint=localhost:0"},
        words{"--rdzv-backend=c10d"}, words{"--nnodes=2", "--node-rank=0"},
        words{"--rdzv-backend=static", "--rdzv-endpoint=localhost:7000"}})
    CHECK_FALSE(accepted(with_script(line)).preferred_master_port);
}

TEST_CASE("nodes: other back ends ignore the master with a warning", "[cli]") {
  const auto line = words{"--rdzv-backend=c10d", "--rdzv-endpoint=n1",
                          "--nnodes=2", "--rdzv-id=j", "--node-rank=1"};
  CHECK(meeting(line) == "native n1:29400 of 2");
  CHECK(has(one_warning(line), "only the backend static uses it"));
  CHECK(has(one_warning({"--rdzv-backend=etcd", "--rdzv-endpoint=n1",
                         "--rdzv-id=j", "--master-addr=n2"}),
            "--master-addr is ignored"));
}

TEST_CASE("nodes: an etcd cluster has several addresses, a coordinator one",
          "[cli]") {
  const auto list = std::string{"--rdzv-endpoint=e1,e2:7,e3"};
  const auto x = accepted({"--rdzv-backend=etcd", list, "--rdzv-id=j", "a"});
  CHECK(x.job.rendezvous == endpoint{"e1", 2'379});
  CHECK(x.job.etcd.more_members
        == std::vector<endpoint>{{"e2", 7}, {"e3", 2'379}});
  CHECK(has(refused({"--rdzv-backend=etcd", "--rdzv-endpoint=e1,e2:0", "a"}),
            "port 0"));
  for (const auto* backend : {"c10d", "actor", "static"})
    CHECK(has(refused({"--rdzv-backend", backend, list, "--nnodes=1", "a"}),
              "names 3 addresses"));
  CHECK(has(refused({"--rdzv-backend=static", list, "--nnodes=2", "a"}),
            "names 3 addresses"));
  CHECK(has(refused({"--rdzv-backend=etcd", "--rdzv-endpoint=e1,", "a"}),
            "--rdzv-endpoint: in \"e1,\""));
}

TEST_CASE("nodes: etcd is asked at its endpoint, also by one node", "[cli]") {
  CHECK(
    meeting({"--rdzv-backend=etcd", "--rdzv-endpoint=n1:4001", "--rdzv-id=j"})
    == "etcd n1:4001 of 1");
  CHECK(meeting({"--rdzv-backend=etcd-v2", "--rdzv-endpoint=[::1]",
                 "--nnodes=1:4", "--rdzv-id=j"})
        == "etcd [::1]:2379 of 1:4");
  CHECK(has(refused({"--rdzv-backend=etcd", "a"}), "needs --rdzv-endpoint"));
  CHECK(has(refused({"--rdzv-backend=etcd", "--rdzv-endpoint=n1:0", "a"}),
            "port 0"));
}

TEST_CASE("nodes: standalone ignores back ends with a warning", "[cli]") {
  for (const auto* name : {"static", "etcd"})
    CHECK(has(one_warning({"--standalone", "--rdzv-backend", name}),
              "--rdzv-backend is ignored"));
  CHECK(
    accepted({"--standalone", "--rdzv-backend=c10d", "a"}).warnings.empty());
}

} // namespace actorrun::test::node_options_test
