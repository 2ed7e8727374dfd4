#include "runtime/control/worker_control_socket.hpp"

#include "runtime/control/messages.hpp"
#include "runtime/os/acceptor.hpp"
#include "runtime/os/peer_user.hpp"
#include "runtime/os/private_name.hpp"
#include "runtime/os/process_lookup.hpp"
#include "runtime/os/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr std::string_view suffix = ".control";

/// The session of the process that has made a connection; 0: it is not one of this
/// user, or has ended.
pid_t session_behind(int fd) {
  auto who = ucred{};
  auto size = socklen_t{sizeof who};
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0
      || !is_trusted(who.uid) || who.pid <= 0)
    return 0;
  return session_of(who.pid);
}

bool is_used(const std::string& path) {
  const auto address = unix_address(path);
  const auto fd = unique_fd{
    ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  return !address || !fd
         || ::connect(fd.get(), address->get(), address->size) == 0
         || errno != ECONNREFUSED;
}

enum class sent { whole, not_yet, never };

sent send_packet(int fd, const std::string& packet) {
  for (;;) {
    if (::send(fd, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
        >= 0)
      return sent::whole;
    if (errno != EINTR)
      return errno == EAGAIN ? sent::not_yet : sent::never;
  }
}

} // namespace

// -- the connections ----------------------------------------------------------

/// All of them, on the reactor's thread, but for what says that it is for any. The
/// owner's last reference goes when `stop` has run.
class control_connections final
  : public reactor_part,
    public std::enable_shared_from_this<control_connections> {
public:
  control_connections(reactor& home, unique_fd socket,
                      const control_limits& limits);

  void start() override { acceptor_->start(); }
  void stop() override;

  void listen(ports::worker_control::listener on_word) {
    if (is_stopped_)
      return;
    on_word_ = std::move(on_word);
    start();
  }
  /// On any thread.
  /// @returns whether there are connections, which `refit` then has to look at: a job
  ///          that knows nothing of this is not to pay for it
  bool admit(const std::vector<ports::controlled_worker>& workers);
  void refit();
  void tell(uint32_t local_rank, const core::worker_order& order);

private:
  struct connection {
    unique_fd fd;
    pid_t session = 0;
    std::optional<uint32_t> local_rank{}; ///< Set: it is admitted.
    bool has_greeted = false;
    bool is_paused = false;
    core::time_point reading_since{};
    size_t read_count = 0; ///< Since then.
    reactor::timer hello_due = 0;
    reactor::timer pause = 0;
    std::deque<std::string> outgoing{};
  };

  using table = std::map<uint64_t, connection>; ///< By number: in order of age.

  void add(unique_fd fd);
  bool make_room();
  void fit(uint64_t number);
  std::optional<uint32_t> rank_of(pid_t session) const;
  uint64_t connection_of(pid_t session) const;
  void on_ready(uint64_t number, uint32_t events);
  void read(uint64_t number);
  bool take(uint64_t number, std::string_view packet,
            std::optional<uint64_t>& step);
  bool may_read(uint64_t number, connection& x);
  void flush(uint64_t number);
  void watch(uint64_t number, connection& x);
  void rewatch(connection& x);
  void report(const connection& x, core::worker_word word);
  void refuse(uint64_t number, std::string_view why);
  void close(uint64_t number);

  reactor& home_;
  control_limits limits_;
  std::shared_ptr<acceptor> acceptor_;
  bool is_stopped_ = false;
  ports::worker_control::listener on_word_;
  mutable std::mutex mutex_;           ///< Guards the next two.
  std::map<pid_t, uint32_t> admitted_; ///< Local ranks by session.
  size_t open_count_ = 0;              ///< Of the connections.
  table connections_;
  uint64_t last_number_ = 0;
  // Room for one byte more, so that a packet that is too long shows.
  std::array<char, control_packet_size_max + 1> place_;
};

control_connections::control_connections(reactor& home, unique_fd socket,
                                         const control_limits& limits)
  : home_(home), limits_(limits),
    acceptor_(std::make_shared<acceptor>(
      home, std::move(socket),
      acceptor_owner{
        .on_accept
        = [this](unique_fd fd, const socket_address&) { add(std::move(fd)); },
        .make_room = [this] { return make_room(); },
        .busy_reply = control_error_packet("there is no room here")})) {}

void control_connections::stop() {
  is_stopped_ = true;
  acceptor_->stop();
  on_word_ = nullptr;
  while (!connections_.empty())
    close(connections_.begin()->first);
}

void control_connections::add(unique_fd fd) {
  const auto session = session_behind(fd.get());
  if (session <= 0)
    return;
  const auto waiting_count
    = std::count_if(connections_.begin(), connections_.end(),
                    [](const auto& x) { return !x.second.has_greeted; });
  if (static_cast<size_t>(waiting_count) >= limits_.waiting_count)
    make_room();
  const auto number = ++last_number_;
  {
    const auto lock = std::lock_guard{mutex_};
    ++open_count_;
  }
  auto& x = connections_[number];
  x.fd = std::move(fd);
  x.session = session;
  x.hello_due = home_.after(limits_.hello, [this, number] {
    auto& late = connections_.at(number);
    late.hello_due = 0;
    refuse(number, late.local_rank
                     ? "there was no hello in time"
                     : "this is no process of a worker that may speak");
  });
  // Until it is admitted, only its end is of interest.
  watch(number, x);
  fit(number);
}

// Closes the one that has waited longest.
bool control_connections::make_room() {
  for (const auto& [number, x] : connections_)
    if (!x.has_greeted) {
      refuse(number, "too many connections wait here");
      return true;
    }
  return false;
}

bool control_connections::admit(
  const std::vector<ports::controlled_worker>& workers) {
  const auto lock = std::lock_guard{mutex_};
  admitted_.clear();
  for (const auto& x : workers)
    admitted_.emplace(static_cast<pid_t>(x.pid), x.local_rank);
  return open_count_ > 0;
}

std::optional<uint32_t> control_connections::rank_of(pid_t session) const {
  const auto lock = std::lock_guard{mutex_};
  const auto found = admitted_.find(session);
  return found == admitted_.end() ? std::nullopt : std::optional{found->second};
}

void control_connections::refit() {
  auto numbers = std::vector<uint64_t>{};
  for (const auto& [number, x] : connections_)
    numbers.push_back(number);
  for (const auto number : numbers) {
    const auto found = connections_.find(number);
    if (found == connections_.end())
      continue;
    auto& x = found->second;
    const auto rank = rank_of(x.session);
    if (!x.local_rank)
      fit(number);
    else if (!rank)
      refuse(number, "this worker may not speak any more");
    else
      x.local_rank = rank;
  }
}

// Admits a connection whose worker may speak.
void control_connections::fit(uint64_t number) {
  const auto session = connections_.at(number).session;
  const auto rank = rank_of(session);
  if (!rank)
    return;
  // A program that has replaced itself connects again: the end of its first
  // connection may not have been read.
  if (const auto other = connection_of(session); other != 0)
    read(other);
  if (connection_of(session) != 0)
    return refuse(number, "this worker has a connection already");
  auto& x = connections_.at(number);
  x.local_rank = rank;
  rewatch(x);
}

/// The one that speaks for a worker; 0: none.
uint64_t control_connections::connection_of(pid_t session) const {
  for (const auto& [number, x] : connections_)
    if (x.session == session && x.local_rank)
      return number;
  return 0;
}

void control_connections::on_ready(uint64_t number, uint32_t events) {
  const auto found = connections_.find(number);
  if (found == connections_.end())
    return;
  const auto is_admitted = found->second.local_rank.has_value();
  // What it said before it hung up counts, but for one that may not speak.
  if (!is_admitted && (events & (EPOLLHUP | EPOLLERR)) != 0)
    return close(number);
  if (is_admitted && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
    read(number);
  if ((events & EPOLLOUT) != 0)
    flush(number);
}

// -- from workers -------------------------------------------------------------

// Only the last of several steps counts. Ends at the first packet that closes the
// connection.
void control_connections::read(uint64_t number) {
  auto step = std::optional<uint64_t>{};
  for (;;) {
    const auto found = connections_.find(number);
    if (found == connections_.end())
      return;
    auto& x = found->second;
    if (!may_read(number, x))
      break;
    const auto count
      = ::recv(x.fd.get(), place_.data(), place_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EAGAIN)
      break;
    if (step && count <= 0)
      report(x, core::said_step{*std::exchange(step, {})});
    if (count <= 0)
      return close(number);
    if (!take(number, {place_.data(), static_cast<size_t>(count)}, step))
      return;
  }
  if (const auto x = connections_.find(number); step && x != connections_.end())
    report(x->second, core::said_step{*step});
}

// Says whether the connection is still there.
bool control_connections::take(uint64_t number, std::string_view packet,
                               std::optional<uint64_t>& step) {
  auto& x = connections_.at(number);
  auto word = parse_control_packet(packet);
  const auto is_hello
    = word && *word && std::holds_alternative<core::said_hello>(**word);
  const auto* at
    = word && *word ? std::get_if<core::said_step>(&**word) : nullptr;
  auto wrong = std::string{};
  if (!word)
    wrong = word.error().text;
  else if (is_hello == x.has_greeted && (*word || !x.has_greeted))
    wrong = is_hello ? "hello has been said" : "the first word is not hello";
  else if (at != nullptr)
    step = at->step;
  if (wrong.empty() && at != nullptr)
    return true;
  if (step)
    report(x, core::said_step{*std::exchange(step, {})});
  if (!wrong.empty()) {
    refuse(number, wrong);
    return false;
  }
  if (is_hello) {
    x.has_greeted = true;
    home_.cancel(std::exchange(x.hello_due, 0));
  }
  if (*word)
    report(x, std::move(**word));
  return connections_.contains(number);
}

// A worker that says too much is read more slowly.
bool control_connections::may_read(uint64_t number, connection& x) {
  const auto now = std::chrono::steady_clock::now();
  if (x.is_paused)
    return false;
  if (now - x.reading_since >= limits_.reading_interval) {
    x.reading_since = now;
    x.read_count = 0;
  }
  if (x.read_count++ < limits_.reading_count)
    return true;
  x.is_paused = true;
  // Even its end is not of interest: it would be reported again and again.
  home_.unwatch(x.fd.get());
  x.pause = home_.after(limits_.reading_interval, [this, number] {
    auto& late = connections_.at(number);
    late.pause = 0;
    late.is_paused = false;
    watch(number, late);
    flush(number);
  });
  return false;
}

// -- to workers ---------------------------------------------------------------

void control_connections::tell(uint32_t local_rank,
                               const core::worker_order& order) {
  for (auto& [number, x] : connections_) {
    if (x.local_rank != local_rank || !x.has_greeted)
      continue;
    auto packet = control_packet(order);
    if (!packet)
      return refuse(number, "an order is too long for a packet");
    if (x.outgoing.size() >= limits_.outgoing_count)
      return close(number);
    x.outgoing.push_back(std::move(*packet));
    return flush(number);
  }
}

void control_connections::flush(uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end())
    return;
  auto& x = found->second;
  while (!x.outgoing.empty()) {
    const auto done = send_packet(x.fd.get(), x.outgoing.front());
    if (done == sent::not_yet)
      break;
    // What it has said is read before its end is.
    if (done == sent::never) {
      x.outgoing.clear();
      break;
    }
    x.outgoing.pop_front();
  }
  rewatch(x);
}

// -- both ---------------------------------------------------------------------

void control_connections::watch(uint64_t number, connection& x) {
  const auto events = x.local_rank ? uint32_t{EPOLLIN} : 0;
  home_.watch(x.fd.get(), events,
              [this, number](uint32_t ready) { on_ready(number, ready); });
}

void control_connections::rewatch(connection& x) {
  const auto out = x.outgoing.empty() ? 0 : uint32_t{EPOLLOUT};
  if (!x.is_paused)
    home_.rewatch(x.fd.get(), EPOLLIN | out);
}

void control_connections::report(const connection& x, core::worker_word word) {
  if (on_word_)
    on_word_(
      {.local_rank = *x.local_rank, .pid = x.session, .word = std::move(word)});
}

// The worker may not read it, and need not. What is unread here would turn the
// close into a reset that overtakes the text.
void control_connections::refuse(uint64_t number, std::string_view why) {
  constexpr auto unread_max = 1'024;
  const auto fd = connections_.at(number).fd.get();
  send_packet(fd, control_error_packet(why));
  auto ignored = char{};
  auto count = 0;
  while (count<unread_max&& ::recv(fd, &ignored, 1, MSG_DONTWAIT)> 0)
    ++count;
  close(number);
}

void control_connections::close(uint64_t number) {
  auto x = connections_.extract(number);
  if (x.empty())
    return;
  {
    const auto lock = std::lock_guard{mutex_};
    --open_count_;
  }
  auto& gone = x.mapped();
  home_.cancel(gone.hello_due);
  home_.cancel(gone.pause);
  home_.unwatch(gone.fd.get());
  gone.fd.reset();
  if (gone.has_greeted)
    report(gone, core::hung_up{});
}

// -- the socket ---------------------------------------------------------------

result<std::unique_ptr<worker_control_socket>>
worker_control_socket::open(reactor& loop, const control_limits& limits) {
  auto folder = run_folder::open();
  if (!folder)
    return folder.error();
  auto path = folder->path() + "/" + private_name(suffix);
  auto fd = open_listening_unix(path, SOCK_SEQPACKET);
  if (!fd)
    return fd.error();
  return std::unique_ptr<worker_control_socket>{new worker_control_socket{
    loop, std::move(*folder), std::move(path),
    std::make_shared<control_connections>(loop, std::move(*fd), limits)}};
}

worker_control_socket::worker_control_socket(
  reactor& loop, run_folder folder, std::string path,
  std::shared_ptr<control_connections> connections)
  : loop_(loop), folder_(std::move(folder)), path_(std::move(path)),
    connections_(std::move(connections)) {}

worker_control_socket::~worker_control_socket() {
  run_and_wait(loop_, [this] { connections_->stop(); });
  ::unlink(path_.c_str());
  remove_dead(folder_.path(), suffix, is_used);
  folder_.remove_if_empty();
}

void worker_control_socket::listen(listener on_word) {
  loop_.post([x = connections_, fn = std::move(on_word)]() mutable {
    x->listen(std::move(fn));
  });
}

void worker_control_socket::admit(
  std::vector<ports::controlled_worker> workers) {
  if (connections_->admit(workers))
    loop_.post([x = connections_] { x->refit(); });
}

void worker_control_socket::tell(uint32_t local_rank,
                                 core::worker_order order) {
  loop_.post([x = connections_, local_rank, what = std::move(order)] {
    x->tell(local_rank, what);
  });
}

} // namespace actorrun::detail
