#include "actors/core/journal/story.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/protocol/end_row.hpp"
#include "actors/core/text.hpp"
#include "actors/core/unbegun_program.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace actorrun::core::journal {

namespace {

using phase = rendezvous_phase;
using lines = std::vector<std::string>;

/// In bytes.
constexpr size_t line_size_max = 400;
constexpr size_t traceback_line_count_max = 24;
constexpr size_t hosts_named_max = 4;
constexpr size_t last_line_max = 160;

std::string clean(const std::string& text) {
  return one_line(text, line_size_max);
}

void add_lines(const std::string& text, size_t count_max, lines& out) {
  auto all = lines{};
  for (size_t i = 0; i < text.size();) {
    const auto end = std::min(text.find('\n', i), text.size());
    if (auto line = printable(text.substr(i, end - i)); !line.empty())
      all.push_back(std::string{beginning_of(line, line_size_max)});
    i = end + 1;
  }
  const auto skipped = all.size() - std::min(all.size(), count_max);
  if (skipped > 0)
    out.push_back("  (" + counted(skipped, "line") + " before)");
  for (auto i = skipped; i < all.size(); ++i)
    out.push_back("  " + all[i]);
}

// -- nodes ----------------------------------------------------------------------

/// Null: the origin is no node, or one that is gone for so long that it is not
/// remembered.
const node* find_node(const std::optional<end_origin>& origin,
                      const snapshot& x) {
  if (!origin)
    return nullptr;
  for (auto i = x.departures.rbegin(); i != x.departures.rend(); ++i)
    if (i->last.agent == origin->agent)
      return &i->last;
  const auto i = x.nodes.find(origin->agent);
  return i == x.nodes.end() ? nullptr : &*i->second.now;
}

/// `n2 (ranks 3-5)`
std::string place_of(const node& x, generation_id generation) {
  auto text = clean(x.host);
  if (x.generation != generation || x.slot_count == 0)
    return text;
  auto ranks = std::to_string(x.first_rank);
  if (x.slot_count > 1)
    ranks += "-" + std::to_string(x.first_rank + x.slot_count - 1);
  return text + (x.slot_count == 1 ? " (rank " : " (ranks ") + ranks + ")";
}

/// `SIGTERM (signal 15)`
std::string title_of_signal(int number) {
  const auto name = signal_name(number);
  const auto plain = "signal " + std::to_string(number);
  return name.empty() ? plain : name + " (" + plain + ")";
}

/// `was lost: silent for 1200 ms`
std::string deed_of(const end_origin& x) {
  switch (x.what) {
    case end_origin::kind::node_lost:
      return "was lost: " + clean(x.detail);
    case end_origin::kind::node_cut_off:
      return "was cut off, and stopped its workers";
    case end_origin::kind::node_left:
    case end_origin::kind::operator_asked:
      break;
  }
  return "left"
         + (x.signal != 0  ? ": its agent was sent " + title_of_signal(x.signal)
            : x.by.empty() ? std::string{}
                           : ", as " + clean(x.by) + " has asked");
}

culprit::kind kind_of(const std::optional<end_origin>& x) {
  if (!x)
    return culprit::kind::regrouped;
  switch (x->what) {
    case end_origin::kind::node_left:
      return culprit::kind::node_left;
    case end_origin::kind::node_lost:
    case end_origin::kind::node_cut_off:
      return culprit::kind::node_lost;
    case end_origin::kind::operator_asked:
      break;
  }
  return culprit::kind::operator_stop;
}

// -- one generation
// --------------------------------------------------------------------

/// The last line of what a worker wrote to standard error; empty: it has said
/// more elsewhere, or what has happened to it tells of that line.
std::string last_line_of(const worker_failure& x) {
  const auto& more = x.details;
  if (!more.message.empty() || !more.is_from_stderr
      || x.kind == failure_kind::timer_expired || !why_not_begun(x).empty())
    return {};
  auto text = printable(more.traceback);
  while (text.ends_with('\n') || text.ends_with(' '))
    text.pop_back();
  return one_line(text.substr(text.rfind('\n') + 1), last_line_max);
}

/// `rank 5 on n2 exited with code 1 ("ValueError: no data")`
std::string deed_of(const worker_failure& x) {
  const auto text = clean("rank " + std::to_string(x.global_rank) + " on "
                          + x.host + " " + what_happened(x));
  const auto said = last_line_of(x);
  return said.empty() ? text : text + " (\"" + said + "\")";
}

std::vector<uint32_t> ranks_of(const collateral& all) {
  auto out = std::vector<uint32_t>{};
  for (const auto& x : all.listed)
    out.push_back(x.global_rank);
  std::ranges::sort(out);
  return out;
}

/// `ranks 0-4 and 3 more`
std::string names_of(const std::vector<uint32_t>& ranks, uint32_t more) {
  auto text
    = std::string{ranks.size() == 1 ? "rank " : "ranks "} + to_ranges(ranks);
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

/// ` on closed connections`
std::string why_they_failed(const collateral& all) {
  const auto count = std::ranges::count_if(all.listed, misses_peer);
  if (count == 0)
    return {};
  return size_t(count) == all.listed.size()
           ? " on closed connections"
           : ", " + std::to_string(count) + " of them on closed connections";
}

/// `, 3.1 s before ranks 0-4 failed on closed connections`
std::string consequences(const worker_failure& cause,
                         const collateral& others) {
  if (others.empty())
    return {};
  if (others.listed.empty())
    return ", and " + counted(others.unlisted_count, "more worker") + " failed";
  const auto names = names_of(ranks_of(others), others.unlisted_count);
  const auto is_alike = [&](const auto& x) {
    return x.kind == cause.kind && x.code == cause.code;
  };
  if (cause.kind == failure_kind::not_started
      && std::ranges::all_of(others.listed, is_alike))
    return ", nor could " + names;
  auto oldest = duration{0};
  for (const auto& x : others.listed)
    oldest = std::max(oldest, x.age);
  const auto failed = names + " failed" + why_they_failed(others);
  return cause.age > oldest
           ? ", " + duration_text(cause.age - oldest) + " before " + failed
           : ", and " + failed;
}

/// All that failed in a generation which another reason has ended.
std::string failed_because_of_it(const generation_entry& x) {
  auto all = x.others;
  all.listed.insert(all.listed.begin(), *x.cause);
  return "; " + names_of(ranks_of(all), all.unlisted_count)
         + " failed meanwhile" + why_they_failed(all);
}

std::string cost(const snapshot& x, const generation_entry& entry) {
  const auto of_all
    = " of " + std::to_string(x.coordinator.settings.restart_count_max);
  if (!entry.cause || !entry.exemption.empty())
    return "this cost no restart";
  if (entry.attributed && entry.attributed->to == attribution::node)
    return "this cost no restart, because the node is at fault: "
           + clean(entry.attributed->text);
  if (entry.attributed && entry.attributed->to == attribution::awaited)
    return "a check of the node will show whether this costs a restart";
  if (entry.restart_count > entry.formed.restart_count)
    return "this cost restart " + std::to_string(entry.restart_count) + of_all;
  if (x.result && !x.result->given_up.empty())
    return "it is not restarted: " + clean(x.result->given_up);
  if (is_permanent(*entry.cause))
    return "another start cannot help";
  if (x.coordinator.settings.restart_count_max == 0)
    return "--max-restarts is 0, so it is not restarted";
  return "no restart was left (spent: " + std::to_string(entry.restart_count)
         + of_all + ")";
}

/// `class: node (its GPUs: …)`
std::string class_line(const trouble& x) {
  return "class: " + to_string(x.what) + " (" + clean(x.evidence) + ")";
}

std::string spent(const snapshot& x, uint32_t count) {
  return counted(count, "restart") + " of "
         + std::to_string(x.coordinator.settings.restart_count_max) + " spent";
}

lines evidence_of(const worker_failure& x) {
  auto out = lines{};
  const auto& more = x.details;
  out.push_back("worker: " + clean(to_string(x)));
  if (more.out_of_memory)
    out.push_back("memory: the kernel's counter of processes that were killed "
                  "for memory went up at that moment");
  if (!more.message.empty())
    out.push_back("message: " + clean(more.message));
  if (!more.error_file.empty())
    out.push_back("error file: " + clean(more.error_file) + " on "
                  + clean(x.host));
  if (!more.where.empty()) {
    out.push_back("where it was:");
    add_lines(more.where, traceback_line_count_max, out);
  }
  if (!more.traceback.empty()) {
    out.push_back(more.is_from_stderr ? "its last lines:" : "traceback:");
    add_lines(more.traceback, traceback_line_count_max, out);
  } else if (more.is_from_stderr) {
    out.push_back("its standard error is empty");
  }
  return out;
}

void add_others(const collateral& others, const char* title, lines& out) {
  if (others.empty())
    return;
  out.push_back(title);
  for (const auto& x : others.listed)
    out.push_back("  " + clean(to_string(x)));
  if (others.unlisted_count > 0)
    out.push_back("  " + std::to_string(others.unlisted_count) + " more");
}

std::string name_of(const generation_entry& x) {
  return "generation " + to_string(x.formed.generation);
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// When a failure that a generation knows happened.
time_point moment_of(const worker_failure& x, const generation_entry& entry) {
  return (entry.stopped_at ? *entry.stopped_at : entry.cause_at).when - x.age;
}

/// `, 0.3 s after trouble there (GPU 1: XID 79: has fallen off the bus)`
void add_gpu_trouble(const generation_entry& entry, explanation& out) {
  if (!entry.gpus)
    return;
  const auto after = moment_of(*entry.cause, entry) - entry.gpus->at.when;
  const auto text = clean(entry.gpus->text);
  out.sentence
    += after >= duration::zero()
         ? ", " + duration_text(after) + " after trouble there (" + text + ")"
         : ", with trouble there (" + text + ")";
  out.evidence.push_back("GPUs of " + clean(entry.cause->host) + ": " + text);
}

/// What ended a generation if no worker has: a node, or a decision.
void explain_reason(const snapshot& x, const generation_entry& entry,
                    const std::string& reason,
                    const std::optional<end_origin>& origin, explanation& out) {
  out.cause = {.what = kind_of(origin), .reason = clean(reason)};
  const auto* who = find_node(origin, x);
  if (who == nullptr) {
    out.sentence += out.cause->reason;
    return;
  }
  const auto deed = deed_of(*origin);
  out.sentence
    += "node " + place_of(*who, entry.formed.generation) + " " + deed;
  out.cause->host = clean(who->host);
  out.cause->agent = {clean(who->agent.value)};
  out.cause->reason = deed;
  out.evidence.push_back("node: agent " + out.cause->agent.value + " on "
                         + out.cause->host + " " + deed);
}

/// `rank 5 … was killed by SIGKILL, 3.1 s before ranks 0-4 failed`
void explain_end(const snapshot& x, const generation_entry& entry,
                 explanation& out) {
  if (!entry.cause)
    return explain_reason(x, entry, entry.end_reason, entry.end_origin, out);
  const auto& cause = *entry.cause;
  if (!entry.exemption.empty()) {
    explain_reason(x, entry, entry.exemption, entry.exemption_origin, out);
    out.sentence += failed_because_of_it(entry);
    auto all = entry.others;
    all.listed.insert(all.listed.begin(), cause);
    out.cause->failed_after_it = ranks_of(all);
    add_others(all, "failed meanwhile:", out.evidence);
    return;
  }
  out.evidence = evidence_of(cause);
  out.sentence += deed_of(cause);
  add_gpu_trouble(entry, out);
  out.sentence += consequences(cause, entry.others);
  if (misses_peer(cause))
    out.sentence += "; it lost a connection to a worker whose own end was not "
                    "reported, which may have failed first";
  out.cause = {.what = culprit::kind::worker,
               .host = clean(cause.host),
               .agent = {clean(cause.agent.value)},
               .reason = clean(what_happened(cause)),
               .failure = cause,
               .failed_after_it = ranks_of(entry.others)};
  add_others(entry.others, "failed after it:", out.evidence);
}

explanation of_running_generation(const snapshot& x,
                                  const generation_entry& entry) {
  auto out = explanation{capital(name_of(entry)) + " runs with "
                         + counted(entry.formed.world_size, "worker") + " on "
                         + counted(entry.formed.node_count, "node") + ", "
                         + spent(x, entry.formed.restart_count)};
  if (entry.formed.adopted)
    out.sentence += "; it was taken over from an earlier coordinator";
  if (x.hang && &entry == x.newest_generation()) {
    out.sentence += ", but hangs: " + clean(x.hang->text);
    if (!x.hang->where.empty()) {
      out.evidence.push_back("where they are:");
      add_lines(x.hang->where, traceback_line_count_max, out.evidence);
    }
  }
  if (const auto slow = slow_sentence(x);
      !slow.empty() && &entry == x.newest_generation())
    out.sentence += "; " + slow;
  out.sentence += ".";
  out.generation = entry.formed.generation;
  return out;
}

// -- the job ----------------------------------------------------------------------

void add_quarantine(const snapshot& x, lines& out) {
  for (const auto& y : x.quarantined)
    out.push_back("in quarantine: " + clean(y.host) + ": SIGKILL has not ended "
                  + counted(y.unkillable_count, "worker") + " there");
}

// The agent that hosts the coordinator gets the signal.
explanation of_stop(const snapshot& x, const outcome& result) {
  const auto is_asked = x.end_request && !x.end_request->by.empty();
  const auto reason = is_asked ? clean(result.reason)
                               : clean(x.coordinator.host)
                                   + ", where its coordinator was, got "
                                   + title_of_signal(result.signal);
  auto out = explanation{
    (is_asked ? capital(reason) : "The job was stopped: " + reason) + "."};
  out.cause = {.what = culprit::kind::operator_stop,
               .host = clean(x.coordinator.host),
               .reason = reason};
  if (const auto* last = x.newest_generation()) {
    out.generation = last->formed.generation;
    out.evidence.push_back(
      "then: " + name_of(*last) + ", for "
      + duration_text(x.ended_at->when - last->formed_at.when) + ", with "
      + counted(last->formed.world_size, "worker"));
  }
  return out;
}

explanation of_end(const snapshot& x) {
  const auto& result = *x.result;
  switch (result.kind) {
    case outcome::verdict::succeeded:
      return {"The job succeeded: " + clean(result.reason) + ", "
              + spent(x, x.restart_count) + "."};
    case outcome::verdict::stopped:
      return of_stop(x, result);
    case outcome::verdict::unmet: {
      auto out = explanation{"The job gave up: " + clean(result.reason) + "."};
      out.cause = {.what = culprit::kind::too_few_nodes,
                   .reason = clean(result.reason)};
      for (const auto& [agent, entry] : x.nodes)
        out.evidence.push_back("was here: " + clean(entry.now->host) + " ("
                               + clean(agent.value) + ")");
      for (const auto& y : x.departures)
        out.evidence.push_back("was gone: " + clean(y.last.host) + ": "
                               + clean(y.reason));
      for (const auto& y : x.refusals)
        out.evidence.push_back("refused: " + clean(y.what.agent.value) + " on "
                               + clean(y.what.host) + ": "
                               + clean(y.what.text));
      return out;
    }
    case outcome::verdict::failed:
      break;
  }
  auto out = explanation{"The job failed: " + clean(result.reason) + "."};
  if (const auto* last = x.newest_generation();
      last != nullptr && (last->cause || last->why)) {
    const auto index = x.generations.size() - 1;
    out = why_generation(x, index);
    out.sentence = "The job failed. " + out.sentence;
    if (!last->cause || !last->exemption.empty())
      out.sentence += " It is not restarted: " + clean(result.given_up) + ".";
  } else if (result.first_failure) {
    out.evidence = evidence_of(*result.first_failure);
  }
  for (const auto& y : x.quarantined)
    out.sentence += " SIGKILL has not ended "
                    + counted(y.unkillable_count, "worker") + " on "
                    + clean(y.host) + ".";
  add_quarantine(x, out.evidence);
  return out;
}

std::string who(const node& x) {
  return clean(x.host) + " (" + clean(x.agent.value) + ")";
}

void add_waiting_drains(const snapshot& x, time_point now, lines& out) {
  for (const auto& [agent, entry] : x.nodes)
    if (const auto& drain = entry.now->waits_to_drain)
      out.push_back("leaves when another node can take its place, as "
                    + clean(drain->by) + " has asked "
                    + duration_text(now - drain->asked)
                    + " ago: " + who(*entry.now));
}

/// ` Node n2 waits for a replacement, to leave, as alice has asked 12.0 s ago.`
std::string sentence_of_waiting_drains(const snapshot& x, time_point now) {
  const node* first = nullptr;
  auto count = size_t{0};
  for (const auto& [agent, entry] : x.nodes) {
    const auto& drain = entry.now->waits_to_drain;
    if (!drain)
      continue;
    ++count;
    if (first == nullptr || drain->asked < first->waits_to_drain->asked)
      first = &*entry.now;
  }
  if (first == nullptr)
    return {};
  const auto& drain = *first->waits_to_drain;
  return " Node " + clean(first->host)
         + " waits for a replacement, to leave, as " + clean(drain.by)
         + " has asked " + duration_text(now - drain.asked) + " ago"
         + (count == 1   ? std::string{}
            : count == 2 ? "; so does 1 more"
                         : "; so do " + std::to_string(count - 1) + " more")
         + ".";
}

/// Of a node that gets no place; empty: it may have one.
std::string why_it_is_kept_out(const node_entry& x, time_point now) {
  const auto since = duration_text(now - x.since.when);
  if (x.now->excluded)
    return "stands by, because its host is excluded: " + who(*x.now);
  if (x.now->unfit)
    return "takes no part for " + since + ": " + who(*x.now) + ": "
           + clean(*x.now->unfit);
  if (x.now->stands_by)
    return "stands by for " + since + ", because it has "
           + clean(*x.now->stands_by) + ": " + who(*x.now);
  return {};
}

void add_missing(const snapshot& x, time_point now, lines& out) {
  const auto* newest = x.newest_generation();
  for (const auto& [agent, entry] : x.nodes) {
    const auto since = duration_text(now - entry.since.when);
    const auto name = who(*entry.now);
    if (!entry.now->connected)
      out.push_back("out of touch for " + since + ": " + name);
    else if (entry.now->leaving)
      out.push_back("leaving: " + name);
    else if (entry.now->drained_at)
      out.push_back("leaves in " + duration_text(*entry.now->drained_at - now)
                    + ", as "
                    + (entry.now->drained_by ? clean(*entry.now->drained_by)
                                             : "an operator")
                    + " has asked: " + name);
    else if (auto kept_out = why_it_is_kept_out(entry, now); !kept_out.empty())
      out.push_back(std::move(kept_out));
    else if (x.phase == phase::starting
             && entry.now->share == share_state::starting)
      out.push_back("starts its workers since " + since + ": " + name);
    else if (x.phase == phase::stopping
             && entry.now->share == share_state::stopping)
      out.push_back("stops its workers since " + since + ": " + name);
    else if (x.phase == phase::gathering || x.phase == phase::last_call)
      out.push_back("here: " + name);
    else if (x.phase == phase::running && newest != nullptr
             && entry.now->generation != newest->formed.generation)
      out.push_back("stands by for " + since + ": " + name);
  }
  add_waiting_drains(x, now, out);
  for (const auto& y : x.departures)
    out.push_back("gone for " + duration_text(now - y.at.when) + ": "
                  + clean(y.last.host) + ": " + clean(y.reason));
  for (const auto& y : x.refusals)
    out.push_back("refused " + duration_text(now - y.at.when)
                  + " ago: " + clean(y.what.host) + ": " + clean(y.what.text));
  for (const auto& y : x.excluded)
    out.push_back(clean(to_string(y)) + ", since "
                  + duration_text(now - y.since));
  add_quarantine(x, out);
}

std::string what_then(const snapshot& x, time_point now) {
  if (!x.waiting_until)
    return {};
  const auto left = " in " + duration_text(*x.waiting_until - now);
  switch (x.phase) {
    case phase::gathering:
      return x.gives_up_then ? "; otherwise the job gives up" + left
                             : "; it goes on" + left;
    case phase::last_call:
      return "; it begins with those" + left + " at the latest";
    default:
      return "; it looks again" + left;
  }
}

/// Members of the newest generation that are gone, and whose hosts are not back.
std::string who_is_missing(const snapshot& x) {
  const auto* newest = x.newest_generation();
  auto text = std::string{};
  auto count = size_t{0};
  for (const auto& y : x.departures) {
    const auto is_back = std::ranges::any_of(x.nodes, [&](const auto& z) {
      return z.second.now->host == y.last.host;
    });
    if (newest == nullptr || y.last.generation != newest->formed.generation
        || is_back)
      continue;
    if (++count <= hosts_named_max)
      text += (text.empty() ? "" : ", ") + clean(y.last.host);
  }
  if (count > hosts_named_max)
    text += " and " + std::to_string(count - hosts_named_max) + " more";
  return text.empty() ? text
                      : " (" + text + (count == 1 ? " is" : " are") + " gone)";
}

/// `Generation 2 starts: 1 of 3 nodes has yet to start its workers`
std::string sentence_of_start(const snapshot& x,
                              const generation_entry& entry) {
  const auto count = std::ranges::count_if(x.nodes, [&](const auto& y) {
    return y.second.now->generation == entry.formed.generation
           && y.second.now->share == share_state::starting;
  });
  return capital(name_of(entry)) + " starts: " + std::to_string(count) + " of "
         + counted(entry.formed.node_count, "node")
         + (count == 1 ? " has yet to start its workers"
                       : " have yet to start their workers");
}

explanation of_wait(const snapshot& x, time_point now) {
  // Another phase waits for something else.
  const auto began = std::max(x.waiting_since.when, x.phase_since.when);
  const auto since = ", for " + duration_text(now - began);
  const auto* last = x.newest_generation();
  auto before = explanation{};
  if (last != nullptr && last->revoked_at && x.phase != phase::running)
    before = why_generation(x, x.generations.size() - 1);
  auto out = explanation{};
  if (x.phase == phase::stopping && last != nullptr && last->revoked_at) {
    const auto count = std::ranges::count_if(x.nodes, [](const auto& y) {
      return y.second.now->share == share_state::stopping
             || y.second.now->share == share_state::failed;
    });
    out = std::move(before);
    out.sentence.pop_back();
    out.sentence += "; " + counted(uint64_t(count), "node")
                    + (count == 1 ? " has yet to stop its workers"
                                  : " have yet to stop their workers")
                    + since + ".";
    auto missing = lines{};
    add_missing(x, now, missing);
    out.evidence.insert(out.evidence.begin(), missing.begin(), missing.end());
    return out;
  }
  if (x.phase == phase::starting && last != nullptr) {
    out.sentence = sentence_of_start(x, *last) + since + ".";
  } else {
    auto text = capital(clean(x.waiting_for));
    if (const auto colon = text.find(": ");
        x.phase == phase::gathering && colon != text.npos)
      text.insert(colon, who_is_missing(x));
    out.sentence = text + since + what_then(x, now) + ".";
  }
  out.generation = last == nullptr ? generation_id{} : last->formed.generation;
  add_missing(x, now, out.evidence);
  if (!before.sentence.empty()) {
    out.evidence.push_back("before: " + before.sentence);
    out.evidence.insert(out.evidence.end(), before.evidence.begin(),
                        before.evidence.end());
    out.cause = std::move(before.cause);
  }
  return out;
}

} // namespace

namespace {

std::string time_text(uint64_t us) {
  using std::chrono::microseconds;
  constexpr auto longest
    = std::chrono::duration_cast<microseconds>(duration::max());
  return duration_text(std::min(
    longest, microseconds{int64_t(std::min<uint64_t>(us, INT64_MAX))}));
}

/// `2 min 2 s of worker time is lost, trained after the last save, 61.0 s before`
std::string text_of(const loss& x) {
  return time_text(x.worker_us) + " of worker time is lost, trained "
         + (x.since_us
              ? "after the last save, " + time_text(*x.since_us) + " before"
              : "in it: it has reported no save");
}

} // namespace

explanation why_generation(const snapshot& x, size_t index) {
  const auto& entry = x.generations[index];
  auto out = explanation{capital(name_of(entry))};
  out.generation = entry.formed.generation;
  if (!entry.revoked_at) {
    if (!entry.stopped_at)
      return of_running_generation(x, entry);
    out.sentence += " ended: all its workers exited with 0.";
    return out;
  }
  out.sentence += entry.stopped_at ? " ended: " : " is being stopped: ";
  explain_end(x, entry, out);
  if (entry.stopped_at) {
    out.sentence += "; " + cost(x, entry);
    if (entry.lost)
      out.sentence += "; " + text_of(*entry.lost);
    if (entry.why)
      out.evidence.push_back(class_line(*entry.why));
    if (entry.why && !entry.why->alike.empty())
      out.evidence.push_back("alike: " + clean(entry.why->alike));
  }
  if (const auto time = regroup_time(x, index + 1))
    out.sentence += "; the next one ran " + duration_text(*time) + " later";
  out.sentence += ".";
  return out;
}

namespace {

std::string list_of(const std::vector<agent_id>& xs) {
  auto text = std::string{};
  for (const auto& x : xs)
    text += (text.empty() ? "" : ", ") + clean(x.value);
  return text;
}

/// ` n2-4711-… leads the job, for 12.0 s: n1-4702-… was silent for 400.0 ms.`
/// Of a job that has had no other leader there is nothing to tell.
void add_leader(const snapshot& x, time_point now, explanation& out) {
  if (!x.leadership)
    return;
  const auto& [chosen, at, term, voters, deputies] = *x.leadership;
  const auto who
    = clean(chosen.agent.value.empty() ? x.coordinator.host
                                       : std::string{chosen.agent.value});
  const auto why = clean(to_string(chosen.change(), chosen.agent));
  if (chosen.what != leader_change::kind::began)
    out.sentence += " " + who + " leads the job, for "
                    + duration_text(now - at.when) + ": " + why + ".";
  out.evidence.push_back(
    "leader: " + who + ", term " + std::to_string(term) + ", elected by "
    + (chosen.by == leader_source::voters ? "the agents" : "etcd") + " "
    + duration_text(now - at.when) + " ago: " + why);
  if (!voters.empty())
    out.evidence.push_back(
      "voters: " + list_of(voters)
      + (deputies.empty() ? "" : "; can lead, too: " + list_of(deputies)));
}

explanation of_former_leader(const snapshot& x, time_point now) {
  auto out = explanation{
    "The coordinator on " + clean(x.coordinator.host)
    + " leads the job no more, for " + duration_text(now - x.left->at.when)
    + ": " + clean(x.left->reason)
    + ". How the job goes on, the coordinator of another node knows."};
  if (const auto* last = x.newest_generation())
    out.generation = last->formed.generation;
  add_leader(x, now, out);
  return out;
}

/// Of the job as it is now, without what was before.
explanation why_now(const snapshot& x, time_point now) {
  if (x.result)
    return of_end(x);
  if (x.left)
    return of_former_leader(x, now);
  if (!x.waiting_for.empty())
    return of_wait(x, now);
  if (x.generations.empty())
    return {"The coordinator has just begun."};
  auto out = why_generation(x, x.generations.size() - 1);
  out.sentence += sentence_of_waiting_drains(x, now);
  add_waiting_drains(x, now, out.evidence);
  for (const auto& [_, entry] : x.nodes)
    if (auto kept_out = why_it_is_kept_out(entry, now); !kept_out.empty())
      out.evidence.push_back(std::move(kept_out));
  return out;
}

/// A generation that has ended is told of on its own, unless that ended the job.
size_t told_generation_count(const snapshot& x) {
  const auto count = x.generations.size();
  if (count == 0)
    return 0;
  const auto& last = x.generations.back();
  const auto ends_job = x.result && x.result->kind == outcome::verdict::failed;
  const auto is_over = last.revoked_at || last.stopped_at;
  return ends_job || !is_over ? count - 1 : count;
}

} // namespace

explanation why(const snapshot& x, time_point now) {
  auto out = why_now(x, now);
  const auto count = x.generations.size();
  if (x.left)
    return out;
  if (x.result || !x.waiting_for.empty() || count < 2) {
    add_leader(x, now, out);
    return out;
  }
  auto before = why_generation(x, count - 2);
  out.sentence += " " + before.sentence;
  if (const auto* loop = loop_of(x, now))
    out.sentence
      += " The job goes round in a loop: " + clean(loop->alike) + ".";
  out.evidence.insert(out.evidence.end(), before.evidence.begin(),
                      before.evidence.end());
  out.cause = std::move(before.cause);
  out.generation = before.generation;
  add_leader(x, now, out);
  return out;
}

std::vector<explanation> why_all(const snapshot& x, time_point now) {
  auto out = std::vector<explanation>{};
  for (size_t i = 0; i < told_generation_count(x); ++i)
    out.push_back(why_generation(x, i));
  out.push_back(why_now(x, now));
  if (!x.left)
    add_leader(x, now, out.back());
  return out;
}

const trouble* loop_of(const snapshot& x, time_point now) {
  const auto* newest = x.newest_generation();
  if (x.result || x.left || newest == nullptr)
    return nullptr;
  const auto runs = !newest->stopped_at;
  const auto count = x.generations.size();
  if (runs && (count < 2 || now - newest->formed_at.when >= loop_run_max))
    return nullptr;
  const auto& ended = runs ? x.generations[count - 2] : *newest;
  return ended.why && ended.why->alike_count >= loop_count_min ? &*ended.why
                                                               : nullptr;
}

std::string slow_sentence(const snapshot& x) {
  if (x.stragglers.empty())
    return {};
  auto named = std::vector<straggler>{};
  for (const auto& y : x.stragglers)
    named.push_back(y.what);
  return clean(sentence_of(named, x.straggler_count));
}

bool is_healthy(const snapshot& x, time_point now) {
  if (x.result)
    return x.result->kind == outcome::verdict::succeeded;
  return !x.left && !x.hang && loop_of(x, now) == nullptr
         && x.phase == phase::running && x.quarantined.empty()
         && std::ranges::none_of(x.nodes, [](const auto& y) {
              return !y.second.now->connected || y.second.now->leaving;
            });
}

std::string state_of(const snapshot& x) {
  return x.result ? to_string(x.result->kind)
         : x.left ? "moved"
                  : to_string(x.phase);
}

std::string to_string(culprit::kind x) {
  switch (x) {
    case culprit::kind::worker:
      return "worker";
    case culprit::kind::node_lost:
      return "node_lost";
    case culprit::kind::node_left:
      return "node_left";
    case culprit::kind::operator_stop:
      return "operator";
    case culprit::kind::too_few_nodes:
      return "too_few_nodes";
    case culprit::kind::regrouped:
      return "regrouped";
  }
  return "unknown";
}

} // namespace actorrun::core::journal
