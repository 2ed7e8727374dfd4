#include "actors/status_desk.hpp"

#include "actors/job_status.hpp"
#include "actors/status_vitals.hpp"
#include "actors/translate.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

using std::chrono::milliseconds;

/// The least between two pictures, for each node: less than an eighth of a core for
/// those that ask all the time.
constexpr auto gap_per_node = std::chrono::microseconds{100};
constexpr auto gap_max = milliseconds{1'000};

/// Without news, viewers are shown a picture again that is no older.
constexpr auto still_age_max = milliseconds{100};

/// So long, and so many at a time, pictures can be fetched page by page.
constexpr auto kept_age_max = std::chrono::seconds{10};
constexpr size_t kept_max = 4;

/// At most this many wait for the next picture; others get the last one.
constexpr size_t watchers_max = 1'024;

/// So many agents' leases are looked up at a time: meanwhile no keep-alive is heard.
constexpr int leases_at_a_time = 64;

/// Without what changes with time alone.
node_vitals timeless(node_vitals x) {
  for (auto& worker : x.workers) {
    worker.age.reset();
    worker.output_age.reset();
    worker.timer_age.reset();
  }
  return x;
}

bool is_regrouping(rendezvous_phase x) {
  return x == rendezvous_phase::starting || x == rendezvous_phase::stopping;
}

} // namespace

status_desk_actor::behavior_type status_desk_state::make_behavior() {
  return {
    [this](const job_recorded& x) {
      for (const auto& record : x.records)
        apply(record);
    },
    [this](const node_reported& x) { note(x); },
    [this](const status_wanted& x) { return show(x); },
    [this](const status_awaited&) {
      is_woken_ = false;
      make_picture();
    },
    [this](const desk_closed&) {
      if (!waiting_.empty())
        make_picture();
      self_->quit();
    },
  };
}

void status_desk_state::on_exit() {
  waiting_.clear();
}

void status_desk_state::apply(const journal::record& x) {
  known_.apply(x);
  ++news_;
  if (const auto* gone = std::get_if<journal::node_gone>(&*x.what))
    nodes_.erase(gone->agent);
}

void status_desk_state::note(const node_reported& x) {
  if (!known_.nodes.contains(x.agent))
    return;
  auto& node = nodes_[x.agent];
  auto has_changed = x.devices && node.devices != x.devices;
  if (x.devices)
    node.devices = x.devices;
  if (x.vitals) {
    has_changed = has_changed || node.seen == time_point{}
                  || timeless(node.vitals) != timeless(*x.vitals);
    node.vitals = *x.vitals;
    node.seen = self_->clock().now();
  }
  news_ += has_changed ? 1 : 0;
}

// -- pictures -----------------------------------------------------------------

caf::result<status_shown> status_desk_state::show(const status_wanted& x) {
  if (const auto known = find(x.number))
    return status_shown{known};
  const auto now = self_->clock().now();
  if (newest_
      && (is_new_enough(x.for_watch, now) || waiting_.size() == watchers_max))
    return status_shown{newest_};
  auto to = self_->make_response_promise<status_shown>();
  waiting_.push_back(to);
  if (!newest_ || now - made_ >= gap())
    make_picture();
  else if (!std::exchange(is_woken_, true))
    tell_later(self_, made_ + gap() - now, status_awaited{});
  return to;
}

// An answer is never older than its question, except for those that will ask again;
// while a large job regroups, these wait twice as long.
bool status_desk_state::is_new_enough(bool for_watch, time_point now) const {
  const auto age = now - made_;
  const auto is_still = newest_->news == news_;
  if (!for_watch)
    return is_still && age < gap();
  return age < newest_->pace * (is_regrouping(known_.phase) ? 2 : 1)
         || (is_still && age < still_age_max);
}

shared_status status_desk_state::find(uint64_t number) const {
  const auto i = std::ranges::find_if(
    kept_, [&](const auto& x) { return x.what->number == number; });
  return i == kept_.end() ? nullptr : i->what;
}

duration status_desk_state::gap() const {
  constexpr auto count_max = size_t(gap_max / gap_per_node);
  return duration_cast<milliseconds>(
    gap_per_node * int64_t(std::min(known_.nodes.size(), count_max)));
}

void status_desk_state::make_picture() {
  made_ = self_->clock().now();
  newest_ = picture_of(status(made_), new_picture_number(), news_);
  std::erase_if(kept_,
                [&](const auto& x) { return made_ - x.made > kept_age_max; });
  if (newest_->pages->size() > 1)
    kept_.push_back({newest_, made_});
  if (kept_.size() > kept_max)
    kept_.pop_front();
  for (auto& to : std::exchange(waiting_, {}))
    to.deliver(status_shown{newest_});
}

v1::JobStatus status_desk_state::status(time_point now) const {
  auto out = status_of(known_, moment_of(now));
  add_leases(out, now);
  add_devices(out);
  add_vitals(out, [this, now](const agent_id& id) {
    const auto i = nodes_.find(id);
    return i == nodes_.end() || i->second.seen == time_point{}
             ? vitals_of_node{}
             : vitals_of_node{&i->second.vitals, now - i->second.seen};
  });
  return out;
}

// The journal does not tell of keep-alives: there are too many.
void status_desk_state::add_leases(v1::JobStatus& out, time_point now) const {
  auto& agents = *out.mutable_agents();
  for (auto next = 0; next < agents.size();) {
    auto leases = leases_->hold();
    const auto end = std::min(next + leases_at_a_time, agents.size());
    for (; next < end; ++next) {
      const auto heard = leases->heard({agents[next].agent_id()});
      if (!heard)
        continue;
      const auto age = std::chrono::duration_cast<milliseconds>(now - *heard);
      agents[next].set_lease_age_ms(
        static_cast<uint64_t>(std::max<int64_t>(age.count(), 0)));
    }
  }
}

// Agents come first: their devices get what room they have left.
void status_desk_state::add_devices(v1::JobStatus& out) const {
  auto room = status_room{out};
  for (auto& agent : *out.mutable_agents()) {
    const auto i = nodes_.find({agent.agent_id()});
    if (i == nodes_.end() || !i->second.devices)
      continue;
    auto devices = to_wire(*i->second.devices);
    if (!room.take(devices.ByteSizeLong(), size_t(devices.gpus_size())))
      return out.set_gpus_truncated(true);
    agent.mutable_gpus()->Swap(devices.mutable_gpus());
    agent.set_gpu_trouble(devices.gpu_trouble());
  }
}

status_desk_actor spawn_status_desk(caf::actor_system& system,
                                    std::shared_ptr<shared_lease_desk> leases) {
  return system.spawn<actor_impl<status_desk_actor, status_desk_state>>(
    std::move(leases));
}

} // namespace actorrun
