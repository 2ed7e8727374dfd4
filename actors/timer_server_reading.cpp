#include "actors/timer_server.hpp"

#include <algorithm>
#include <string_view>

namespace actorrun {

using namespace core;

namespace {

/// In one turn, each of what is there then.
constexpr uint32_t timer_reads_max = 16;

uint64_t fault_count(const timer_line_counts& x) {
  return x.malformed + x.binary + x.oversized + x.torn;
}

} // namespace

void timer_server_state::read_lines() {
  // Who writes much goes on while we read: one read too many costs less than to
  // be told anew.
  auto size = size_t{0};
  for (uint32_t i = 0; i < timer_reads_max && size < timer_turn; ++i) {
    const auto count = read_some(timer_slice);
    if (count == 0)
      break;
    size += count;
  }
  complain();
  watch_source();
}

void timer_server_state::read_notices() {
  size_t count = 0;
  while (count < notice_turn && read_notice())
    ++count;
  watch_notices();
}

// All that is there at this moment, and what had to wait because of it.
void timer_server_state::read_all() {
  for (size_t i = 0; i < notice_turn && config_.notices && read_notice(); ++i)
    continue;
  auto is_full = config_.source != nullptr;
  for (uint32_t i = 0; i < timer_drains_max && is_full; ++i) {
    is_full = config_.source->is_full();
    auto left = config_.source->size();
    while (left > 0) {
      const auto count = read_some(std::min(left, timer_slice));
      left = count == 0 ? 0 : left - count;
    }
  }
}

// Returns how many bytes there were.
size_t timer_server_state::read_some(size_t limit) {
  place_.resize(timer_slice);
  const auto count = config_.source->read(
    std::span{place_.data(), std::min(limit, timer_slice)});
  now_ = clock_now();
  const auto wall_offset = config_.source->wall_offset();
  auto bytes = std::string_view{place_.data(), count};
  while (reader_.next(bytes, request_))
    take(request_, wall_offset);
  return count;
}

void timer_server_state::take(const timer_request& x, duration wall_offset) {
  if (table_->find(x.pid) || admit(x, wall_offset))
    dispatch(timer_requested{.pid = x.pid,
                             .scope = x.scope,
                             .is_release = x.is_release,
                             .expiration = x.expiration,
                             .signal = x.signal,
                             .wall_offset = wall_offset});
}

// Whether the table may judge it; false: its worker is not known yet.
bool timer_server_state::admit(const timer_request& x, duration wall_offset) {
  const auto worker = members_.worker_of(x.pid);
  if (!worker) {
    report_unknown_client(x.pid);
    return true;
  }
  const auto who = table_->find(*worker);
  if (!who)
    return !early_.hold(*worker, {x, wall_offset}, now_);
  return admit_member(*who, x.pid);
}

bool timer_server_state::admit_member(timed_worker who, int64_t pid) {
  who.process = pid;
  if (members_.is_full())
    for (const auto& x : members_.purge(now_))
      dispatch(timed_worker_ended{x});
  if (!members_.is_full() && members_.add(who))
    dispatch(timed_worker_started{who, pid});
  return true;
}

bool timer_server_state::read_notice() {
  const auto x = config_.notices->next();
  if (!x)
    return false;
  now_ = clock_now();
  const auto sender = table_->find(x->sender);
  const auto pid = sender && sender->process == 0
                     ? std::optional{x->sender}
                     : members_.worker_of(x->sender);
  if (pid && table_->find(*pid))
    take(core::read_notice(x->text), *pid, *table_->find(*pid));
  return true;
}

void timer_server_state::take(const progress_notice& x, int64_t pid,
                              const timed_worker& who) {
  if (x.interval)
    watchdogs_[who] = *x.interval;
  const auto own = watchdogs_.find(who);
  const auto within = own == watchdogs_.end() ? config_.watchdog : own->second;
  if (x.is_stuck)
    dispatch(progress_reported{pid, watchdog_scope, duration::zero(), SIGKILL});
  else if (x.is_stopping || within <= duration::zero())
    dispatch(timer_released{who, watchdog_scope});
  else if (x.is_alive || x.interval)
    dispatch(progress_reported{pid, watchdog_scope, within, SIGKILL});
}

// A person should know why timers do nothing; once is enough.
void timer_server_state::report_unknown_client(int64_t pid) {
  if (unknown_client_count_ == timer_unknown_clients_max || !config_.members)
    return;
  ++unknown_client_count_;
  if (!members_.exists(pid))
    return;
  unknown_client_count_ = timer_unknown_clients_max;
  config_.lines.warn("timer server ignores process " + std::to_string(pid)
                     + ": it belongs to no worker of this agent");
}

void timer_server_state::complain() {
  const auto count = fault_count(reader_.counts());
  if (count == complained_count_
      || (complained_at_ && now_ - *complained_at_ < timer_complaint_interval))
    return;
  config_.lines.warn("timer server skips "
                     + std::to_string(count - complained_count_)
                     + " lines that are no requests; the last: "
                     + to_string(*reader_.last_fault()));
  complained_count_ = count;
  complained_at_ = now_;
}

} // namespace actorrun
