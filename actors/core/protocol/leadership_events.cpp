#include "actors/core/protocol/leadership_events.hpp"

namespace actorrun::core {

namespace {

struct leadership_effect_writer {
  std::string operator()(const read_entry&) const { return "read_entry"; }
  std::string operator()(const open_lease&) const { return "open_lease"; }
  std::string operator()(const campaign& x) const {
    return "campaign " + std::to_string(x.lease) + " over "
           + std::to_string(x.expected_revision) + " and "
           + std::to_string(x.expected_job_revision);
  }
  std::string operator()(const open_coordinator& x) const {
    return std::string{"open_coordinator"}
           + (x.successor ? " as successor" : "")
           + (x.terms_before == 0
                ? ""
                : ", terms before: " + std::to_string(x.terms_before));
  }
  std::string operator()(const publish& x) const {
    return "publish " + x.endpoint + " at " + std::to_string(x.revision);
  }
  std::string operator()(const write_job& x) const {
    return "write_job at " + std::to_string(x.job.revision)
           + (x.is_over ? ", over" : "");
  }
  std::string operator()(const report_outcome_written&) const {
    return "report_outcome_written";
  }
  std::string operator()(const renew_lease& x) const {
    return "renew_lease " + std::to_string(x.lease);
  }
  std::string operator()(const end_lease& x) const {
    return "end_lease " + std::to_string(x.lease)
           + (x.job_over ? " and job" : "");
  }
  std::string operator()(const set_leadership_end& x) const {
    using std::chrono::milliseconds;
    const auto at
      = std::chrono::duration_cast<milliseconds>(x.due.time_since_epoch());
    return x.due == time_point{}
             ? "set_leadership_end now"
             : "set_leadership_end " + std::to_string(at.count());
  }
  std::string operator()(const close_coordinator& x) const {
    return "close_coordinator: " + x.reason;
  }
  std::string operator()(const try_endpoint& x) const {
    return "try_endpoint " + x.endpoint;
  }
  std::string operator()(const report_here&) const { return "report_here"; }
  std::string operator()(const report_missing& x) const {
    return "report_missing " + std::string{to_string(x.why.code)};
  }
  std::string operator()(const log_registry& x) const {
    return x.trouble ? "log_registry away" : "log_registry back";
  }
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + std::to_string(x.timer.value);
  }
};

} // namespace

std::string to_string(const leadership_effect& x) {
  return std::visit(leadership_effect_writer{}, x);
}

} // namespace actorrun::core
