#include "actors/core/protocol/generation_end.hpp"

#include "actors/core/protocol/operator_desk.hpp"
#include "actors/core/protocol/stand_by.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

namespace {

/// An exempt failure does not end a job: names an unkillable worker, if there
/// is one, as the first failure instead.
void attribute_unkillable(outcome& how) {
  if (how.first_failure->kind == failure_kind::unkillable)
    return;
  const auto i = std::ranges::find(how.other_failures, failure_kind::unkillable,
                                   &worker_failure::kind);
  if (i != how.other_failures.end())
    std::swap(*i, *how.first_failure);
}

} // namespace

void generation_end::know(const charter& told) {
  policy_.set_maximum(orders_.settings().restart_count_max);
  const auto is_sound = told.charged <= told.newest;
  policy_.restore(told.restart_count,
                  is_sound ? told.charged : generation_id{});
  costs_.know_failures(told.failing);
}

// -- a generation begins, and ends --------------------------------------------

void generation_end::begin() {
  // Those for whom the last generation was ended have gone again: that was for
  // nothing.
  if (!let_in_.empty() && agents_.counts().newcomers == 0)
    costs_.member_departs(step_.now());
  let_in_.clear();
  costs_.generation_begins(step_.now());
  policy_.begin(step_.now());
}

void generation_end::revoke(const end_reason& reason,
                            const std::optional<worker_failure>& failure,
                            std::vector<agent_id> newcomers) {
  assert(job_.is_active());
  auto order = revoke_generation{agents_.generation(), agents_.stop_members(),
                                 reason, failure};
  for (const auto& agent : order.agents)
    agents_.find(agent)->expect_stop(step_.now());
  let_in_ = std::move(newcomers);
  reason_ = reason;
  revoked_at_ = step_.now();
  job_.enter(rendezvous_phase::stopping);
  step_.add(std::move(order));
}

void generation_end::fail() {
  failures_.end_generation();
  revoke({to_string(failures_.first())}, failures_.first());
  add_drained(); // Their workers may all have ended well before they leave.
  update_cause();
}

void generation_end::fail_recovered(const std::string& news) {
  fail();
  const auto missing_count
    = agents_.common_plan().node_count - agents_.counts().members;
  const auto& failed = failures_.first().agent;
  const auto is_failed_missing
    = agents_.find_member(failed, agents_.generation()) == nullptr;
  if (missing_count == 1 && is_failed_missing)
    failures_.add_departure(failed, {news});
  else if (missing_count > 0)
    failures_.add_departure({}, {news});
  for (const auto& [id, x] : agents_.records())
    if (x.leaving && !quarantine_.contains(id))
      add_departure(x, agent_leaves(id, 0, {}));
  update_cause();
}

void generation_end::conclude() {
  add_drained(); // One that was cut off may hear of its drain only now.
  job_.enter(rendezvous_phase::gathering);
  last_end_ = {agents_.generation(), finding()};
  const auto has_failed = !failures_.empty() && failures_.has_ended_generation()
                          && failures_.exemption() == nullptr;
  if (!failures_.empty())
    settle();
  if (!has_failed && !job_.is(rendezvous_phase::ended))
    obey_rule();
  const auto suspect = has_failed ? failures_.first().agent : agent_id{};
  failures_.clear();
  if (job_.is(rendezvous_phase::ended))
    return;
  charge();
  order_checks(suspect);
}

// -- what has happened in it --------------------------------------------------

// A failure that is reported later may still be the root cause. When an agent that
// was cut off repeats it, the generation may have been settled: the next one must
// not answer for it.
void generation_end::add(const agent_id& agent, collateral failures) {
  if (!job_.is_active() && !job_.is(rendezvous_phase::stopping)
      && !recovery_.is_listening())
    return;
  failures_.add(agent, std::move(failures), step_.now());
  if (failures_.has_ended_generation())
    update_cause();
}

void generation_end::add_departure(const agent_record& record,
                                   const end_reason& reason) {
  if (!job_.is(rendezvous_phase::stopping) || !agents_.is_at_work(record))
    return;
  failures_.add_departure(record.offering.agent, reason);
  if (failures_.has_ended_generation())
    update_cause();
}

// Their peers miss them before they have gone.
void generation_end::add_drained() {
  for (const auto& [id, x] : agents_.records())
    if (x.is_draining() && !x.leaving)
      add_departure(x, agent_leaves(id, 0, order_to_leave(x)));
}

void generation_end::update_cause() {
  const auto* exemption = failures_.exemption();
  last_failure_ = failures_.first();
  reason_
    = exemption == nullptr ? end_reason{to_string(*last_failure_)} : *exemption;
}

// -- what it costs ------------------------------------------------------------

// What is known of the failed worker's node may explain more than its end does.
end_finding generation_end::finding() const {
  if (failures_.empty() || !failures_.has_ended_generation())
    return reason_.finding;
  if (const auto* exemption = failures_.exemption())
    return exemption->origin ? exemption->finding
                             : end_finding{end_class::node, exemption->text};
  const auto& first = failures_.first();
  auto out = finding_of(first);
  const auto* node = agents_.find(first.agent);
  if (node == nullptr)
    return out;
  const auto& unfit = node->offering.unfit;
  return with_node_facts(std::move(out),
                         node->gpu_trouble ? *node->gpu_trouble : "",
                         unfit == being_checked ? "" : unfit);
}

// All failures have been reported. In a generation that had ended for another
// reason they cost nothing either.
void generation_end::settle() {
  const auto first = failures_.first(step_.now());
  const auto others = failures_.others(step_.now());
  const auto* exemption
    = failures_.has_ended_generation() ? failures_.exemption() : &reason_;
  if (exemption != nullptr || !others.empty())
    step_.add(explain_failures{agents_.generation(), first, others,
                               exemption ? *exemption : end_reason{}});
  auto how = outcome{.kind = outcome::verdict::failed,
                     .first_failure = first,
                     .other_failures = others.listed,
                     .unlisted_failure_count = others.unlisted_count,
                     .reason = to_string(first),
                     .what = last_end_.finding.what};
  if (failures_.is_any_unkillable()
      && agents_.counts().candidates < orders_.settings().agent_count_min) {
    if (exemption != nullptr)
      attribute_unkillable(how);
    how.reason = to_string(*how.first_failure)
                 + "; too few nodes are left: " + quarantine_.text();
    job_.end(std::move(how));
  } else if (exemption == nullptr) {
    if (may_be_free(first))
      defer(first, std::move(how));
    else
      answer(first, std::move(how));
  }
}

void generation_end::answer(const worker_failure& first, outcome how) {
  const auto follows
    = policy_.on_failure(agents_.generation(), first, how.what);
  if (follows == restart_policy::answer::collateral)
    return; // An earlier coordinator has answered it.
  if (follows == restart_policy::answer::restart)
    apply_row(first);
  follow(follows, first, std::move(how));
}

void generation_end::follow(restart_policy::answer what,
                            const worker_failure& first, outcome how) {
  const auto of = how.what;
  if (what == restart_policy::answer::give_up) {
    how.given_up = policy_.why_given_up();
    how.is_without_progress = policy_.is_without_progress();
    return job_.end(std::move(how));
  }
  if (policy_.lacks_steps() && policy_.restart_count() == 1)
    step_.add(report_rule{"--restarts-without-progress has had no effect so"
                          " far: no worker has said at which step it is (by"
                          " safe points)"});
  if (policy_.rules().action_for(of) == end_action::exclude)
    exclude_by_rule(first.host, rule_text(of, end_action::exclude) + ": "
                                  + to_string(first));
  count_failure(first);
}

// An operator is to see why nothing runs.
void generation_end::apply_row(const worker_failure& first) {
  policy_.add_end(first, step_.now());
  const auto& row = policy_.row();
  last_end_.alike_count = row.count();
  last_end_.alike = row.text();
  if (row.next_start() > step_.now())
    step_.add(report_rule{row.text() + "; next start in "
                          + duration_text(row.next_start() - step_.now())});
}

// Of an end that has cost no restart.
void generation_end::obey_rule() {
  const auto what = last_end_.finding.what;
  const auto action = policy_.rules().action_for(what);
  if (action == end_action::stop)
    job_.end({.kind = outcome::verdict::failed,
              .reason = reason_.text,
              .what = what,
              .given_up = rule_text(what, action)});
  else if (action == end_action::exclude && reason_.origin)
    exclude_by_rule(host_of(reason_.origin->agent),
                    rule_text(what, action) + ": " + reason_.text);
}

/// Empty: that is not remembered.
std::string generation_end::host_of(const agent_id& agent) const {
  if (const auto* here = agents_.find(agent))
    return here->offering.host;
  const auto* gone = agents_.find_gone(agent.value);
  return gone == nullptr ? std::string{} : gone->host;
}

void generation_end::exclude_by_rule(const std::string& host,
                                     const std::string& why) {
  if (host.empty() || orders_.excluded().find(host) != nullptr)
    return;
  if (!exclude(host, why))
    step_.add(report_rule{"host " + host
                          + " is not excluded: too few nodes would be left; "
                          + why});
}

// Where too few nodes are left without it, it stays. An operator may exclude the host of
// a node that is gone, and start another one; a rule cannot.
bool generation_end::exclude(const std::string& host,
                             const std::string& reason) {
  if (orders_.excluded().is_full()
      || !agents_.can_do_without(host, orders_.settings().agent_count_min))
    return false;
  const auto view = operator_view{.now = step_.now()};
  operator_desk{agents_, orders_, view}.exclude(
    {host, reason, "", step_.now()});
  step_.add(report_exclusion{host, reason});
  return true;
}

// -- what a check shows -------------------------------------------------------

// Of a node that cannot be asked nothing is found.
bool generation_end::may_be_free(const worker_failure& first) const {
  const auto* suspect = agents_.find(first.agent);
  return policy_.rules().node_failures_are_free
         && agents_.generation() > policy_.charged() && !is_permanent(first)
         && suspect != nullptr && is_checked_next(*suspect, true);
}

void generation_end::defer(const worker_failure& first, outcome how) {
  policy_.defer();
  apply_row(first); // Whoever was at fault, it was like the last ones or not.
  step_.add(attribute_failure{agents_.generation(), first.agent, first.host,
                              attribution::awaited});
  deferred_.add({agents_.generation(), first, std::move(how), step_.now()});
}

void generation_end::attribute_failures() {
  const auto unfit_of = [this](const agent_id& agent) {
    const auto* x = agents_.find(agent);
    return x == nullptr ? std::string{} : x->offering.unfit;
  };
  const auto settled = deferred_.take_if(
    [&](const auto& x) { return unfit_of(x.first.agent) != being_checked; });
  for (const auto& x : settled) {
    auto found = unfit_of(x.first.agent);
    const auto to = found.empty() ? attribution::program : attribution::node;
    step_.add(attribute_failure{x.generation, x.first.agent, x.first.host, to,
                                std::move(found)});
    if (to == attribution::program && !job_.is(rendezvous_phase::ended))
      charge(x.at(step_.now()));
  }
}

void generation_end::charge(const deferred_failure& x) {
  follow(policy_.charge(x.generation, x.first, x.how.what), x.first, x.how);
}

std::string generation_end::awaited_check() const {
  if (!awaits_check())
    return {};
  const auto& x = deferred_.oldest().first;
  return "agent " + x.agent.value + " on host " + x.host;
}

// -- what follows for its nodes -----------------------------------------------

// A host that is not excluded, because too few are left, comes up again with its
// next failure.
void generation_end::count_failure(const worker_failure& x) {
  if (!costs_.add_failure(x.host) || orders_.excluded().find(x.host) != nullptr)
    return;
  exclude(x.host,
          std::to_string(costs_.failure_count(x.host))
            + " failures there have cost a restart, the last: " + to_string(x));
}

// Only now it is known whose doing it was: peers that miss a node may say so before
// its loss is known. Who was asked to go has cost nothing.
void generation_end::charge() {
  using kind = end_origin::kind;
  const auto origin = reason_.origin.value_or(end_origin{});
  if (origin.what != kind::operator_asked)
    costs_.member_departs(revoked_at_);
  if (origin.what == kind::node_lost || origin.what == kind::node_cut_off) {
    auto nodes = stand_by{agents_, costs_, orders_.settings().agent_count_min,
                          step_.now()};
    if (auto x = nodes.charge(origin.agent, revoked_at_, reason_.text))
      step_.add(std::move(*x));
  }
  for (const auto& agent : let_in_)
    costs_.add_return(agent, revoked_at_);
}

bool generation_end::is_checked_next(const agent_record& x,
                                     bool is_suspect) const {
  const auto& offer = x.offering;
  return x.member_of == agents_.generation() && x.connected && !x.leaving
         && (offer.is_checked_after_end
             || (is_suspect && offer.is_checked_after_failure));
}

// Until they say what was found, the next generation is formed without them, if
// enough others are here.
void generation_end::order_checks(const agent_id& suspect) {
  auto order = core::order_checks{};
  for (const auto& [id, x] : agents_.records()) {
    if (is_checked_next(x, id == suspect))
      order.agents.push_back(id);
  }
  for (const auto& id : order.agents)
    agents_.change(*agents_.find(id), [](auto& x) {
      if (x.offering.unfit.empty())
        x.offering.unfit = being_checked;
    });
  if (!order.agents.empty())
    step_.add(std::move(order));
}

} // namespace actorrun::core
