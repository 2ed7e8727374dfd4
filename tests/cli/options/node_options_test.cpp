#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
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

TEST_CASE("nodes: an option of the master implies static", "[cli]") {
  CHECK(meeting({"--nnodes=2", "--node-rank=1", "--master-addr=n1",
                 "--master-port=7000"})
        == "static n1:7000 rank 1 of 2");
  CHECK(meeting({"--nnodes=2", "--master-addr=n1"})
        == "static n1:29500 rank 0 of 2");
  CHECK(meeting({"--nnodes=2", "--node-rank=0"})
        == "static 127.0.0.1:29500 rank 0 of 2");
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
  CHECK(meeting(line) == "static 127.0.0.1:29500 rank 2 of 3");
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
  CHECK(x.details.size() == 1);
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
    for (const auto* nodes : {"--nnodes=1", "--nnodes=2"})
      CHECK(has(refused({"--rdzv-backend", backend, list, nodes, "a"}),
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
