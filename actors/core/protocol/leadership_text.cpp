// Leadership as one line of text, for transcripts and logs.
#include "actors/core/protocol/leadership.hpp"

namespace actorrun::core {

namespace {

struct effect_writer {
  std::string operator()(const read_entry&) const { return "read_entry"; }
  std::string operator()(const open_lease&) const { return "open_lease"; }
  std::string operator()(const campaign& x) const {
    return "campaign " + std::to_string(x.lease) + " over "
           + std::to_string(x.expected_revision);
  }
  std::string operator()(const open_coordinator& x) const {
    return std::string{"open_office"} + (x.successor ? " as successor" : "")
           + (x.terms_before == 0
                ? ""
                : ", terms before: " + std::to_string(x.terms_before));
  }
  std::string operator()(const publish& x) const {
    return "publish " + x.endpoint + " at " + std::to_string(x.revision);
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
             ? "set_office_end now"
             : "set_office_end " + std::to_string(at.count());
  }
  std::string operator()(const close_coordinator& x) const {
    return "close_office: " + x.reason;
  }
  std::string operator()(const try_endpoint& x) const {
    return "try_endpoint " + x.endpoint;
  }
  std::string operator()(const tell_here&) const { return "tell_here"; }
  std::string operator()(const tell_missing& x) const {
    return "tell_missing " + std::string{to_string(x.why.code)};
  }
  std::string operator()(const note_registry& x) const {
    return x.trouble ? "note_registry away" : "note_registry back";
  }
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + std::to_string(x.timer.value);
  }
};

} // namespace

std::string to_string(const leadership_effect& x) {
  return std::visit(effect_writer{}, x);
}

std::string to_string(leadership::phase x) {
  using phase = leadership::phase;
  switch (x) {
    case phase::idle:
      return "idle";
    case phase::reading:
      return "reading";
    case phase::connecting:
      return "connecting";
    case phase::opening_lease:
      return "opening lease";
    case phase::campaigning:
      return "campaigning";
    case phase::opening:
      return "opening";
    case phase::publishing:
      return "publishing";
    case phase::leading:
      return "leading";
    case phase::renewing:
      return "renewing";
    case phase::checking:
      return "checking";
    case phase::retired:
      return "retired";
  }
  return "unknown";
}

} // namespace actorrun::core
