#include "actors/core/journal/time_account.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace actorrun::core::journal {

namespace {

/// A job of one generation is not told of if it was shorter.
constexpr auto short_job = std::chrono::seconds{10};

/// Clocks that differ more are not of one job.
constexpr auto gap_max = std::chrono::hours{24 * 365};

bool gets_no_place(const node& x, const snapshot& job) {
  return std::ranges::any_of(job.quarantined,
                             [&](const auto& y) { return y.agent == x.agent; });
}

bool has_place(const node& x, const snapshot& job) {
  const auto* newest = job.newest_generation();
  return newest != nullptr && x.generation == newest->formed.generation;
}

/// Its workers do not run, and nothing is asked of them.
time_cause cause_of_idle(const node& x, const snapshot& job) {
  using enum rendezvous_phase;
  if (x.unfit)
    return time_cause::checking;
  if (x.excluded || x.stands_by || gets_no_place(x, job))
    return time_cause::standby;
  if (job.phase == gathering || job.phase == last_call)
    return time_cause::waiting;
  // The others' workers have yet to stop.
  return job.phase == stopping && has_place(x, job) ? time_cause::regrouping
                                                    : time_cause::standby;
}

} // namespace

time_cause cause_of(const node& x, const snapshot& job) {
  using enum rendezvous_phase;
  if (!x.connected)
    return time_cause::out_of_touch;
  if (x.share == share_state::idle)
    return cause_of_idle(x, job);
  if (job.phase == stopping || x.share == share_state::stopping
      || x.share == share_state::failed)
    return time_cause::regrouping;
  if (x.share == share_state::succeeded)
    return time_cause::finished;
  // A successor gathers nodes whose workers run.
  if (job.phase == starting || x.share == share_state::starting)
    return time_cause::starting;
  return job.hang ? time_cause::hung : time_cause::training;
}

double time_account::goodput() const {
  const auto total = all.all_worker_us();
  return total == 0 ? 0 : double(all.of(time_cause::training)) / double(total);
}

double time_account::places() const {
  return wall_us == 0 ? 0 : double(all.all_worker_us()) / double(wall_us);
}

std::optional<uint64_t> time_account::end_us(size_t index) const {
  const auto& x = generations[index];
  const auto is_last = index + 1 == generations.size();
  if (is_last && !x.is_revoked)
    return {};
  const auto stopped
    = x.spent.of(time_cause::regrouping) + x.spent.of(time_cause::waiting);
  return is_last
           ? stopped
           : stopped + generations[index + 1].spent.of(time_cause::starting);
}

time_account account_of(const snapshot& x, time_point now) {
  const auto end = x.ended_at ? x.ended_at->when
                   : x.left   ? x.left->at.when
                              : now;
  const auto wall = ticks_of(end) - ticks_of(x.time.since);
  auto out
    = time_account{.wall_us = uint64_t(std::max<int64_t>(wall, 0)),
                   .outside = x.time.outside,
                   .forgotten_generation_count = x.forgotten_generation_count,
                   .hosts = x.time.left,
                   .other_hosts = x.time.left_others};
  for (const auto& y : x.generations)
    out.generations.push_back(
      {y.formed.generation, y.time, y.revoked_at.has_value()});
  auto& newest
    = out.generations.empty() ? out.outside : out.generations.back().spent;
  for (const auto& [agent, entry] : x.nodes) {
    auto& host = out.hosts[entry.now->host];
    host.add(entry.time);
    const auto us = x.uncounted_us(entry, now);
    const auto what = cause_of(*entry.now, x);
    host.add(what, entry.now->slot_count, us);
    newest.add(what, entry.now->slot_count, us);
  }
  out.all = out.outside;
  for (const auto& y : out.generations)
    out.all.add(y.spent);
  return out;
}

namespace {

/// Another coordinator has counted `later`, after `sum`. A generation that both know
/// is one.
void add(time_account& sum, const time_account& later) {
  sum.wall_us += later.wall_us;
  sum.all.add(later.all);
  auto next = later.generations.begin();
  const auto is_adopted
    = next != later.generations.end() && !sum.generations.empty()
      && sum.generations.back().generation == next->generation;
  // A successor counts before it knows the generation that it takes over.
  sum.forgotten_generation_count += later.forgotten_generation_count;
  if (sum.generations.empty() || later.forgotten_generation_count > 0)
    sum.outside.add(later.outside);
  else
    sum.generations.back().spent.add(later.outside);
  if (is_adopted) {
    sum.generations.back().spent.add(next->spent);
    sum.generations.back().is_revoked = next->is_revoked;
    ++next;
  }
  sum.generations.insert(sum.generations.end(), next, later.generations.end());
  for (const auto& [host, spent] : later.hosts)
    sum.hosts[host].add(spent);
  sum.other_hosts.add(later.other_hosts);
}

/// Between the last record of a coordinator and the first of the next one; their
/// monotonic clocks may differ.
std::chrono::milliseconds gap_between(const snapshot& x, const snapshot& next) {
  const auto from = x.latest.wall_ms;
  const auto to = next.began.wall_ms;
  const auto longest = std::chrono::milliseconds{gap_max};
  const auto ms = to > from ? uint64_t(to) - uint64_t(from) : 0;
  return ms > uint64_t(longest.count())
           ? longest
           : std::chrono::milliseconds{int64_t(ms)};
}

bool takes_over(const snapshot& next, const snapshot& x) {
  const auto* last = x.newest_generation();
  return last != nullptr && !next.generations.empty()
         && next.generations.front().formed.adopted
         && next.generations.front().formed.generation
              == last->formed.generation;
}

} // namespace

job_time time_of(const std::vector<const snapshot*>& coordinators,
                 time_point now) {
  auto out = job_time{};
  for (size_t i = 0; i < coordinators.size(); ++i) {
    const auto& x = *coordinators[i];
    auto until = now;
    if (i + 1 < coordinators.size()) {
      const auto& next = *coordinators[i + 1];
      const auto gap = gap_between(x, next);
      // One that has given up the lead counts no more.
      const auto is_known = takes_over(next, x) && !x.left && !x.result;
      until = x.latest.when + (is_known ? gap : std::chrono::milliseconds{0});
      if (!is_known)
        out.untold_us += uint64_t(std::chrono::microseconds{gap}.count());
    }
    add(out.sum, account_of(x, until));
  }
  return out;
}

std::string summary_of(const time_account& x) {
  const auto total = x.all.all_worker_us();
  auto shares = std::vector<std::pair<uint64_t, time_cause>>{};
  for (size_t i = 0; i < time_cause_count && total > 0; ++i) {
    const auto part = double(x.all.worker_us[i]) / double(total);
    if (const auto per_mille = uint64_t(part * 1'000 + 0.5); per_mille > 0)
      shares.emplace_back(per_mille, time_cause(i));
  }
  std::ranges::stable_sort(shares, std::greater{},
                           &std::pair<uint64_t, time_cause>::first);
  auto text = std::string{};
  for (const auto& [per_mille, what] : shares)
    text += (text.empty() ? "" : ", ") + std::to_string(per_mille / 10) + "."
            + std::to_string(per_mille % 10) + " % " + title_of(what);
  return text;
}

bool is_worth_telling(const snapshot& x, const time_account& time) {
  const auto count = x.forgotten_generation_count + x.generations.size();
  const auto wall = std::chrono::microseconds{time.wall_us};
  return time.all.all_worker_us() > 0 && (count > 1 || wall >= short_job);
}

} // namespace actorrun::core::journal
