#include "runtime/steer.hpp"

#include "runtime/network/operator_reach.hpp"

#include <cstdint>

namespace actorrun {

using namespace detail;

namespace {

result<steering_answer> answer_in(const v1::OperatorReply& x) {
  if (x.has_done())
    return steering_answer{true, shown(x.done().text())};
  auto text = shown(x.refusal().text());
  const auto code = x.refusal().code();
  if (code == static_cast<uint32_t>(errc::bad_argument))
    return steering_answer{false, std::move(text)};
  if (code == static_cast<uint32_t>(errc::connection_timed_out))
    return failure{errc::connection_timed_out, std::move(text)};
  if (code == static_cast<uint32_t>(errc::protocol_mismatch))
    return failure{errc::protocol_mismatch, std::move(text)};
  return failure{errc::not_actorrun, "the job gives an answer that is none"};
}

} // namespace

result<steering_answer> steer(const located_job& job,
                              const v1::OperatorRequest& request,
                              std::chrono::milliseconds limit) {
  const auto x = ask(reach(job, limit), request);
  return x ? answer_in(*x) : x.error();
}

} // namespace actorrun
