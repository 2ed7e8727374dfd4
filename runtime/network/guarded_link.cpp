#include "runtime/network/guarded_link.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

constexpr size_t read_size_max = 32 * 1024; // bytes

bool has_none_yet(ssize_t got) {
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

} // namespace

result<open_link> carry(reactor& home, unique_fd connection, link_setup setup) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends)
      != 0)
    return failure{errc::system_failure,
                   "no descriptor is left for a link; raise the limit with "
                   "ulimit -n"};
  auto for_caf = unique_fd{ends[0]};
  auto part = std::make_shared<guarded_link>(
    home, std::move(connection), unique_fd{ends[1]}, std::move(setup));
  return open_link{reactor_handle{home, std::move(part)}, std::move(for_caf)};
}

guarded_link::guarded_link(reactor& home, unique_fd network, unique_fd caf,
                           link_setup setup)
  : home_(home), network_{std::move(network)}, caf_{std::move(caf)},
    filter_(setup.ends,
            [this](const std::string& host) {
              return !session_ || session_->may_speak_for(host);
            }),
    on_encrypted_(std::move(setup.on_encrypted)),
    on_closed_(std::move(setup.on_closed)) {
  if (setup.key)
    session_.emplace(setup.ends.mine, *setup.key, setup.trust);
}

void guarded_link::start() {
  if (!network_.fd)
    return;
  if (session_) {
    network_.waiting = session_->take_records();
    timer_ = home_.after(encryption_limit, [this] {
      finish(failure{errc::connection_timed_out,
                     "does not agree on the encryption in time"});
    });
  }
  write(network_);
  watch_both();
}

void guarded_link::stop() {
  on_closed_ = nullptr;
  if (network_.fd && caf_.fd && is_open()) {
    auto is_more = true;
    while (is_more && network_.waiting.size() < frame_content_max)
      is_more = read_caf() == progress::some;
    if (session_) {
      session_->close();
      network_.waiting += session_->take_records();
    }
    write(network_);
  }
  finish({});
}

// -- events -------------------------------------------------------------------

void guarded_link::on_network(uint32_t events) {
  const auto self = shared_from_this(); // `finish` may end the owner's share.
  if ((events & EPOLLOUT) != 0 && !write(network_))
    return finish({});
  if (caf_.waiting.empty()) {
    const auto done = read_network();
    if (!done)
      return finish(done.error());
    if (*done == progress::ended)
      return finish({});
  }
  watch_both();
}

void guarded_link::on_caf(uint32_t events) {
  const auto self = shared_from_this();
  if ((events & EPOLLOUT) != 0 && !write(caf_))
    return finish({});
  if (network_.waiting.empty() && read_caf() == progress::ended)
    return finish({});
  watch_both();
}

result<guarded_link::progress> guarded_link::read_network() {
  auto buffer = std::array<char, read_size_max>{};
  const auto got = ::recv(network_.fd.get(), buffer.data(), buffer.size(), 0);
  if (has_none_yet(got))
    return progress::none;
  if (got <= 0)
    return progress::ended;
  const auto ok = decrypt({buffer.data(), static_cast<size_t>(got)});
  const auto is_written = write(network_) && write(caf_);
  if (!ok)
    return ok.error();
  const auto has_ended = session_ && session_->has_ended();
  return is_written && !has_ended ? progress::some : progress::ended;
}

result<void> guarded_link::decrypt(std::string_view bytes) {
  if (!session_)
    return filter_.arriving(bytes, caf_.waiting);
  auto plain = std::string{};
  const auto ok = session_->receive(bytes, plain);
  network_.waiting += session_->take_records();
  if (!ok)
    return ok;
  if (is_open() && timer_ != 0) {
    home_.cancel(std::exchange(timer_, 0));
    if (on_encrypted_)
      on_encrypted_(session_->key_to_resume());
  }
  return filter_.arriving(plain, caf_.waiting);
}

guarded_link::progress guarded_link::read_caf() {
  auto buffer = std::array<char, read_size_max>{};
  const auto got = ::recv(caf_.fd.get(), buffer.data(), buffer.size(), 0);
  if (has_none_yet(got))
    return progress::none;
  if (got <= 0 || !encrypt({buffer.data(), static_cast<size_t>(got)}))
    return progress::ended;
  return write(network_) ? progress::some : progress::ended;
}

result<void> guarded_link::encrypt(std::string_view bytes) {
  if (!session_)
    return filter_.leaving(bytes, network_.waiting);
  auto plain = std::string{};
  if (auto ok = filter_.leaving(bytes, plain); !ok)
    return ok;
  auto ok = session_->send(plain);
  network_.waiting += session_->take_records();
  return ok;
}

// -- descriptors --------------------------------------------------------------

bool guarded_link::write(side& to) {
  while (!to.waiting.empty()) {
    const auto sent
      = ::send(to.fd.get(), to.waiting.data(), to.waiting.size(), MSG_NOSIGNAL);
    if (sent < 0)
      return errno == EAGAIN || errno == EINTR;
    to.waiting.erase(0, static_cast<size_t>(sent));
  }
  return true;
}

void guarded_link::watch_both() {
  const auto when = [](bool condition, uint32_t event) {
    return condition ? event : uint32_t{0};
  };
  watch(network_,
        when(caf_.waiting.empty(), EPOLLIN)
          | when(!network_.waiting.empty(), EPOLLOUT),
        [this](uint32_t events) { on_network(events); });
  watch(caf_,
        when(is_open() && network_.waiting.empty(), EPOLLIN)
          | when(!caf_.waiting.empty(), EPOLLOUT),
        [this](uint32_t events) { on_caf(events); });
}

// Without an event to wait for, a descriptor whose other end is closed would wake
// up the reactor all the time.
void guarded_link::watch(side& x, uint32_t events, reactor::handler fn) {
  const auto before = std::exchange(x.watched, events);
  if (before == events)
    return;
  if (events == 0)
    home_.unwatch(x.fd.get());
  else if (before == 0)
    home_.watch(x.fd.get(), events, std::move(fn));
  else
    home_.rewatch(x.fd.get(), events);
}

// The callback may destroy the link: call this last.
void guarded_link::finish(const result<void>& how) {
  home_.cancel(std::exchange(timer_, 0));
  for (auto* x : {&network_, &caf_}) {
    if (x->watched != 0)
      home_.unwatch(x->fd.get());
    x->watched = 0;
  }
  // The callback comes first: CAF may report the end of its side, but not why.
  const auto network = std::exchange(network_.fd, {});
  const auto caf = std::exchange(caf_.fd, {});
  if (const auto on_closed = std::exchange(on_closed_, nullptr))
    on_closed(how);
}

} // namespace actorrun::detail
