#include "actors/operator_readings.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"
#include "actors/log_messages.hpp"
#include "actors/operator_questions.hpp"
#include "actors/operator_stacks.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace actorrun {

namespace {

/// In bytes, of what an agent says.
constexpr auto trouble_max = size_t{512};

/// Why a selection makes no sense; empty: it does.
std::string objection_to(const v1::ReadLogs& x, uint32_t world_size) {
  if (const auto ok = core::check_pattern(x.what().grep()); !ok)
    return ok.error().text;
  return objection_to_ranks(x.what().ranks(),
                            x.what().previous() ? 0 : world_size);
}

/// So many hosts are named; others are counted.
constexpr auto named_hosts_max = size_t{64};

std::string hosts_in(const operator_readings::node_map& nodes) {
  auto names = std::set<std::string>{};
  for (const auto& [agent, node] : nodes)
    names.insert(node.host);
  auto out = std::string{};
  auto count = size_t{0};
  for (const auto& x : names)
    if (++count <= named_hosts_max)
      out += (out.empty() ? "" : ", ") + x;
  if (count > named_hosts_max)
    out += formatted(" and {} more", count - named_hosts_max);
  return out.empty() ? "none is connected" : "there are " + out;
}

} // namespace

bool means(const std::string& name, const agent_id& agent,
           const named_node& node) {
  return name.empty() || name == agent.value || name == node.host
         || (node.node_rank && name == std::to_string(*node.node_rank));
}

void operator_readings::begin(const operator_question& x, const node_map& nodes,
                              const job_generations& known) {
  const auto& request = x.what.logs();
  if (const auto why = objection_to(request, known.world_size); !why.empty())
    return x.reply(refusal_of(errc::bad_argument, why));
  auto agents = std::set<agent_id>{};
  for (const auto& [agent, node] : nodes)
    if (means(request.node(), agent, node))
      agents.insert(agent);
  if (agents.empty() && !request.node().empty())
    return x.reply(refusal_of(
      errc::bad_argument,
      formatted("the job has no node {}; {}",
                core::one_line(request.node(), trouble_max), hosts_in(nodes))));
  const auto generation
    = request.what().previous() ? known.previous : known.newest;
  if (request.what().previous() && generation.value == 0)
    return say(reading{x}, "no generation before this one is known", true);
  const auto is_cut = agents.size() > core::log_fanout::agent_count_max;
  while (agents.size() > core::log_fanout::agent_count_max)
    agents.erase(std::prev(agents.end()));
  const auto id
    = fanout_.begin(agents, request.window(), request.what().follow());
  if (!id)
    return x.reply(refusal_of(
      errc::system_failure,
      formatted("{} readings of this job's logs are going on: end one",
                core::log_fanout::reading_count_max)));
  auto& added = readings_.emplace(*id, reading{x}).first->second;
  for (const auto& [agent, node] : nodes)
    if (agents.contains(agent))
      added.hosts.emplace(agent, node.host);
  // The operator waits for a sign.
  say(added, is_cut ? formatted("only {} nodes are read; --node names one",
                                agents.size())
                    : "");
  for (const auto& agent : agents)
    tell_begin(*id, agent, generation, false);
  if (!agents.empty() || request.what().follow())
    return;
  say(added, "no node is connected", true);
  fanout_.end(*id);
  readings_.erase(*id);
}

// Lines that were sent already are not sent twice.
void operator_readings::tell_begin(uint64_t id, const agent_id& agent,
                                   generation_id generation, bool is_back) {
  auto order = v1::LogReading{};
  order.set_reading(id);
  *order.mutable_what() = readings_.at(id).who.what.logs().what();
  order.mutable_what()->set_generation(generation.value);
  if (is_back)
    order.mutable_what()->set_tail(0);
  order.set_credit(fanout_.share_of(id));
  tell_.begin(agent, order);
}

void operator_readings::add_credit(const operator_question& x) {
  const auto& credit = x.what.log_credit();
  const auto i = std::ranges::find_if(readings_, [&](const auto& y) {
    const auto& who = y.second.who;
    return who.session == x.session && who.what.number() == credit.number();
  });
  if (i == readings_.end())
    return; // It has ended.
  const auto id = i->first;
  auto order = v1::LogCredit{};
  order.set_reading(id);
  if (credit.size() == 0) {
    for (const auto& agent : fanout_.end(id))
      tell_.grant(agent, order);
    readings_.erase(i);
    return;
  }
  for (const auto& grant : fanout_.taken(id, credit.size())) {
    order.set_size(grant.size);
    tell_.grant(grant.agent, order);
  }
}

bool operator_readings::on_chunk(const agent_id& agent, v1::LogChunk x) {
  const auto id = x.reading();
  if (!fanout_.knows(id) || !fanout_.sent(id, agent, cost_of(x.lines())))
    return !fanout_.knows(id); // It is over: that is usual.
  const auto i = readings_.find(id);
  const auto host = i->second.hosts.at(agent);
  if (!x.trouble().empty())
    x.set_trouble(host + ": " + core::one_line(x.trouble(), trouble_max));
  const auto is_over = x.is_end() && fanout_.ended(id, agent);
  x.set_is_end(is_over);
  if (x.lines_size() > 0 || !x.trouble().empty() || is_over)
    i->second.who.reply(to_reply(std::move(x), host));
  if (is_over)
    readings_.erase(i);
  return true;
}

void operator_readings::joined(const agent_id& agent, const named_node& node,
                               generation_id newest) {
  for (auto& [id, x] : readings_) {
    const auto& request = x.who.what.logs();
    if (!request.what().follow() || !means(request.node(), agent, node)
        || !fanout_.add(id, agent))
      continue;
    const auto is_back = !x.hosts.emplace(agent, node.host).second;
    if (is_back)
      say(x, node.host
               + " is back; lines that were written meanwhile are left "
                 "out");
    tell_begin(id, agent, newest, is_back);
  }
}

void operator_readings::lost(const agent_id& agent, bool has_ended) {
  for (const auto id : fanout_.readings_of(agent)) {
    const auto i = readings_.find(id);
    const auto is_over = fanout_.lost(id, agent);
    const auto& host = i->second.hosts.at(agent);
    say(i->second,
        has_ended
          ? formatted("the job ended before all lines of {} were shown", host)
          : formatted("the link to {} is down: its lines end here", host),
        is_over);
    if (is_over)
      readings_.erase(i);
  }
}

void operator_readings::close() {
  for (const auto& [id, x] : readings_) {
    fanout_.end(id);
    say(x, "", true);
  }
  readings_.clear();
}

void operator_readings::say(const reading& to, std::string trouble,
                            bool is_end) {
  auto reply = v1::OperatorReply{};
  reply.mutable_logs()->set_trouble(std::move(trouble));
  reply.mutable_logs()->set_is_end(is_end);
  to.who.reply(std::move(reply));
}

} // namespace actorrun
