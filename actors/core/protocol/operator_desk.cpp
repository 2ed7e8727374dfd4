#include "actors/core/protocol/operator_desk.hpp"

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace actorrun::core {

namespace {

constexpr auto log_levels = std::array<std::string_view, 5>{
  "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

/// In an answer.
constexpr size_t listed_agents_max = 8;

failure refused(std::string why) {
  return bad_argument(std::move(why));
}

std::string range(uint32_t min, uint32_t max) {
  return nodes_asked({.agent_count_min = min, .agent_count_max = max});
}

/// `these can lead: n1-4711, n3-4713`
std::string who_can_lead(const electorate& x) {
  auto listed = std::string{};
  for (const auto& who : x.others)
    listed += (listed.empty() ? "" : ", ") + who.value;
  return listed.empty() ? "no other node can lead now"
                        : "these can lead: " + listed;
}

uint32_t count_of(const agent_table& agents, const std::string& host) {
  return uint32_t(std::ranges::count_if(agents.records(), [&](const auto& x) {
    return x.second.offering.host == host;
  }));
}

} // namespace

std::string notice_text(const agent_record& node, const std::string& words) {
  return "the notice on " + node.offering.host
         + (words.empty() ? std::string{} : " (\"" + words + "\")");
}

// -- nodes leave ---------------------------------------------------------------

operator_decision operator_desk::decide(const drain_requested& x) {
  auto out = operator_decision{
    "drain " + x.node + " in " + duration_text(x.time), std::string{}};
  out.answer = drain(x, out);
  return out;
}

result<std::string> operator_desk::drain(const drain_requested& x,
                                         operator_decision& out) {
  const auto found = find_node_now(x.node);
  if (!found)
    return found.error();
  auto& record = **found;
  const auto& agent = record.offering.agent;
  const auto& settings = orders_.settings();
  const auto node = agents_.title(record);
  if (record.leaving)
    return node + " leaves already";
  if (record.is_draining())
    return node + " leaves already, as " + record.drain->by + " has asked: in "
           + duration_text(
             std::max(*record.drain->due - view_.now, duration{0}))
           + " at the latest";
  if (record.drain && x.waits) {
    orders_.confirm_drain(agent);
    return node + " waits for a replacement already, as " + record.drain->by
           + " has asked, and then leaves in "
           + duration_text(record.drain->time);
  }
  if (!record.offering.leased)
    return refused(node
                   + " hosts the coordinator, and the job would end with it;"
                     " to end the job: actorctl stop");
  if (!record.connected)
    return refused(node + " is out of touch: its lease decides");
  const auto may_wait = x.waits && !settings.ranked;
  const auto can_go = may_wait
                        ? agents_.is_replaced(record, settings.agent_count_min)
                        : can_spare(record);
  if (!can_go && !may_wait)
    return refused("without " + node + need()
                   + (settings.ranked ? ""
                                      : "; start another one first, or give"
                                        " --wait-for-replacement"));
  auto order = drain_order{.by = x.by, .time = x.time, .asked = view_.now};
  if (!can_go) {
    record.drain = std::move(order);
    orders_.add_drain(
      {agent, x.by, std::chrono::ceil<std::chrono::milliseconds>(x.time)});
    return node
           + " leaves when another node can take its place; to let it stay:"
             " actorctl drain --cancel "
           + x.node;
  }
  return let_go(record, std::move(order), out);
}

/// @returns what becomes of the node
std::string operator_desk::let_go(agent_record& record, drain_order x,
                                  operator_decision& out) const {
  const auto node = agents_.title(record);
  const auto time = duration_text(x.time);
  out.begins_to_leave = record.offering.agent;
  record.drain = std::move(x);
  if (record.holds.value == 0)
    return node + " leaves; it has no workers";
  const auto at_safe_point
    = view_.has_safe_points && agents_.runs_current(record);
  return node + " leaves in " + time + " at the latest, or "
         + (at_safe_point ? "when all workers have come to a safe point"
                          : "when its workers have ended");
}

operator_decision operator_desk::decide(const node_noticed& x) {
  auto& record = *agents_.find(x.agent);
  const auto node = agents_.title(record);
  const auto by = notice_text(record, x.words);
  const auto time = duration_text(x.time);
  auto out = operator_decision{
    "drain " + record.offering.agent.value + " in " + time, std::string{}};
  if (record.offering.leased) {
    const auto is_missed = !can_spare(record);
    const auto is_placed = agents_.is_at_work(record);
    auto text = let_go(
      record,
      drain_order{
        .by = by, .time = x.time, .asked = view_.now, .is_notice = true},
      out);
    if (const auto* next = next_to_take_part(); next != nullptr && is_placed)
      text += "; " + agents_.title(*next) + " stands by to take its place";
    else if (is_missed)
      text += "; without it" + need() + ", so the job waits for another one";
    out.answer = std::move(text);
  } else {
    out.what = "save in " + time;
    out.answer = node
                 + " hosts the coordinator, which no other node can: the job"
                   " goes on until that machine is gone, and all workers are to"
                   " save before";
    out.saves_within = x.time;
  }
  return out;
}

/// The node that has waited longest for a place; null: none waits.
const agent_record* operator_desk::next_to_take_part() const {
  const agent_record* out = nullptr;
  for (const auto& [id, x] : agents_.records())
    if (x.is_candidate() && !agents_.is_at_work(x)
        && (out == nullptr || x.arrival < out->arrival))
      out = &x;
  return out;
}

operator_decision operator_desk::decide(const drain_withdrawal_requested& x) {
  return {"cancel the drain of " + x.node, withdraw_drain(x)};
}

// Workers that have had notice may have saved and ended.
result<std::string>
operator_desk::withdraw_drain(const drain_withdrawal_requested& x) {
  const auto found = find_node_now(x.node);
  if (!found)
    return found.error();
  auto& record = **found;
  const auto node = agents_.title(record);
  if (record.leaving || record.is_draining())
    return refused(node + " leaves already"
                   + (record.drain ? ", as " + record.drain->by + " has asked"
                                   : std::string{})
                   + ": that cannot be taken back any more");
  if (!record.waits_to_drain())
    return refused("no drain of " + node + " waits for a replacement");
  const auto by = record.drain->by;
  record.drain.reset();
  orders_.withdraw_drain(record.offering.agent);
  return node + " stays; " + by + " had asked that it leaves";
}

// -- how many nodes -------------------------------------------------------------

operator_decision operator_desk::decide(const resize_requested& x) {
  auto out = operator_decision{
    "resize " + range(x.agent_count_min, x.agent_count_max), std::string{}};
  out.answer = resize(x, out);
  return out;
}

result<std::string> operator_desk::resize(const resize_requested& x,
                                          operator_decision& out) {
  if (!view_.why_not_now.empty())
    return refused(view_.why_not_now);
  const auto min = x.agent_count_min;
  const auto max = x.agent_count_max;
  if (min < 1 || min > max || max > agents_per_generation_max)
    return refused("a job has 1 to " + std::to_string(agents_per_generation_max)
                   + " nodes, and no more as its minimum than as its maximum");
  if (orders_.settings().ranked)
    return refused("the nodes of this job have fixed ranks"
                   " (--rdzv-backend=static), so their number is fixed");
  const auto& counts = agents_.counts();
  if (view_.is_active && min > counts.candidates)
    return refused(counted(counts.candidates, "node")
                   + (counts.candidates == 1 ? " is" : " are")
                   + " here: a minimum of " + std::to_string(min)
                   + " would end the generation that runs");
  if (view_.is_active && max < counts.members && view_.is_finishing)
    return refused("some nodes have finished their work: a new generation would"
                   " throw it away");
  const auto before = nodes_asked(orders_.settings());
  const auto now = range(min, max);
  // There was no room for those that stand by.
  const auto was_full = orders_.settings().agent_count_max <= counts.members;
  const auto* noun = max == 1 ? " node" : " nodes";
  orders_.resize(min, max,
                 asked_for("resized to " + now + noun + " by " + x.by, x.by));
  agents_.resize(max);
  if (was_full)
    out.admission = orders_.resize_reason();
  if (now == before)
    return "the job has " + now + noun + " already";
  const auto surplus = counts.members - std::min(counts.members, max);
  return "resized from " + before + " to " + now + noun
         + (view_.is_active && surplus > 0
              ? "; " + counted(surplus, "node")
                  + (surplus == 1 ? " stands by" : " stand by")
              : std::string{});
}

operator_decision operator_desk::decide(const restart_requested& x) {
  const auto why = x.reason.empty() ? "" : ": " + x.reason;
  auto out = operator_decision{"restart" + why, std::string{}};
  const auto& refusal
    = view_.why_not_now.empty() ? view_.why_no_generation : view_.why_not_now;
  if (view_.why_not_now.empty() && view_.waits_to_start) {
    out.answer = std::string{"the next generation starts now"};
    out.starts_now = true;
    return out;
  }
  if (!refusal.empty()) {
    out.answer = refused(refusal);
    return out;
  }
  out.answer = "generation " + to_string(agents_.generation())
               + " is being stopped, and the next one follows;"
                 " this does not count against --max-restarts";
  out.ends_generation = asked_for("restarted by " + x.by + why, x.by);
  return out;
}

// -- which hosts ----------------------------------------------------------------

operator_decision operator_desk::decide(const exclusion_requested& x) {
  return {"exclude " + x.host + (x.reason.empty() ? "" : ": " + x.reason),
          exclude(x)};
}

result<std::string> operator_desk::exclude(const exclusion_requested& x) {
  if (!view_.why_not_now.empty())
    return refused(view_.why_not_now);
  if (!is_host_text(x.host))
    return refused("that is no name of a host");
  if (const auto* known = orders_.excluded().find(x.host)) {
    orders_.confirm_host(x.host);
    return to_string(*known) + "; it stays so";
  }
  if (orders_.excluded().is_full())
    return refused(std::to_string(excluded_hosts_max)
                   + " hosts are excluded, and no more can be");
  if (!can_spare_host(x.host))
    return refused("without host " + x.host + need()
                   + (orders_.settings().ranked
                        ? ""
                        : "; start another one first, or give"
                          " the job fewer: actorctl resize"));
  exclude(excluded_host{x.host, x.reason, x.by, view_.now});
  const auto count = count_of(agents_, x.host);
  return "host " + x.host + " is excluded"
         + (count == 0
              ? std::string{"; no node of it is here: is it spelled as in"
                            " actorctl status?"}
              : "; " + counted(count, "node") + " of it "
                  + (count == 1 ? "stands by" : "stand by"));
}

void operator_desk::exclude(excluded_host x) {
  for (const auto& [id, record] : agents_.records())
    if (record.offering.host == x.host)
      agents_.set_excluded(*agents_.find(id), true);
  orders_.exclude(std::move(x));
}

operator_decision operator_desk::decide(const inclusion_requested& x) {
  auto out = operator_decision{"include " + x.host, std::string{}};
  out.answer = include(x, out);
  return out;
}

result<std::string> operator_desk::include(const inclusion_requested& x,
                                           operator_decision& out) {
  if (!view_.why_not_now.empty())
    return refused(view_.why_not_now);
  out.newcomers_before = agents_.counts().newcomers;
  const auto was_excluded = orders_.include(x.host);
  for (const auto& [id, record] : agents_.records()) {
    if (record.offering.host != x.host)
      continue;
    agents_.set_excluded(*agents_.find(id), false);
    if (record.stands_by)
      out.no_longer_stand_by.push_back(id);
  }
  out.forgiven_host = x.host;
  out.admission
    = asked_for("host " + x.host + " is included again by " + x.by, x.by);
  if (was_excluded || !out.no_longer_stand_by.empty())
    return "host " + x.host + " may take part again";
  if (count_of(agents_, x.host) == 0)
    return refused("host " + x.host
                   + " is not excluded, and no node of it is"
                     " here: is it spelled as in actorctl status?");
  orders_.confirm_host(x.host); // An earlier coordinator may have excluded it.
  return "host " + x.host + " is not excluded; it stays so";
}

// -- who leads ----------------------------------------------------------------

operator_decision operator_desk::decide(const lead_requested& x) {
  auto out = operator_decision{"lead " + x.node, std::string{}};
  out.answer = lead(x, out);
  return out;
}

result<std::string> operator_desk::lead(const lead_requested& x,
                                        operator_decision& out) {
  if (!x.among)
    return refused("the nodes of this job do not elect its coordinator; they do"
                   " where all are started with --rdzv-conf=succession=on");
  if (x.among->by == leader_source::registry)
    return refused("etcd elects the coordinator of this job, so no node can be"
                   " chosen; it moves when its node leaves");
  const auto found = find_node_now(x.node);
  if (!found)
    return found.error();
  const auto& record = **found;
  const auto& agent = record.offering.agent;
  const auto node = agents_.title(record);
  if (agent == x.among->leader)
    return node + " leads already";
  if (std::ranges::find(x.among->others, agent) == x.among->others.end())
    return refused(
      node
      + " is neither a voter nor a deputy, so it does not know what"
        " a leader must; "
      + who_can_lead(*x.among));
  if (!record.connected || !record.is_candidate())
    return refused(node + " is leaving, or out of touch; "
                   + who_can_lead(*x.among));
  out.hands_over = hand_over_leadership{agent, x.by};
  return node
         + " takes the lead in a moment; no worker is stopped. Ask the"
           " coordinator there from then on. Nodes that are started later look"
           " for the job where --rdzv-endpoint says, and wait until the lead is"
           " there again";
}

// -- what is logged -------------------------------------------------------------

operator_decision operator_desk::decide(const log_level_requested& x) {
  auto out = operator_decision{"loglevel " + x.level
                                 + (x.node.empty() ? "" : " on " + x.node),
                               std::string{}};
  out.answer = set_level(x, out);
  return out;
}

result<std::string> operator_desk::set_level(const log_level_requested& x,
                                             operator_decision& out) {
  if (std::ranges::find(log_levels, x.level) == log_levels.end())
    return refused("there is no level " + x.level
                   + "; levels are DEBUG, INFO, WARNING, ERROR and CRITICAL");
  auto order = set_log_level{{}, x.level, x.node.empty()};
  if (order.is_for_all) {
    for (const auto& [id, record] : agents_.records())
      if (record.connected)
        order.agents.push_back(id);
    auto text = counted(order.agents.size(), "node")
                + " and the coordinator log " + x.level + " from now on";
    out.level = std::move(order);
    return text;
  }
  const auto found = find_node(x.node);
  if (!found)
    return found.error();
  if (!(*found)->connected)
    return refused(agents_.title(**found) + " is out of touch");
  order.agents.push_back((*found)->offering.agent);
  out.level = std::move(order);
  return agents_.title(**found) + " logs " + x.level + " from now on";
}

// -- which node is meant --------------------------------------------------------

result<agent_record*> operator_desk::find_node_now(const std::string& name) {
  if (!view_.why_not_now.empty())
    return refused(view_.why_not_now);
  return find_node(name);
}

result<agent_record*> operator_desk::find_node(const std::string& name) {
  if (auto* record = agents_.find({name}))
    return record;
  auto fits = std::vector<agent_record*>{};
  for (const auto& [id, x] : agents_.records())
    if (x.offering.host == name)
      fits.push_back(agents_.find(id));
  if (fits.empty() && view_.is_active)
    for (const auto& [id, x] : agents_.records())
      if (x.member_of == agents_.generation()
          && std::to_string(x.place.node_rank) == name)
        fits.push_back(agents_.find(id));
  if (fits.empty())
    return refused(why_unknown(name));
  if (fits.size() == 1)
    return fits.front();
  auto listed = std::string{};
  for (size_t i = 0; i < std::min(fits.size(), listed_agents_max); ++i)
    listed += (i == 0 ? "" : ", ") + fits[i]->offering.agent.value;
  return refused("host " + name + " has several agents; name one of them: "
                 + listed + (fits.size() > listed_agents_max ? ", ..." : ""));
}

std::string operator_desk::why_unknown(const std::string& name) const {
  if (const auto* gone = agents_.find_gone(name))
    return "node " + name + " is not in this job any more: " + gone->reason;
  return "this job has no node " + name
         + "; it is named by its host, its agent or its node rank, as in"
           " actorctl status";
}

// -- how many are left ----------------------------------------------------------

/// ` fewer nodes are left than the job needs, which is 2`
std::string operator_desk::need() const {
  return " fewer nodes are left than the job needs, which is "
         + std::to_string(orders_.settings().agent_count_min);
}

bool operator_desk::can_spare(const agent_record& x) const {
  return are_enough(agents_.counts().candidates - (x.is_candidate() ? 1 : 0),
                    x.is_candidate());
}

bool operator_desk::can_spare_host(const std::string& host) const {
  auto rest = uint32_t{0};
  auto is_missed = false;
  for (const auto& [id, x] : agents_.records()) {
    if (x.offering.host != host)
      rest += x.is_candidate();
    else
      is_missed |= x.is_candidate()
                   || (view_.is_active && x.member_of == agents_.generation());
  }
  return are_enough(rest, is_missed);
}

// Where no generation runs and too few are here anyway, fewer make no difference.
// Where one runs, some of its nodes may be out of touch just now.
bool operator_desk::are_enough(uint32_t rest, bool is_missed) const {
  const auto min = orders_.settings().agent_count_min;
  return !is_missed || rest >= min
         || (!view_.is_active && agents_.counts().candidates < min);
}

} // namespace actorrun::core
