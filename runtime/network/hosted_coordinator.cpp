#include "runtime/network/hosted_coordinator.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/network/tombstone.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace actorrun::detail {

namespace {

/// How long to wait for a port that a dead coordinator holds: its workers may
/// still be ending, or it was another job's.
constexpr auto port_wait_limit = std::chrono::seconds{3};
/// … and for whoever hangs up without a word, who may be no job at all.
constexpr auto hang_up_wait_limit = std::chrono::milliseconds{500};
constexpr auto port_wait_interval = std::chrono::milliseconds{50};

/// Terms are milliseconds since the beginning of 2025 (UTC): above the terms of
/// all coordinators that began earlier, as far as the hosts' clocks agree.
constexpr auto origin_of_terms
  = std::chrono::sys_days{std::chrono::year{2025} / 1 / 1};

/// A clock may say anything: what is beyond all numbers would end every later job.
generation_id before_term_of_now() {
  constexpr auto last
    = static_cast<int64_t>(term_of(core::claimed_generation_end) / 2);
  const auto now = std::chrono::floor<std::chrono::milliseconds>(
    std::chrono::system_clock::now());
  const auto term
    = std::clamp<int64_t>((now - origin_of_terms).count(), 1, last);
  return generation_of(static_cast<uint64_t>(term), 0);
}

} // namespace

hosted_coordinator::hosted_coordinator(caf::actor_system& system,
                                       std::shared_ptr<reactor> home,
                                       rendezvous_coordinator_config config,
                                       std::shared_ptr<socket_keeper> keeper)
  : system_(system), lines_(config.lines), keeper_(std::move(keeper)),
    config_(std::move(config)) {
  config_.leases = std::make_shared<shared_lease_desk>(
    config_.age_of_leadership, config_.limits.lease());
  links_
    = keep(std::make_unique<remote_agent_links>(
             system, *home, lines_, config_.leases,
             config_.settings.agent_count_max, config_.limits.answer_pause()),
           home);
  config_.links = links_;
}

void hosted_coordinator::begin() {
  // So tokens grow from one job of this name to the next.
  config_.beginning.unseen = before_term_of_now();
  spawn();
}

void hosted_coordinator::spawn() {
  actor_ = spawn_rendezvous_coordinator(system_, config_);
  if (config_.on_died)
    watch_ = actor_watch{actor_, config_.on_died};
}

void hosted_coordinator::kill() {
  watch_.release();
  if (!actor_)
    return;
  caf::scoped_actor self{system_};
  self->send_exit(actor_, caf::exit_reason::kill);
  self->wait_for(actor_);
}

void hosted_coordinator::end_with_process() {
  kill();
  config_.on_records = {}; // Writes the journal.
  config_.read_journal = {};
}

void hosted_coordinator::end() {
  if (!links_)
    return;
  kill();
  links_->close();
  links_.reset();
  if (keeper_)
    keeper_->close(kept_socket::coordinator);
}

result<std::string>
hosted_coordinator::listen(const job_options& job, const socket_address& where,
                           const credentials& mine,
                           std::optional<bool> is_successor) {
  config_.beginning.successor = is_successor.value_or(true);
  config_.beginning.unseen = before_term_of_now();
  const auto may_be_first = !is_successor && is_loopback(where);
  auto listening = listen_once(where, mine, may_be_first);
  const auto begun = std::chrono::steady_clock::now();
  const auto is_within = [&](std::chrono::milliseconds limit) {
    return std::chrono::steady_clock::now() < begun + limit;
  };
  while (!listening && listening.error().code == errc::address_in_use
         && is_within(port_wait_limit)) {
    const auto found = take_over(where, mine);
    if (!found.dead && !found.is_another_job
        && !(found.has_hung_up && is_within(hang_up_wait_limit)))
      return listening;
    if (found.dead) {
      config_.beginning.successor = true;
      know(found.dead->job);
    }
    listening = listen_once(where, mine, may_be_first);
    if (!listening)
      std::this_thread::sleep_for(port_wait_interval);
  }
  if (!listening)
    return listening;
  const auto tell = [&](const std::string& line) {
    if (config_.networked)
      lines_.info(line);
    else // As quiet as a node without an endpoint.
      lines_.debug(line);
  };
  tell(formatted(
    "coordinator of job {} listens on {}{}", job.job.value, *listening,
    is_loopback(where) ? ", where no other host can reach it" : ""));
  if (config_.beginning.successor)
    tell("coordinator waits for nodes that may still run workers of an earlier "
         "coordinator");
  if (!mine.is_guarded() && !is_loopback(where))
    lines_.warn(formatted(
      "the job has no secret{}: whoever reaches this port and knows the job's "
      "id "
      "can join it, run its workers elsewhere and end it; prevent that with: "
      "actorctl secret create (docs/security.md)",
      mine.munge_lack.empty() ? "" : ", and " + mine.munge_lack));
  if (mine.demands_munge)
    lines_.debug("munge proves which processes are of this user");
  return listening;
}

result<std::string> hosted_coordinator::listen_once(const socket_address& where,
                                                    const credentials& mine,
                                                    bool may_be_first) {
  return links_->listen(
    where, mine, [&](int socket, const nonce_bytes& incarnation) {
      if (may_be_first && is_no_agent_present(mine.fingerprint))
        config_.beginning.successor = false;
      keep_port(socket, mine, incarnation);
      spawn();
      return actor_;
    });
}

// Of what the predecessor has left, the newest counts; of its lease and its number
// all.
void hosted_coordinator::know(core::charter left) {
  auto& known = config_.beginning.known;
  const auto lease = std::max(known.lease, left.lease);
  const auto newest = later(known.newest, left.newest);
  if (left.excluded.empty()) { // A tombstone has no room for them.
    left.excluded = known.excluded;
    config_.beginning.names_hosts &= known.revision != 0;
  }
  if (left.revision >= known.revision)
    known = std::move(left);
  known.lease = lease;
  known.newest = newest;
}

// A statement is in force before anything follows from what it says.
void hosted_coordinator::keep_port(int socket, const credentials& mine,
                                   const nonce_bytes& incarnation) {
  if (!keeper_)
    return;
  keeper_->keep(kept_socket::coordinator, socket,
                coordinator_answer(mine.key, incarnation, first_statement()),
                release_request(mine.key, incarnation));
  config_.on_job = [keeper = keeper_, key = mine.key, incarnation,
                    next = config_.on_job](const core::charter& job) {
    keeper->reword(kept_socket::coordinator,
                   coordinator_answer(key, incarnation, job));
    if (next)
      next(job);
  };
}

// Before it has decided anything.
core::charter hosted_coordinator::first_statement() const {
  auto out = config_.beginning.known;
  out.newest = later(out.newest, config_.beginning.unseen);
  out.lease = std::max(out.lease, config_.limits.lease());
  return out;
}

} // namespace actorrun::detail
