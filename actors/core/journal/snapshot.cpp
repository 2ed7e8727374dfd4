#include "actors/core/journal/snapshot.hpp"

#include "actors/core/journal/time_account.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace actorrun::core::journal {

namespace {

template <class T>
void remember(std::deque<T>& all, T x, size_t count_max) {
  all.push_back(std::move(x));
  if (all.size() > count_max)
    all.pop_front();
}

/// Whether a node is still checked, or has still failed.
bool is_of_same_kind(const rare_value<std::string>& a,
                     const rare_value<std::string>& b) {
  return a && b && (*a == being_checked) == (*b == being_checked);
}

uint64_t us_of(duration x) {
  const auto us
    = std::chrono::duration_cast<std::chrono::microseconds>(x).count();
  return uint64_t(std::max<int64_t>(us, 0));
}

uint64_t us_between(time_point from, time_point to) {
  return uint64_t(std::max<int64_t>(ticks_of(to) - ticks_of(from), 0));
}

/// The largest number, where there would be more.
uint64_t times(uint64_t us, uint64_t places) {
  constexpr auto most = std::numeric_limits<uint64_t>::max();
  return places > 0 && us > most / places ? most : us * places;
}

void shorten(generation_entry& x) {
  constexpr auto listed_max = size_t{4};
  if (x.cause)
    x.cause = brief(*std::move(x.cause));
  auto& others = x.others;
  if (others.listed.size() > listed_max) {
    others.unlisted_count += uint32_t(others.listed.size() - listed_max);
    others.listed.resize(listed_max);
  }
}

} // namespace

void snapshot::apply(const record& x) {
  number = x.number;
  latest = x.at;
  std::visit([this](const auto& y) { add(y); }, *x.what);
}

void snapshot::add(const coordinator_began& x) {
  *this = {.number = number,
           .coordinator = x,
           .began = latest,
           .latest = latest,
           .phase_since = latest,
           .time = {.since = latest.when}};
}

// Each node's time is counted before what changes that it is for.
void snapshot::add(const phase_changed& x) {
  count_all();
  phase = x.phase;
  phase_since = latest;
}

void snapshot::add(const wait_changed& x) {
  if (waiting_for.empty())
    waiting_since = latest;
  waiting_for = x.text;
  waiting_until = x.until;
  gives_up_then = x.gives_up;
}

void snapshot::add(const node_changed& x) {
  auto [i, is_new] = nodes.try_emplace(x.now->agent);
  auto& known = i->second;
  if (is_new) {
    known.joined_at = latest;
    known.counted_until = latest.when;
  } else {
    count(known);
  }
  if (is_new || known.now->share != x.now->share
      || known.now->connected != x.now->connected)
    known.since = latest;
  if (x.now->generation.value != 0
      && (is_new || known.now->generation != x.now->generation))
    ++known.generation_count;
  if (!x.now->unfit)
    known.unfit_since.reset();
  else if (is_new || !is_of_same_kind(known.now->unfit, x.now->unfit))
    known.unfit_since = latest;
  known.now = x.now;
}

void snapshot::add(const node_refused& x) {
  remember(refusals, {x, latest}, refusals_remembered_max);
}

void snapshot::add(const operator_asked& x) {
  remember(requests, {x, latest}, requests_remembered_max);
}

void snapshot::add(const node_gone& x) {
  const auto gone = nodes.extract(x.agent);
  if (!gone)
    return;
  auto& entry = gone.mapped();
  count(entry);
  const auto& host = entry.now->host;
  if (entry.run != node_run{} && leavers.size() < leavers_remembered_max)
    leavers.push_back({host, entry.now->slot_count, entry.run});
  if (time.left.size() < hosts_counted_max || time.left.contains(host))
    time.left[host].add(entry.time);
  else
    time.left_others.add(entry.time);
  remember(departures, {*entry.now, latest, x.reason},
           departures_remembered_max);
}

void snapshot::add(const generation_formed& x) {
  count_all();
  hang.reset();
  leavers.clear();
  for (auto& [agent, entry] : nodes)
    entry.run = {};
  restart_count = x.restart_count;
  if (generations.size() == generations_remembered_max) {
    ++forgotten_generation_count;
    time.outside.add(generations.front().time);
  }
  remember(generations, generation_entry{.formed = x, .formed_at = latest},
           generations_remembered_max);
  if (generations.size() > generations_in_full_max)
    shorten(generations[generations.size() - 1 - generations_in_full_max]);
}

void snapshot::add(const generation_running& x) {
  if (auto* entry = find(x.generation))
    entry->running_at = latest;
}

void snapshot::add(const worker_died& x) {
  auto* entry = find(x.generation);
  if (entry == nullptr)
    return;
  if (entry->cause)
    return entry->others.add(brief(x.failure));
  entry->cause = x.failure;
  entry->gpus = trouble_at(x.failure.agent);
  entry->cause_at = latest;
}

void snapshot::add(const generation_revoked& x) {
  auto* entry = find(x.generation);
  if (entry == nullptr || entry->revoked_at)
    return;
  if (entry == &generations.back()) {
    end_hang();
    end_stragglers();
  }
  entry->revoked_at = latest;
  entry->end_reason = x.reason;
  entry->end_origin = x.origin;
  entry->at_safe_point = x.at_safe_point;
}

void snapshot::add(const generation_stopped& x) {
  end_hang();
  end_stragglers();
  restart_count = x.restart_count;
  auto* entry = find(x.generation);
  if (entry == nullptr)
    return;
  if (entry == &generations.back() && entry->revoked_at && !entry->stopped_at
      && !entry->at_safe_point && !x.has_survivors)
    lose_training(*entry);
  entry->stopped_at = latest;
  entry->restart_count = x.restart_count;
  entry->why = x.why;
  if (x.why)
    ++ends.of[static_cast<size_t>(x.why->what)];
  if (!x.cause)
    return;
  entry->cause = x.cause;
  entry->gpus = trouble_at(x.cause->agent);
  entry->others = x.others;
  entry->exemption = x.exemption;
  entry->exemption_origin = x.exemption_origin;
  if (x.exemption.empty())
    count_failure(x.cause->host);
}

// What a generation has cost is told when the next one may have begun, which does not
// answer for it.
void snapshot::add(const failure_attributed& x) {
  const auto is_charged = x.restart_count > restart_count;
  restart_count = x.restart_count;
  auto* entry = find(x.generation);
  if (entry == nullptr)
    return;
  entry->attributed = attribution_entry{x.to, x.text};
  if (!is_charged)
    return;
  entry->restart_count = entry->formed.restart_count + 1;
  auto is_later = false;
  for (auto& y : generations) {
    y.formed.restart_count += is_later ? 1 : 0;
    is_later |= &y == entry;
  }
}

void snapshot::count_failure(const std::string& host) {
  const auto i = std::ranges::find(failures, host, &failing_host::host);
  if (i != failures.end())
    ++i->failure_count;
  else if (failures.size() < hosts_counted_max)
    failures.push_back({host, 1});
}

void snapshot::add(const job_ended& x) {
  count_all();
  result = x.result;
  ended_at = latest;
}

void snapshot::add(const gpus_changed& x) {
  const auto i = nodes.find(x.agent);
  if (i == nodes.end())
    return;
  if (x.trouble.empty())
    i->second.gpus.reset();
  else
    i->second.gpus = gpu_trouble{x.trouble, latest};
}

// What was before the last sign of life was training, and what came after it was not,
// though that is found only now.
void snapshot::add(const hang_changed& x) {
  const auto since = latest.when - x.silent_for;
  count_all(x.text.empty() ? latest.when : since);
  hang.reset();
  if (!x.text.empty())
    hang = hang_entry{x.text, x.where, since};
}

void snapshot::end_hang() {
  if (!hang)
    return;
  count_all();
  hang.reset();
}

// One that was slow before has been so since then.
void snapshot::add(const stragglers_changed& x) {
  auto now = std::vector<slow_worker>{};
  for (const auto& worker : x.named) {
    const auto known
      = std::ranges::find(stragglers, worker.global_rank,
                          [](const auto& y) { return y.what.global_rank; });
    now.push_back({worker, known == stragglers.end() ? latest : known->since});
  }
  stragglers = std::move(now);
  straggler_count = x.count;
}

void snapshot::end_stragglers() {
  stragglers.clear();
  straggler_count = 0;
}

void snapshot::add(const leader_chosen& x) {
  leadership = leadership_entry{.chosen = x, .at = latest, .term = x.term};
}

void snapshot::add(const voters_changed& x) {
  if (!leadership)
    return;
  leadership->term = x.term;
  leadership->voters = x.voters;
  leadership->deputies = x.deputies;
}

void snapshot::begin_to_count() {
  time.since = latest.when;
  for (auto& [agent, entry] : nodes)
    entry.counted_until = latest.when;
}

uint64_t snapshot::uncounted_us(const node_entry& x, time_point now) const {
  if (result || left)
    return 0;
  const auto us = ticks_of(now) - ticks_of(x.counted_until);
  return uint64_t(std::max<int64_t>(us, 0));
}

void snapshot::count(node_entry& x, time_point until) {
  const auto us = uncounted_us(x, until);
  if (us == 0)
    return;
  const auto what = cause_of(*x.now, *this);
  x.time.add(what, x.now->slot_count, us);
  x.counted_until = until;
  if (what == time_cause::training) {
    x.run.trained_us += us * x.now->slot_count;
    x.run.trained_until = until;
  }
  auto& all = generations.empty() ? time.outside : generations.back().time;
  all.add(what, x.now->slot_count, us);
}

void snapshot::count_all(time_point until) {
  for (auto& [agent, entry] : nodes)
    count(entry, until);
}

// -- saves --------------------------------------------------------------------

// What an earlier coordinator has counted of a generation is in the first record that
// its successor gets.
void snapshot::add(const node_saved& x) {
  const auto i = nodes.find(x.agent);
  if (i == nodes.end() || generations.empty() || generations.back().stopped_at
      || generations.back().formed.generation != x.generation)
    return;
  auto& [agent, entry] = *i;
  count(entry);
  auto& run = entry.run;
  const auto is_first = !std::exchange(run.has_said_saves, true);
  const auto before = std::exchange(run.saving, std::max(run.saving, x.saving));
  if (!is_first || !generations.back().formed.adopted)
    move_training(entry.time, run, time_cause::saving, entry.now->slot_count,
                  us_of(run.saving) - us_of(before));
  if (!x.saved_up_to)
    return;
  has_saves = true;
  run.saved_up_to = std::min(*x.saved_up_to, latest.when);
  run.saving_since = x.saving_since;
}

// Of those that save: often one does for all.
std::optional<time_point> snapshot::last_save() const {
  auto out = std::optional<time_point>{};
  const auto take = [&](const node_run& x) {
    if (x.saved_up_to)
      out = std::min(out.value_or(*x.saved_up_to), *x.saved_up_to);
  };
  for (const auto& [agent, x] : nodes)
    take(x.run);
  for (const auto& x : leavers)
    take(x.run);
  return out;
}

/// Not more than there is, whatever a journal says.
uint64_t snapshot::move_training(spent_time& of_node, node_run& run,
                                 time_cause to, uint32_t places,
                                 uint64_t worker_us) {
  constexpr auto from = size_t(time_cause::training);
  auto& all = generations.back().time;
  const auto worker = std::min(
    {worker_us, run.trained_us, of_node.worker_us[from], all.worker_us[from]});
  const auto node = std::min({places == 0 ? 0 : worker / places,
                              of_node.node_us[from], all.node_us[from]});
  of_node.move_training(to, worker, node);
  all.move_training(to, worker, node);
  run.trained_us -= worker;
  return worker;
}

// It has trained until its workers ended, without a break. Where there was one, a little
// more counts as lost, and never more than it has trained.
uint64_t snapshot::lose(spent_time& of_node, node_run& run, uint32_t places,
                        std::optional<time_point> saved) {
  auto us = run.trained_us;
  if (saved) {
    const auto since = times(us_between(*saved, run.trained_until), places);
    const auto saving = us_of(run.saving_since);
    us = std::min(us, since - std::min(since, saving));
  }
  return move_training(of_node, run, time_cause::lost, places, us);
}

// Where no worker has ever said that it saved, it is not known what is lost.
void snapshot::lose_training(generation_entry& x) {
  if (!has_saves)
    return;
  count_all();
  const auto saved = last_save();
  auto sum = loss{};
  auto until = saved.value_or(time_point{});
  for (auto& [agent, entry] : nodes) {
    until = std::max(until, entry.run.trained_until);
    sum.worker_us += lose(entry.time, entry.run, entry.now->slot_count, saved);
  }
  for (auto& y : leavers) {
    const auto i = time.left.find(y.host);
    until = std::max(until, y.run.trained_until);
    sum.worker_us += lose(i == time.left.end() ? time.left_others : i->second,
                          y.run, y.slot_count, saved);
  }
  leavers.clear();
  if (saved)
    sum.since_us = us_between(*saved, until);
  if (sum.worker_us > 0)
    x.lost = sum;
}

rare_value<gpu_trouble> snapshot::trouble_at(const agent_id& agent) const {
  const auto i = nodes.find(agent);
  return i == nodes.end() ? rare_value<gpu_trouble>{} : i->second.gpus;
}

generation_id snapshot::generation_before() const {
  if (generations.size() > 1)
    return generations[generations.size() - 2].formed.generation;
  const auto newest = generations.empty()
                        ? generation_id{}
                        : generations.back().formed.generation;
  // An earlier coordinator formed the one before. It counted within its term; where
  // the term has changed since, this one is none's, and all nodes say so.
  return {number_of(newest) > 1 ? newest.value - 1 : 0};
}

generation_entry* snapshot::find(generation_id generation) {
  const auto i = std::find_if(
    generations.rbegin(), generations.rend(),
    [&](const auto& x) { return x.formed.generation == generation; });
  return i == generations.rend() ? nullptr : &*i;
}

std::optional<duration> regroup_time(const snapshot& x, size_t index) {
  if (index == 0 || index >= x.generations.size())
    return {};
  const auto& begun = x.generations[index].running_at;
  const auto& ended = x.generations[index - 1].revoked_at;
  if (!begun || !ended)
    return {};
  return begun->when - ended->when;
}

} // namespace actorrun::core::journal
