#include "runtime/network/link_socket.hpp"

#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

constexpr size_t read_size_max = 32 * 1024; // bytes

} // namespace

failure late_encryption() {
  return {errc::connection_timed_out,
          "does not agree on the encryption in time"};
}

link_socket::link_socket(unique_fd fd, link_side mine,
                         const std::optional<link_key>& key,
                         const tls_trust& trust)
  : fd_(std::move(fd)) {
  if (!key)
    return;
  session_.emplace(mine, *key, trust);
  take_records();
}

result<link_socket::progress> link_socket::receive(std::string& plain) {
  std::array<char, read_size_max>
    buffer; // Zeros would cost more than the call.
  const auto got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return progress::none;
  if (got <= 0)
    return progress::ended;
  const auto bytes = std::string_view{buffer.data(), static_cast<size_t>(got)};
  if (!session_) {
    plain += bytes;
    return progress::some;
  }
  const auto ok = session_->receive(bytes, plain);
  take_records();
  if (!ok) {
    flush(); // Its complaint tells the other side why.
    return ok.error();
  }
  return session_->has_ended() ? progress::ended : progress::some;
}

result<void> link_socket::send(std::string_view plain) {
  if (!session_) {
    waiting_ += plain;
    return {};
  }
  auto ok = session_->send(plain);
  take_records();
  return ok;
}

bool link_socket::flush() {
  auto sent = size_t{0};
  auto is_there = true;
  while (sent < waiting_.size()) {
    const auto n = ::send(fd_.get(), waiting_.data() + sent,
                          waiting_.size() - sent, MSG_NOSIGNAL);
    if (n < 0) {
      is_there = errno == EAGAIN || errno == EINTR;
      break;
    }
    sent += static_cast<size_t>(n);
  }
  if (sent == waiting_.size())
    std::string{}.swap(waiting_); // Most links are at rest most of the time.
  else
    waiting_.erase(0, sent);
  return is_there;
}

void link_socket::take_records() {
  if (waiting_.empty())
    waiting_ = session_->take_records();
  else
    waiting_ += session_->take_records();
}

void link_socket::say_end() {
  if (session_) {
    session_->close();
    take_records();
  }
  flush();
}

void socket_watch::expect(bool input, bool output) {
  const auto now
    = (input ? uint32_t{EPOLLIN} : 0U) | (output ? uint32_t{EPOLLOUT} : 0U);
  const auto before = std::exchange(events_, now);
  if (before == now)
    return;
  if (now == 0)
    home_.unwatch(fd_);
  else if (before == 0)
    home_.watch(fd_, now, on_ready_);
  else
    home_.rewatch(fd_, now);
}

} // namespace actorrun::detail
