#include "actors/core/journal/chronicle.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core::journal {

namespace {

/// In bytes.
constexpr size_t gpu_trouble_max = 256;

/// The first effect of this kind; null: there is none.
template <class Effect>
const Effect* find(const std::vector<rendezvous_effect>& effects) {
  for (const auto& x : effects)
    if (const auto* found = std::get_if<Effect>(&x))
      return found;
  return nullptr;
}

/// The agent that an event is about; null: none.
const agent_id* agent_of(const rendezvous_event& event) {
  return std::visit(
    [](const auto& x) -> const agent_id* {
      if constexpr (requires { x.offering.agent; })
        return &x.offering.agent;
      else if constexpr (requires { x.agent; })
        return &x.agent;
      else
        return nullptr;
    },
    event);
}

// A journal is text; workers may have written any bytes.
worker_failure clean(worker_failure x) {
  auto& more = x.details;
  for (auto* text : {&x.host, &more.subject, &more.error_file, &more.message,
                     &more.traceback, &more.scope, &more.where})
    *text = printable(*text);
  return x;
}

std::optional<worker_failure> clean(std::optional<worker_failure> x) {
  return x ? std::optional{clean(*std::move(x))} : std::nullopt;
}

std::vector<worker_failure> clean(std::vector<worker_failure> all) {
  for (auto& x : all)
    x = clean(std::move(x));
  return all;
}

bool is_same_worker(const worker_failure& a, const worker_failure& b) {
  return a.agent == b.agent && a.local_rank == b.local_rank;
}

/// Whether workers of a generation live that has ended, and with them its state.
bool has_survivors(const rendezvous& x, generation_id ended) {
  if (x.result())
    return false;
  if (x.generation() != ended)
    return !x.common_plan().survivors.empty();
  return std::ranges::any_of(x.agents(), [&](const auto& y) {
    const auto& parked = y.second.parked;
    return parked.generation == ended && !parked.local_ranks.empty();
  });
}

bool is_known(const generation_entry& entry, const worker_failure& x) {
  return (entry.cause && is_same_worker(*entry.cause, x))
         || std::ranges::any_of(entry.others.listed, [&](const auto& y) {
              return is_same_worker(x, y);
            });
}

} // namespace

chronicle::records chronicle::begin(const coordinator_began& x, moment now) {
  return only(x, now);
}

chronicle::records
chronicle::note(const rendezvous_event& event,
                const std::vector<rendezvous_effect>& effects,
                const rendezvous& after, moment now) {
  if (std::holds_alternative<leases_renewed>(event))
    return {};
  auto at = step{effects, after, now};
  std::visit([&](const auto& x) { on(x, at); }, event);
  note_answer(at);
  note_unwritten_saves(at);
  note_departures(at);
  note_revocation(at);
  note_end_of_generation(at);
  note_attributions(at);
  note_new_generation(at);
  note_nodes(event, at);
  note_phase(at);
  note_end(at);
  return std::move(at.out);
}

chronicle::records chronicle::note_gpus(const agent_id& agent,
                                        const std::string& trouble,
                                        moment now) {
  const auto known = snapshot_.nodes.find(agent);
  if (known == snapshot_.nodes.end())
    return {};
  const auto& before = known->second.gpus;
  auto text = one_line(trouble, gpu_trouble_max);
  if (text == (before ? before->text : ""))
    return {};
  return only(gpus_changed{agent, std::move(text)}, now);
}

chronicle::records chronicle::note_saves(const agent_id& agent,
                                         const saves_report& x, moment now) {
  const auto* newest = snapshot_.newest_generation();
  const auto known = snapshot_.nodes.find(agent);
  if (newest == nullptr || newest->stopped_at || snapshot_.result
      || newest->formed.generation != x.generation
      || known == snapshot_.nodes.end()
      || known->second.now->generation != x.generation)
    return {};
  auto& told = saves_[agent];
  told.unwritten = node_saved{.agent = agent,
                              .generation = x.generation,
                              .saving = x.saving,
                              .saving_since = x.saving_since};
  if (x.age)
    told.unwritten->saved_up_to = now.when - *x.age;
  const auto is_due
    = !told.written_at || newest->revoked_at
      || now.when - *told.written_at >= save_pause(snapshot_.nodes.size());
  if (!is_due)
    return {};
  told.written_at = now.when;
  return only(*std::exchange(told.unwritten, std::nullopt), now);
}

chronicle::records chronicle::note_leader(const leader_chosen& x, moment now) {
  return only(x, now);
}

chronicle::records chronicle::note_voters(const voters_changed& x, moment now) {
  const auto& known = snapshot_.leadership;
  if (known && known->term == x.term && known->voters == x.voters
      && known->deputies == x.deputies)
    return {};
  return only(x, now);
}

chronicle::records chronicle::only(fact what, moment now) {
  auto out = records{{snapshot_.number + 1, now, std::move(what)}};
  snapshot_.apply(out.front());
  return out;
}

void chronicle::put(step& at, fact what) {
  at.out.push_back({snapshot_.number + 1, at.now, std::move(what)});
  snapshot_.apply(at.out.back());
}

// -- what the rendezvous was told -----------------------------------------------

void chronicle::on(const agent_joined& event, step& at) {
  const auto& who = event.offering;
  if (const auto* refused = find<reject_agent>(at.effects))
    return put(at,
               node_refused{who.agent, who.host, refused->code, refused->text});
  const auto is_back
    = event.held.has_value() || snapshot_.nodes.contains(who.agent);
  put(at, node_joined{who.agent, who.host, is_back});
  if (event.held)
    pids_[who.agent] = event.pids;
  if (event.held && event.held->failure)
    add_death(*event.held->failure, event.held->plan.generation, at);
}

void chronicle::on(const agent_disconnected& event, step& at) {
  if (at.after.agents().contains(event.agent))
    put(at, node_out_of_touch{event.agent});
}

void chronicle::on(const agent_leaving& event, step& at) {
  if (at.after.agents().contains(event.agent))
    put(at, node_leaving{event.agent, event.signal});
}

void chronicle::on(const workers_started& event, step& at) {
  if (at.after.agents().contains(event.agent))
    pids_[event.agent] = event.pids;
}

void chronicle::on(const worker_failed& event, step& at) {
  add_death(event.failure, event.generation, at);
}

void chronicle::on(const workers_stopped& event, step& at) {
  for (const auto& x : event.others.listed)
    add_death(x, event.generation, at);
}

void chronicle::on(const stop_requested& event, step& at) {
  if (!snapshot_.result)
    put(at, end_requested{event.signal, event.by, event.reason});
}

// An agent that was cut off repeats its report.
void chronicle::add_death(const worker_failure& x, generation_id generation,
                          step& at) {
  const auto* entry = snapshot_.newest_generation();
  if (entry != nullptr && entry->formed.generation == generation
      && !entry->stopped_at && !is_known(*entry, x))
    put(at, worker_died{generation, clean(x)});
}

// -- what it made of it ---------------------------------------------------------

// Before it counts, and before the node is forgotten.
void chronicle::note_unwritten_saves(step& at) {
  if (saves_.empty())
    return;
  const auto is_for_all = find<revoke_generation>(at.effects) != nullptr
                          || (at.after.result() && !snapshot_.result);
  if (is_for_all)
    for (const auto& [agent, told] : saves_)
      note_unwritten_saves(agent, at);
  for (const auto& x : at.effects)
    if (const auto* gone = std::get_if<forget_agent>(&x)) {
      note_unwritten_saves(gone->agent, at);
      saves_.erase(gone->agent);
    }
}

void chronicle::note_unwritten_saves(const agent_id& agent, step& at) {
  const auto i = saves_.find(agent);
  if (i != saves_.end() && i->second.unwritten)
    put(at, *std::exchange(i->second.unwritten, std::nullopt));
}

void chronicle::note_answer(step& at) {
  if (const auto* x = find<answer_operator>(at.effects))
    put(at, operator_asked{x->by, x->what, x->code == errc::none, x->text});
  if (snapshot_.coordinator.settings != at.after.settings())
    put(at, settings_changed{at.after.settings()});
}

void chronicle::note_departures(step& at) {
  for (const auto& x : at.effects)
    if (const auto* gone = std::get_if<forget_agent>(&x)) {
      put(at, node_gone{gone->agent, gone->reason});
      pids_.erase(gone->agent);
    }
}

void chronicle::note_revocation(step& at) {
  const auto* entry = snapshot_.newest_generation();
  if (entry == nullptr || entry->revoked_at)
    return;
  for (const auto& x : at.effects)
    if (const auto* revoked = std::get_if<revoke_generation>(&x);
        revoked != nullptr && !revoked->is_over
        && revoked->generation == entry->formed.generation)
      return put(at, generation_revoked{
                       revoked->generation, revoked->reason.text,
                       revoked->reason.origin, revoked->reason.at_safe_point});
}

// The failures of a generation are explained when there is more to say than that
// one worker failed first.
void chronicle::note_end_of_generation(step& at) {
  const auto* entry = snapshot_.newest_generation();
  const auto has_stopped
    = snapshot_.phase == rendezvous_phase::stopping
      && at.after.current_phase() != rendezvous_phase::stopping;
  const auto has_succeeded
    = at.after.result()
      && at.after.result()->kind == outcome::verdict::succeeded;
  if (entry == nullptr || entry->stopped_at || !(has_stopped || has_succeeded))
    return;
  auto end = generation_stopped{
    .generation = entry->formed.generation,
    .restart_count = at.after.budget().restart_count(),
    .has_survivors = has_survivors(at.after, entry->formed.generation)};
  if (const auto* why = find<explain_failures>(at.effects)) {
    end.cause = clean(why->first);
    end.others = why->others;
    end.others.listed = clean(std::move(end.others.listed));
    end.exemption = why->exemption.text;
    end.exemption_origin = why->exemption.origin;
  } else if (at.after.last_failure() != failure_before_) {
    end.cause = clean(at.after.last_failure());
  }
  const auto& settled = at.after.last_end();
  if (settled.generation == end.generation
      && settled.finding.what != end_class::none)
    end.why = trouble{settled.finding.what, printable(settled.finding.evidence),
                      settled.alike_count, printable(settled.alike)};
  put(at, std::move(end));
}

void chronicle::note_attributions(step& at) {
  for (const auto& x : at.effects)
    if (const auto* told = std::get_if<attribute_failure>(&x))
      put(at,
          failure_attributed{told->generation, told->agent, told->to,
                             told->text, at.after.budget().restart_count()});
}

// A successor adopts the generation that agents bring; an agent that did not get
// its plan gets it again.
void chronicle::note_new_generation(step& at) {
  const auto* known = snapshot_.newest_generation();
  const auto generation = at.after.generation();
  if (generation.value == 0
      || (known != nullptr && known->formed.generation == generation))
    return;
  const auto* formed = find<announce_generation>(at.effects);
  const auto& plan = at.after.common_plan();
  at.has_new_generation = true;
  if (formed != nullptr)
    pids_.clear();
  saves_.clear();
  failure_before_ = at.after.last_failure();
  put(at, generation_formed{.generation = generation,
                            .node_count = plan.node_count,
                            .world_size = plan.world_size,
                            .master_address = plan.master_address,
                            .master_port = plan.master_port,
                            .restart_count
                            = at.after.budget().count_before(generation),
                            .reason = formed != nullptr ? formed->reason : "",
                            .adopted = formed == nullptr});
}

// One event is about one agent at most; orders can be for all, and so is what a
// successor learns: of an earlier coordinator's orders, and which generation it
// takes for the newest.
void chronicle::note_nodes(const rendezvous_event& event, step& at) {
  const auto& all = at.after.agents();
  const auto has_new_drains = drains_ != at.after.waiting_drains();
  if (has_new_drains)
    drains_ = at.after.waiting_drains();
  const auto is_for_all
    = find<announce_generation>(at.effects) != nullptr
      || find<revoke_generation>(at.effects) != nullptr
      || find<end_job>(at.effects) != nullptr
      || find<answer_operator>(at.effects) != nullptr
      || find<notify_drain>(at.effects) != nullptr
      || find<report_exclusion>(at.effects) != nullptr
      || find<report_return>(at.effects) != nullptr || at.has_new_generation
      || snapshot_.excluded != at.after.excluded_hosts() || has_new_drains
      || at.after.current_phase() != snapshot_.phase;
  if (is_for_all) {
    for (const auto& [agent, record] : all)
      note_node(record, at);
  } else if (const auto* agent = agent_of(event)) {
    if (const auto i = all.find(*agent); i != all.end())
      note_node(i->second, at);
  }
  if (snapshot_.quarantined != at.after.quarantined_nodes())
    put(at, quarantine_changed{at.after.quarantined_nodes()});
  if (snapshot_.excluded != at.after.excluded_hosts())
    put(at, exclusions_changed{at.after.excluded_hosts()});
}

void chronicle::note_node(const agent_record& record, step& at) {
  const auto& offer = record.offering;
  auto seen = node{.agent = offer.agent,
                   .host = offer.host,
                   .address = offer.address,
                   .role = offer.role,
                   .slot_count = offer.slot_count,
                   .generation = record.member_of,
                   .node_rank = record.place.node_rank,
                   .first_rank = record.place.first_global_rank,
                   .lead_slot = record.place.lead_slot,
                   .share = record.share,
                   .connected = record.connected,
                   .leaving = record.leaving,
                   .excluded = record.excluded,
                   .stands_by = at.after.why_it_stands_by(record),
                   .has_checks = offer.has_checks};
  if (!offer.unfit.empty())
    seen.unfit = offer.unfit;
  if (record.drain)
    seen.drained_at = record.drain->due;
  if (record.is_draining())
    seen.drained_by = record.drain->by;
  if (record.waits_to_drain())
    seen.waits_to_drain = waiting_drain{record.drain->by, record.drain->asked};
  const auto i = pids_.find(offer.agent);
  if (record.holds.value != 0 && i != pids_.end())
    seen.pids = i->second;
  const auto known = snapshot_.nodes.find(offer.agent);
  if (known == snapshot_.nodes.end() || *known->second.now != seen)
    put(at, node_changed{std::move(seen)});
}

void chronicle::note_phase(step& at) {
  const auto phase = at.after.current_phase();
  const auto* entry = snapshot_.newest_generation();
  if (phase == rendezvous_phase::running && entry != nullptr
      && !entry->running_at)
    put(at, generation_running{entry->formed.generation});
  if (phase != snapshot_.phase)
    put(at, phase_changed{phase});
  auto text = at.after.waiting_for();
  const auto until = text.empty() ? std::nullopt : at.after.waits_until();
  const auto gives_up = until && at.after.gives_up_then();
  if (text != snapshot_.waiting_for || until != snapshot_.waiting_until
      || gives_up != snapshot_.gives_up_then)
    put(at, wait_changed{std::move(text), until, gives_up});
}

void chronicle::note_end(step& at) {
  if (!at.after.result() || snapshot_.result)
    return;
  auto result = *at.after.result();
  result.first_failure = clean(std::move(result.first_failure));
  result.other_failures = clean(std::move(result.other_failures));
  put(at, job_ended{std::move(result)});
}

} // namespace actorrun::core::journal
