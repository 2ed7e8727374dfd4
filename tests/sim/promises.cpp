#include "tests/sim/promises.hpp"

#include <algorithm>

namespace actorrun::sim {

using namespace core;

uint64_t promises::decided(const rendezvous_event& event,
                           const std::vector<rendezvous_effect>& effects) {
  auto is_done = false;
  for (const auto& effect : effects) {
    if (const auto* x = std::get_if<report_exclusion>(&effect))
      decide_host(x->host, true);
    if (const auto* x = std::get_if<answer_operator>(&effect))
      is_done = x->code == errc::none;
  }
  if (!is_done)
    return 0;
  if (const auto* x = std::get_if<resize_requested>(&event))
    size_ = order<size>{++last_, {x->agent_count_min, x->agent_count_max}};
  else if (const auto* out = std::get_if<exclusion_requested>(&event))
    decide_host(out->host, true);
  else if (const auto* in = std::get_if<inclusion_requested>(&event))
    decide_host(in->host, false);
  else
    return 0;
  return last_;
}

void promises::decide_host(const std::string& host, bool is_excluded) {
  hosts_[host] = {++last_, is_excluded};
}

void promises::told(uint64_t number) {
  for (auto& [_, x] : hosts_)
    x.is_told |= x.number == number;
  if (size_)
    size_->is_told |= size_->number == number;
}

void promises::check_hosts(const std::vector<excluded_host>& now,
                           const std::string& where) const {
  for (const auto& [host, x] : hosts_)
    if (const auto has
        = std::ranges::count(now, host, &excluded_host::host) > 0;
        x.is_told && has != x.what)
      checks_.report("S6: " + where + " host " + host + " is "
                     + (has ? "excluded" : "not excluded")
                     + ", and its operator was told otherwise");
}

void promises::check_size(const job_settings& now,
                          const std::string& where) const {
  if (size_ && size_->is_told
      && size_->what != size{now.agent_count_min, now.agent_count_max})
    checks_.report("S6: " + where + " the job has " + to_string(now)
                   + ", and its operator was told otherwise");
}

void promises::check_known(const charter& known) const {
  check_hosts(known.excluded, "what voters have:");
  check_size(known.settings, "what voters have:");
}

void promises::check(const rendezvous& brain) const {
  check_hosts(brain.excluded_hosts(), "under a later leader");
  check_size(brain.settings(), "under a later leader");
}

} // namespace actorrun::sim
