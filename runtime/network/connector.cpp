#include "runtime/network/connector.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/peer_user.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <sys/epoll.h>

namespace actorrun::detail {

reactor_handle connect(reactor& home, const endpoint& where,
                       const client_identity& who, core::duration deadline,
                       connect_callback on_done) {
  assert(where.port != 0);
  return {home, std::make_shared<connect_attempt>(
                  home, target{where.host, where.port}, who, deadline,
                  std::move(on_done))};
}

reactor_handle connect_unix(reactor& home, const std::string& path,
                            const client_identity& who, core::duration deadline,
                            connect_callback on_done) {
  return {home, std::make_shared<connect_attempt>(
                  home, target{path, 0}, who, deadline, std::move(on_done))};
}

namespace {

std::string text_of(core::duration x) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(x);
  return formatted("{} ms", ms.count());
}

// A member of a job gives the same verdict at another address.
bool is_final(errc code) {
  return code == errc::protocol_mismatch || code == errc::job_mismatch
         || code == errc::secret_mismatch || code == errc::user_mismatch
         || code == errc::certificate_mismatch;
}

} // namespace

std::string target::text() const {
  if (on_this_host())
    return host;
  const auto shown
    = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return shown + ":" + std::to_string(port);
}

connect_attempt::connect_attempt(reactor& home, target where,
                                 const client_identity& who,
                                 core::duration deadline,
                                 connect_callback on_done)
  : home_(home), where_(std::move(where)), who_(who), deadline_(deadline),
    on_done_(std::move(on_done)) {
  assert(is_peer_id(who.id) && deadline > core::duration{0});
}

void connect_attempt::start() {
  if (!on_done_)
    return;
  due_ = core::time_point::clock::now() + deadline_;
  if (where_.on_this_host()) {
    const auto address = unix_address(where_.host);
    on_resolved(address ? result{std::vector{*address}}
                        : result<std::vector<socket_address>>{address.error()});
    return;
  }
  arm(deadline_);
  resolution_ = std::make_unique<resolution>(
    home_, where_.host, where_.port,
    [this](const auto& found) { on_resolved(found); });
}

void connect_attempt::stop() {
  on_done_ = nullptr;
  home_.cancel(std::exchange(timer_, 0));
  resolution_.reset();
  close();
}

/// Ends what goes on with one address.
void connect_attempt::close() {
  dial_.reset();
  call_.reset();
  if (fd_)
    home_.unwatch(fd_.get());
  fd_.reset();
}

void connect_attempt::on_resolved(
  const result<std::vector<socket_address>>& found) {
  resolution_.reset();
  if (!found) {
    finish(found.error());
    return;
  }
  addresses_ = *found;
  try_next();
}

void connect_attempt::try_next() {
  if (next_ == addresses_.size()) {
    finish(*worst_);
    return;
  }
  const auto left_count = static_cast<int64_t>(addresses_.size() - next_);
  arm(time_left() / left_count);
  dial_ = std::make_unique<dial>(
    home_, addresses_[next_++],
    [this](int error, unique_fd fd) { on_dialled(error, std::move(fd)); });
}

void connect_attempt::on_dialled(int error, unique_fd fd) {
  dial_.reset();
  if (where_.on_this_host() && (error == ENOENT || error == ECONNREFUSED))
    return give_up_on(errc::connection_refused,
                      "has no listener: its process is gone");
  if (error == ECONNREFUSED)
    return give_up_on(errc::connection_refused,
                      "refuses the connection: it has no listener; start "
                      "the coordinator or check host and port");
  if (error == ETIMEDOUT)
    return give_up_on(errc::connection_timed_out,
                      "does not answer; check the host, routes and firewalls");
  if (error != 0)
    return give_up_on(
      errc::connection_failed,
      formatted(
        "cannot be connected to ({}); check the host, routes and firewalls",
        system_error_text(error)));
  fd_ = std::move(fd);
  // It may have accepted us later, or never.
  if (const auto user = user_of_peer(fd_.get());
      user && *user != no_user && !is_trusted(*user))
    return give_up_on_user(*user);
  const auto how = where_.on_this_host() ? trust::system : trust::secret;
  talk_.emplace(who_.mine, who_.intent, who_.id, random_nonce(), how,
                who_.last_link);
  watch();
  // If this fails, the connection has ended, and the watch reports that.
  send_whole(fd_.get(), talk_->opening());
}

void connect_attempt::watch() {
  home_.watch(fd_.get(), EPOLLIN, [this](uint32_t) { on_ready(); });
}

void connect_attempt::on_ready() {
  switch (exchange(fd_.get(), *talk_)) {
    case exchange_state::waiting:
      return;
    case exchange_state::munge:
      ask_munge();
      return;
    case exchange_state::settled:
      on_settled();
      return;
    case exchange_state::closed:
      give_up_on(
        errc::connection_failed,
        talk_->silent()
          ? "closed the connection without an answer; check that it is "
            "a coordinator, or try again"
          : "closed the connection during the handshake; try again");
  }
}

// An end of the connection would wake us up all the time meanwhile.
void connect_attempt::ask_munge() {
  home_.unwatch(fd_.get());
  call_ = who_.mine.munge->ask(
    home_, *talk_->task(),
    [this](const result<std::string>& done) { on_munge(done); });
}

void connect_attempt::on_munge(const result<std::string>& done) {
  call_.reset();
  // If this fails, the connection has ended, and the watch reports that.
  send_whole(fd_.get(), talk_->take_from_munge(done));
  if (talk_->state() == handshake_state::refused)
    on_settled();
  else
    watch();
}

void connect_attempt::give_up_on_user(uid_t user) {
  give_up_on(errc::not_actorrun,
             formatted("belongs to another user's process (uid {}); "
                       "choose another port",
                       user));
}

void connect_attempt::on_settled() {
  // By now it has accepted us.
  const auto user = user_of_peer(fd_.get());
  if (user && *user != no_user && !is_trusted(*user))
    return give_up_on_user(*user);
  if (talk_->state() == handshake_state::refused) {
    const auto is_another
      = talk_->tombstone()
        && (!who_.served_by
            || talk_->tombstone()->incarnation != *who_.served_by);
    return give_up_on(is_another ? errc::connection_refused : talk_->why().code,
                      talk_->why().text);
  }
  if (user == no_user)
    return give_up_on(errc::connection_failed,
                      "closed the connection after the handshake; try again");
  tune_connection(fd_.get());
  const auto local = local_address_of(fd_.get());
  home_.unwatch(fd_.get());
  const auto key
    = where_.on_this_host() ? std::optional<link_key>{} : talk_->key();
  finish(connected{std::move(fd_), local ? host_of(*local) : "", where_.host,
                   talk_->incarnation(), key, talk_->key_of_job()});
}

void connect_attempt::on_late() {
  timer_ = 0;
  if (resolution_)
    fail(errc::connection_timed_out,
         formatted("cannot be found within {}: the resolver does not answer; "
                   "check DNS or give an address",
                   text_of(deadline_)));
  else if (dial_)
    give_up_on(errc::connection_timed_out,
               "does not answer; check the host, routes and firewalls");
  else if (call_)
    give_up_on(errc::connection_timed_out,
               "demands munge, and here " + munge_hangs().text);
  else
    give_up_on(errc::connection_timed_out,
               "accepts the connection but sends nothing; check that it is a "
               "coordinator");
}

void connect_attempt::give_up_on(errc code, const std::string& what) {
  if (is_final(code))
    return fail(code, what);
  // Refused is reported only if all addresses refuse. A proof counts whatever
  // the other addresses say: an endpoint names one host.
  if (!worst_ || worst_->code == errc::connection_refused
      || code == errc::coordinator_gone)
    worst_ = failure{code, place() + " " + what};
  close();
  try_next();
}

void connect_attempt::fail(errc code, const std::string& what) {
  finish(failure{code, place() + " " + what});
}

// The callback may destroy the attempt: call this last.
void connect_attempt::finish(result<connected> outcome) {
  const auto self = shared_from_this();
  const auto on_done = std::exchange(on_done_, nullptr);
  stop();
  on_done(std::move(outcome));
}

void connect_attempt::arm(core::duration delay) {
  home_.cancel(timer_);
  timer_ = home_.after(delay, [this] { on_late(); });
}

core::duration connect_attempt::time_left() const {
  return std::max(core::duration{0}, due_ - core::time_point::clock::now());
}

std::string connect_attempt::place() const {
  const auto text = where_.text();
  if (next_ == 0)
    return text;
  const auto address = to_string(addresses_[next_ - 1]);
  return address == text ? text : formatted("{} ({})", text, address);
}

} // namespace actorrun::detail
