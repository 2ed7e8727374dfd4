#include "actors/core/store/cost.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/store/server.hpp"

#include <cassert>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

constexpr size_t accepts_per_round_max = 256;

/// When no descriptor is left for another connection.
constexpr auto accept_pause = std::chrono::milliseconds{100};

/// At most this many cut connections are logged, so that a flood of them does not
/// flood the log.
constexpr size_t told_max = 16;

constexpr auto link_cost
  = core::hash_node_cost<std::pair<const core::store_client, store_link>>();

bool has_input(int socket) {
  char first;
  return ::recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

} // namespace

// -- connections --------------------------------------------------------------

void store_server::accept_all() {
  for (size_t i = 0; i < accepts_per_round_max; ++i) {
    auto socket = unique_fd{::accept4(listener_.get(), nullptr, nullptr,
                                      SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (socket) {
      admit(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS
               || errno == ENOMEM) {
      return pause_accepting();
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

// Those that have connected elsewhere.
void store_server::admit_adopted() {
  auto count = eventfd_t{};
  ::eventfd_read(wake_up_.get(), &count);
  auto fresh = std::vector<unique_fd>{};
  {
    const auto guard = std::lock_guard{adopted_mutex_};
    fresh.swap(adopted_);
  }
  for (auto& x : fresh)
    admit(std::move(x));
}

void store_server::admit(unique_fd socket) {
  if (!has_place_for(socket) || !is_of_job(socket))
    return;
  auto charge = store_->new_charge();
  if (!charge.grow(link_cost) || !store_->connect({last_.value + 1})) {
    const auto from = remote_address_of(socket.get());
    return tell(formatted("refuses {}: {}",
                          from ? to_string(*from) : "a client",
                          reason(core::store_is_full)));
  }
  ++last_.value;
  auto event = epoll_event{.events = EPOLLIN, .data = {.u64 = last_.value}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) {
    store_->disconnect(last_);
    return pause_accepting();
  }
  auto& link = links_.try_emplace(last_, std::move(socket), std::move(charge))
                 .first->second;
  link.watched = EPOLLIN;
}

bool store_server::has_place_for(const unique_fd& socket) {
  if (links_.size() < config_.client_count_max)
    return true;
  const auto from = remote_address_of(socket.get());
  tell(formatted("refuses {}: {} are connected{}",
                 from ? to_string(*from) : "a client", links_.size(),
                 links_.size() < store_clients_max
                   ? ", and the other descriptors that this process may have"
                     " are for other things; raise `ulimit -n`"
                   : ", and no more can be"));
  return false;
}

// On this host the system names the owner of the other end. Elsewhere, in another
// network namespace, or where the system does not say, whoever gets here is let in.
bool store_server::is_of_job(const unique_fd& socket) {
  const auto user = config_.user_of(socket.get());
  if (!user || is_trusted(*user))
    return true;
  const auto from = remote_address_of(socket.get());
  const auto name = from ? to_string(*from) : "a client";
  if (*user != no_user)
    tell(
      formatted("refuses {}: it is a process of another user (uid {}), who is "
                "neither this job's nor root; for a worker that changes its "
                "user, use --no-agent-store",
                name, *user));
  else if (has_input(socket.get()))
    tell(formatted("refuses {}: it has closed the connection before the system "
                   "could say whose it is, and what it sent is lost; a client "
                   "that asks for an answer is never too early",
                   name));
  return false;
}

// The listener stays ready; without a pause we would do nothing else.
void store_server::pause_accepting() {
  tell(formatted("cannot accept: {}; tries again", system_error_text(errno)));
  watch_listener(false);
  accepts_again_ = clock::now() + accept_pause;
}

void store_server::watch_listener(bool is_accepting) {
  auto event = epoll_event{.events = is_accepting ? EPOLLIN : 0U,
                           .data = {.u64 = listener_token}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
  is_accepting_ = is_accepting;
}

void store_server::on_event(client who, uint32_t events) {
  const auto i = links_.find(who);
  if (i == links_.end())
    return; // Cut in this round, for another one's request.
  auto& link = i->second;
  touch(who, link);
  const auto is_heard = !link.is_full() && !link.has_kept();
  const auto is_over = is_heard ? (events & ~EPOLLOUT) != 0 && !read(who, link)
                                : (events & (EPOLLHUP | EPOLLERR)) != 0;
  if (is_over)
    drop(who, {});
}

bool store_server::read(client who, store_link& link) {
  const auto size = link.read(room_);
  if (!size)
    return false;
  if (*size > 0)
    serve(who, {room_.data(), *size});
  return true;
}

// -- requests -----------------------------------------------------------------

// A client that does not fetch its replies is not served further.
void store_server::serve(client who, std::string_view input) {
  auto i = links_.find(who);
  while (i != links_.end() && !input.empty() && !i->second.is_full()) {
    run_effects(store_->receive(who, input));
    i = links_.find(who); // It may have been cut.
  }
  if (i == links_.end())
    return;
  if (!input.empty() && !i->second.keep(input))
    drop(who, core::store_is_full);
  else if (input.empty() && store_->is_undecided(who))
    undecided_.emplace_back(clock::now() + store_decision_delay, who);
}

// Their earlier input is served only now, so that others have their turn
// between.
void store_server::serve_again() {
  for (const auto who : std::exchange(again_, {}))
    if (const auto i = links_.find(who); i != links_.end()) {
      touch(who, i->second);
      serve(who, i->second.take_kept());
    }
}

void store_server::run_effects(core::store_effects effects) {
  for (auto& effect : effects) {
    if (auto* reply = std::get_if<core::send_reply>(&effect)) {
      const auto i = links_.find(reply->client);
      assert(i != links_.end());
      const auto who = reply->client;
      touch(who, i->second);
      if (!i->second.add(std::move(*reply)))
        drop(who, core::store_is_full);
    } else {
      const auto& cut = std::get<core::drop_client>(effect);
      drop(cut.client, cut.why);
    }
  }
}

// -- replies ------------------------------------------------------------------

void store_server::touch(client who, store_link& link) {
  if (!std::exchange(link.is_touched, true))
    touched_.push_back(who);
}

void store_server::flush() {
  for (const auto who : touched_) {
    const auto i = links_.find(who);
    if (i == links_.end())
      continue;
    auto& link = i->second;
    link.is_touched = false;
    if (!link.write()) {
      drop(who, {});
      continue;
    }
    if (link.has_kept() && !link.is_full())
      again_.push_back(who);
    watch(who, link);
  }
  touched_.clear();
}

void store_server::watch(client who, store_link& link) {
  const auto wanted = (link.is_full() || link.has_kept() ? 0U : EPOLLIN)
                      | (link.output_size() > 0 ? EPOLLOUT : 0U);
  if (wanted == link.watched)
    return;
  auto event = epoll_event{.events = wanted, .data = {.u64 = who.value}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, link.fd(), &event);
  link.watched = wanted;
}

// It is normal that clients close their connections.
void store_server::drop(client who, std::string_view why) {
  const auto i = links_.find(who);
  if (i == links_.end())
    return;
  if (!why.empty()) {
    const auto from = remote_address_of(i->second.fd());
    tell(formatted("cuts off {}: {}", from ? to_string(*from) : "a client",
                   reason(why)));
  }
  store_->disconnect(who);
  links_.erase(i);
}

std::string store_server::reason(std::string_view why) const {
  constexpr auto megabyte = size_t{1} << 20;
  if (why != core::store_is_full)
    return std::string{why};
  return formatted("{} (here {} MiB)", why,
                   config_.limits.memory_max / megabyte);
}

void store_server::tell(std::string text) {
  if (told_count_ == told_max)
    return;
  ++told_count_;
  config_.lines.warn(
    formatted("{} {}{}", config_.name, text,
              told_count_ == told_max
                ? " (further cuts are not logged in this generation)"
                : ""));
}

} // namespace actorrun::detail
