#include "actors/operator_stacks.hpp"

#include "actors/core/logs/log_selection.hpp"
#include "actors/operator_questions.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <utility>

namespace actorrun {

namespace {

/// In bytes: of all workers in one answer, which has to fit into a reply.
constexpr auto stacks_size_max = size_t{900} * 1024;

/// Of what stands around a worker.
constexpr auto entry_size_max = size_t{8};

/// So many nodes are named that say nothing; others are counted.
constexpr auto named_nodes_max = size_t{8};

void add(std::string& to, const std::string& trouble) {
  to += (to.empty() ? "" : "; ") + trouble;
}

} // namespace

std::string
objection_to_ranks(const google::protobuf::RepeatedField<uint32_t>& ranks,
                   uint32_t world_size) {
  if (static_cast<size_t>(ranks.size()) > core::selected_ranks_max)
    return formatted("more than {} ranks are named", core::selected_ranks_max);
  if (world_size == 0)
    return {};
  const auto i = std::ranges::find_if(
    ranks, [world_size](uint32_t x) { return x >= world_size; });
  if (i == ranks.end())
    return {};
  return formatted("the job has no rank {}: its ranks are {}", *i,
                   world_size == 1 ? "0 only"
                                   : formatted("0-{}", world_size - 1));
}

uint64_t operator_stacks::begin(const operator_question& x,
                                const node_map& nodes, uint32_t world_size) {
  const auto& ranks = x.what.stacks().ranks();
  if (const auto why = objection_to_ranks(ranks, world_size); !why.empty()) {
    x.reply(refusal_of(errc::bad_argument, why));
    return 0;
  }
  if (questions_.size() == question_count_max) {
    x.reply(refusal_of(errc::system_failure,
                       "too many operators ask for stacks: try again"));
    return 0;
  }
  const auto id = ++last_question_;
  auto& added = questions_.emplace(id, question{x}).first->second;
  auto order = v1::StacksRequest{};
  order.set_request(id);
  *order.mutable_ranks() = ranks;
  for (const auto& [agent, node] : nodes) {
    const auto has = [&node](uint32_t rank) {
      return rank >= node.first_global_rank
             && rank - node.first_global_rank < node.slot_count;
    };
    if (node.slot_count == 0
        || (!ranks.empty() && std::ranges::none_of(ranks, has)))
      continue;
    added.awaited.emplace(agent, node.host);
    tell_(agent, order);
  }
  if (added.awaited.empty())
    added.trouble = "no worker runs now";
  settle(id);
  return questions_.contains(id) ? id : 0;
}

bool operator_stacks::on_report(const agent_id& agent, v1::StacksReport x) {
  const auto i = questions_.find(x.request());
  if (i == questions_.end())
    return x.request() <= last_question_; // It comes too late.
  auto& to = i->second;
  const auto sender = to.awaited.extract(agent);
  if (!sender)
    return false;
  to.truncated = to.truncated || x.truncated();
  for (auto& worker : *x.mutable_workers()) {
    worker.set_host(sender.mapped());
    to.size += worker.ByteSizeLong() + entry_size_max;
    if (to.size > stacks_size_max) {
      to.truncated = true;
      break;
    }
    to.workers.push_back(std::move(worker));
  }
  settle(x.request());
  return true;
}

void operator_stacks::lost(const agent_id& agent) {
  auto changed = std::vector<uint64_t>{};
  for (auto& [id, x] : questions_)
    if (const auto sender = x.awaited.extract(agent)) {
      if (++x.lost_count <= named_nodes_max)
        add(x.trouble, formatted("the link to {} is down", sender.mapped()));
      changed.push_back(id);
    }
  for (const auto id : changed)
    settle(id);
}

void operator_stacks::expired(uint64_t request) {
  const auto i = questions_.find(request);
  if (i == questions_.end())
    return;
  auto& trouble = i->second.trouble;
  auto count = size_t{0};
  for (const auto& [agent, host] : std::exchange(i->second.awaited, {}))
    if (++count <= named_nodes_max)
      add(trouble, formatted("{} has not answered", host));
  if (count > named_nodes_max)
    add(trouble,
        formatted("{} more nodes have not answered", count - named_nodes_max));
  settle(request);
}

void operator_stacks::settle(uint64_t request) {
  const auto i = questions_.find(request);
  if (!i->second.awaited.empty())
    return;
  answer(i->second);
  questions_.erase(i);
}

void operator_stacks::answer(question& x) {
  if (x.lost_count > named_nodes_max)
    add(x.trouble, formatted("the links to {} more nodes are down",
                             x.lost_count - named_nodes_max));
  std::ranges::sort(x.workers, {}, &v1::WorkerStack::rank);
  auto reply = v1::OperatorReply{};
  auto& out = *reply.mutable_stacks();
  for (auto& worker : x.workers)
    *out.add_workers() = std::move(worker);
  out.set_trouble(x.trouble);
  out.set_truncated(x.truncated);
  x.who.reply(std::move(reply));
}

} // namespace actorrun
