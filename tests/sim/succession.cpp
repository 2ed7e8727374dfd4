#include "tests/sim/succession.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::sim {

namespace {

std::string in_ms(core::duration x) {
  return std::to_string(x / std::chrono::milliseconds{1}) + " ms";
}

} // namespace

void succession::begin(const core::coordinator_started& beginning,
                       core::duration in_force, core::time_point now) {
  is_successor_ = beginning.successor;
  began_ = now - beginning.silence;
  const auto& known = beginning.known;
  known_lease_ = std::max<core::duration>(own_lease_, known.lease);
  lease_in_force_ = std::max(own_lease_, in_force);
  if (!is_successor_)
    return;
  for (const auto& x : known.excluded)
    left_excluded_.insert(x.host);
  for (const auto& x : beginning.listed) // Beyond the job.
    left_excluded_.insert(x.host);
  if (known.revision != 0)
    told_[{}] = known;
  is_proved_ = beginning.is_proved;
  if (is_proved_)
    agreed_ = known;
}

void succession::before(const core::rendezvous& brain, core::time_point now) {
  listens_ = is_successor_
             && (brain.generation().value == 0 || now < began_ + known_lease_
                 || brain.waiting_for().starts_with("listening"));
}

void succession::joined(const agent_id& agent, const core::charter& heard) {
  if (!listens_)
    return;
  known_lease_ = std::max<core::duration>(known_lease_, heard.lease);
  if (is_proved_)
    return;
  told_[agent] = heard;
  find_agreement();
}

// All leases of which it may know have ended. Of one that no agent has told it, and
// no predecessor, it cannot know (docs/decisions/0044): what follows then is not
// promised.
void succession::formed(core::time_point now) {
  if (is_successor_ && !is_accounted_ && now < began_ + known_lease_)
    checks_.report("I2: a generation forms " + in_ms(now - began_)
                   + " after the coordinator's start, which was told of a lease"
                     " of "
                   + in_ms(known_lease_));
  if (known_lease_ < lease_in_force_ && now < began_ + lease_in_force_)
    checks_.leave_off();
  known_lease_ = lease_in_force_ = own_lease_;
}

void succession::after(const core::rendezvous& brain,
                       const core::rendezvous_event& event,
                       const std::vector<core::rendezvous_effect>& effects) {
  const auto* join = std::get_if<core::agent_joined>(&event);
  if (join != nullptr && join->held)
    found_.insert(join->held->plan.node_count);
  note_order(event, effects);
  if (is_successor_ && !brain.result())
    check_orders(brain);
}

void succession::note_order(
  const core::rendezvous_event& event,
  const std::vector<core::rendezvous_effect>& effects) {
  for (const auto& effect : effects) {
    if (const auto* x = std::get_if<core::report_exclusion>(&effect)) {
      excluded_.insert(x->host);
      included_.erase(x->host);
    }
    const auto* answer = std::get_if<core::answer_operator>(&effect);
    if (answer == nullptr || answer->code != errc::none)
      continue;
    if (const auto* x = std::get_if<core::resize_requested>(&event))
      size_ = *x;
    if (const auto* x = std::get_if<core::exclusion_requested>(&event)) {
      excluded_.insert(x->host);
      included_.erase(x->host);
    }
    if (const auto* x = std::get_if<core::inclusion_requested>(&event)) {
      excluded_.erase(x->host);
      included_.insert(x->host);
    }
  }
}

// Of two that say the same the one may have heard of it later than the other.
void succession::find_agreement() {
  auto newest = std::pair{uint64_t{0}, uint64_t{0}};
  for (auto i = told_.begin(); i != told_.end(); ++i)
    for (auto j = std::next(i); j != told_.end(); ++j) {
      const auto& [a, b] = std::pair{i->second, j->second};
      const auto age = std::pair{std::max(a.revision, b.revision),
                                 std::min(a.revision, b.revision)};
      if (a.settings != b.settings || a.is_resized != b.is_resized
          || age <= newest)
        continue;
      newest = age;
      agreed_ = a;
      told_by_one_.clear();
      told_excluded_.clear();
      for (const auto* y : {&a, &b})
        for (const auto& x : y->excluded)
          if (!told_by_one_.insert(x.host).second)
            told_excluded_.insert(x.host);
    }
}

// Where no order is known, a generation with more nodes shows that there was one.
bool succession::is_size_ordered(const core::job_settings& x) const {
  if (size_)
    return x.agent_count_min == size_->agent_count_min
           && x.agent_count_max == size_->agent_count_max;
  if (!agreed_)
    return true;
  const auto& asked = agreed_->settings;
  return x.agent_count_min == asked.agent_count_min
         && (x.agent_count_max == asked.agent_count_max
             || (!agreed_->is_resized
                 && x.agent_count_max > asked.agent_count_max
                 && found_.contains(x.agent_count_max)));
}

void succession::check_orders(const core::rendezvous& brain) const {
  if (!is_size_ordered(brain.settings()))
    checks_.report("orders: the job has " + core::to_string(brain.settings())
                   + ", and the newest order is another");
  auto excluded = std::set<std::string>{};
  for (const auto& x : brain.excluded_hosts())
    excluded.insert(x.host);
  for (const auto& host : excluded)
    if (!may_exclude(host))
      checks_.report("orders: host " + host
                     + " is excluded, and the newest order is another");
  for (const auto* hosts : {&left_excluded_, &excluded_, &told_excluded_})
    for (const auto& host : *hosts)
      if (!excluded.contains(host) && !included_.contains(host))
        checks_.report("orders: host " + host + " is not excluded any more");
}

bool succession::may_exclude(const std::string& host) const {
  return !included_.contains(host)
         && (excluded_.contains(host) || left_excluded_.contains(host)
             || told_by_one_.contains(host));
}

} // namespace actorrun::sim
