// Agents that meet through a real etcd, and the checks that many tests need.
#pragma once

#include "tests/runtime/etcd/etcd_server.hpp"
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <string>

namespace actorrun::test {

using detail::etcd_cluster;
using detail::etcd_server;
using detail::etcd_server_options;

/// The derived class owns the etcd.
struct etcd_users : scene {
  agent_options options(const std::string& nodes = "2") const {
    auto x = agent_options{.nodes = nodes};
    x.endpoint = registry;
    // A lease that no test waits for, unless it says so.
    x.conf = ",is_host=1,lease_ttl=30,read_timeout=15" + conf;
    x.more = {"--rdzv-backend=etcd-v2"};
    return x;
  }

  program& etcd_coordinator(const std::string& nodes = "2") {
    const auto x = options(nodes);
    auto& out = start({ACTORCTL_PROGRAM, "coordinator", "--rdzv-backend=etcd",
                       "--nnodes=" + nodes, "--rdzv-id=" + x.job,
                       "--rdzv-endpoint=" + x.endpoint,
                       "--rdzv-conf=" + x.conf.substr(1)});
    REQUIRE(out.says("listens on"));
    return out;
  }

  /// `actorctl status`, through etcd.
  std::string remote_status(const std::string& job, int* code = nullptr) {
    return read({ACTORCTL_PROGRAM, "status", "--json", "--rdzv-backend=etcd",
                 "--rdzv-endpoint=" + registry, "--rdzv-id=" + job},
                code);
  }

  /// The first of these two that hosts the coordinator.
  static program& host_of(program& a, program& b) {
    const auto is_host
      = [](program& x) { return count_of(x.output(), "etcd elects") > 0; };
    REQUIRE(eventually([&] { return is_host(a) || is_host(b); }));
    return is_host(a) ? a : b;
  }

  /// Waits until one of the agents has taken over as coordinator.
  static bool took_over(const program& x) {
    return count_of(x.output(), "takes over the job") > 0;
  }

  /// Checks that the same processes run in the same generation.
  void check_untouched(const worker_records& before) {
    CHECK(pids_of(workers_of(before[0].generation)) == pids_of(before));
    for (const auto& x : before)
      CHECK(alive(x.pid));
    CHECK(records().size() == before.size());
  }

  /// Ends all workers; checks that these agents end, too.
  template <class... Programs>
  void check_end(Programs&... agents) {
    order_end();
    for (auto* x : {&agents...})
      CHECK(x->wait() == 0);
  }

  std::string registry; ///< The endpoint of etcd.
  std::string conf;     ///< More of `--rdzv-conf`, begins with a comma.
};

struct etcd_scene : etcd_users {
  explicit etcd_scene(etcd_server_options where = {})
    : server(std::move(where)) {
    registry = server.endpoint();
  }

  etcd_server server;
};

} // namespace actorrun::test
