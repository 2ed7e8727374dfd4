#include "actors/steering.hpp"

#include "actors/core/failure.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>

namespace actorrun {

using namespace core;

namespace {

/// In bytes.
constexpr auto by_size_max = size_t{160};
constexpr auto name_size_max = size_t{320};
constexpr auto asked_reason_size_max = size_t{160};

duration time_of(const v1::DrainNode& x) {
  using std::chrono::milliseconds;
  constexpr auto max = milliseconds{drain_time_max};
  if (x.deadline_ms() == 0)
    return drain_time_default;
  return milliseconds{std::min<uint64_t>(x.deadline_ms(), max.count())};
}

} // namespace

bool is_steering(const v1::OperatorRequest& x) {
  switch (x.what_case()) {
    case v1::OperatorRequest::kDrain:
    case v1::OperatorRequest::kCancelDrain:
    case v1::OperatorRequest::kResize:
    case v1::OperatorRequest::kRestart:
    case v1::OperatorRequest::kStop:
    case v1::OperatorRequest::kExclude:
    case v1::OperatorRequest::kInclude:
    case v1::OperatorRequest::kLogLevel:
    case v1::OperatorRequest::kLead:
    case v1::OperatorRequest::kElect:
      return true;
    default:
      return false;
  }
}

rendezvous_event steering_event(const v1::OperatorRequest& x,
                                const std::string& who) {
  assert(is_steering(x));
  const auto name
    = [](const std::string& text) { return one_line(text, name_size_max); };
  const auto reason = [](const std::string& text) {
    return one_line(text, asked_reason_size_max);
  };
  auto by = one_line(who, by_size_max);
  if (by.empty())
    by = "an operator";
  switch (x.what_case()) {
    case v1::OperatorRequest::kDrain:
      return drain_requested{name(x.drain().node()), time_of(x.drain()),
                             x.drain().wait_for_replacement(), by};
    case v1::OperatorRequest::kCancelDrain:
      return drain_withdrawal_requested{name(x.cancel_drain().node()), by};
    case v1::OperatorRequest::kResize:
      return resize_requested{x.resize().agent_count_min(),
                              x.resize().agent_count_max(), by};
    case v1::OperatorRequest::kRestart:
      return restart_requested{by, reason(x.restart().reason())};
    case v1::OperatorRequest::kExclude:
      return exclusion_requested{name(x.exclude().host()), by,
                                 reason(x.exclude().reason())};
    case v1::OperatorRequest::kInclude:
      return inclusion_requested{name(x.include().host()), by};
    case v1::OperatorRequest::kLogLevel:
      return log_level_requested{name(x.log_level().level()),
                                 name(x.log_level().node()), by};
    case v1::OperatorRequest::kLead:
      return lead_requested{name(x.lead().node()), by, {}};
    default:
      return stop_requested{SIGTERM, by, reason(x.stop().reason())};
  }
}

} // namespace actorrun
