#include "actors/core/timers/table.hpp"

#include "actors/core/timers/request.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

duration length_between(time_point from, time_point to) {
  return saturating_minus(to.time_since_epoch(), from.time_since_epoch());
}

/// A line says when its timer is over, not how long that was when it was written, a
/// little before it was read. Rounded up at the third digit, what people ask for
/// comes out: 500 ms, not 499.8.
duration likely_limit(duration left) {
  using namespace std::chrono_literals;
  const auto step = left <= 1s     ? duration{1ms}
                    : left <= 10s  ? duration{10ms}
                    : left <= 2min ? duration{100ms}
                                   : duration{1s};
  const auto over = left % step;
  return left <= duration::zero() || over == duration::zero()
             || left > duration::max() - step
           ? left
           : left - over + step;
}

} // namespace

std::vector<timer_effect> timer_table::step(const timer_event& event,
                                            time_point now) {
  auto out = effects{};
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  look(now, out);
  return out;
}

std::optional<timed_worker> timer_table::find(int64_t pid) const {
  const auto i = by_pid_.find(pid);
  if (i == by_pid_.end())
    return std::nullopt;
  return watches_[i->second].who;
}

size_t timer_table::size_of(const timed_worker& who) const {
  const auto i = by_worker_.find(who);
  return i == by_worker_.end() ? 0 : deadlines_.size_of(i->second);
}

// -- workers ------------------------------------------------------------------

void timer_table::on(const timed_worker_started& event, time_point,
                     effects& out) {
  // The new process has the pid or the name of another, so the other has ended.
  if (const auto i = by_worker_.find(event.who); i != by_worker_.end())
    end(i->second, out);
  if (const auto i = by_pid_.find(event.pid); i != by_pid_.end())
    end(i->second, out);
  if (by_worker_.size() >= timed_worker_count_max) {
    ++counts_.refused;
    return;
  }
  const auto place = free_place();
  watches_[place] = {.who = event.who, .pid = event.pid};
  by_worker_.emplace(event.who, place);
  if (event.pid != 0)
    by_pid_.emplace(event.pid, place);
}

void timer_table::on(const timed_worker_ended& event, time_point,
                     effects& out) {
  if (const auto i = by_worker_.find(event.who); i != by_worker_.end())
    end(i->second, out);
}

void timer_table::end(uint32_t place, effects& out) {
  auto& worker = watches_[place];
  deadlines_.clear(place);
  by_worker_.erase(worker.who);
  if (worker.pid != 0) {
    by_pid_.erase(worker.pid);
    out.emplace_back(drain_source{++round_});
    retired_[worker.pid] = round_;
    // The oldest, if no answer ever comes.
    if (retired_.size() > timed_worker_count_max)
      retired_.erase(std::min_element(
        retired_.begin(), retired_.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  worker = {};
  free_places_.push_back(place);
}

uint32_t timer_table::free_place() {
  if (free_places_.empty()) {
    watches_.emplace_back();
    return static_cast<uint32_t>(watches_.size() - 1);
  }
  const auto place = free_places_.back();
  free_places_.pop_back();
  return place;
}

// Where the worker is that a request names and that may ask for something.
std::optional<uint32_t> timer_table::place_of(int64_t pid) {
  const auto i = by_pid_.find(pid);
  if (i == by_pid_.end()) {
    ++counts_.unknown;
    return std::nullopt;
  }
  if (watches_[i->second].has_overrun || retired_.contains(pid)) {
    ++counts_.late;
    return std::nullopt;
  }
  return i->second;
}

std::optional<uint32_t> timer_table::place_of(const timed_worker& who) {
  const auto i = by_worker_.find(who);
  if (i == by_worker_.end()) {
    ++counts_.unknown;
    return std::nullopt;
  }
  if (watches_[i->second].has_overrun) {
    ++counts_.late;
    return std::nullopt;
  }
  return i->second;
}

// -- requests -----------------------------------------------------------------

void timer_table::on(const timer_requested& event, time_point now, effects&) {
  const auto place = place_of(event.pid);
  if (!place)
    return;
  remember(*place, event.scope, now);
  if (event.is_release) {
    counts_.released += deadlines_.release(*place, event.scope);
    return;
  }
  const auto due = clock_.due(event.expiration, event.wall_offset, now);
  acquire(*place, event.scope, due, event.signal,
          likely_limit(length_between(now - event.age, due)));
}

void timer_table::on(const progress_reported& event, time_point now, effects&) {
  const auto place = place_of(event.pid);
  if (!place)
    return;
  remember(*place, event.scope, now);
  const auto within = std::max(event.within, duration::zero());
  acquire(*place, event.scope, saturating_plus(now, within), event.signal,
          within);
}

void timer_table::on(const timer_acquired& event, time_point now, effects&) {
  const auto place = place_of(event.who);
  if (!place)
    return;
  remember(*place, event.scope, now);
  acquire(*place, event.scope, event.due, event.signal,
          length_between(now, event.due));
}

void timer_table::on(const timer_released& event, time_point now, effects&) {
  const auto place = place_of(event.who);
  if (!place)
    return;
  remember(*place, event.scope, now);
  counts_.released += deadlines_.release(*place, event.scope);
}

// No more than a copy into memory that is there: a million requests per second
// come this way.
void timer_table::remember(uint32_t place, std::string_view scope,
                           time_point now) {
  auto& worker = watches_[place];
  worker.last_scope.assign(scope.substr(0, last_scope_size_max));
  worker.last_request_at = now;
}

std::vector<last_request> timer_table::last_requests() const {
  auto out = std::vector<last_request>{};
  auto worker = timed_worker{};
  auto pid = int64_t{0};
  for (const auto& [who, place] : by_worker_) {
    const auto& x = watches_[place];
    if (who.process
        == 0) { // It comes before the processes that it has started.
      worker = who;
      pid = x.pid;
    }
    const auto is_of_worker = who.generation == worker.generation
                              && who.local_rank == worker.local_rank;
    if (pid == 0 || !is_of_worker || !x.last_request_at)
      continue;
    if (out.empty() || out.back().pid != pid)
      out.push_back({pid, x.last_scope, *x.last_request_at});
    else if (out.back().when < *x.last_request_at)
      out.back() = {pid, x.last_scope, *x.last_request_at};
  }
  return out;
}

void timer_table::acquire(uint32_t place, std::string_view scope,
                          time_point due, int signal, duration limit) {
  const auto is_armed = signal <= timer_signal_max
                        && deadlines_.acquire(place, scope, due, signal, limit);
  ++(is_armed ? counts_.acquired : counts_.refused);
}

// -- overruns -----------------------------------------------------------------

void timer_table::on(const overrun_forgiven& event, time_point, effects&) {
  const auto i = by_worker_.find(event.who);
  if (i != by_worker_.end())
    watches_[i->second].has_overrun = false;
}

void timer_table::on(const source_drained& event, time_point now,
                     effects& out) {
  std::erase_if(retired_,
                [&](const auto& x) { return x.second <= event.round; });
  if (decisive_ != 0 && event.round >= decisive_)
    decide(now, out);
}

void timer_table::on(const timer_fired& event, time_point, effects&) {
  wakeups_.fired(event.timer);
}

// Does what is due, and orders the next wake-up.
void timer_table::look(time_point now, effects& out) {
  if (decisive_ != 0 && now >= drained_by_)
    decide(now, out);
  if (decisive_ == 0) {
    deadlines_.advance(now);
    if (deadlines_.has_expired()) {
      decisive_ = ++round_;
      drained_by_ = now + source_timeout;
      out.emplace_back(drain_source{decisive_});
    }
  }
  const auto due = decisive_ != 0 ? drained_by_ : deadlines_.next_due();
  if (!due)
    return;
  if (const auto order = wakeups_.want(*due, now))
    out.emplace_back(*order);
}

// What had expired when the sources were drained and is still not released.
void timer_table::decide(time_point now, effects& out) {
  decisive_ = 0;
  while (auto x = deadlines_.take_expired()) {
    auto& worker = watches_[x->worker];
    auto what = overrun{.who = worker.who,
                        .pid = worker.pid,
                        .scope = std::move(x->scope),
                        .due = x->due,
                        .lateness = length_between(x->due, now),
                        .signal = x->signal};
    if (x->limit > duration::zero())
      what.limit = x->limit;
    if (x->signal <= 0) {
      record(worker, std::move(what), now, out);
      continue;
    }
    worker.has_overrun = true;
    deadlines_.clear(x->worker);
    out.emplace_back(report_overrun{std::move(what)});
  }
}

void timer_table::record(watch& worker, overrun what, time_point now,
                         effects& out) {
  if (now >= saturating_plus(worker.recording_since, record_period)) {
    worker.recording_since = now;
    worker.record_count = 0;
  }
  if (worker.record_count == records_max) {
    ++counts_.unrecorded;
    return;
  }
  ++worker.record_count;
  ++counts_.recorded;
  out.emplace_back(record_overrun{std::move(what)});
}

// -- text ---------------------------------------------------------------------

namespace {

std::string text_of(const overrun& x) {
  return to_string(x.who.generation) + "/" + std::to_string(x.who.local_rank)
         + " pid " + std::to_string(x.pid) + " \"" + x.scope + "\" "
         + std::to_string(x.lateness.count()) + " ns late, signal "
         + std::to_string(x.signal);
}

struct describer {
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + to_string(x.timer);
  }

  std::string operator()(const drain_source& x) const {
    return "drain_source " + std::to_string(x.round);
  }

  std::string operator()(const report_overrun& x) const {
    return "report_overrun " + text_of(x.what);
  }

  std::string operator()(const record_overrun& x) const {
    return "record_overrun " + text_of(x.what);
  }
};

} // namespace

std::string to_string(const timer_effect& x) {
  return std::visit(describer{}, x);
}

} // namespace actorrun::core
