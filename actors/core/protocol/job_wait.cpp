#include "actors/core/protocol/job_wait.hpp"

#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

/// `2 nodes stop their workers`
std::string stopping_nodes(size_t n) {
  return counted(n, "node") + (n == 1 ? " stops its" : " stop their")
         + " workers";
}

} // namespace

std::string to_string(rendezvous_phase x) {
  switch (x) {
    case rendezvous_phase::gathering:
      return "gathering";
    case rendezvous_phase::last_call:
      return "last_call";
    case rendezvous_phase::starting:
      return "starting";
    case rendezvous_phase::running:
      return "running";
    case rendezvous_phase::stopping:
      return "stopping";
    case rendezvous_phase::ended:
      return "ended";
  }
  return "unknown";
}

std::string job_wait::nodes_here() const {
  return std::to_string(counts.candidates) + " of " + nodes_asked(settings)
         + " nodes are here"
         + (counts.kept_out > 0 ? ", and " + counted(counts.kept_out, "more")
                                    + " that can take no part"
                                : "");
}

std::string job_wait::text() const {
  const auto here = nodes_here();
  switch (phase) {
    case rendezvous_phase::gathering:
      if (counts.holding > 0 && !is_listening)
        return stopping_nodes(counts.holding) + " of an older generation";
      if (holds_back)
        return "listening for agents of an earlier coordinator";
      if (!alike.empty())
        return "the next start waits: " + alike;
      if (!awaited_check.empty())
        return "waiting for the check of " + awaited_check
               + ": no restart is left, unless the node was at fault";
      return "waiting for "
             + counted(
               settings.agent_count_min
                 - std::min(settings.agent_count_min, counts.candidates),
               "more node")
             + ": " + here;
    case rendezvous_phase::last_call:
      return "last call for more nodes: " + here;
    case rendezvous_phase::starting:
      return counted(counts.starting, "node")
             + (counts.starting == 1 ? " starts its" : " start their")
             + " workers of generation " + to_string(generation);
    case rendezvous_phase::stopping:
      return stopping_nodes(counts.holding) + " of generation "
             + to_string(generation) + " (" + reason + ")";
    case rendezvous_phase::running:
      if (on_the_way)
        return on_the_way->reason + ": " + way_to_safe_point();
      if (counts.newcomers > 0 && counts.members >= settings.agent_count_max)
        return counted(counts.newcomers, "node")
               + (counts.newcomers == 1 ? " stands by: " : " stand by: ")
               + maximum();
      if (counts.newcomers > 0)
        return counted(counts.newcomers, "more node")
               + (counts.newcomers == 1 ? " is here: " : " are here: ")
               + admission("with all", "the rest stands by");
      return {};
    case rendezvous_phase::ended:
      break;
  }
  return {};
}

std::string job_wait::text_for_node() const {
  if (phase == rendezvous_phase::starting || phase == rendezvous_phase::running)
    return admission("with this one", "this one stands by");
  auto out = text();
  if (is_listening)
    out += ": " + nodes_here();
  if (time_left && !out.empty())
    out += " (" + duration_text(*time_left) + " at most)";
  return out;
}

std::string job_wait::way_to_safe_point() const {
  if (!on_the_way->step)
    return "the workers are asked for a safe point";
  return "the workers go on to step " + std::to_string(*on_the_way->step);
}

std::string job_wait::maximum() const {
  return "the maximum is " + counted(settings.agent_count_max, "node");
}

// When those that are not in the generation are let in.
std::string job_wait::admission(const std::string& with,
                                const std::string& otherwise) const {
  const auto running = "generation " + to_string(generation) + " runs with "
                       + counted(counts.members, "node");
  if (counts.members >= settings.agent_count_max)
    return otherwise + ": " + maximum();
  if (counts.draining > 0)
    return running + "; the job starts again " + with
           + " when a node has left that is to leave";
  if (on_the_way)
    return running + "; the job starts again " + with + ": "
           + way_to_safe_point();
  if (awaits_ahead)
    return running + "; the job starts again " + with
           + " when the new workers are ready";
  if (counts.unfinished < counts.members)
    return running + " and is about to end; " + otherwise;
  if (newcomers_wait > duration::zero()) {
    using std::chrono::seconds;
    return running + "; nodes come and go, so the job starts again " + with
           + " in "
           + std::to_string(std::chrono::ceil<seconds>(newcomers_wait).count())
           + " s";
  }
  return running + "; the job starts again " + with + " in a moment";
}

} // namespace actorrun::core
