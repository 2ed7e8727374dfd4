#include "runtime/network/pending_peers.hpp"

#include "actors/core/store/opening.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/peer_user.hpp"
#include "runtime/os/socket.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// At most this many bytes of a refused peer are read before it is closed.
constexpr size_t ignored_size_max = 4096; // bytes

// At most this many hosts of the store's clients are remembered.
constexpr size_t store_hosts_max = 4096;

// What a peer has sent is looked at anew when so many bytes are there.
void await_bytes(int tcp, size_t count) {
  const auto value = static_cast<int>(count);
  ::setsockopt(tcp, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value));
}

/// Reads and drops input. @returns as recv(2)
ssize_t ignore(int socket) {
  auto ignored = std::array<char, ignored_size_max>{};
  return ::recv(socket, ignored.data(), ignored.size(), MSG_DONTWAIT);
}

std::optional<ucred> process_behind(int fd) {
  auto out = ucred{};
  auto size = socklen_t{sizeof(out)};
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &out, &size) != 0)
    return std::nullopt;
  return out;
}

/// On this host, a secret is not enough.
trust trust_in(int tcp) {
  const auto user = user_of_peer(tcp);
  return user && !is_trusted(*user) ? trust::none : trust::secret;
}

std::string text_of(const ucred& who) {
  return formatted("pid {} (uid {})", who.pid, who.uid);
}

} // namespace

pending_peers::pending_peers(reactor& home, unique_fd socket, std::string path,
                             const credentials& mine,
                             const nonce_bytes& incarnation,
                             listener_callbacks callbacks,
                             const listener_limits& limits)
  : home_(home), path_(std::move(path)), mine_(mine), incarnation_(incarnation),
    callbacks_(std::move(callbacks)), limits_(limits),
    rejected_(home, limits.report_interval, callbacks_.on_rejections),
    acceptor_(std::make_shared<acceptor>(
      home, std::move(socket),
      acceptor_owner{
        [this](unique_fd fd, const socket_address& remote) {
          on_accept(std::move(fd), remote);
        },
        [this] { return make_room(); },
        busy_answer(),
      })) {
  assert(callbacks_.on_peer && limits.half_open_max > 0
         && limits.handshake > core::duration{0});
}

void pending_peers::start() {
  if (!stopped_)
    acceptor_->start();
}

void pending_peers::stop() {
  if (std::exchange(stopped_, true))
    return;
  acceptor_->stop();
  rejected_.stop();
  while (!peers_.empty())
    take(peers_.begin()->first);
  if (!path_.empty())
    ::unlink(path_.c_str());
}

void pending_peers::on_accept(unique_fd fd, const socket_address& remote) {
  auto address = to_string(remote);
  if (of_this_host()) {
    const auto who = process_behind(fd.get());
    address = who ? text_of(*who) : "an unknown process";
    if (!who || !is_trusted(who->uid)) {
      rejected_.add(std::move(address), "is another user's process");
      return;
    }
  }
  if (peers_.size() >= limits_.half_open_max)
    make_room();
  const auto number = ++last_connection_id_;
  const auto raw = fd.get();
  const auto how = of_this_host() ? trust::system : trust_in(raw);
  const auto deadline
    = home_.after(limits_.handshake, [this, number] { on_late(number); });
  peers_.emplace(
    number,
    pending_peer{std::move(fd),
                 server_handshake{mine_, random_nonce(), how, incarnation_,
                                  callbacks_.resumption_of},
                 how, std::move(address), host_of(remote), deadline});
  watch(number);
  // Many may come at once, and must not be taken for silent ones.
  if (opening_of(peers_.at(number)) == opening::client)
    pass_on(number);
}

void pending_peers::watch(connection_id number) {
  home_.watch(peers_.at(number).fd.get(), EPOLLIN | EPOLLRDHUP,
              [this, number](uint32_t events) {
                on_ready(number,
                         (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
              });
}

void pending_peers::on_ready(connection_id number, bool is_complete) {
  auto& x = peers_.at(number);
  if (x.talk.state() == handshake_state::refused) {
    linger(number);
    return;
  }
  const auto found = opening_of(x);
  if (found == opening::client)
    return pass_on(number);
  if (found == opening::open && !is_complete)
    return;
  shake_hands(number);
}

void pending_peers::shake_hands(connection_id number) {
  auto& x = peers_.at(number);
  switch (exchange(x.fd.get(), x.talk)) {
    case exchange_state::waiting:
      return;
    case exchange_state::closed:
      on_closed(number);
      return;
    case exchange_state::munge:
      ask_munge(number);
      return;
    case exchange_state::settled:
      on_settled(number);
  }
}

// Nothing is read meanwhile, and what has arrived would wake us up all the time.
void pending_peers::ask_munge(connection_id number) {
  auto& x = peers_.at(number);
  home_.unwatch(x.fd.get());
  x.call = mine_.munge->ask(home_, *x.talk.task(),
                            [this, number](const result<std::string>& done) {
                              on_munge(number, done);
                            });
}

void pending_peers::on_munge(connection_id number,
                             const result<std::string>& done) {
  auto& x = peers_.at(number);
  x.call.reset();
  watch(number);
  const auto is_sent = send_whole(x.fd.get(), x.talk.take_from_munge(done));
  if (x.talk.state() == handshake_state::refused)
    on_refused(number);
  else if (!is_sent)
    on_closed(number);
}

void pending_peers::on_settled(connection_id number) {
  if (peers_.at(number).talk.state() == handshake_state::accepted)
    admit(number);
  else
    on_refused(number);
}

void pending_peers::on_refused(connection_id number) {
  auto& x = peers_.at(number);
  const auto& why = x.talk.why();
  rejected_.add(x.address, why.text);
  if (why.code == errc::not_actorrun) {
    ignore(x.fd.get()); // Else an answer might not arrive.
    take(number);
    return;
  }
  // Closing with unread bytes sends a reset, which may overtake our answer. So
  // the peer may use the rest of its time to read the answer and close.
  ::shutdown(x.fd.get(), SHUT_WR);
  linger(number);
}

void pending_peers::on_closed(connection_id number) {
  const auto x = take(number);
  if (may_be_store_client(x))
    return;
  // On this host, processes check by a connect whether the socket has a
  // listener.
  if (!x.talk.silent() || !of_this_host())
    rejected_.add(x.address, x.talk.silent()
                               ? "closed the connection without a hello"
                               : "closed the connection during the handshake");
}

void pending_peers::on_late(connection_id number) {
  auto& late = peers_.at(number);
  late.deadline = 0;
  if (late.call)
    return on_munge_late(number);
  if (opening_of(late) == opening::open)
    return shake_hands(number); // It is refused for what has come.
  if (may_be_store_client(late))
    return pass_on(number);
  const auto x = take(number);
  if (x.talk.state() == handshake_state::pending)
    rejected_.add(x.address, x.talk.silent()
                               ? "sent nothing in time"
                               : "did not finish the handshake in time");
}

void pending_peers::on_munge_late(connection_id number) {
  on_munge(number, munge_hangs());
  if (peers_.contains(number))
    take(number);
}

void pending_peers::linger(connection_id number) {
  auto& x = peers_.at(number);
  const auto got = ignore(x.fd.get());
  if (got > 0)
    x.ignored_size += static_cast<size_t>(got);
  const auto gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (gone || x.ignored_size >= ignored_size_max)
    take(number);
}

// What is looked at stays unread. A hello is none of them by its first byte, and is
// read at once.
pending_peers::opening pending_peers::opening_of(pending_peer& x) {
  if (!callbacks_.on_store_client || of_this_host() || !x.talk.silent()
      || x.talk.state() != handshake_state::pending)
    return opening::other;
  auto bytes = std::array<char, core::store_opening_max>{};
  const auto got
    = ::recv(x.fd.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got <= 0)
    return opening::other;
  const auto found
    = core::store_opening_of({bytes.data(), static_cast<size_t>(got)});
  const auto wanted = found.is == opening::open ? found.wanted : 1;
  if (wanted != std::exchange(x.wanted, wanted))
    await_bytes(x.fd.get(), wanted);
  return found.is;
}

// Torch 2.0 and before open two connections, and use the second when keys are
// watched.
bool pending_peers::may_be_store_client(const pending_peer& x) const {
  return x.talk.silent() && store_hosts_.contains(x.host);
}

void pending_peers::pass_on(connection_id number) {
  const auto self = shared_from_this(); // The call may end the listener.
  auto x = take(number);
  const auto why
    = x.how == trust::none
        ? "is another user's process"
        : callbacks_.on_store_client(std::move(x.fd), x.address, x.host);
  if (stopped_)
    return;
  if (!why.empty())
    rejected_.add(std::move(x.address), why);
  else if (store_hosts_.size() < store_hosts_max)
    store_hosts_.insert(std::move(x.host));
}

void pending_peers::admit(connection_id number) {
  const auto self = shared_from_this(); // on_peer may end the listener.
  auto x = take(number);
  tune_connection(x.fd.get());
  const auto& hello = x.talk.peer();
  const auto key = of_this_host() ? std::optional<link_key>{} : x.talk.key();
  callbacks_.on_peer(std::move(x.fd),
                     peer{hello.peer_id, hello.intent, std::move(x.address),
                          std::move(x.host), key, x.talk.version()});
}

bool pending_peers::make_room() {
  if (peers_.empty())
    return false;
  const auto silent
    = std::find_if(peers_.begin(), peers_.end(), [](const auto& entry) {
        return entry.second.talk.silent();
      });
  const auto x
    = take(silent == peers_.end() ? peers_.begin()->first : silent->first);
  if (x.talk.state() == handshake_state::pending)
    rejected_.add(x.address, "was closed because too many peers were pending");
  return true;
}

pending_peers::pending_peer pending_peers::take(connection_id number) {
  auto node = peers_.extract(number);
  assert(node);
  auto& x = node.mapped();
  home_.cancel(std::exchange(x.deadline, 0));
  home_.unwatch(x.fd.get());
  return std::move(x);
}

} // namespace actorrun::detail
