#include "cli/report/journal_view.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/stragglers/straggler.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

namespace actorrun::cli {

namespace {

using namespace core;
using namespace core::journal;

/// In bytes, of what other programs say.
constexpr size_t journal_text_size_max = 300;

std::string line_text(const std::string& text) {
  return one_line(text, journal_text_size_max);
}

std::string host_of(const agent_id& agent, const snapshot& known) {
  const auto i = known.nodes.find(agent);
  if (i != known.nodes.end())
    return line_text(i->second.now->host);
  for (const auto& x : known.departures)
    if (x.last.agent == agent)
      return line_text(x.last.host);
  return line_text(agent.value);
}

/// What each kind of record says; none: nothing that others do not say better.
struct describe {
  const snapshot& known;
  using text = std::optional<std::string>;

  text operator()(const coordinator_began& x) const {
    return formatted("coordinator of job {} begins: pid {} on {}, {}{}",
                     line_text(x.job.value), x.pid, line_text(x.host),
                     to_string(x.settings),
                     x.is_successor ? "; it waits for nodes that still run "
                                      "workers of an earlier coordinator"
                                    : "");
  }
  text operator()(const leader_chosen& x) const {
    return formatted("{} leads the job, term {}, elected by {}: {}",
                     x.agent.value.empty() ? line_text(known.coordinator.host)
                                           : line_text(x.agent.value),
                     x.term,
                     x.by == leader_source::voters ? "the agents" : "etcd",
                     line_text(to_string(x.change(), x.agent)));
  }
  text operator()(const voters_changed& x) const {
    const auto list = [](const std::vector<agent_id>& xs) {
      auto out = std::string{};
      for (const auto& y : xs)
        out += (out.empty() ? "" : ", ") + line_text(y.value);
      return out;
    };
    return formatted(
      "term {}, voters: {}{}", x.term, list(x.voters),
      x.deputies.empty() ? "" : "; can lead, too: " + list(x.deputies));
  }
  text operator()(const leadership_given_up& x) const {
    return "this coordinator leads the job no more: " + line_text(x.reason);
  }
  text operator()(const phase_changed&) const { return {}; }
  text operator()(const wait_changed& x) const {
    using enum rendezvous_phase;
    const auto is_brief = known.phase == starting || known.phase == stopping;
    return x.text.empty() || is_brief ? text{} : line_text(x.text);
  }
  text operator()(const node_changed&) const { return {}; }
  text operator()(const quarantine_changed& x) const {
    return counted(x.nodes.size(), "node") + " in quarantine";
  }
  text operator()(const node_joined& x) const {
    return formatted("node {} {} ({})", line_text(x.host),
                     x.is_back ? "is back" : "joins", line_text(x.agent.value));
  }
  text operator()(const node_refused& x) const {
    return formatted("node {} is refused: {}", line_text(x.host),
                     line_text(x.text));
  }
  text operator()(const node_out_of_touch& x) const {
    return formatted("node {} is out of touch", host_of(x.agent, known));
  }
  text operator()(const node_leaving& x) const {
    return formatted("node {} is about to leave{}", host_of(x.agent, known),
                     x.signal == 0 ? "" : formatted(" (signal {})", x.signal));
  }
  text operator()(const node_gone& x) const {
    return formatted("node {} is gone: {}", host_of(x.agent, known),
                     line_text(x.reason));
  }
  text operator()(const generation_formed& x) const {
    return formatted("generation {} {}: {}, {}{}", to_string(x.generation),
                     x.adopted ? "is taken over" : "is formed",
                     counted(x.node_count, "node"),
                     counted(x.world_size, "worker"),
                     x.reason.empty() || has_cause(known.generations.size() - 1)
                       ? ""
                       : ", because " + line_text(x.reason));
  }
  text operator()(const generation_running& x) const {
    return formatted("generation {} runs", to_string(x.generation));
  }
  text operator()(const worker_died& x) const {
    return line_text(to_string(x.failure));
  }
  text operator()(const generation_revoked& x) const {
    return formatted(
      "generation {} is being stopped{}", to_string(x.generation),
      has_cause(known.generations.size()) ? "" : ": " + line_text(x.reason));
  }
  text operator()(const generation_stopped&) const {
    return known.generations.empty()
             ? text{}
             : why_generation(known, known.generations.size() - 1).sentence;
  }
  /// Whether the line of a death has said why the generation before this index
  /// ended.
  bool has_cause(size_t end) const {
    return end > 0 && known.generations[end - 1].cause.has_value();
  }
  text operator()(const end_requested& x) const {
    return x.by.empty()
             ? text{formatted("the job is asked to end (signal {})", x.signal)}
             : text{};
  }
  text operator()(const operator_asked& x) const {
    return formatted("{} asks: {}; {}: {}", line_text(x.by), line_text(x.what),
                     x.done ? "done" : "refused", line_text(x.answer));
  }
  text operator()(const settings_changed& x) const {
    return "the job has " + nodes_asked(x.settings)
           + (x.settings.agent_count_max == 1 ? " node" : " nodes");
  }
  text operator()(const exclusions_changed& x) const {
    auto hosts = std::string{};
    for (const auto& y : x.hosts)
      hosts += (hosts.empty() ? "" : ", ") + line_text(y.host);
    return hosts.empty() ? "no host is excluded any more"
                         : "excluded hosts: " + hosts;
  }
  text operator()(const gpus_changed& x) const {
    return formatted("node {}: {}", host_of(x.agent, known),
                     x.trouble.empty() ? "its GPUs are well again"
                                       : line_text(x.trouble));
  }
  text operator()(const hang_changed& x) const {
    return x.text.empty()
             ? formatted("generation {} does not hang any more",
                         to_string(x.generation))
             : formatted("generation {} hangs: {}", to_string(x.generation),
                         line_text(x.text));
  }
  text operator()(const stragglers_changed& x) const {
    return x.named.empty()
             ? formatted("generation {}: no worker is slower than the others "
                         "any more",
                         to_string(x.generation))
             : formatted("generation {}: {}", to_string(x.generation),
                         line_text(sentence_of(x.named, x.count)));
  }
  text operator()(const node_saved& x) const {
    return formatted("node {}: its workers {}; that took {} of worker time of "
                     "generation {} by now",
                     host_of(x.agent, known),
                     x.saved_up_to ? "have saved" : "save",
                     duration_text(std::max(x.saving, duration::zero())),
                     to_string(x.generation));
  }
  text operator()(const failure_attributed& x) const {
    const auto subject
      = formatted("the failure of generation {} ", to_string(x.generation));
    const auto host = host_of(x.agent, known);
    switch (x.to) {
      case attribution::awaited:
        return subject + "costs a restart unless a check of node " + host
               + " fails";
      case attribution::node:
        return subject + "costs no restart: node " + host
               + " is at fault: " + line_text(x.text);
      case attribution::program:
        return subject + "is the program's: no check of node " + host
               + " has failed";
    }
    return {};
  }
  text operator()(const job_ended& x) const {
    return formatted("the job ends: {}: {}", to_string(x.result.kind),
                     line_text(x.result.reason));
  }
  text operator()(const coordinator_ended&) const {
    return "the coordinator has ended: all is told";
  }
};

} // namespace

std::string clock_text(int64_t wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / 1'000);
  auto parts = std::tm{};
  ::localtime_r(&seconds, &parts);
  char text[16];
  const auto size = std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return formatted("{}.{:03}", std::string_view{text, size}, wall_ms % 1'000);
}

std::string date_text(int64_t wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / 1'000);
  auto parts = std::tm{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  const auto size
    = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const auto minutes = parts.tm_gmtoff / 60;
  return formatted("{}.{:03}{}{:02}:{:02}", std::string_view{text, size},
                   wall_ms % 1'000, minutes < 0 ? '-' : '+',
                   std::abs(minutes) / 60, std::abs(minutes) % 60);
}

namespace {

/// Which node a record is about.
struct node_matcher {
  const snapshot& known;
  const std::string& node;

  bool is_it(const agent_id& agent, std::string_view host = {}) const {
    if (node == host || node == agent.value.get())
      return true;
    const auto i = known.nodes.find(agent);
    if (i != known.nodes.end())
      return i->second.now->host == node;
    return std::ranges::any_of(known.departures, [&](const auto& x) {
      return x.last.agent == agent && x.last.host == node;
    });
  }

  bool operator()(const node_joined& x) const { return is_it(x.agent, x.host); }
  bool operator()(const node_refused& x) const {
    return is_it(x.agent, x.host);
  }
  bool operator()(const node_out_of_touch& x) const { return is_it(x.agent); }
  bool operator()(const node_leaving& x) const { return is_it(x.agent); }
  bool operator()(const node_gone& x) const { return is_it(x.agent); }
  bool operator()(const node_changed& x) const {
    return is_it(x.now->agent, x.now->host);
  }
  bool operator()(const gpus_changed& x) const { return is_it(x.agent); }
  bool operator()(const node_saved& x) const { return is_it(x.agent); }
  bool operator()(const leader_chosen& x) const { return is_it(x.agent); }
  bool operator()(const worker_died& x) const {
    return is_it(x.failure.agent, x.failure.host);
  }
  bool operator()(const generation_stopped& x) const {
    return x.cause && is_it(x.cause->agent, x.cause->host);
  }
  /// `drain n2`
  bool operator()(const operator_asked& x) const {
    return (x.what + " ").find(" " + node + " ") != std::string::npos;
  }
  bool operator()(const quarantine_changed& x) const {
    return std::ranges::any_of(
      x.nodes, [&](const auto& y) { return is_it(y.agent, y.host); });
  }
  bool operator()(const exclusions_changed& x) const {
    return std::ranges::any_of(x.hosts,
                               [&](const auto& y) { return y.host == node; });
  }
  /// Of the whole job.
  template <class T>
  bool operator()(const T&) const {
    return false;
  }
};

} // namespace

bool is_about(const record& x, const snapshot& known, const std::string& node) {
  return std::visit(node_matcher{known, node}, *x.what);
}

std::optional<std::string> line_of(const record& x, const snapshot& known) {
  const auto text = std::visit(describe{known}, *x.what);
  if (!text)
    return {};
  return formatted("{}  +{:<10}  {}\n", date_text(x.at.wall_ms),
                   duration_text(x.at.when - known.began.when), *text);
}

std::string to_text(const explanation& x) {
  auto text = x.sentence + "\n";
  for (const auto& line : x.evidence)
    text += "  " + line + "\n";
  return text;
}

namespace {

/// So many ends in a row are folded: the first and the last, and a line between them.
constexpr size_t alike_min = 4;

// A process number differs from one end to the next, and so may the node's agent.
bool is_alike(const explanation& x, const explanation& y) {
  if (!x.cause || !y.cause)
    return false;
  const auto of_worker = [](const culprit& c) {
    return c.failure ? std::pair{c.failure->global_rank + 1U,
                                 c.failure->details.message}
                     : std::pair{0U, std::string{}};
  };
  return x.cause->what == y.cause->what && x.cause->host == y.cause->host
         && x.cause->reason == y.cause->reason
         && of_worker(*x.cause) == of_worker(*y.cause);
}

} // namespace

std::string to_text(const std::vector<explanation>& parts) {
  auto text = std::string{};
  for (size_t first = 0; first < parts.size();) {
    auto end = first + 1;
    while (end < parts.size() && is_alike(parts[first], parts[end]))
      ++end;
    const auto is_folded = end - first >= alike_min;
    for (auto i = first; i < end; ++i)
      if (!is_folded || i == first || i == end - 1)
        text += to_text(parts[i]);
      else if (i == first + 1)
        text += formatted("Generations {} to {} ended in the same way.\n",
                          to_string(parts[i].generation),
                          to_string(parts[end - 2].generation));
    first = end;
  }
  return text;
}

namespace {

using json = nlohmann::ordered_json;

std::string how(failure_kind x) {
  switch (x) {
    case failure_kind::exited:
      return "exited";
    case failure_kind::signalled:
      return "killed";
    case failure_kind::not_started:
      return "not_started";
    case failure_kind::timer_expired:
      return "timer_expired";
    case failure_kind::unkillable:
      return "unkillable";
  }
  return "unknown";
}

json to_json(const worker_failure& x) {
  const auto is_signal = x.kind == failure_kind::signalled
                         || x.kind == failure_kind::timer_expired
                         || x.kind == failure_kind::unkillable;
  auto out = json{{"rank", x.global_rank},
                  {"local_rank", x.local_rank},
                  {"pid", x.pid == 0 ? json{} : json(x.pid)},
                  {"how", how(x.kind)}};
  if (x.kind == failure_kind::not_started)
    out["errno"] = x.code;
  else
    out[is_signal ? "signal" : "exit_code"] = x.code;
  out["out_of_memory"] = x.details.out_of_memory;
  out["misses_peer"] = misses_peer(x);
  out["message"] = line_text(x.details.message);
  return out;
}

json to_json(const culprit& x) {
  auto out
    = json{{"kind", to_string(x.what)},
           {"host", x.host.empty() ? json{} : json(x.host)},
           {"agent", x.agent.value.empty() ? json{} : json(x.agent.value)},
           {"reason", x.reason}};
  if (x.failure)
    out.update(to_json(*x.failure));
  return out;
}

} // namespace

std::string to_json(const explanation& x, const std::string& state,
                    const std::vector<std::string>& logs) {
  auto out = json{{"version", why_version}, {"state", state}};
  out["generation"]
    = x.generation.value == 0 ? json{} : json(number_of(x.generation));
  out["sentence"] = x.sentence;
  out["cause"] = x.cause ? to_json(*x.cause) : json{};
  out["failed_after_it"]
    = x.cause ? x.cause->failed_after_it : std::vector<uint32_t>{};
  out["evidence"] = x.evidence;
  out["logs"] = logs;
  return out.dump() + "\n";
}

} // namespace actorrun::cli
