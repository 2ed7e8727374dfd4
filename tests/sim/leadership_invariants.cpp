#include "tests/sim/leadership_invariants.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

template <class T>
const T* find(const std::vector<leadership_effect>& effects) {
  for (const auto& x : effects)
    if (const auto* found = std::get_if<T>(&x))
      return found;
  return nullptr;
}

template <class... Ts, class Variant>
bool is_any(const Variant& x) {
  return (std::holds_alternative<Ts>(x) || ...);
}

bool leads(leadership::phase x) {
  using phase = leadership::phase;
  return x == phase::leading || x == phase::renewing || x == phase::checking;
}

} // namespace

std::optional<std::string>
leadership_invariants::observe(const leadership_event& event, phase before,
                               const std::vector<leadership_effect>& effects,
                               phase after, time_point now) {
  learn(event, before);
  if (is_retired_ && !effects.empty()
      && !is_any<resign_requested, coordinator_wanted>(event))
    report("acts although it has left");
  if (before == phase::reading)
    check_outage(event, effects);
  if (is_any<endpoint_gone>(event))
    check_gone(effects);
  for (const auto& x : effects)
    check(event, x, now);
  check_state(event, after, now);
  return wrong_;
}

// -- what an event tells ------------------------------------------------------

void leadership_invariants::learn(const leadership_event& event, phase before) {
  must_leave_ = false;
  if (is_any<entry_read, lease_opened, campaign_won, campaign_lost,
             leadership_published, leadership_lost, lease_renewed, lease_ended,
             registry_failed>(event))
    is_asking_ = false;
  if (is_any<coordinator_wanted>(event)) {
    is_searching_ = true;
  } else if (is_any<resign_requested>(event)) {
    is_retired_ = true;
  } else if (const auto* answer = std::get_if<entry_read>(&event)) {
    read_ = answer->entry;
    must_leave_
      = before == phase::checking && (!read_ || read_->revision != revision_);
    if (before == phase::reading)
      forget_job(answer->job);
  } else if (const auto* lost = std::get_if<campaign_lost>(&event)) {
    read_ = lost->entry;
    forget_job(lost->job);
  } else if (is_any<registry_failed>(event)) {
    read_.reset();
  } else if (const auto* lease = std::get_if<lease_opened>(&event)) {
    granted_ = lease->sent;
    length_ = lease->length;
    if (!is_retired_)
      held_[lease->lease] = granted_ + length_;
  } else if (const auto* renewal = std::get_if<lease_renewed>(&event)) {
    granted_ = renewal->sent;
    length_ = renewal->length;
    for (auto& [_, due] : held_)
      due = granted_ + length_;
  } else if (is_any<lease_ended>(event)) {
    held_.clear();
    must_leave_ = true;
  } else if (is_any<leadership_lost>(event)) {
    must_leave_ = true;
  } else if (const auto* won = std::get_if<campaign_won>(&event)) {
    revision_ = won->revision;
  } else if (const auto* written = std::get_if<leadership_published>(&event)) {
    revision_ = written->revision;
    has_seen_coordinator_ = true;
  } else if (is_any<coordinator_not_opened>(event)) {
    is_open_ = false;
  } else if (is_any<endpoint_reached>(event)) {
    is_searching_ = false;
    was_member_ = has_seen_coordinator_ = true;
    known_ = tried_;
  }
}

void leadership_invariants::forget_job(const job_mark& job) {
  if (!job.is_over)
    return;
  known_.reset();
  has_seen_coordinator_ = false;
}

// -- what it orders -----------------------------------------------------------

void leadership_invariants::check(const leadership_event& event,
                                  const leadership_effect& effect,
                                  time_point now) {
  check_request(event, effect, now);
  if (is_any<report_here, report_missing, try_endpoint>(effect)
      && !is_searching_)
    report("answers without a question");
  if (const auto* target = std::get_if<try_endpoint>(&effect)) {
    // Without etcd it goes where it was served.
    tried_ = read_ ? read_ : known_;
    if (!tried_ || tried_->endpoint != target->endpoint)
      report("goes where nothing has led it");
  } else if (const auto* miss = std::get_if<report_missing>(&effect)) {
    is_searching_ = false;
    const auto* answer = std::get_if<entry_read>(&event);
    const auto is_over = answer != nullptr && answer->job.is_over;
    const auto is_lost = is_any<campaign_lost>(event);
    if ((miss->why.code == errc::job_over) != (is_over && was_member_)
        && !is_lost)
      report("does not tell a member, and it alone, that the job is over");
  } else if (is_any<report_here>(effect)) {
    is_searching_ = false;
    was_member_ = true;
  } else if (const auto* order = std::get_if<open_coordinator>(&effect)) {
    if (is_open_ || !options_.is_candidate)
      report("opens a coordinator, and has one or can host none");
    if (order->successor != (order->terms_before != 0 || has_seen_coordinator_))
      report("takes its coordinator for the first, or for a successor");
    is_open_ = true;
  } else if (is_any<close_coordinator>(effect)) {
    if (!is_open_ && !is_any<campaign_won>(event))
      report("closes a coordinator that it has not");
    is_open_ = false;
    known_.reset();
  } else if (const auto* term = std::get_if<set_leadership_end>(&effect)) {
    check_term(term->due, now);
  } else if (const auto* end = std::get_if<end_lease>(&effect)) {
    if (held_.erase(end->lease) == 0)
      report("ends a lease that it has not");
    const auto* leaving = std::get_if<resign_requested>(&event);
    if (end->job_over != (leaving != nullptr && leaving->job_over))
      report("marks the job as over, or does not");
  } else if (const auto* line = std::get_if<log_registry>(&effect)) {
    if (std::exchange(says_away_, line->trouble.has_value())
        == line->trouble.has_value())
      report("logs again that etcd is away, or back");
  } else if (const auto* timer = std::get_if<arm_timer>(&effect)) {
    check_timer(event, timer->due, now);
  }
}

void leadership_invariants::check_request(const leadership_event& event,
                                          const leadership_effect& effect,
                                          time_point now) {
  if (!is_any<read_entry, open_lease, campaign, publish, renew_lease>(effect))
    return;
  if (std::exchange(is_asking_, true))
    report("has two requests to etcd at once");
  if (!options_.always_campaigns && !is_searching_ && !is_open_)
    report("asks etcd without need");
  const auto* answer = std::get_if<entry_read>(&event);
  if (is_any<open_lease>(effect) && answer != nullptr && answer->entry)
    report("campaigns although etcd names a coordinator");
  if (const auto* bid = std::get_if<campaign>(&effect);
      bid != nullptr && now >= granted_ + length_ - options_.guard)
    report("campaigns with a lease that is over too soon");
}

// As etcd has it, or as it was told when etcd has lost it.
time_point leadership_invariants::end_of(
  const std::pair<const int64_t, time_point>& lease) const {
  return registry_.end_of(lease.first).value_or(lease.second);
}

/// @param due The generation of the clock: it may decide no more.
void leadership_invariants::check_term(time_point due, time_point now) {
  if (due != time_point{}) {
    const auto end = held_.empty() ? time_point{} : end_of(*held_.begin());
    if (due + options_.guard > end)
      report("may decide for longer than its lease lasts");
    if (due <= now)
      report("may decide until what has passed");
    if (is_open_ && now >= leadership_end_)
      report("decides again after its end");
  }
  leadership_end_ = due;
}

// Three renewals per lease, and fifteen attempts if etcd does not answer.
void leadership_invariants::check_timer(const leadership_event& event,
                                        time_point due, time_point now) {
  if (!is_open_) {
    if (!options_.always_campaigns || is_retired_)
      report("sets a timer that it does not need");
    else if (due < now + 500ms)
      report("asks etcd without a pause");
  } else if (is_any<registry_failed>(event)) {
    if (due > leadership_end_ || due > now + length_ / 10)
      report("asks too late again");
    else if (due < std::min(now + length_ / 20, leadership_end_))
      report("asks etcd without a pause");
  } else if (due > std::max(now, granted_ + length_ / 3)) {
    report("renews its lease too late");
  } else if (due < granted_ + length_ / 4) {
    report("renews its lease too often");
  }
}

// -- what must follow ---------------------------------------------------------

// Who is gone is who served it: it takes over if etcd still names that one.
void leadership_invariants::check_gone(
  const std::vector<leadership_effect>& effects) {
  const auto is_its = read_ && read_ == known_;
  const auto must_run = is_its && options_.is_candidate;
  if ((find<open_lease>(effects) != nullptr) != must_run)
    report(must_run ? "does not take over although it has the proof"
                    : "takes over what may be another's");
  const auto* miss = find<report_missing>(effects);
  if (miss != nullptr && (miss->why.code == errc::coordinator_gone) != is_its)
    report("says that its coordinator has ended, or does not");
}

// While etcd is away nothing else happens: whoever knows the coordinator goes
// there, and says once that etcd is away.
void leadership_invariants::check_outage(
  const leadership_event& event,
  const std::vector<leadership_effect>& effects) {
  const auto is_away = is_any<registry_failed>(event);
  if (!is_away && !is_any<entry_read>(event))
    return;
  if (is_away && (find<try_endpoint>(effects) != nullptr) != known_.has_value())
    report("does not go without etcd where it was served");
  const auto says = known_ || options_.always_campaigns;
  const auto must_log = is_away ? says && !says_away_ : says_away_;
  if ((find<log_registry>(effects) != nullptr) != must_log)
    report("does not log that etcd is away, or back");
}

void leadership_invariants::check_state(const leadership_event& event,
                                        phase after, time_point now) {
  const auto is_leader
    = leads(after) || after == phase::opening || after == phase::publishing;
  if (is_open_ && (!is_leader || must_leave_))
    report("keeps a coordinator without the leadership");
  if (!is_open_ && now < leadership_end_)
    report("may decide, and has no coordinator");
  if (!is_leader && after != phase::campaigning) {
    if (std::any_of(held_.begin(), held_.end(), [&](const auto& x) {
          return x.second > now + options_.guard;
        }))
      report("keeps a lease for nothing");
    held_.clear();
  }
  if (is_any<coordinator_wanted, resign_requested>(event) && is_searching_
      && (is_retired_ || leads(after)))
    report("does not answer its agent");
  // Its term runs out: an operator must see that etcd does not answer, and when
  // it does again.
  if (is_open_ && after == phase::leading
      && (is_any<registry_failed>(event)
            ? !says_away_
            : is_any<entry_read>(event) && says_away_))
    report("leads, and does not log whether etcd answers");
}

void leadership_invariants::report(std::string what) {
  if (!wrong_)
    wrong_ = std::move(what);
}

} // namespace actorrun::sim
