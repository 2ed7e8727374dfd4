#include "actors/core/workers/worker_group_events.hpp"

namespace actorrun::core {

namespace {

std::string listed(const std::vector<uint32_t>& local_ranks) {
  auto out = std::string{};
  for (const auto x : local_ranks)
    out += (out.empty() ? "" : ",") + std::to_string(x);
  return out;
}

std::string spares_of(const parked_share& x) {
  return x.spare_count == 0 ? "" : " spares=" + std::to_string(x.spare_count);
}

struct effect_writer {
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + to_string(x.timer);
  }
  std::string operator()(const prepare_workers&) const {
    return "prepare_workers";
  }
  std::string operator()(const start_workers&) const { return "start_workers"; }
  std::string operator()(const resume_workers& x) const {
    return "resume_workers " + listed(x.local_ranks);
  }
  std::string operator()(const ask_to_park& x) const {
    return "ask_to_park " + listed(x.local_ranks);
  }
  std::string operator()(const order_steps& x) const {
    return "order_steps " + listed(x.local_ranks) + " " + to_string(x.order);
  }
  std::string operator()(const start_spares& x) const {
    return "start_spares " + listed(x.numbers);
  }
  std::string operator()(const park_worker& x) const {
    return "park_worker " + std::to_string(x.local_rank);
  }
  std::string operator()(const signal_workers& x) const {
    return "signal_workers " + std::to_string(x.signal)
           + (x.spared.empty() ? "" : " spared=" + listed(x.spared));
  }
  std::string operator()(const release_workers&) const {
    return "release_workers";
  }
  std::string operator()(const report_shortage& x) const {
    return "report_shortage " + std::to_string(x.local_rank) + ": "
           + std::to_string(x.error);
  }
  std::string operator()(const report_started&) const {
    return "report_started";
  }
  std::string operator()(const report_failed& x) const {
    return "report_failed: " + to_string(x.failure);
  }
  std::string operator()(const report_succeeded&) const {
    return "report_succeeded";
  }
  std::string operator()(const report_stopped& x) const {
    return "report_stopped"
           + (x.others.empty() ? "" : " +" + std::to_string(x.others.count()))
           + (x.unkillable_count == 0
                ? ""
                : " unkillable=" + std::to_string(x.unkillable_count))
           + (x.parked.local_ranks.empty()
                ? ""
                : " parked=" + listed(x.parked.local_ranks))
           + spares_of(x.parked);
  }
  std::string operator()(const report_parked& x) const {
    return "report_parked " + listed(x.parked.local_ranks)
           + spares_of(x.parked);
  }
  std::string operator()(const report_safe_point& x) const {
    return "report_safe_point " + to_string(x.report);
  }
  std::string operator()(const probe_workers& x) const {
    return "probe_workers " + std::to_string(x.overdue);
  }
  std::string operator()(const signal_worker& x) const {
    return "signal_worker " + std::to_string(x.local_rank) + " "
           + std::to_string(x.signal);
  }
};

} // namespace

std::string to_string(const worker_group_effect& x) {
  return std::visit(effect_writer{}, x);
}

} // namespace actorrun::core
