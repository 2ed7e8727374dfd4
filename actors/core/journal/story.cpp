#include "actors/core/journal/story.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core::journal {

namespace {

using phase = rendezvous::phase;
using lines = std::vector<std::string>;

/// In bytes.
constexpr size_t line_size_max = 400;
constexpr size_t traceback_line_count_max = 24;

std::string counted(uint64_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

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

// -- one epoch --------------------------------------------------------------------

/// `, 3.1 s before ranks 0-4 failed`
std::string consequences(const worker_failure& cause,
                         const collateral& others) {
  if (others.empty())
    return {};
  if (others.listed.empty())
    return ", and " + counted(others.unlisted_count, "more worker") + " failed";
  auto ranks = std::vector<uint32_t>{};
  auto oldest = duration{0};
  for (const auto& x : others.listed) {
    ranks.push_back(x.global_rank);
    oldest = std::max(oldest, x.age);
  }
  auto text = ", " + duration_text(cause.age - oldest) + " before rank"
              + (ranks.size() == 1 ? " " : "s ") + to_ranges(ranks);
  if (others.unlisted_count > 0)
    text += " and " + std::to_string(others.unlisted_count) + " more";
  return text + " failed";
}

std::string cost(const snapshot& x, const epoch_entry& entry) {
  const auto of_all
    = " of " + std::to_string(x.coordinator.settings.restart_count_max);
  if (!entry.cause || !entry.exemption.empty())
    return "this cost no restart";
  if (entry.restart_count > entry.formed.restart_count)
    return "this cost restart " + std::to_string(entry.restart_count) + of_all;
  return "no restart was left (spent: " + std::to_string(entry.restart_count)
         + of_all + ")";
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
  }
  return out;
}

void add_others(const collateral& others, lines& out) {
  if (others.empty())
    return;
  out.push_back("failed after it:");
  for (const auto& x : others.listed)
    out.push_back("  " + clean(to_string(x)));
  if (others.unlisted_count > 0)
    out.push_back("  " + std::to_string(others.unlisted_count) + " more");
}

std::string name_of(const epoch_entry& x) {
  return "epoch " + to_string(x.formed.epoch);
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// `rank 5 … was killed by SIGKILL, 3.1 s before ranks 0-4 failed`
std::string cause_of(const epoch_entry& x) {
  if (!x.cause)
    return clean(x.end_reason);
  if (x.exemption.empty())
    return clean(to_string(*x.cause)) + consequences(*x.cause, x.others);
  return clean(x.exemption) + "; then " + clean(to_string(*x.cause));
}

explanation of_running_epoch(const snapshot& x, const epoch_entry& entry) {
  return {capital(name_of(entry)) + " runs with "
          + counted(entry.formed.world_size, "worker") + " on "
          + counted(entry.formed.node_count, "node") + ", "
          + spent(x, entry.formed.restart_count) + "."};
}

// -- the job ----------------------------------------------------------------------

explanation of_end(const snapshot& x) {
  const auto& result = *x.result;
  switch (result.kind) {
    case outcome::verdict::succeeded:
      return {"The job succeeded: " + clean(result.reason) + ", "
              + spent(x, x.restart_count) + "."};
    case outcome::verdict::stopped:
      return {"The job was stopped: " + clean(result.reason) + "."};
    case outcome::verdict::unmet: {
      auto out = explanation{"The job gave up: too few nodes came in time: "
                             + clean(result.reason) + "."};
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
  if (const auto* last = x.newest_epoch(); last != nullptr && last->cause) {
    const auto index = x.epochs.size() - 1;
    out = why_epoch(x, index);
    out.sentence = "The job failed. " + out.sentence;
  } else if (result.first_failure) {
    out.evidence = evidence_of(*result.first_failure);
  }
  return out;
}

void add_missing(const snapshot& x, time_point now, lines& out) {
  for (const auto& [agent, entry] : x.nodes) {
    const auto since = duration_text(now - entry.since.when);
    const auto who = clean(entry.now.host) + " (" + clean(agent.value) + ")";
    if (!entry.now.connected)
      out.push_back("out of touch for " + since + ": " + who);
    else if (entry.now.leaving)
      out.push_back("leaving: " + who);
    else if (entry.now.drained_at)
      out.push_back("leaves in " + duration_text(*entry.now.drained_at - now)
                    + ", as an operator has asked: " + who);
    else if (entry.now.excluded)
      out.push_back("stands by, because its host is excluded: " + who);
    else if (x.phase == phase::starting
             && entry.now.share == share_state::starting)
      out.push_back("starts its workers since " + since + ": " + who);
    else if (x.phase == phase::stopping
             && entry.now.share == share_state::stopping)
      out.push_back("stops its workers since " + since + ": " + who);
    else if (x.phase == phase::gathering || x.phase == phase::last_call)
      out.push_back("here: " + who);
  }
  for (const auto& y : x.departures)
    out.push_back("gone for " + duration_text(now - y.at.when) + ": "
                  + clean(y.last.host) + ": " + clean(y.reason));
  for (const auto& y : x.refusals)
    out.push_back("refused " + duration_text(now - y.at.when)
                  + " ago: " + clean(y.what.host) + ": " + clean(y.what.text));
  for (const auto& y : x.excluded)
    out.push_back(clean(to_string(y)) + ", since "
                  + duration_text(now - y.since));
  for (const auto& y : x.quarantined)
    out.push_back("in quarantine: " + clean(y.host) + ": SIGKILL has not ended "
                  + counted(y.unkillable_count, "worker") + " there");
}

std::string what_then(const snapshot& x, time_point now) {
  if (!x.waiting_until)
    return {};
  const auto left = " in " + duration_text(*x.waiting_until - now);
  switch (x.phase) {
    case phase::gathering:
      return x.waiting_for.starts_with("waiting")
               ? "; otherwise the job gives up" + left
               : "; it goes on" + left;
    case phase::last_call:
      return "; it begins with those" + left + " at the latest";
    default:
      return "; it looks again" + left;
  }
}

explanation of_wait(const snapshot& x, time_point now) {
  auto out = explanation{capital(clean(x.waiting_for)) + ", for "
                         + duration_text(now - x.waiting_since.when)
                         + what_then(x, now) + "."};
  add_missing(x, now, out.evidence);
  const auto* last = x.newest_epoch();
  if (last != nullptr && last->revoked_at && x.phase != phase::running) {
    const auto before = why_epoch(x, x.epochs.size() - 1);
    out.evidence.push_back("before: " + before.sentence);
    out.evidence.insert(out.evidence.end(), before.evidence.begin(),
                        before.evidence.end());
  }
  return out;
}

} // namespace

explanation why_epoch(const snapshot& x, size_t index) {
  const auto& entry = x.epochs[index];
  if (!entry.revoked_at)
    return entry.stopped_at
             ? explanation{capital(name_of(entry))
                           + " ended: all its workers exited with 0."}
             : of_running_epoch(x, entry);
  auto out
    = explanation{capital(name_of(entry))
                  + (entry.stopped_at ? " ended: " : " is being stopped: ")
                  + cause_of(entry)};
  if (entry.stopped_at)
    out.sentence += "; " + cost(x, entry);
  if (const auto time = regroup_time(x, index + 1))
    out.sentence += "; the next one ran " + duration_text(*time) + " later";
  out.sentence += ".";
  if (entry.cause)
    out.evidence = evidence_of(*entry.cause);
  add_others(entry.others, out.evidence);
  return out;
}

explanation why(const snapshot& x, time_point now) {
  if (x.result)
    return of_end(x);
  if (!x.waiting_for.empty())
    return of_wait(x, now);
  const auto count = x.epochs.size();
  if (count == 0)
    return {"The coordinator has just begun."};
  auto out = why_epoch(x, count - 1);
  if (count > 1) {
    const auto before = why_epoch(x, count - 2);
    out.sentence += " " + before.sentence;
    out.evidence = before.evidence;
  }
  return out;
}

bool is_healthy(const snapshot& x) {
  if (x.result)
    return x.result->kind == outcome::verdict::succeeded;
  return x.phase == phase::running && x.quarantined.empty()
         && std::ranges::none_of(x.nodes, [](const auto& y) {
              return !y.second.now.connected || y.second.now.leaving;
            });
}

} // namespace actorrun::core::journal
