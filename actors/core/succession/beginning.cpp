#include "actors/core/succession/beginning.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

bool has_said(const std::map<agent_id, time_point>& xs, const agent_id& who,
              time_point now) {
  const auto said = xs.find(who);
  return said != xs.end() && now < said->second + seeker_memory;
}

std::string list_of(const std::set<std::string>& xs) {
  auto out = std::string{};
  auto left = xs.size();
  for (const auto& x : xs) {
    out += x;
    --left;
    out += left > 1 ? ", " : left == 1 ? " and " : "";
  }
  return out;
}

} // namespace

std::string host_of_endpoint(const std::string& endpoint) {
  auto out = endpoint.substr(0, endpoint.rfind(':'));
  if (out.starts_with('[') && out.ends_with(']'))
    out = out.substr(1, out.size() - 2);
  return out;
}

std::vector<beginning_effect> beginning::step(const beginning_event& event,
                                              time_point now) {
  now_ = now;
  if (is_waiting_)
    std::visit([this](const auto& x) { on(x); }, event);
  return std::exchange(out_, {});
}

void beginning::on(const beginning_started&) {
  ask();
  begin_if_alone();
}

void beginning::on(const timer_fired& event) {
  if (alarms_.take(event.timer))
    ask();
}

void beginning::ask() {
  out_.emplace_back(survey_host{});
  for (const auto& [who, _] : awaited_)
    out_.emplace_back(examine{who});
  out_.emplace_back(alarms_.arm(alarm::ask, now_ + memo_question_pause));
}

// What memos there name comes first: it may be more than is known here.
void beginning::on(const host_surveyed& event) {
  const auto& [seeker, addresses, present, voters, newborn] = event.what;
  add(voters);
  if (awaited_.contains(seeker))
    seekers_[seeker] = now_;
  if (awaited_.contains(newborn))
    newborns_[newborn] = now_;
  for (const auto& [who, where] : endpoint_list{awaited_}) {
    const auto id = std::string{who.value};
    const auto is_present = std::ranges::any_of(
      present, [&](const auto& end) { return id.ends_with(end); });
    if (std::ranges::count(addresses, host_of_endpoint(where)) > 0
        && !is_present) {
      ended_.insert(who);
      awaited_.erase(who);
    }
  }
  begin_if_alone();
}

// Its machine says what it knew at its end.
void beginning::on(const process_examined& event) {
  if (!event.proof)
    return;
  if (event.proof->charter)
    add(event.proof->charter->endpoints);
  ended_.insert(event.who);
  awaited_.erase(event.who);
  begin_if_alone();
}

void beginning::on(const voters_named& event) {
  add(event.voters);
}

void beginning::on(const job_found&) {
  is_waiting_ = false;
}

// What is forgotten here could live.
void beginning::add(const endpoint_list& named) {
  for (const auto& [who, where] : named) {
    if (ended_.contains(who) || awaited_.contains(who))
      continue;
    if (awaited_.size() + ended_.size() == remembered_voters_max)
      is_full_ = true;
    else
      awaited_[who] = where;
  }
}

void beginning::begin_if_alone() {
  const auto has_coordinator = [this](const auto& x) {
    return !has_said(seekers_, x.first, now_)
           && !has_said(newborns_, x.first, now_);
  };
  if (is_full_ || std::ranges::any_of(awaited_, has_coordinator))
    return;
  is_waiting_ = false;
  out_.emplace_back(begin_job{});
}

std::set<agent_id> beginning::settled(time_point now) const {
  auto out = ended_;
  for (const auto& [who, _] : awaited_)
    if (has_said(seekers_, who, now))
      out.insert(who);
  return out;
}

std::string beginning::waits_for(const std::vector<std::string>& files) const {
  auto hosts = std::set<std::string>{};
  for (const auto& [_, where] : awaited_)
    hosts.insert(host_of_endpoint(where));
  if (is_full_)
    hosts.insert("more hosts than are followed");
  return "an agent of this job was lost on this host, and the job may go on at "
         + list_of(hosts)
         + ": it is joined as soon as an agent of it is reached, and is begun"
           " again once each of these hosts has shown that its agent has ended,"
           " for which the job has to be started there, too. If you are sure"
           " that it runs nowhere, remove "
         + list_of({files.begin(), files.end()}) + " and start this node again";
}

std::string to_string(const beginning_effect& x) {
  struct writer {
    std::string operator()(const survey_host&) const { return "survey_host"; }
    std::string operator()(const examine& x) const {
      return "examine " + std::string{x.who.value};
    }
    std::string operator()(const begin_job&) const { return "begin_job"; }
    std::string operator()(const arm_timer&) const { return "arm_timer"; }
  };
  return std::visit(writer{}, x);
}

} // namespace actorrun::core
