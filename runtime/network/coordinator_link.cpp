#include "runtime/network/coordinator_link.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/network/first_answer.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/network/remote_coordinator.hpp"
#include "runtime/network/tombstone.hpp"
#include "runtime/os/host_addresses.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

/// A packet that is lost while connecting is repeated after a second; so another attempt
/// begins beside the last after this time, then twice this, …
constexpr auto second_way_pause = std::chrono::milliseconds{100};
/// … and at most this many are made at a time; the oldest goes.
constexpr size_t second_way_count_max = 4;

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
    end_second_way();
    cut();
  });
}

void coordinator_link::seek(bool, listener on_result) {
  seek_at(to_.where, [on_result](result<ports::location> x) {
    if (x && !x->elsewhere.empty())
      x = failure{errc::connection_refused,
                  formatted("the coordinator is at {} now, and this node does"
                            " not follow it: it was started without"
                            " succession=on",
                            core::one_line(x->elsewhere, 256))};
    on_result(std::move(x));
  });
}

void coordinator_link::seek_at(const endpoint& where, listener on_result) {
  home_.post([this, where, alive = alive_, on_result = std::move(on_result)] {
    if (!*alive)
      return;
    cut();
    auto found = std::optional<connected>{};
    if (second_ && sought_ == where)
      found = std::exchange(second_->found, {});
    end_second_way();
    sought_ = where;
    if (found)
      return on_connected(std::move(*found), on_result);
    if (!has_answer_ && to_.seek_limit > core::duration{0})
      slow_ = home_.after(slow_after, [this] {
        slow_ = 0;
        say_slow();
      });
    attempt_ = connect(home_, where, self(), to_.limit,
                       [this, on_result](result<connected> x) {
                         on_connected(std::move(x), on_result);
                       });
  });
}

client_identity coordinator_link::self() const {
  return {to_.mine, purpose::join, to_.agent, served_by_, last_key_};
}

// -- the second way -------------------------------------------------------------

void coordinator_link::seek_second_way(std::function<void()> on_found) {
  home_.post([this, alive = alive_, on_found = std::move(on_found)] {
    if (!*alive || !link_ || second_)
      return;
    second_.emplace(second_way{on_found});
    second_->pause = second_way_pause;
    try_second_way();
  });
}

void coordinator_link::forget_second_way() {
  home_.post([this, alive = alive_] {
    if (*alive)
      end_second_way();
  });
}

// What fails is not told: the end of the link is, or the fence falls.
void coordinator_link::try_second_way() {
  second_->timer = home_.after(second_->pause, [this] { try_second_way(); });
  second_->pause *= 2;
  auto& attempts = second_->attempts;
  if (attempts.size() == second_way_count_max)
    attempts.pop_front();
  attempts.push_back(
    connect(home_, reached_, self(), to_.limit, [this](result<connected> x) {
      if (!second_ || !second_->on_found || !x)
        return;
      lines_.debug("agent has reached the coordinator a second time: its link"
                   " does not answer");
      second_->found = std::move(*x);
      second_->found->server_host = server_host_;
      home_.cancel(std::exchange(second_->timer, 0));
      std::exchange(second_->on_found, nullptr)();
      home_.post([this, alive = alive_] { // Not in one of them.
        if (*alive && second_ && second_->found)
          second_->attempts.clear();
      });
    }));
}

void coordinator_link::end_second_way() {
  if (!second_)
    return;
  home_.cancel(second_->timer);
  second_.reset();
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
    // It may not have got as far as we did over the last link.
    if (earlier_key_ && x.error().code == errc::connection_failed)
      std::swap(last_key_, earlier_key_);
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
  server_host_ = x->server_host;
  if (const auto where = remote_address_of(x->connection.get()))
    reached_ = {host_of(*where), sought_.port};
  if (x->key_of_job != to_.mine.key) {
    to_.mine.key = x->key_of_job;
    to_.mine.demands_munge = true; // No later coordinator may do without.
  }
  show_liveness(x->local_address);
  attach_to(std::move(*x), on_result);
}

void coordinator_link::attach_to(connected x, const listener& on_result) {
  const auto answer = first_answer<result<ports::location>>{on_result};
  auto where = ports::location{
    {}, x.local_address, liveness_ ? liveness_->port() : uint16_t{0}, true};
  const auto on_welcome
    = [this, where, answer](const rendezvous_coordinator_actor& actor) mutable {
        home_.cancel(std::exchange(welcome_timer_, 0));
        earlier_key_.reset(); // The other side has the newer one.
        where.coordinator = caf::actor_cast<caf::strong_actor_ptr>(actor);
        answer(std::move(where));
      };
  const auto on_elsewhere
    = [this, where, answer](const std::string& there) mutable {
        home_.cancel(std::exchange(welcome_timer_, 0));
        where.elsewhere = there;
        answer(std::move(where));
      };
  link_ = carry(
    home_, std::move(x.connection),
    {.mine = link_side::client,
     .peer = std::make_unique<remote_coordinator>(system_, lines_, on_welcome,
                                                  on_elsewhere),
     .key = x.key,
     .trust = {to_.mine.identity, x.server_host},
     .limit = std::max<core::duration>(to_.limit, encryption_limit),
     .on_encrypted =
       [this](const resumption_key& key) {
         earlier_key_ = std::exchange(last_key_, key);
         return true;
       },
     .on_closed =
       [this, answer](const result<void>& how) {
         home_.cancel(std::exchange(welcome_timer_, 0));
         if (how)
           return answer(failure{errc::not_actorrun,
                                 "the other side closed the connection"});
         const auto& [code, text] = how.error();
         lines_.warn(
           formatted("agent cuts its link: the coordinator's side {}", text));
         answer(failure{code, "the coordinator " + text});
       }});
  welcome_timer_ = home_.after(to_.limit, [this, answer] {
    welcome_timer_ = 0;
    cut();
    answer(failure{errc::connection_timed_out,
                   "the other side does not serve the connection in time"});
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
  if (to_.show_presence)
    return to_.show_presence();
  if (!to_.keeper || is_present_)
    return {};
  const auto presence
    = open_presence(to_.mine.fingerprint, {to_.agent}, to_.launch);
  if (!presence)
    return presence.error();
  to_.keeper->keep(kept_socket::presence, presence->get());
  is_present_ = true;
  return {};
}

// The coordinator asks this host whether our process has ended. It knows only
// the address that we connect from. The old port stays until there is a new one.
void coordinator_link::show_liveness(const std::string& address) {
  if (!to_.keeper)
    return;
  auto statement = agent_tombstone(to_.mine.key, to_.agent);
  const auto is_new = statement != statement_;
  statement_ = std::move(statement);
  if (liveness_ && host_of(liveness_->address()) == address) {
    if (is_new)
      to_.keeper->reword(kept_socket::agent, statement_);
    return;
  }
  auto liveness = liveness_listener::listen(home_, address, [&](int socket) {
    to_.keeper->keep(kept_socket::agent, socket, statement_);
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
  home_.cancel(std::exchange(welcome_timer_, 0));
  link_.reset();
}

} // namespace actorrun::detail
