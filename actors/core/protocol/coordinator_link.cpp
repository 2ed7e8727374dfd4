#include "actors/core/protocol/coordinator_link.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

namespace actorrun::core {

namespace {

using std::chrono::milliseconds;

constexpr auto retry_delay_min = milliseconds{20};
/// While workers run, so that a new coordinator learns of them at once …
constexpr auto retry_delay_max_running = milliseconds{200};
/// … and while no workers run.
constexpr auto retry_delay_max_idle = milliseconds{1'000};
/// The first attempts of all nodes are spread over so much for each of them: a
/// coordinator that is started again cannot take thousands in one instant.
constexpr auto spread_per_node = std::chrono::microseconds{100};

bool is_final(errc code) {
  return code == errc::protocol_mismatch || code == errc::job_mismatch
         || code == errc::secret_mismatch || code == errc::user_mismatch
         || code == errc::certificate_mismatch
         || code == errc::settings_mismatch || code == errc::etcd_denied;
}

/// Of one agent among the nodes of the job; whole milliseconds.
duration first_delay(uint32_t node_count, size_t own) {
  constexpr auto parts = int64_t{1'024};
  return std::chrono::floor<milliseconds>(spread_per_node * int64_t{node_count}
                                          * int64_t(own % parts) / parts);
}

} // namespace

coordinator_link::coordinator_link(membership_step& step, timeouts limits,
                                   const agent_id& own)
  : step_(step), limits_(limits), own_(std::hash<std::string>{}(own.value)) {}

// -- seeking ------------------------------------------------------------------

void coordinator_link::begin() {
  step_.arm(alarm::seek, step_.now() + limits_.seek);
  step_.add(seek_coordinator{});
}

std::optional<coordinator_link::search>
coordinator_link::current_search() const {
  const auto until = step_.due(alarm::seek);
  const auto limit = was_accepted_ ? limits_.seek_again() : limits_.seek;
  return until ? std::optional{search{*until - limit, *until}} : std::nullopt;
}

bool coordinator_link::miss(const failure& why) {
  last_failure_ = why;
  return why.code == errc::job_over || (!was_accepted_ && is_final(why.code));
}

void coordinator_link::try_later(bool workers_run, uint32_t node_count) {
  const auto most
    = workers_run ? retry_delay_max_running : retry_delay_max_idle;
  const auto delay = std::min<duration>(
    most, retry_delay_min * (1u << std::min(attempts_, 10u)));
  // Agents that lost the same coordinator must not come back in one instant.
  const auto spread = own_ % 256;
  const auto first
    = attempts_++ == 0 ? first_delay(node_count, own_ / 256) : duration{0};
  step_.arm(alarm::retry,
            step_.now() + first + delay - delay * int64_t(spread) / 1024);
}

void coordinator_link::try_now() {
  step_.disarm(alarm::retry);
  if (dropped_ != dropped_link::none)
    dropped_ = dropped_link::awaited;
  else
    step_.add(seek_coordinator{});
}

failure coordinator_link::why_given_up(bool has_succeeded) const {
  auto why = last_failure_.value_or(
    failure{errc::connection_timed_out, "the coordinator did not answer"});
  if (was_accepted_ && why.code != errc::settings_mismatch
      && why.code != errc::job_over)
    why = {errc::coordinator_lost,
           "the coordinator is gone and did not come back within "
             + duration_text(limits_.seek_again()) + " (" + why.text + ")"
             + (has_succeeded
                  ? "; the workers of this node have succeeded, and no node is "
                    "left who knows whether the job has"
                  : "")};
  return why;
}

// -- joining ------------------------------------------------------------------

void coordinator_link::join(bool is_remote, duration second_way_after) {
  is_remote_ = is_remote;
  state_ = state::joining;
  step_.disarm(alarm::retry);
  step_.arm(alarm::timeout, step_.now() + limits_.connect);
  if (is_remote_ && second_way_after > duration::zero())
    step_.arm(alarm::second_way, step_.now() + second_way_after);
}

void coordinator_link::accept() {
  state_ = state::joined;
  was_accepted_ = true;
  attempts_ = 0;
  last_failure_.reset();
  forget_second_way();
  for (const auto x : {alarm::second_way, alarm::timeout, alarm::seek})
    step_.disarm(x);
}

bool coordinator_link::refuse(const failure& why) {
  last_failure_ = why;
  forget_second_way();
  drop();
  state_ = state::seeking;
  step_.disarm(alarm::timeout);
  step_.disarm(alarm::second_way);
  // Whoever has started a coordinator with other settings may correct that. And one
  // that has just begun may not know yet what it should answer.
  return why.code == errc::connection_failed
         || (was_accepted_
             && (why.code == errc::settings_mismatch
                 || why.code == errc::bad_plan));
}

// -- the end of a link --------------------------------------------------------

void coordinator_link::drop() {
  dropped_ = is_remote_ ? dropped_link::ends : dropped_link::none;
  step_.add(drop_link{});
}

bool coordinator_link::forget_dropped() {
  const auto was = std::exchange(dropped_, dropped_link::none);
  if (was == dropped_link::awaited)
    step_.add(seek_coordinator{});
  return was != dropped_link::none;
}

void coordinator_link::lose() {
  if (is(state::joined))
    step_.arm(alarm::seek, step_.now() + limits_.seek_again());
  state_ = state::seeking;
  has_second_way_ = false; // Whoever seeks finds it, or has given it up.
  for (const auto x : {alarm::second_way, alarm::keep_alive, alarm::timeout})
    step_.disarm(x);
}

bool coordinator_link::part(bool has_lease) {
  forget_second_way();
  const auto waits = is(state::joined) && has_lease;
  if (is(state::joined))
    step_.add(send_left{});
  state_ = waits ? state::parting : state::finished;
  if (waits) {
    step_.disarm(alarm::keep_alive);
    step_.arm(alarm::parting, step_.now() + limits_.fence());
  }
  return !waits;
}

// -- the second way -----------------------------------------------------------

void coordinator_link::try_second_way() {
  if (is_remote_ && !std::exchange(has_second_way_, true))
    step_.add(core::try_second_way{});
}

void coordinator_link::forget_second_way() {
  if (std::exchange(has_second_way_, false))
    step_.add(core::forget_second_way{});
}

std::string to_string(coordinator_link::state x) {
  switch (x) {
    case coordinator_link::state::seeking:
      return "seeking";
    case coordinator_link::state::joining:
      return "joining";
    case coordinator_link::state::joined:
      return "joined";
    case coordinator_link::state::parting:
      return "parting";
    case coordinator_link::state::finished:
      return "finished";
  }
  return "unknown";
}

} // namespace actorrun::core
