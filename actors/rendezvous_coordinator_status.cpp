// What the coordinator answers when it is asked how the job stands.
#include "actors/core/text.hpp"
#include "actors/rendezvous_coordinator.hpp"
#include "actors/translate.hpp"

#include <chrono>
#include <memory>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

// Most bytes that tag and length of an entry, and the marks of truncation, take.
constexpr auto entry_overhead = size_t{8};

/// How long agents may take to look at their devices: less than who asks us
/// waits. An old look is shown of who takes longer.
constexpr auto devices_timeout = std::chrono::milliseconds{500};

/// Agents that are asked for one status; the answers of more would not fit.
constexpr auto devices_asked_max = size_t{256};

/// Of what is known against a node, in bytes.
constexpr auto trouble_size_max = size_t{512};

/// What is known against a node's devices, in one line; empty: nothing.
std::string trouble_of(const devices_status& x) {
  auto out = x.trouble;
  for (const auto& gpu : x.gpus)
    if (!gpu.trouble.empty())
      out += (out.empty() ? "GPU " : "; GPU ") + std::to_string(gpu.index)
             + ": " + gpu.trouble;
  return out;
}

v1::AgentStatus to_status(const agent_record& x, epoch_id epoch) {
  auto out = v1::AgentStatus{};
  out.set_agent_id(x.offering.agent.value);
  out.set_host(x.offering.host);
  out.set_address(x.offering.address);
  out.set_role(x.offering.role);
  out.set_slot_count(x.offering.slot_count);
  out.set_connected(x.connected);
  out.set_leaving(x.leaving);
  if (epoch.value != 0 && x.member_of == epoch) {
    out.set_epoch(epoch.value);
    out.set_node_rank(x.place.node_rank);
    out.set_first_global_rank(x.place.first_global_rank);
    out.set_share(to_wire(x.share));
  }
  return out;
}

// All of them would fill the message.
outcome without_others(outcome x) {
  x.unlisted_failure_count += uint32_t(x.other_failures.size());
  x.other_failures.clear();
  return x;
}

} // namespace

// Who hosts the agent, too, reads it in the agent's own words.
void rendezvous_coordinator_state::note_devices(const v1::DevicesStatus& x) {
  const auto i = contacts_.find({x.agent_id()});
  if (i == contacts_.end())
    return;
  auto now = from_wire(x);
  const auto trouble = trouble_of(now);
  const auto known = i->second.devices ? trouble_of(*i->second.devices) : "";
  i->second.devices = std::move(now);
  const auto& agents = rendezvous_.agents();
  const auto record = agents.find(i->first);
  if (!trouble.empty() && trouble != known && record != agents.end()
      && record->second.offering.leased)
    config_.lines.warn("coordinator marks node " + record->second.offering.host
                       + ": " + one_line(trouble, trouble_size_max));
}

caf::result<v1::JobStatus> rendezvous_coordinator_state::answer_status() {
  auto asked = std::vector<node_agent_actor>{};
  for (const auto& [id, known] : contacts_)
    if (known.devices && known.handle && asked.size() < devices_asked_max)
      asked.push_back(known.handle);
  if (asked.empty())
    return status();
  auto promise = self_->make_response_promise<v1::JobStatus>();
  const auto left = std::make_shared<size_t>(asked.size());
  auto count_down = [this, promise, left]() mutable {
    if (--*left == 0)
      promise.deliver(status());
  };
  for (const auto& agent : asked)
    ask(self_, agent, devices_timeout, v1::DevicesRequest{})
      .then(
        [this, count_down](const v1::DevicesStatus& x) mutable {
          note_devices(x);
          count_down();
        },
        [count_down](const caf::error&) mutable { count_down(); });
  return promise;
}

// Agents come first: their devices get what room they have left.
void rendezvous_coordinator_state::add_devices(v1::JobStatus& out,
                                               size_t size) const {
  for (auto& agent : *out.mutable_agents()) {
    const auto i = contacts_.find({agent.agent_id()});
    if (i == contacts_.end() || !i->second.devices)
      continue;
    auto devices = to_wire(*i->second.devices);
    size += devices.ByteSizeLong() + entry_overhead;
    if (size > v1::message_size_max) {
      out.set_gpus_truncated(true);
      return;
    }
    agent.mutable_gpus()->Swap(devices.mutable_gpus());
    agent.set_gpu_trouble(devices.trouble());
  }
}

v1::JobStatus rendezvous_coordinator_state::status() const {
  auto out = v1::JobStatus{};
  out.set_job_id(config_.job.value);
  out.set_phase(to_string(rendezvous_.current_phase()));
  out.set_epoch(rendezvous_.epoch().value);
  *out.mutable_settings() = to_wire(rendezvous_.settings());
  out.set_restart_count(rendezvous_.budget().restart_count());
  out.set_waiting_for(rendezvous_.waiting_for());
  out.set_coordinator_pid(config_.pid);
  out.set_coordinator_host(config_.host);
  const auto& common = rendezvous_.common_plan();
  out.set_world_size(common.world_size);
  out.set_master_address(common.master_address);
  out.set_master_port(common.master_port);
  if (const auto& failure = rendezvous_.last_failure())
    *out.mutable_last_failure() = to_wire(*failure);
  if (const auto& result = rendezvous_.result())
    *out.mutable_outcome() = to_wire(without_others(*result));
  for (const auto& x : rendezvous_.quarantined_nodes())
    *out.add_quarantined_nodes() = to_wire(x);
  auto size = out.ByteSizeLong();
  for (const auto& [id, record] : rendezvous_.agents()) {
    auto agent = to_status(record, rendezvous_.epoch());
    const auto i = contacts_.find(id);
    if (i != contacts_.end() && record.holds.value != 0)
      agent.mutable_pids()->Assign(i->second.pids.begin(),
                                   i->second.pids.end());
    size += agent.ByteSizeLong() + entry_overhead;
    if (size > v1::message_size_max) {
      out.set_truncated(true);
      break;
    }
    *out.add_agents() = std::move(agent);
  }
  add_devices(out, size);
  return out;
}

} // namespace actorrun
