#include "actorrun/runtime/detail/store_server.hpp"

#include "actorrun/runtime/detail/door_socket.hpp"
#include "actorrun/runtime/detail/socket_address.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

/// Tokens of epoll; those of clients are their numbers, from 2 on.
constexpr uint64_t wake_up_token = 0;
constexpr uint64_t listener_token = 1;

/// All workers of a large job connect at once.
constexpr int backlog = 4'096;

constexpr size_t events_per_round_max = 256;
constexpr size_t accepts_per_round_max = 256;
constexpr size_t read_size = size_t{32} * 1024;

/// When no descriptor is left for another connection.
constexpr auto accept_pause = std::chrono::milliseconds{100};

/// Cut connections that are told of; who floods us shall not flood the log.
constexpr size_t told_max = 16;

size_t descriptor_share() {
  auto limit = rlimit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return store_clients_max;
  return std::max<size_t>(1, limit.rlim_cur / 2);
}

void set_option(int fd, int level, int name, int value = 1) {
  // Best effort: without it the connection still works.
  ::setsockopt(fd, level, name, &value, sizeof value);
}

failure system_failure(const char* what) {
  return {errc::system_failure, std::string{what} + ": " + error_text(errno)};
}

} // namespace

store_server::store_server(unique_fd socket, store_server_config config)
  : config_(std::move(config)), listener_(std::move(socket)),
    epoll_(::epoll_create1(EPOLL_CLOEXEC)),
    wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
    store_(std::make_unique<core::store>(config_.limits)),
    room_(read_size), last_{listener_token} {
  config_.client_count_max
    = std::min(config_.client_count_max, descriptor_share());
}

result<std::unique_ptr<store_server>>
store_server::start(unique_fd socket, store_server_config config) {
  auto out = std::unique_ptr<store_server>{
    new store_server{std::move(socket), std::move(config)}};
  if (auto opened = out->open(); !opened)
    return opened.error();
  // A thread starts with its creator's mask; so no signal can slip in.
  auto all = sigset_t{};
  auto old = sigset_t{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  auto error = std::error_code{};
  try {
    out->thread_ = std::thread{[x = out.get()] { x->run(); }};
  } catch (const std::system_error& e) {
    error = e.code();
  }
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (error)
    return failure{errc::system_failure,
                   "no thread for the store: " + error.message()};
  return out;
}

result<std::monostate> store_server::open() {
  if (!epoll_ || !wake_up_)
    return system_failure("no descriptor for the store");
  // Connections of the epoch before may linger at this port. While we listen
  // the option lets nobody else in.
  set_option(listener_.get(), SOL_SOCKET, SO_REUSEADDR);
  if (::listen(listener_.get(), backlog) != 0)
    return failure{errc::cannot_listen, error_text(errno)};
  auto event = epoll_event{.events = EPOLLIN, .data = {.u64 = wake_up_token}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_up_.get(), &event) != 0)
    return system_failure("epoll");
  event.data.u64 = listener_token;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0)
    return system_failure("epoll");
  return std::monostate{};
}

store_server::~store_server() {
  if (!thread_.joinable())
    return;
  stop();
  thread_.join();
}

void store_server::stop() {
  stopping_ = true;
  ::eventfd_write(wake_up_.get(), 1);
}

// The listener may have another descriptor, so closing ours would not do.
void store_server::run() {
  ::pthread_setname_np(::pthread_self(), "store");
  while (!stopping_)
    round();
  ::shutdown(listener_.get(), SHUT_RDWR);
  set_option(listener_.get(), SOL_SOCKET, SO_REUSEADDR, 0);
  links_.clear();
  store_.reset();
}

void store_server::round() {
  auto events = std::array<epoll_event, events_per_round_max>{};
  const auto count
    = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                   round_timeout());
  for (auto i = 0; i < count && !stopping_; ++i) {
    const auto token = events[i].data.u64;
    if (token == listener_token)
      accept_all();
    else if (token != wake_up_token)
      on_event({token}, events[i].events);
  }
  decide_late();
  flush();
}

// In milliseconds, rounded up; -1: for as long as nothing happens.
int store_server::round_timeout() const {
  auto due = is_accepting_ ? clock::time_point::max() : accepts_again_;
  for (const auto& [who, when] : undecided_)
    due = std::min(due, when);
  if (due == clock::time_point::max())
    return -1;
  const auto left
    = std::chrono::ceil<std::chrono::milliseconds>(due - clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

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

void store_server::admit(unique_fd socket) {
  if (links_.size() >= config_.client_count_max) {
    const auto from = remote_address_of(socket.get());
    return tell("refuses " + (from ? to_string(*from) : "a client") + ": "
                + std::to_string(links_.size())
                + " are connected, and more than half of this process's"
                  " descriptors shall not be; raise `ulimit -n`");
  }
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY);
  set_option(socket.get(), SOL_SOCKET, SO_KEEPALIVE);
  ++last_.value;
  auto event = epoll_event{.events = EPOLLIN, .data = {.u64 = last_.value}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0)
    return pause_accepting();
  auto& link = links_.emplace(last_, std::move(socket)).first->second;
  link.watched = EPOLLIN;
  store_->connect(last_);
}

// The listener stays ready; without a pause we would do nothing else.
void store_server::pause_accepting() {
  tell("cannot accept: " + error_text(errno) + "; tries again");
  auto event = epoll_event{.events = 0, .data = {.u64 = listener_token}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
  is_accepting_ = false;
  accepts_again_ = clock::now() + accept_pause;
}

void store_server::on_event(client who, uint32_t events) {
  const auto i = links_.find(who);
  if (i == links_.end())
    return; // Cut in this round, for another one's request.
  auto& link = i->second;
  touched_.push_back(who);
  const auto is_heard = !link.is_full() && !link.has_kept();
  const auto is_over = is_heard ? (events & EPOLLIN) != 0 && !read(who, link)
                                : (events & (EPOLLHUP | EPOLLERR)) != 0;
  if (is_over)
    drop(who, {});
}

bool store_server::read(client who, store_link& link) {
  const auto size = link.read(room_);
  if (!size)
    return false;
  if (*size > 0) {
    undecided_.erase(who);
    serve(who, {room_.data(), *size});
  }
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
  if (!input.empty())
    i->second.keep(input);
  else if (store_->is_undecided(who))
    undecided_[who] = clock::now() + store_decision_delay;
}

void store_server::run_effects(core::store_effects effects) {
  for (auto& effect : effects) {
    if (auto* reply = std::get_if<core::send_reply>(&effect)) {
      const auto i = links_.find(reply->client);
      assert(i != links_.end());
      touched_.push_back(reply->client);
      i->second.add(std::move(*reply));
    } else {
      const auto& cut = std::get<core::drop_client>(effect);
      drop(cut.client, cut.why);
    }
  }
}

void store_server::decide_late() {
  const auto now = clock::now();
  if (!is_accepting_ && now >= accepts_again_) {
    auto event
      = epoll_event{.events = EPOLLIN, .data = {.u64 = listener_token}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
    is_accepting_ = true;
  }
  for (auto i = undecided_.begin(); i != undecided_.end();) {
    if (i->second > now) {
      ++i;
      continue;
    }
    const auto who = i->first;
    i = undecided_.erase(i);
    run_effects(store_->decide(who));
  }
}

// -- replies ------------------------------------------------------------------

// Whoever gets its replies may be served what it has sent meanwhile, which may
// make more of them.
void store_server::flush() {
  for (size_t n = 0; n < touched_.size(); ++n) {
    const auto who = touched_[n];
    const auto i = links_.find(who);
    if (i == links_.end())
      continue;
    auto& link = i->second;
    if (!link.write()) {
      drop(who, {});
    } else if (link.has_kept() && !link.is_full()) {
      serve(who, link.take_kept());
      touched_.push_back(who);
    } else {
      watch(who, link);
    }
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

// Clients that go without a reason of ours do so all the time.
void store_server::drop(client who, std::string_view why) {
  const auto i = links_.find(who);
  if (i == links_.end())
    return;
  if (!why.empty()) {
    const auto from = remote_address_of(i->second.fd());
    tell("cuts off " + (from ? to_string(*from) : "a client") + ": "
         + std::string{why});
  }
  undecided_.erase(who);
  store_->disconnect(who);
  links_.erase(i);
}

void store_server::tell(std::string text) {
  if (told_count_ == told_max)
    return;
  ++told_count_;
  config_.lines.warn(config_.name + " " + text
                     + (told_count_ == told_max
                          ? " (no more of this is told in this epoch)"
                          : ""));
}

} // namespace actorrun::detail
