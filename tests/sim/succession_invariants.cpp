#include "tests/sim/succession_invariants.hpp"

namespace actorrun::sim {

using namespace core;

namespace {

/// From a look at the clock to the end of what is decided then; a leader's lease ends
/// earlier for it.
constexpr auto decision_max = std::chrono::milliseconds{15};

std::string text_of(charter_key x) {
  return std::to_string(x.term) + '.' + std::to_string(x.version);
}

} // namespace

void succession_invariants::report(const std::string& what) {
  if (!breach_)
    breach_ = what;
}

void succession_invariants::check_leaders(time_point now) {
  const voter_facts* leader = nullptr;
  for (const auto* x : all_) {
    if (!x->is_alive || x->clock.at(now) >= x->leadership_end + decision_max)
      continue;
    if (leader != nullptr)
      report("S1: " + to_string(leader->id) + " and " + to_string(x->id)
             + " lead at once");
    leader = x;
  }
}

// The dead count: they have elected the leader, or had it before they ended.
bool succession_invariants::is_kept(const written_charter& x) const {
  auto have = std::set<agent_id>{};
  for (const auto* y : all_)
    if ((!y->is_alive && y->has_proof)
        || (y->kept.charter && y->kept.charter->key >= x.key))
      have.insert(y->id);
  return x.voters.has_majority(have);
}

void succession_invariants::check_write(const voter_facts& leader) {
  const auto key = leader.written;
  if (key == written_)
    return;
  if (key < written_)
    return report("S2: " + to_string(leader.id) + " writes " + text_of(key)
                  + " after " + text_of(written_));
  written_ = key;
  const auto& x = charters_.at(key);
  if (!is_kept(x))
    report("S3: " + text_of(key) + " counts as written, and no quorum has it");
  // While a leader listens, it has numbers written that there may be.
  if (x.job.newest.value < newest_generation_
      || x.job.restart_count < written_restarts_)
    report("S2: " + text_of(key) + " has forgotten a generation or a restart");
  written_generation_ = x.job.newest.value;
  written_restarts_ = x.job.restart_count;
}

void succession_invariants::check_open(const voter_facts& leader,
                                       charter_key written) {
  const auto own = leader.kept.charter ? leader.kept.charter->key.term : 0;
  if (written.term != own || own != leader.kept.term)
    report("S2: " + to_string(leader.id)
           + " opens a coordinator with a charter of another term");
}

void succession_invariants::check_generation(const voter_facts& leader,
                                             uint64_t number) {
  if (number <= newest_generation_)
    report("S3: " + to_string(leader.id) + " forms generation "
           + std::to_string(number) + " after "
           + std::to_string(newest_generation_));
  if (number > written_generation_)
    report("S3: generation " + std::to_string(number)
           + " is announced before it is written");
  newest_generation_ = number;
}

void succession_invariants::check_vote(const voter_facts& voter, uint64_t term,
                                       const agent_id& candidate) {
  const auto [i, is_new] = votes_.try_emplace({voter.id, term}, candidate);
  if (!is_new && i->second != candidate)
    report("S4: " + to_string(voter.id) + " votes twice in term "
           + std::to_string(term));
}

} // namespace actorrun::sim
