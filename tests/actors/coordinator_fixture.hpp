// A coordinator among agents that only record what they receive: some live in
// its own process, others have a lease.
#pragma once

#include "actors/rendezvous_coordinator.hpp"
#include "actors/status_pages.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_links.hpp"
#include "tests/support/log_lines.hpp"
#include "tests/support/recorder.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace actorrun::test {

/// Two agents and one restart, unless said otherwise.
struct coordinator_fixture : actor_fixture {
  /// Changes the configuration.
  using adjustment = std::function<void(rendezvous_coordinator_config&)>;

  explicit coordinator_fixture(core::job_settings asked = {2, 2, 1},
                               std::shared_ptr<shared_lease_desk> desk
                               = std::make_shared<shared_lease_desk>(),
                               const adjustment& adjust = {})
    : settings{asked}, leases{std::move(desk)} {
    auto config = rendezvous_coordinator_config{};
    config.job = {"job-1"};
    config.settings = settings;
    config.host = "node-c";
    config.pid = 4711;
    config.links = links;
    config.leases = leases;
    config.lines = lines.writer();
    config.on_closed = [out = closed](core::outcome x) { out->push_back(x); };
    if (adjust)
      adjust(config);
    uut = keep(spawn_rendezvous_coordinator(system, config));
    run();
  }

  // -- agents -----------------------------------------------------------------

  agent_recorder local() { return kept(record_agent(system)); }
  /// Of another process: its link says so when it asks to join.
  agent_recorder remote() {
    auto out = local();
    remote_.push_back(caf::actor_cast<caf::actor_addr>(out.handle));
    return out;
  }

  template <class From, class To, class T>
  void send(const From& from, const To& to, T x) {
    if constexpr (std::is_same_v<T, v1::JoinRequest>)
      x.set_comes_by_link(
        std::ranges::find(remote_, caf::actor_cast<caf::actor_addr>(from))
        != remote_.end());
    actor_fixture::send(from, to, std::move(x));
  }

  /// Two slots on host `node-<id>`.
  v1::JoinRequest request(const std::string& id) const {
    auto out = v1::JoinRequest{};
    auto& offer = *out.mutable_offer();
    offer.set_agent_id(id);
    offer.set_host("node-" + id);
    offer.set_address("10.0.0." + id);
    offer.set_role("default");
    offer.set_slot_count(2);
    offer.set_master_port(29'500);
    offer.set_liveness_port(7'000);
    *out.mutable_settings() = to_wire(settings);
    return out;
  }

  /// What the agent receives because of it. When it is asked for its status, it
  /// answers that it knows nothing.
  std::string join(const agent_recorder& agent, const std::string& id) {
    agent.status->emplace().set_agent_id(id);
    send(agent.handle, uut, request(id));
    return agent.told();
  }

  // -- reports ----------------------------------------------------------------

  /// Adds the last share of a generation whose nodes are all like this one.
  static void claim(v1::JoinRequest& x, uint64_t generation,
                    v1::ShareState state, uint32_t node_count = 2) {
    const auto slot_count = x.offer().slot_count();
    const auto world_size = node_count * slot_count;
    auto& plan = *x.mutable_claim()->mutable_plan();
    plan.set_generation(generation);
    plan.set_agent_id(x.offer().agent_id());
    plan.set_slot_count(slot_count);
    plan.set_node_rank(node_count - 1);
    plan.set_node_count(node_count);
    plan.set_first_global_rank(world_size - slot_count);
    plan.set_first_role_rank(world_size - slot_count);
    plan.set_role_world_size(world_size);
    plan.set_world_size(world_size);
    plan.set_master_address("10.0.0.1");
    plan.set_master_port(29'500);
    x.mutable_claim()->set_state(state);
  }

  template <class T>
  void report(const agent_recorder& from, const std::string& id,
              uint64_t generation) {
    auto x = T{};
    x.set_agent_id(id);
    x.set_generation(generation);
    send(from.handle, uut, x);
  }

  void started(const agent_recorder& from, const std::string& id,
               uint64_t generation, int64_t first_pid = 100) {
    auto x = v1::WorkersStarted{};
    x.set_agent_id(id);
    x.set_generation(generation);
    x.add_pids(first_pid);
    x.add_pids(first_pid + 1);
    send(from.handle, uut, x);
  }

  static core::worker_failure failure_of(const std::string& id,
                                         core::duration age = {}) {
    return {.agent = {id},
            .host = "node-" + id,
            .global_rank = 1,
            .local_rank = 1,
            .pid = 101,
            .code = 7,
            .age = age};
  }

  void failed(const agent_recorder& from, const std::string& id,
              uint64_t generation, core::duration age = {}) {
    failed(from, id, generation, failure_of(id, age));
  }

  void failed(const agent_recorder& from, const std::string& id,
              uint64_t generation, const core::worker_failure& failure) {
    auto x = v1::WorkerFailed{};
    x.set_agent_id(id);
    x.set_generation(generation);
    *x.mutable_failure() = to_wire(failure);
    send(from.handle, uut, x);
  }

  void succeeded(const agent_recorder& from, const std::string& id,
                 uint64_t generation) {
    report<v1::WorkersSucceeded>(from, id, generation);
  }

  void stopped(const agent_recorder& from, const std::string& id,
               uint64_t generation, const core::collateral& others = {}) {
    auto x = v1::WorkersStopped{};
    x.set_agent_id(id);
    x.set_generation(generation);
    *x.mutable_others() = to_wire(others);
    send(from.handle, uut, x);
  }

  void leave(const agent_recorder& from, const std::string& id, bool done,
             int signal = 0) {
    auto x = v1::LeaveNotice{};
    x.set_agent_id(id);
    x.set_done(done);
    x.set_signal(signal);
    send(from.handle, uut, x);
  }

  void keep_alive(const agent_recorder& from, const std::string& id,
                  int64_t sent_ns) {
    auto x = v1::KeepAlive{};
    x.set_agent_id(id);
    x.set_sent_ns(sent_ns);
    send(from.handle, uut, x);
  }

  // -- where tests begin ------------------------------------------------------

  /// `1` and `2` run generation 1 in the coordinator's process.
  void run_two() { run_two(local(), local()); }

  /// The same with leases.
  void run_two_leased() { run_two(remote(), remote()); }

  void run_two(agent_recorder first, agent_recorder second) {
    a = first;
    b = second;
    join(a, "1");
    join(b, "2");
    REQUIRE(a.told() == "formed 1: ranks 0-1 of 4");
    started(a, "1", 1, 100);
    started(b, "2", 1, 200);
    b.told();
    links->told();
  }

  v1::JobStatus status() {
    const auto seen = ask_status(uut);
    if (!seen->has_value())
      advance(500ms); // An agent that has not joined by `join` does not answer.
    REQUIRE(seen->has_value());
    return **seen;
  }

  /// Puts the pages together that follow `first`.
  /// @param between Called before each is asked for.
  v1::JobStatus whole(
    const answer& first, const std::function<void()>& between = [] {}) {
    auto pages = status_assembly{};
    for (auto seen = first;;) {
      REQUIRE(seen->has_value());
      CHECK((*seen)->ByteSizeLong() <= v1::message_size_max);
      const auto is_whole = pages.add(**seen);
      REQUIRE(is_whole);
      if (*is_whole)
        return pages.take();
      between();
      auto next = v1::StatusRequest{};
      next.set_snapshot(pages.next().snapshot());
      next.set_page(pages.next().index());
      seen = ask_status(uut, next);
    }
  }

  v1::JobStatus whole_status() {
    const auto first = ask_status(uut);
    if (!first->has_value())
      advance(500ms);
    return whole(first);
  }

  core::job_settings settings;
  std::shared_ptr<fake_links> links = std::make_shared<fake_links>();
  std::shared_ptr<std::vector<core::outcome>> closed
    = std::make_shared<std::vector<core::outcome>>();
  std::shared_ptr<shared_lease_desk> leases;
  log_lines lines;
  rendezvous_coordinator_actor uut;
  agent_recorder a;
  agent_recorder b;

private:
  agent_recorder kept(agent_recorder x) {
    keep(x.handle);
    return x;
  }

  std::vector<caf::actor_addr> remote_;
};

} // namespace actorrun::test
