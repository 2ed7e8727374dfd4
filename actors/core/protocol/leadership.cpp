#include "actors/core/protocol/leadership.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

namespace {

/// Between two readings of another node's entry by a candidate that always
/// campaigns.
constexpr auto campaign_pause = std::chrono::seconds{1};

/// Renewals during the length of a lease …
constexpr auto renewals_per_lease = 3;
/// … and attempts after a failure.
constexpr auto retries_per_lease = 15;

failure over() {
  return {errc::job_over, "the job has ended while this node was away"};
}

failure no_proof(std::string text) {
  return {errc::connection_failed, std::move(text)};
}

} // namespace

leadership::leadership(leadership_options options) : options_(options) {
  assert(options.guard < options.lease);
}

std::vector<leadership_effect> leadership::step(const leadership_event& event,
                                                time_point now) {
  now_ = now;
  if (phase_ != phase::retired
      || std::holds_alternative<coordinator_wanted>(event))
    std::visit([this](const auto& x) { on(x); }, event);
  return std::exchange(out_, {});
}

bool leadership::is_leader() const {
  return phase_ == phase::opening || phase_ == phase::publishing
         || phase_ == phase::leading || phase_ == phase::renewing
         || phase_ == phase::checking || phase_ == phase::writing;
}

// -- looking for the coordinator ----------------------------------------------

void leadership::on(const candidate_started&) {
  if (options_.always_campaigns)
    look();
}

void leadership::on(const coordinator_wanted& event) {
  is_wanted_ = true;
  was_member_ = event.was_member;
  if (phase_ == phase::leading || phase_ == phase::renewing
      || phase_ == phase::checking || phase_ == phase::writing) {
    is_wanted_ = false;
    out_.emplace_back(report_here{});
  } else if (phase_ == phase::retired) {
    miss(no_proof("this node has left the job"));
  } else if (phase_ == phase::idle || phase_ == phase::connecting) {
    look();
  }
}

void leadership::look() {
  phase_ = phase::reading;
  out_.emplace_back(read_entry{});
}

void leadership::on(const entry_read& event) {
  if (phase_ == phase::checking)
    return check(event.entry);
  if (phase_ != phase::reading)
    return;
  set_trouble(std::nullopt);
  if (!is_led(event.entry) && has_ended(event.job))
    return;
  keep(event.job);
  if (!event.entry && options_.is_candidate)
    run_for_leadership(0);
  else
    try_entry(event.entry);
}

// Whoever leads still tells its members how the job has ended.
bool leadership::is_led(const std::optional<leader_entry>& entry) const {
  return was_member_ && entry && !entry->endpoint.empty();
}

void leadership::keep(const job_mark& job) {
  expected_job_revision_ = job.revision;
  is_job_over_ = job.is_over;
  job_ = job.job;
  // Generations of the next job are counted from 1. The mark's term is above all
  // that were given.
  if (job.is_over)
    job_.newest = generation_of(term_of(job_.newest), 0);
}

// Otherwise who was away for the end of a job would run it again. Whoever was not a
// member begins the next job with this id.
bool leadership::has_ended(const job_mark& job) {
  if (!job.is_over)
    return false;
  known_.reset();
  has_seen_coordinator_ = false;
  if (was_member_)
    miss(over());
  return was_member_;
}

void leadership::try_entry(const std::optional<leader_entry>& entry) {
  if (!entry)
    return miss(no_proof("etcd knows no coordinator of the job"));
  if (entry->endpoint.empty())
    return miss(no_proof("a coordinator has just been elected"));
  if (options_.always_campaigns)
    return miss(no_proof("the coordinator is at " + entry->endpoint));
  tried_ = *entry;
  doubt_.reset();
  phase_ = phase::connecting;
  out_.emplace_back(try_endpoint{tried_.endpoint});
}

void leadership::on(const endpoint_reached&) {
  if (phase_ != phase::connecting)
    return;
  is_wanted_ = false;
  has_seen_coordinator_ = true;
  phase_ = phase::idle;
  known_ = tried_;
}

// Who is gone is who served us last, which is the owner of this entry only if
// that has not changed since.
void leadership::on(const endpoint_gone& event) {
  if (phase_ != phase::connecting)
    return;
  if (doubt_)
    miss(*doubt_);
  else if (is_job_over_ && was_member_)
    miss(over());
  else if (options_.is_candidate && known_ == tried_)
    run_for_leadership(tried_.revision);
  else
    miss(known_ == tried_ ? event.why : no_proof(event.why.text));
}

void leadership::on(const endpoint_failed& event) {
  if (phase_ == phase::connecting)
    miss(doubt_.value_or(event.why));
}

void leadership::miss(failure why) {
  if (phase_ != phase::retired)
    phase_ = phase::idle;
  if (std::exchange(is_wanted_, false))
    out_.emplace_back(report_missing{std::move(why)});
  if (options_.always_campaigns && phase_ == phase::idle)
    arm(now_ + campaign_pause);
}

// -- becoming the leader -------------------------------------------------------

// Who leads decides by its own settings how long it holds back. So it must know, and
// have, those of the job.
std::optional<failure> leadership::unfitness() const {
  if (is_job_over_ || job_.revision == 0
      || fits(options_.settings, job_.settings, job_.is_resized,
              options_.leeway))
    return std::nullopt;
  return failure{
    errc::settings_mismatch,
    "the job runs with " + describe(job_.settings, options_.settings)
      + ", this node asks for " + describe(options_.settings, job_.settings)
      + "; it takes the coordinator's part only with the job's"
        " settings. If that job is over, start the new one with"
        " another --rdzv-id, or remove its key from etcd"};
}

void leadership::run_for_leadership(int64_t expected_revision) {
  if (auto why = unfitness())
    return miss(std::move(*why));
  expected_revision_ = expected_revision;
  phase_ = phase::opening_lease;
  out_.emplace_back(open_lease{options_.lease});
}

void leadership::on(const lease_opened& event) {
  if (phase_ != phase::opening_lease)
    return;
  lease_ = event.lease;
  length_ = event.length;
  renewed_ = event.sent;
  leadership_end_ = event.sent + event.length - options_.guard;
  if (now_ >= leadership_end_) {
    drop_lease();
    return miss(no_proof("etcd answers too slowly"));
  }
  phase_ = phase::campaigning;
  out_.emplace_back(
    campaign{lease_, expected_revision_, expected_job_revision_, next_job()});
}

// The settings of a job that begins are those of its first coordinator.
charter leadership::next_job() const {
  auto out = job_;
  if (is_job_over_ || out.revision == 0)
    out = charter{.revision = 1,
                  .settings = options_.settings,
                  .lease = options_.settings.lease,
                  .newest = job_.newest};
  out.newest = next_term(out.newest);
  return out;
}

void leadership::on(const campaign_won& event) {
  if (phase_ != phase::campaigning)
    return;
  revision_ = event.revision;
  phase_ = phase::opening;
  if (now_ >= leadership_end_)
    return leave("etcd answers too slowly", true);
  out_.emplace_back(set_leadership_end{leadership_end_});
  // etcd may have lost its data, but this node knows of the job's coordinator.
  const auto is_successor = event.terms_before != 0 || has_seen_coordinator_;
  auto known = charter{.newest = job_.newest};
  if (!is_job_over_)
    known = job_;
  // Whoever was before, and has left nothing, may have given any lease; but our agent
  // was accepted only with its own.
  if (is_successor && known.lease.count() == 0)
    known.lease = has_seen_coordinator_
                    ? options_.settings.lease + options_.leeway
                    : lease_max;
  job_ = next_job();
  ceiling_ = job_.newest;
  is_over_ = false;
  has_news_ = false;
  using kind = leader_change::kind;
  const auto how = !is_successor             ? kind::began
                   : expected_revision_ != 0 ? kind::ended
                                             : kind::expired;
  out_.emplace_back(open_coordinator{is_successor, event.terms_before,
                                     std::move(known), duration{0},
                                     leader_change{how}});
}

void leadership::on(const campaign_lost& event) {
  if (phase_ != phase::campaigning)
    return;
  drop_lease();
  if (is_led(event.entry) || !has_ended(event.job)) {
    keep(event.job);
    try_entry(event.entry);
  }
}

void leadership::on(const coordinator_opened& event) {
  if (phase_ != phase::opening)
    return;
  phase_ = phase::publishing;
  out_.emplace_back(
    publish{lease_, revision_, event.endpoint, leadership_end_});
}

void leadership::on(const coordinator_not_opened& event) {
  if (phase_ != phase::opening)
    return;
  out_.emplace_back(set_leadership_end{time_point{}});
  drop_lease();
  miss(event.why);
}

void leadership::on(const leadership_published& event) {
  if (phase_ != phase::publishing)
    return;
  revision_ = event.revision;
  has_seen_coordinator_ = true;
  lead(std::max(now_, renewed_ + length_ / renewals_per_lease));
  if (std::exchange(is_wanted_, false))
    out_.emplace_back(report_here{});
}

void leadership::on(const leadership_lost&) {
  if (phase_ == phase::publishing)
    leave("another has taken it over", true);
}

// -- staying the leader ---------------------------------------------------------------

void leadership::on(const timer_fired& event) {
  if (event.timer != timer_ || timer_.value == 0)
    return;
  if (phase_ == phase::idle && options_.always_campaigns)
    return look();
  if (phase_ != phase::leading)
    return;
  if (now_ >= leadership_end_)
    return leave("its lease in etcd could not be renewed", false);
  phase_ = phase::renewing;
  out_.emplace_back(renew_lease{lease_, leadership_end_});
}

// The entry may have been lost although its lease goes on: it is read next.
void leadership::on(const lease_renewed& event) {
  if (phase_ != phase::renewing)
    return;
  length_ = event.length;
  renewed_ = event.sent;
  // By the time of this answer the leadership had ended.
  if (now_ >= leadership_end_)
    return leave("its lease in etcd could not be renewed", true);
  leadership_end_
    = std::max(leadership_end_, event.sent + event.length - options_.guard);
  out_.emplace_back(set_leadership_end{leadership_end_});
  phase_ = phase::checking;
  out_.emplace_back(read_entry{leadership_end_});
}

void leadership::check(const std::optional<leader_entry>& entry) {
  if (!entry || entry->revision != revision_)
    return leave(entry ? "etcd names another coordinator"
                       : "etcd has lost its entry",
                 true);
  set_trouble(std::nullopt);
  lead(std::max(now_, renewed_ + length_ / renewals_per_lease));
}

// -- what the next coordinator must know ---------------------------------------

void leadership::lead(time_point due) {
  phase_ = phase::leading;
  next_renewal_ = due;
  arm(due);
  write();
}

void leadership::write() {
  if (phase_ != phase::leading || !std::exchange(has_news_, false))
    return;
  phase_ = phase::writing;
  auto order = write_job{lease_, is_over_, job_, leadership_end_};
  order.job.newest = ceiling_;
  out_.emplace_back(std::move(order));
}

// Of a job of which a coordinator does not know as much yet as is written it knows
// the lease and the numbers. The rest stays, or the coordinator's end would leave
// nothing of it.
void leadership::on(const job_changed& event) {
  if (!is_leader())
    return;
  auto job = event.job.revision < job_.revision ? job_ : event.job;
  job.lease = event.job.lease;
  job.newest = event.job.newest;
  const auto is_reached = term_of(job.newest) >= term_of(ceiling_);
  const auto is_news = !is_same_job(job_, job) || job_.lease != job.lease
                       || number_of(ceiling_) != number_of(job.newest)
                       || is_reached;
  job_ = std::move(job);
  ceiling_ = later(ceiling_, job_.newest);
  if (is_reached)
    ceiling_ = next_term(ceiling_);
  has_news_ |= is_news;
  write();
}

void leadership::on(const outcome_reached&) {
  if (!is_leader()) {
    out_.emplace_back(report_outcome_written{});
    return;
  }
  is_over_ = true;
  has_news_ = true;
  write();
}

void leadership::on(const job_written&) {
  if (phase_ != phase::writing)
    return;
  if (is_over_ && !has_news_)
    out_.emplace_back(report_outcome_written{});
  lead(std::max(now_, next_renewal_));
}

void leadership::on(const lease_ended&) {
  if (phase_ == phase::renewing)
    leave("its lease in etcd is over", false);
}

void leadership::on(const registry_failed& event) {
  switch (phase_) {
    case phase::reading:
      // A coordinator accepts agents only while it is the leader, so the one
      // that accepts us is the right one.
      if (known_ || options_.always_campaigns)
        set_trouble(event.why);
      if (!known_)
        return miss(event.why);
      tried_ = *known_;
      doubt_ = event.why;
      phase_ = phase::connecting;
      out_.emplace_back(try_endpoint{tried_.endpoint});
      return;
    case phase::opening_lease:
      return miss(event.why);
    case phase::campaigning:
      drop_lease();
      return miss(event.why);
    case phase::publishing:
      return leave(event.why.text, true);
    case phase::writing:
      // With the next renewal. Whoever waits for it has a limit of its own.
      set_trouble(event.why);
      has_news_ = true;
      phase_ = phase::leading;
      return arm(std::max(now_, std::min(next_renewal_, leadership_end_)));
    case phase::renewing:
    case phase::checking:
      set_trouble(event.why);
      phase_ = phase::leading;
      return arm(std::min(now_ + length_ / retries_per_lease, leadership_end_));
    default:
      return;
  }
}

// -- ending the leadership ---------------------------------------------------------------

void leadership::leave(const std::string& reason, bool ends_lease) {
  out_.emplace_back(set_leadership_end{time_point{}});
  out_.emplace_back(close_coordinator{reason});
  known_.reset();
  if (ends_lease)
    drop_lease();
  lease_ = 0;
  miss(no_proof("this node's coordinator is no longer the leader: " + reason));
}

void leadership::on(const resign_requested& event) {
  if (is_leader()) {
    out_.emplace_back(set_leadership_end{time_point{}});
    out_.emplace_back(close_coordinator{
      event.job_over ? "the job is over" : "this node leaves the job"});
  }
  if (lease_ != 0)
    out_.emplace_back(
      end_lease{lease_, event.job_over, charter{.newest = ceiling_}});
  phase_ = phase::retired;
  miss(no_proof("this node has left the job"));
}

void leadership::drop_lease() {
  out_.emplace_back(end_lease{lease_, false});
  lease_ = 0;
}

void leadership::set_trouble(std::optional<failure> trouble) {
  if (std::exchange(is_registry_away_, trouble.has_value())
      != is_registry_away_)
    out_.emplace_back(log_registry{std::move(trouble)});
}

void leadership::arm(time_point due) {
  ++timer_.value;
  out_.emplace_back(arm_timer{timer_, due});
}

std::string to_string(leadership::phase x) {
  using phase = leadership::phase;
  switch (x) {
    case phase::idle:
      return "idle";
    case phase::reading:
      return "reading";
    case phase::connecting:
      return "connecting";
    case phase::opening_lease:
      return "opening_lease";
    case phase::campaigning:
      return "campaigning";
    case phase::opening:
      return "opening";
    case phase::publishing:
      return "publishing";
    case phase::leading:
      return "leading";
    case phase::renewing:
      return "renewing";
    case phase::checking:
      return "checking";
    case phase::writing:
      return "writing";
    case phase::retired:
      return "retired";
  }
  return "unknown";
}

} // namespace actorrun::core
