#include "actors/core/protocol/group_change.hpp"

#include "actors/core/end_class.hpp"
#include "actors/core/failure.hpp"
#include "actors/core/protocol/newcomers.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::core {

namespace {

/// @pre there is such a member
template <class Condition>
const agent_record& member_that(const agent_table& agents, Condition is) {
  const auto i = std::ranges::find_if(agents.records(), [&](const auto& x) {
    return is(x.second) && agents.is_at_work(x.second);
  });
  assert(i != agents.records().end());
  return i->second;
}

/// @param gpu_trouble What a rule has decided it for; empty: for something else.
end_reason with_gpus(end_reason x, std::string_view gpu_trouble) {
  if (!gpu_trouble.empty())
    x.finding = with_node_facts({}, gpu_trouble, {});
  return x;
}

/// Why a node of the generation has no place in it any more.
end_reason exclusion_of_member(const agent_table& agents,
                               const job_orders& orders) {
  const auto& x = member_that(agents, [](const auto& y) { return y.excluded; });
  const auto* why = orders.excluded().find(x.offering.host);
  assert(why != nullptr);
  const auto is_fault
    = why->reason.starts_with(gpu_fault_option) && x.gpu_trouble;
  return with_gpus(asked_for(to_string(*why), why->by),
                   is_fault ? *x.gpu_trouble : std::string{});
}

end_reason unfitness_of_member(const agent_table& agents) {
  const auto& x = member_that(
    agents, [](const auto& y) { return !y.offering.unfit.empty(); });
  return node_is_unfit(agents.title(x), x.offering.unfit);
}

end_reason drain_of_member(const agent_table& agents) {
  const auto& x
    = member_that(agents, [](const auto& y) { return y.is_draining(); });
  const auto& by = x.drain->by;
  auto text = agents.title(x) + " is to leave, asked for by " + by;
  return x.drain->is_notice ? noticed(std::move(text), by)
                            : with_gpus(asked_for(std::move(text), by),
                                        order_to_leave(x).gpu_trouble);
}

} // namespace

bool is_finishing(const agent_table& agents) {
  return agents.counts().unfinished < agents.common_plan().node_count;
}

uint32_t room_in(const agent_table& agents, const job_orders& orders) {
  const auto max = orders.settings().agent_count_max;
  return max - std::min(max, agents.counts().members);
}

group_change change_of(const agent_table& agents, const job_orders& orders,
                       const newcomers& arrived) {
  using kind = group_change::kind;
  const auto& counts = agents.counts();
  const auto max = orders.settings().agent_count_max;
  if (counts.excluded > 0)
    return {kind::exclusion, exclusion_of_member(agents, orders)};
  if (counts.unfit > 0 && !is_finishing(agents)
      && counts.candidates >= orders.settings().agent_count_min)
    return {kind::unfitness, unfitness_of_member(agents)};
  if (counts.members > max && !is_finishing(agents))
    return {kind::surplus, orders.resize_reason()};
  if (counts.draining > 0)
    return {kind::drain, drain_of_member(agents)};
  if (counts.newcomers > 0 && room_in(agents, orders) > 0
      && !is_finishing(agents))
    return {kind::newcomers, arrived.reason()};
  return {};
}

void save_request::want(time_point limit) {
  constexpr auto inaccuracy = std::chrono::seconds{30};
  const auto is_settled = settled_ && limit - *settled_ <= inaccuracy
                          && *settled_ - limit <= inaccuracy;
  if (!is_settled && !limit_)
    limit_ = limit;
}

bool save_request::settle() {
  if (!limit_)
    return false;
  settled_ = std::exchange(limit_, std::nullopt);
  return true;
}

} // namespace actorrun::core
