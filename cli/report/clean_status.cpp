#include "cli/report/clean_status.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

namespace actorrun::cli {

namespace {

/// In bytes; what honest coordinators say is shorter.
constexpr size_t text_size_max = 1024;

void clean(std::string& x) {
  x = core::one_line(x, text_size_max);
}

void clean_lines(std::string& x) {
  x = core::printable(x);
}

void clean(v1::WorkerFailure& x) {
  clean(*x.mutable_agent_id());
  clean(*x.mutable_host());
  if (!x.has_details())
    return;
  auto& details = *x.mutable_details();
  for (auto* text : {details.mutable_subject(), details.mutable_error_file(),
                     details.mutable_message(), details.mutable_traceback(),
                     details.mutable_scope(), details.mutable_where()})
    clean_lines(*text);
}

void clean(v1::Outcome& x) {
  clean(*x.mutable_reason());
  if (x.has_first_failure())
    clean(*x.mutable_first_failure());
  if (x.has_others())
    for (auto& failure : *x.mutable_others()->mutable_listed())
      clean(failure);
}

void clean(v1::AgentStatus& x) {
  for (auto* text :
       {x.mutable_agent_id(), x.mutable_host(), x.mutable_address(),
        x.mutable_role(), x.mutable_state(), x.mutable_reason(),
        x.mutable_unfit(), x.mutable_gpu_trouble()})
    clean(*text);
  for (auto& gpu : *x.mutable_gpus())
    for (auto* text :
         {gpu.mutable_name(), gpu.mutable_uuid(), gpu.mutable_trouble()})
      clean(*text);
  if (x.has_vitals())
    for (auto& worker : *x.mutable_vitals()->mutable_workers())
      clean(*worker.mutable_timer_scope());
}

} // namespace

v1::JobStatus cleaned(v1::JobStatus x) {
  for (auto* text : {x.mutable_job_id(), x.mutable_phase(),
                     x.mutable_waiting_for(), x.mutable_hang(),
                     x.mutable_master_address(), x.mutable_coordinator_host()})
    clean(*text);
  for (auto& agent : *x.mutable_agents())
    clean(agent);
  if (x.has_last_failure())
    clean(*x.mutable_last_failure());
  if (x.has_outcome())
    clean(*x.mutable_outcome());
  for (auto& node : *x.mutable_quarantined_nodes()) {
    clean(*node.mutable_agent_id());
    clean(*node.mutable_host());
  }
  for (auto& generation : *x.mutable_generations()) {
    clean(*generation.mutable_reason());
    clean(*generation.mutable_end_reason());
  }
  for (auto& node : *x.mutable_departed_nodes()) {
    clean(*node.mutable_agent_id());
    clean(*node.mutable_host());
    clean(*node.mutable_reason());
  }
  if (x.has_leadership()) {
    auto& led = *x.mutable_leadership();
    for (auto* text :
         {led.mutable_leader(), led.mutable_by(), led.mutable_reason()})
      clean(*text);
    for (auto* list : {led.mutable_voters(), led.mutable_deputies()})
      for (auto& who : *list)
        clean(who);
  }
  for (auto& spent : *x.mutable_time())
    clean(*spent.mutable_cause());
  for (auto& host : *x.mutable_excluded_hosts()) {
    clean(*host.mutable_host());
    clean(*host.mutable_reason());
  }
  return x;
}

} // namespace actorrun::cli
