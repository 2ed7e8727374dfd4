#include "cli/top/actions.hpp"

#include "actors/core/text.hpp"
#include "cli/report/steer_question.hpp"
#include "messages/formatted.hpp"

namespace actorrun::cli::top {

namespace {

/// Of each worker's output, to begin with.
constexpr uint32_t log_tail = 100;

std::string nodes_of(const target& x) {
  return x.agent ? name_of(x) : "all nodes and the coordinator";
}

} // namespace

std::vector<action> bound_actions() {
  constexpr auto all = action_scope{true, true, true};
  constexpr auto nodes = action_scope{.jobs = true, .nodes = true};
  // A lone job has no row, so what is for all of it has keys of its own.
  return {
    {'l', "the log of this worker or node as it grows", all, verb::show_log},
    {'t', "the stack of this worker, or of all of this node", all,
     verb::show_stack},
    {'T',
     "the stacks of all workers: who is the odd one out",
     {.jobs = true},
     verb::show_stack},
    {'D', "drain this node: it leaves gently", {.nodes = true}, verb::drain},
    {'R', "restart all workers", {.jobs = true}, verb::restart},
    {'L', "change the log level of this node", nodes, verb::log_level},
    {'A', "change the log level of all nodes", {.jobs = true}, verb::log_level},
  };
}

bool is_steering(verb x) {
  return x != verb::show_log && x != verb::show_stack;
}

std::string name_of(const target& x) {
  if (!x.agent)
    return "job " + x.job;
  const auto host = core::printable(x.host);
  if (x.local_rank)
    return x.ranks.empty() ? formatted("worker {} ({})", *x.local_rank, host)
                           : formatted("rank {} ({})", x.ranks.front(), host);
  return x.node_rank ? formatted("node {} ({})", *x.node_rank, host)
                     : formatted("node {}", host);
}

std::string purpose_of(verb what, const target& x, const std::string& level,
                       const v1::JobStatus* job) {
  if (job != nullptr)
    if (auto out = question_before(request_of(what, x, level), *job);
        !out.empty())
      return out;
  switch (what) {
    case verb::drain:
      return formatted("drain {}: its workers get notice, then it leaves",
                       name_of(x));
    case verb::restart:
      return formatted("restart all workers of {}", name_of(x));
    case verb::log_level:
      return formatted("log level {} for {}", level, nodes_of(x));
    default:
      return name_of(x);
  }
}

v1::OperatorRequest request_of(verb what, const target& x,
                               const std::string& level) {
  auto out = v1::OperatorRequest{};
  if (what == verb::drain)
    out.mutable_drain()->set_node(x.agent.value_or(""));
  if (what == verb::restart)
    out.mutable_restart();
  if (what == verb::log_level) {
    out.mutable_log_level()->set_level(level);
    out.mutable_log_level()->set_node(x.agent.value_or(""));
  }
  return out;
}

logs_arguments log_of(const target& x) {
  auto out = logs_arguments{};
  out.node = x.agent.value_or("");
  if (x.local_rank)
    out.what.ranks = x.ranks;
  out.what.follow = true;
  out.what.tail = log_tail;
  return out;
}

} // namespace actorrun::cli::top
