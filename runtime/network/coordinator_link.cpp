#include "runtime/network/coordinator_link.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/network/caf_links.hpp"
#include "runtime/network/first_answer.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/network/tombstone.hpp"
#include "runtime/os/host_addresses.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

/// Who waits longer for a first answer wants to know what for.
constexpr auto slow_after = std::chrono::seconds{1};

/// Whether it leads to the host that asks, whichever that is.
bool is_own_of_each_host(const std::string& host) {
  const auto number = numeric_address(host, 0);
  return host == "localhost" || is_any_address(host)
         || (number && is_loopback(*number));
}

} // namespace

coordinator_link::coordinator_link(caf::actor_system& system, reactor& home,
                                   target to, log lines)
  : system_(system), home_(home), to_(std::move(to)), lines_(std::move(lines)) {
}

coordinator_link::~coordinator_link() {
  run_and_wait(home_, [this] {
    *alive_ = false;
    attempt_.reset();
    cut();
  });
}

void coordinator_link::seek(bool, listener on_result) {
  seek_at(to_.where, std::move(on_result));
}

void coordinator_link::seek_at(const endpoint& where, listener on_result) {
  home_.post([this, where, alive = alive_, on_result = std::move(on_result)] {
    if (!*alive)
      return;
    cut();
    if (!has_answer_ && to_.seek_limit > core::duration{0})
      slow_ = home_.after(slow_after, [this] {
        slow_ = 0;
        say_slow();
      });
    attempt_ = connect(
      home_, where, {to_.mine, purpose::join, to_.agent, served_by_, last_key_},
      to_.limit, [this, on_result](result<connected> x) {
        on_connected(std::move(x), on_result);
      });
  });
}

void coordinator_link::drop() {
  home_.post([this, alive = alive_] {
    if (*alive)
      cut();
  });
}

void coordinator_link::on_connected(result<connected> x,
                                    const listener& on_result) {
  home_.cancel(std::exchange(slow_, 0));
  has_answer_ = true;
  if (!x) {
    lines_.debug("agent finds no coordinator: " + x.error().text);
    on_result(explain(x.error()));
    return;
  }
  if (auto ok = check_certificate(x->local_address); !ok) {
    on_result(ok.error());
    return;
  }
  if (auto shown = show_presence(); !shown) {
    on_result(shown.error());
    return;
  }
  served_by_ = x->incarnation;
  if (x->key_of_job != to_.mine.key) {
    to_.mine.key = x->key_of_job;
    to_.mine.demands_munge = true; // No later coordinator may do without.
  }
  show_liveness(x->local_address);
  attach_to(std::move(*x), on_result);
}

void coordinator_link::attach_to(connected x, const listener& on_result) {
  const auto answer = first_answer<result<ports::location>>{on_result};
  auto link
    = carry(home_, std::move(x.connection),
            {.ends = {link_side::client, to_.agent, node_name(system_)},
             .key = x.key,
             .trust = {to_.mine.identity, x.server_host},
             .limit = std::max<core::duration>(to_.limit, encryption_limit),
             .on_encrypted
             = [this](const resumption_key& last_key) { last_key_ = last_key; },
             .on_closed =
               [this, answer](const result<void>& how) {
                 if (how)
                   return;
                 const auto& [code, text] = how.error();
                 lines_.warn(formatted(
                   "agent cuts its link: the coordinator's side {}", text));
                 answer(failure{code, "the coordinator " + text});
               }});
  link_ = std::move(link.link);
  auto where = ports::location{
    {}, x.local_address, liveness_ ? liveness_->port() : uint16_t{0}};
  attach(system_, std::move(link.for_caf), to_.limit,
         [where, answer](result<caf::strong_actor_ptr> actor) mutable {
           if (!actor)
             return answer(actor.error());
           where.coordinator = *actor;
           answer(std::move(where));
         });
}

// The coordinator cuts a link that brings another address.
result<void>
coordinator_link::check_certificate(const std::string& seen_at) const {
  const auto& address = to_.announced.empty() ? seen_at : to_.announced;
  if (!to_.mine.identity || to_.mine.identity->names(address))
    return {};
  return to_.mine.identity->does_not_name(
    address, "which this node announces as its address (see --local-addr)");
}

// From now on a coordinator may order workers started here.
result<void> coordinator_link::show_presence() {
  if (!to_.dead || is_present_)
    return {};
  const auto presence
    = open_presence(to_.mine.fingerprint, {to_.agent}, to_.launch);
  if (!presence)
    return presence.error();
  to_.dead->bury(grave::presence, presence->get());
  is_present_ = true;
  return {};
}

// The coordinator asks this host whether our process has ended. It knows only
// the address that we connect from. The old port stays until there is a new one.
void coordinator_link::show_liveness(const std::string& address) {
  if (!to_.dead)
    return;
  auto statement = agent_tombstone(to_.mine.key, to_.agent);
  const auto is_new = statement != statement_;
  statement_ = std::move(statement);
  if (liveness_ && host_of(liveness_->address()) == address) {
    if (is_new)
      to_.dead->reword(grave::agent, statement_);
    return;
  }
  auto liveness = liveness_listener::listen(home_, address, [&](int socket) {
    to_.dead->bury(grave::agent, socket, statement_);
  });
  if (liveness)
    liveness_.emplace(std::move(*liveness));
  else
    lines_.debug("agent cannot be probed: " + liveness.error().text);
}

failure coordinator_link::explain(failure why) const {
  if (to_.occupied && why.code == errc::not_actorrun)
    why = {errc::address_in_use,
           to_string(to_.where)
             + " is this host and another program listens there"};
  else if (to_.occupied
           && (why.code == errc::connection_timed_out
               || why.code == errc::connection_failed))
    why.text += "; this host is meant, and its port is held by another"
                " program, or by a coordinator that is stopped";
  else if (!to_.occupied && why.code == errc::connection_refused
           && is_own_of_each_host(to_.where.host))
    why.text += "; that is this host, and others are not found there";
  return why;
}

// Once: the end of the attempt is reported anyway.
void coordinator_link::say_slow() const {
  lines_.info(formatted(
    "no coordinator yet: nothing has come from {} so far, and it is waited for "
    "{} at most",
    to_string(to_.where), core::duration_text(to_.seek_limit)));
}

void coordinator_link::cut() {
  home_.cancel(std::exchange(slow_, 0));
  link_.reset();
}

} // namespace actorrun::detail
