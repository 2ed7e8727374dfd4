#include "actors/core/hosts/host_launch.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>
#include <utility>

namespace actorrun::core {

namespace {

using level = host_report::level;
using reason = end_launch::reason;

/// Of an agent whose job was ended by the agent with the coordinator when that had
/// lost its connection.
constexpr int hung_up_code = 128 + SIGHUP;

std::string how_it_ended(const host_ended& x) {
  return x.signal != 0 ? "was ended by " + signal_name(x.signal)
                       : "has ended with code " + std::to_string(x.code);
}

std::string seconds(duration x) {
  return std::to_string(
           std::chrono::duration_cast<std::chrono::seconds>(x).count())
         + " s";
}

std::string count_of(size_t n) {
  return std::to_string(n) + (n == 1 ? " host is" : " hosts are");
}

} // namespace

host_launch::host_launch(host_settings settings, time_point now)
  : settings_(std::move(settings)), hosts_(settings_.names.size()),
    coordinator_(settings_.coordinator), answers_due_(now + host_answer_max) {
  assert(!hosts_.empty());
  assert(settings_.count_min >= 1 && settings_.count_min <= hosts_.size());
  assert(!coordinator_ || *coordinator_ < hosts_.size());
}

host_launch::effects host_launch::step(const host_event& event,
                                       time_point now) {
  auto out = effects{};
  if (is_over_)
    return out;
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  finish(out);
  return out;
}

void host_launch::on(const host_greeted& x, time_point now, effects& out) {
  auto& host = hosts_.at(x.host);
  if (host.where != phase::starting || host.is_late || is_ending_)
    return;
  host.where = phase::greeted;
  if (std::none_of(hosts_.begin(), hosts_.end(),
                   [](const auto& y) { return y.where == phase::starting; }))
    answers_due_ = time_point::max();
  give_orders(now, out);
}

// The first host of the list has it: people expect rank 0 there. Those behind it
// wait until it has answered or cannot be reached.
void host_launch::give_orders(time_point now, effects& out) {
  if (is_ending_)
    return;
  if (!coordinator_ && settings_.chooses_coordinator) {
    const auto first
      = std::find_if(hosts_.begin(), hosts_.end(), [](const auto& x) {
          return x.where != phase::ended && !x.is_late;
        });
    if (first == hosts_.end() || first->where != phase::greeted)
      return;
    coordinator_ = static_cast<host_index>(first - hosts_.begin());
  }
  if (settings_.awaits_coordinator && coordinator_
      && hosts_[*coordinator_].where == phase::starting)
    return;
  for (host_index i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].where == phase::greeted) {
      hosts_[i].where = phase::working;
      out.emplace_back(give_order{i, coordinator_});
      signs_due_ = std::min(signs_due_, now + life_sign_interval);
    }
}

void host_launch::on(const host_heard& x, time_point now, effects&) {
  hosts_.at(x.host).heard = now;
}

/// Each side shows the other that the line between them is good.
void host_launch::exchange_signs(time_point now, effects& out) {
  signs_due_ = now + life_sign_interval;
  for (host_index i = 0; i < hosts_.size(); ++i) {
    auto& host = hosts_[i];
    if (host.where != phase::working)
      continue;
    out.emplace_back(assure_agent{i});
    if (!host.heard || now - *host.heard < life_sign_wait)
      continue;
    host.heard.reset();
    out.emplace_back(host_report{
      level::warning, settings_.names[i] + " has given no sign of life for "
                        + seconds(life_sign_wait)
                        + ": the connection to it is given up"});
    out.emplace_back(drop_host{i});
  }
}

void host_launch::on(const host_ended& x, time_point now, effects& out) {
  auto& host = hosts_.at(x.host);
  const auto before = std::exchange(host.where, phase::ended);
  if (before == phase::ended)
    return;
  const auto is_lost = x.signal != 0 || x.code == connection_failed_code;
  if (before == phase::working && !is_lost)
    host.code = last_code_ = x.code == settings_.stood_by_code ? 0 : x.code;
  if (is_ending_)
    return;
  if (before != phase::working)
    miss(x, now, out);
  else if (is_lost)
    lose(x, now, out);
  else
    follow(x.host, now, out);
}

/// A host was not there when the job began.
void host_launch::miss(const host_ended& x, time_point now, effects& out) {
  const auto left = count_left();
  const auto is_coordinator = coordinator_ == x.host;
  const auto goes_on = left >= settings_.count_min && !is_coordinator;
  const auto& name = settings_.names[x.host];
  auto text = hosts_[x.host].is_late
                ? name + " has not answered within " + seconds(host_answer_max)
                : name + " cannot be reached: " + settings_.connector + " "
                    + how_it_ended(x);
  if (x.signal == 0 && (x.code == 126 || x.code == 127))
    text += " (maybe there is no actorrun, neither where this one lies nor in"
            " the PATH of that host)";
  if (goes_on)
    text += "; the job does without it";
  else if (left >= settings_.count_min)
    text += "; the coordinator was to be there";
  else
    text += "; " + count_of(left) + " left, and the job needs "
            + std::to_string(settings_.count_min);
  out.emplace_back(
    host_report{goes_on ? level::warning : level::error, std::move(text)});
  if (goes_on) {
    give_orders(now, out);
    return;
  }
  cause_ = end_launch{reason::unmet, 0};
  is_cause_final_ = true;
  end_all(SIGTERM, now, out);
}

/// The agent has ended without saying how, or the connection has.
void host_launch::lose(const host_ended& x, time_point now, effects& out) {
  has_lost_ = true;
  const auto left = count_left();
  const auto& name = settings_.names[x.host];
  const auto is_coordinator = coordinator_ == x.host;
  const auto is_over = coordinator_ && hosts_[*coordinator_].code;
  const auto goes_on
    = is_over || (!is_coordinator && left >= settings_.count_min);
  // Others have ended as they do when the job has: its coordinator's agent will tell.
  const auto may_be_over
    = !goes_on && !is_coordinator && left > 0 && count_done() > 0;
  auto text = name + " is lost: the connection to its agent " + how_it_ended(x);
  if (is_over)
    text += "; the job was over";
  else if (left == 0)
    ;
  else if (is_coordinator)
    text += "; it had the coordinator, so the job ends";
  else if (goes_on)
    text += "; the job does without it";
  else
    text += "; " + count_of(left) + " left, and the job needs "
            + std::to_string(settings_.count_min);
  out.emplace_back(host_report{
    goes_on || may_be_over ? level::warning : level::error, std::move(text)});
  if (goes_on)
    return;
  if (may_be_over) {
    if (!cause_)
      cause_ = end_launch{reason::unmet, 0};
    end_due_ = std::min(end_due_, now + host_end_margin);
    return;
  }
  const auto had_coordinator
    = is_coordinator || (!coordinator_ && left == 0 && has_hung_up());
  cause_
    = end_launch{had_coordinator ? reason::coordinator_lost : reason::unmet, 0};
  is_cause_final_ = true;
  end_all(SIGTERM, now, out);
}

/// An agent has ended by itself. Those without which there is no job should do so,
/// too: they know the result. The coordinator's agent ends when all know; before,
/// workers elsewhere may have their grace. An agent that never took part is not
/// missed by the others.
void host_launch::follow(host_index ended, time_point now, effects& out) {
  const auto code = *hosts_[ended].code;
  const auto& failures = settings_.start_failures;
  const auto took_no_part
    = std::find(failures.begin(), failures.end(), code) != failures.end();
  const auto is_end = coordinator_ == ended
                      || (code != 0 && count_left() < settings_.count_min);
  if (!is_end && took_no_part)
    out.emplace_back(host_report{
      level::warning, settings_.names[ended] + " has ended with code "
                        + std::to_string(code) + "; the job does without it"});
  if (!is_end)
    return;
  if (!cause_)
    cause_ = end_launch{reason::code, code};
  const auto is_soon = took_no_part || coordinator_ == ended;
  end_due_ = std::min(end_due_, now + host_end_margin
                                  + (is_soon ? duration{0} : settings_.grace));
}

void host_launch::on(const signal_arrived& x, time_point now, effects& out) {
  if (!x.ends) {
    for (host_index i = 0; i < hosts_.size(); ++i)
      if (hosts_[i].where == phase::working)
        out.emplace_back(forward_signal{i, x.signal});
    return;
  }
  if (++signal_count_ == 1)
    first_signal_ = x.signal;
  end_all(x.signal, now, out);
  if (signal_count_ == 2)
    end_due_ = now + host_hurry_max;
  if (signal_count_ > 2)
    drop_all(out);
}

/// Agents that have no order yet have no workers either.
void host_launch::end_all(int signal, time_point now, effects& out) {
  is_ending_ = true;
  for (host_index i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].where == phase::working)
      out.emplace_back(end_agent{i, signal});
    else if (hosts_[i].where != phase::ended && !hosts_[i].is_late)
      out.emplace_back(drop_host{i});
  }
  end_due_ = now + settings_.grace + host_end_margin;
}

void host_launch::drop_all(effects& out) {
  end_due_ = time_point::max();
  for (host_index i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].where != phase::ended)
      out.emplace_back(drop_host{i});
}

void host_launch::on(const time_passed&, time_point now, effects& out) {
  if (now >= answers_due_)
    give_up_late(out);
  if (now >= signs_due_)
    exchange_signs(now, out);
  if (now < end_due_)
    return;
  end_due_ = time_point::max();
  if (is_ending_) {
    out.emplace_back(host_report{
      level::warning, "the agent of " + names_of_left()
                        + " has not ended in time; it and its workers end when"
                          " it notices that the connection is gone"});
    drop_all(out);
  } else if (cause_) {
    out.emplace_back(host_report{
      level::warning, "the job is over, and the agent of " + names_of_left()
                        + " has not ended; it is told to"});
    is_cause_final_ = true;
    end_all(SIGTERM, now, out);
  }
}

void host_launch::give_up_late(effects& out) {
  answers_due_ = time_point::max();
  if (is_ending_)
    return;
  for (host_index i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].where == phase::starting) {
      hosts_[i].is_late = true;
      out.emplace_back(drop_host{i});
    }
}

void host_launch::finish(effects& out) {
  if (count_left() > 0)
    return;
  is_over_ = true;
  answers_due_ = end_due_ = signs_due_ = time_point::max();
  out.emplace_back(verdict());
}

// What the agent with the coordinator says counts: some may have left before the
// end, with another result.
end_launch host_launch::verdict() const {
  if (cause_ && is_cause_final_)
    return *cause_;
  if (coordinator_ && hosts_[*coordinator_].code)
    return {reason::code, *hosts_[*coordinator_].code};
  if (has_hung_up())
    return {reason::coordinator_lost, 0};
  if (last_code_)
    return {reason::code, *last_code_};
  return signal_count_ > 0 ? end_launch{reason::signal, first_signal_}
                           : end_launch{reason::unmet, 0};
}

/// Where the coordinator is given, its host is not known to us. Its agent has ended
/// the job as if by SIGHUP when it lost us.
bool host_launch::has_hung_up() const {
  return has_lost_ && signal_count_ == 0 && last_code_ == hung_up_code;
}

/// Of agents that have ended as they do when the job has succeeded.
size_t host_launch::count_done() const {
  return static_cast<size_t>(std::count_if(
    hosts_.begin(), hosts_.end(), [](const auto& x) { return x.code == 0; }));
}

size_t host_launch::count_left() const {
  return static_cast<size_t>(
    std::count_if(hosts_.begin(), hosts_.end(),
                  [](const auto& x) { return x.where != phase::ended; }));
}

std::string host_launch::names_of_left() const {
  constexpr size_t shown_max = 4;
  auto out = std::string{};
  size_t count = 0;
  for (host_index i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].where != phase::ended && ++count <= shown_max)
      out += (count == 1 ? "" : ", ") + settings_.names[i];
  if (count > shown_max)
    out += " and " + std::to_string(count - shown_max) + " more";
  return out;
}

} // namespace actorrun::core
