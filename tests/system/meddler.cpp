#include "tests/system/meddler.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace actorrun::test {

namespace {

using detail::unique_fd;

/// The handshake's clear text and that of TLS fit into so many bytes of a
/// direction.
constexpr uint32_t greeting_size = 600;

/// At most this many bytes in a row are repeated or change their places.
constexpr uint32_t piece_size_max = 64;

sockaddr_in on_loopback(uint16_t port) {
  auto out = sockaddr_in{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

unique_fd tcp_socket() {
  return unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void end(const unique_fd& x) {
  if (x)
    ::shutdown(x.get(), SHUT_RDWR);
}

} // namespace

meddler::meddler(uint16_t target, uint32_t seed)
  : target_(target), listening_(tcp_socket()), random_(seed) {
  auto own = on_loopback(0);
  auto size = socklen_t{sizeof own};
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  if (::bind(listening_.get(), address, size) != 0
      || ::listen(listening_.get(), 64) != 0
      || ::getsockname(listening_.get(), address, &size) != 0)
    throw std::runtime_error("the meddler cannot listen");
  port_ = ntohs(own.sin_port);
  accepting_ = std::thread{[this] { accept_all(); }};
}

meddler::~meddler() {
  end(listening_);
  accepting_.join();
  for (auto& x : connections_) {
    end(x.from_agent);
    end(x.to_target);
    x.thread.join();
  }
}

void meddler::meddle_with_greetings(deed what, uint32_t count) {
  const auto lock = std::lock_guard{mutex_};
  greeting_deed_ = what;
  greeting_count_ = count;
}

void meddler::meddle_now(deed what) {
  const auto to_target = any(2) == 1;
  const auto offset = any(16);
  const auto lock = std::lock_guard{mutex_};
  next_.push_back({what, to_target, offset, true});
}

void meddler::cut() {
  const auto lock = std::lock_guard{mutex_};
  for (auto& x : connections_) {
    end(x.from_agent);
    end(x.to_target);
  }
}

uint32_t meddler::any(uint32_t below) {
  const auto lock = std::lock_guard{mutex_};
  return std::uniform_int_distribution<uint32_t>{0, below - 1}(random_);
}

void meddler::accept_all() {
  for (;;) {
    auto from_agent
      = unique_fd{::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!from_agent)
      return;
    auto to_target = tcp_socket();
    const auto there = on_loopback(target_);
    if (::connect(to_target.get(), reinterpret_cast<const sockaddr*>(&there),
                  sizeof there)
        != 0)
      continue; // The agent sees that its connection ends, and tries again.
    const auto lock = std::lock_guard{mutex_};
    auto& x = connections_.emplace_back();
    x.from_agent = std::move(from_agent);
    x.to_target = std::move(to_target);
    x.thread = std::thread{[this, &x] { pass_on_all(x); }};
  }
}

std::vector<meddler::plan> meddler::plans_for_greeting() {
  const auto to_target = any(2) == 1;
  const auto offset = any(greeting_size);
  const auto lock = std::lock_guard{mutex_};
  if (greeting_count_ == 0)
    return {};
  --greeting_count_;
  return {{greeting_deed_, to_target, offset}};
}

void meddler::pass_on_all(connection& x) {
  auto plans = plans_for_greeting();
  const auto a = x.from_agent.get();
  const auto b = x.to_target.get();
  pollfd both[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
  auto goes_on = true;
  while (goes_on && ::poll(both, 2, -1) > 0) {
    if (both[0].revents != 0)
      goes_on = pass_on(a, b, true, plans);
    if (goes_on && both[1].revents != 0)
      goes_on = pass_on(b, a, false, plans);
  }
  end(x.from_agent);
  end(x.to_target);
  const auto lock = std::lock_guard{mutex_};
  std::copy_if(plans.begin(), plans.end(), std::back_inserter(next_),
               [](const plan& y) { return y.is_for_any; });
}

bool meddler::pass_on(int from, int to, bool to_target,
                      std::vector<plan>& plans) {
  auto bytes = std::string(16 * 1024, '\0');
  const auto got = ::recv(from, bytes.data(), bytes.size(), 0);
  if (got <= 0)
    return false;
  bytes.resize(static_cast<size_t>(got));
  {
    const auto lock = std::lock_guard{mutex_};
    plans.insert(plans.end(), next_.begin(), next_.end());
    next_.clear();
  }
  meddle(bytes, to_target, plans);
  return send_all(to, bytes);
}

void meddler::meddle(std::string& bytes, bool to_target,
                     std::vector<plan>& plans) {
  const auto size = bytes.size();
  std::erase_if(plans, [&](plan& x) {
    if (x.to_target != to_target)
      return false;
    if (x.offset >= size) {
      x.offset -= size;
      return false;
    }
    apply(x.what, bytes, x.offset);
    ++done_count_;
    return true;
  });
}

void meddler::apply(deed what, std::string& bytes, size_t offset) {
  offset = std::min(offset, bytes.size() - 1); // It may have become shorter.
  const auto piece
    = std::min<size_t>(bytes.size() - offset, 1 + any(piece_size_max));
  switch (what) {
    case deed::change:
      bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << any(8)));
      break;
    case deed::drop:
      bytes.erase(offset, 1);
      break;
    case deed::repeat:
      bytes.insert(offset, bytes.substr(offset, piece));
      break;
    case deed::reorder: {
      const auto before = bytes;
      std::rotate(bytes.begin() + static_cast<ptrdiff_t>(offset),
                  bytes.begin() + static_cast<ptrdiff_t>(offset + piece / 2),
                  bytes.begin() + static_cast<ptrdiff_t>(offset + piece));
      if (bytes == before) // All the same, or one alone.
        bytes[offset] = static_cast<char>(~bytes[offset]);
      break;
    }
  }
}

} // namespace actorrun::test
