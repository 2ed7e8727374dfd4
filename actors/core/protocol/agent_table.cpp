#include "actors/core/protocol/agent_table.hpp"

#include "actors/core/protocol/rank_assignment.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace actorrun::core {

namespace {

/// Orders new members: the endpoint's node first, then host names in natural
/// order.
bool precedes_as_newcomer(const offer& x, const offer& y) {
  if (x.leased != y.leased)
    return !x.leased;
  if (x.host != y.host)
    return natural_less(x.host, y.host);
  return natural_less(x.agent.value, y.agent.value);
}

constexpr size_t gone_agents_max = 32;

using record_list = std::vector<agent_record*>;

/// Each newcomer takes the lowest rank that no member has, so that the members
/// move only to close gaps.
/// @param members By their rank in the last generation.
record_list fill_vacancies(const record_list& members,
                           const record_list& newcomers) {
  auto out = record_list{};
  auto fresh = newcomers.begin();
  for (auto* x : members) {
    while (fresh != newcomers.end() && out.size() < x->place.node_rank)
      out.push_back(*fresh++);
    out.push_back(x);
  }
  out.insert(out.end(), fresh, newcomers.end());
  return out;
}

/// The newest generation that parked workers of these took part in; 0: there are
/// none. Those that were started ahead took part in none.
generation_id last_generation_of(const record_list& members) {
  auto out = generation_id{};
  for (const auto* x : members)
    if (!x->parked.local_ranks.empty())
      out = std::max(out, x->parked.generation);
  return out;
}

bool has_survivors(const agent_record& x, generation_id last) {
  return last != generation_id{} && !x.parked.local_ranks.empty()
         && x.parked.generation == last;
}

/// The slot of a survivor that is to have the first rank: the one that had it.
uint32_t choose_lead(const agent_record& x) {
  const auto& parked = x.parked.local_ranks;
  const auto had = x.place.node_rank == 0 ? x.place.lead_slot : 0;
  return std::binary_search(parked.begin(), parked.end(), had) ? had
                                                               : parked.front();
}

void append_survivors(rank_runs& to, const agent_record& x) {
  auto ranks = std::vector<uint32_t>{};
  for (const auto slot : x.parked.local_ranks)
    ranks.push_back(x.place.global_rank(slot));
  std::sort(ranks.begin(), ranks.end());
  for (const auto rank : ranks)
    append(to, rank);
}

} // namespace

void agent_record::set_parked(parked_share x, time_point now) {
  parked = std::move(x);
  auto& ranks = parked.local_ranks;
  std::erase_if(ranks, [&](uint32_t i) { return i >= offering.slot_count; });
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.empty())
    parked_since.reset();
  else if (!parked_since)
    parked_since = now;
}

generation_plan agent_table::plan_for(const agent_record& x) const {
  auto plan = common_;
  plan.own = x.place;
  return plan;
}

agent_record* agent_table::find(const agent_id& agent) {
  auto i = records_.find(agent);
  return i == records_.end() ? nullptr : &i->second;
}

agent_record* agent_table::find_member(const agent_id& agent,
                                       generation_id generation) {
  auto* record = find(agent);
  return record != nullptr && record->member_of == generation
             && generation == this->generation()
           ? record
           : nullptr;
}

agent_record& agent_table::add(const offer& x) {
  assert(!contains(x.agent));
  auto& record = records_[x.agent];
  record.offering = x;
  record.arrival = ++arrivals_;
  record.shadowed = is_rank_taken(x);
  count(record, +1);
  return record;
}

void agent_table::remove(const agent_id& agent, const std::string& reason) {
  const auto i = records_.find(agent);
  if (i == records_.end())
    return;
  count(i->second, -1);
  const auto gone = std::move(i->second);
  records_.erase(i);
  gone_.push_back({agent, gone.offering.host, reason});
  if (gone_.size() > gone_agents_max)
    gone_.pop_front();
  if (gone.has_rank())
    hand_over_rank(gone);
}

const gone_agent* agent_table::find_gone(const std::string& name) const {
  const auto i = std::find_if(gone_.rbegin(), gone_.rend(), [&](const auto& x) {
    return x.agent.value == name || x.host == name;
  });
  return i == gone_.rend() ? nullptr : &*i;
}

std::string agent_table::title(const agent_record& x) const {
  const auto count = std::ranges::count_if(records_, [&](const auto& y) {
    return y.second.offering.host == x.offering.host;
  });
  return count == 1
           ? "node " + x.offering.host
           : "agent " + x.offering.agent.value + " on " + x.offering.host;
}

void agent_table::set_excluded(agent_record& x, bool is_excluded) {
  if (x.excluded == is_excluded)
    return;
  const auto had_rank = x.has_rank();
  const auto is_shadowed = is_excluded ? x.shadowed : is_rank_taken(x.offering);
  change(x, [=](auto& y) {
    y.excluded = is_excluded;
    y.shadowed = is_shadowed;
  });
  if (is_excluded && had_rank)
    hand_over_rank(x);
}

bool agent_table::is_rank_taken(const offer& x) const {
  return settings_.ranked
         && std::any_of(records_.begin(), records_.end(), [&](const auto& y) {
              return y.first != x.agent && y.second.has_rank()
                     && y.second.offering.node_rank == x.node_rank;
            });
}

void agent_table::hand_over_rank(const agent_record& gone) {
  if (!settings_.ranked)
    return;
  auto* successor = static_cast<agent_record*>(nullptr);
  for (auto& [id, x] : records_)
    if (x.shadowed && !x.excluded
        && x.offering.node_rank == gone.offering.node_rank
        && (successor == nullptr || x.arrival < successor->arrival))
      successor = &x;
  if (successor != nullptr)
    change(*successor, [](auto& x) { x.shadowed = false; });
}

bool agent_table::can_do_without(const std::string& host,
                                 uint32_t agent_count_min) const {
  const auto is_elsewhere = [&](const auto& entry) {
    const auto& x = entry.second;
    return x.is_candidate() && x.offering.host != host;
  };
  return std::ranges::count_if(records_, is_elsewhere) >= agent_count_min;
}

bool agent_table::has_sound_newcomer() const {
  const auto is_sound = [this](const auto& entry) {
    const auto& x = entry.second;
    return x.is_candidate() && !is_returning(&x) && !x.gpu_trouble;
  };
  return std::ranges::count_if(records_, is_sound) > tally_.draining;
}

// -- generations --------------------------------------------------------------

bool agent_table::is_returning(const agent_record* x) const {
  return x->member_of.value != 0 && x->member_of == generation();
}

std::vector<agent_record*> agent_table::next_members() {
  auto out = choose_members();
  std::erase_if(out, [this](const agent_record* x) { return is_returning(x); });
  return out;
}

// Members of the last generation have a place before others, then those whose GPUs are
// well, then the order of arrival decides. Ranks: returning members keep their order, and
// newcomers take the ranks of those that are gone.
std::vector<agent_record*> agent_table::choose_members() {
  const auto returns
    = [this](const agent_record* x) { return is_returning(x); };
  auto chosen = std::vector<agent_record*>{};
  for (auto& [id, record] : records_)
    if (record.is_candidate())
      chosen.push_back(&record);
  const auto room = std::min<size_t>(chosen.size(), settings_.agent_count_max);
  const auto seniority = [&](const agent_record* x) {
    return std::tuple{!is_returning(x),
                      is_returning(x) ? x->place.node_rank : 0,
                      !is_returning(x) && x->gpu_trouble, x->arrival};
  };
  std::sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) {
    return seniority(a) < seniority(b);
  });
  chosen.resize(room);
  if (settings_.ranked) {
    std::sort(chosen.begin(), chosen.end(), [](const auto* a, const auto* b) {
      return a->offering.node_rank < b->offering.node_rank;
    });
    return chosen;
  }
  const auto first_new = std::ranges::find_if_not(chosen, returns);
  std::sort(first_new, chosen.end(), [](const auto* a, const auto* b) {
    return precedes_as_newcomer(a->offering, b->offering);
  });
  return fill_vacancies({chosen.begin(), first_new}, {first_new, chosen.end()});
}

// The two change places, but newcomers keep their order. The others keep their
// ranks.
void agent_table::put_first(record_list& members,
                            record_list::iterator found) const {
  if (found == members.end() || found == members.begin())
    return;
  auto* moved = std::exchange(members.front(), *found);
  for (auto i = std::next(members.begin()); i != found; ++i)
    if (!is_returning(moved) && !is_returning(*i))
      std::swap(moved, *i);
  *found = moved;
}

// A survivor, and none that might lead all workers to an address of its choice.
void agent_table::choose_first(record_list& members, generation_id last) const {
  if (settings_.ranked)
    return;
  const auto is_proved
    = [](const agent_record* x) { return !x->is_address_unproved; };
  const auto is_any_proved = std::ranges::any_of(members, is_proved);
  if (is_any_proved && !is_proved(members.front()))
    put_first(members, std::ranges::find_if(members, is_proved));
  put_first(members, std::ranges::find_if(members, [&](const auto* x) {
              return has_survivors(*x, last)
                     && (is_proved(x) || !is_any_proved);
            }));
}

std::vector<generation_plan> agent_table::form(generation_id generation,
                                               uint32_t restart_count) {
  auto members = choose_members();
  const auto survived = last_generation_of(members);
  choose_first(members, survived);
  auto offers = std::vector<offer>{};
  offers.reserve(members.size());
  for (const auto* x : members)
    offers.push_back(x->offering);
  auto placements = assign_ranks(offers);
  assert(placements); // Every offer was checked when it came in.
  if (has_survivors(*members.front(), survived))
    placements->front().lead_slot = choose_lead(*members.front());
  const auto& last = placements->back();
  common_ = {};
  common_.generation = generation;
  common_.node_count = uint32_t(members.size());
  common_.world_size = last.first_global_rank + last.slot_count;
  common_.master_address = offers.front().address;
  common_.master_port = offers.front().master_port;
  common_.restart_count = restart_count;
  for (size_t i = 0; i < members.size(); ++i) {
    auto& x = *members[i];
    x.place = (*placements)[i];
    if (has_survivors(x, survived))
      append_survivors(common_.survivors, x);
    x.parked = {};
    x.is_awaited = false;
    x.member_of = x.holds = generation;
    x.stop_due.reset();
    x.parked_since.reset();
    x.share = share_state::starting;
  }
  recount();
  auto plans = std::vector<generation_plan>{};
  plans.reserve(members.size());
  for (const auto* x : members)
    plans.push_back(plan_for(*x));
  return plans;
}

void agent_table::adopt(const generation_plan& plan) {
  common_ = plan;
  recount();
}

void agent_table::dismiss_members() {
  for (auto& [id, x] : records_)
    x.member_of = {};
  recount();
}

std::vector<agent_id> agent_table::busy_members() const {
  auto out = std::vector<agent_id>{};
  for (const auto& [id, x] : records_)
    if (x.member_of == generation() && x.holds == generation())
      out.push_back(id);
  return out;
}

std::vector<agent_id> agent_table::stop_members() {
  auto stopped = std::vector<agent_id>{};
  for (auto& [id, record] : records_) {
    if (record.holds != generation())
      continue;
    stopped.push_back(id);
    change(record, [](auto& x) { x.share = share_state::stopping; });
  }
  return stopped;
}

// -- counts -------------------------------------------------------------------

void agent_table::count(const agent_record& x, int sign) {
  const auto add = [sign](uint32_t& n, bool is) { n += is ? sign : 0; };
  const auto is_member = x.member_of == generation() && generation().value != 0;
  const auto is_working = is_at_work(x);
  add(tally_.candidates, x.is_candidate());
  add(tally_.holding, x.holds.value != 0);
  add(tally_.members, is_member);
  add(tally_.starting, is_member && x.share == share_state::starting);
  add(tally_.unfinished, is_working);
  add(tally_.newcomers, x.is_candidate() && !is_member);
  add(tally_.draining, is_working && x.is_draining());
  add(tally_.excluded, is_working && x.excluded);
  const auto is_unfit = !x.offering.unfit.empty();
  add(tally_.unfit, is_working && is_unfit);
  add(tally_.kept_out, !is_member && is_unfit && x.connected && !x.leaving);
}

void agent_table::recount() {
  tally_ = {};
  for (const auto& [id, record] : records_)
    count(record, +1);
}

} // namespace actorrun::core
