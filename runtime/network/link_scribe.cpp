#include "runtime/network/link_scribe.hpp"

#include <caf/exit_reason.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace actorrun::detail {

namespace {

using policy = caf::io::receive_policy_flag;

/// Brokers tell their connections apart by these: those of sockets have the numbers
/// of their descriptors.
caf::io::connection_handle next_handle() {
  static auto last = std::atomic<int64_t>{int64_t{1} << 32};
  return caf::io::connection_handle::from_int(++last);
}

} // namespace

/// Passes the calls of all pipes to one network thread. A post of CAF is a system call,
/// and waits when some thousands are under way: so there is one for many links.
class scribe_calls : public std::enable_shared_from_this<scribe_calls> {
public:
  using callee = std::shared_ptr<link_scribe*>;

  explicit scribe_calls(caf::io::network::multiplexer& home) : home_(home) {}

  static std::shared_ptr<scribe_calls> of(caf::io::network::multiplexer& home) {
    static auto mutex = std::mutex{};
    static auto all = std::map<const void*, std::weak_ptr<scribe_calls>>{};
    const auto lock = std::lock_guard{mutex};
    std::erase_if(all, [](const auto& x) { return x.second.expired(); });
    auto& known = all[&home];
    auto out = known.lock();
    if (!out)
      known = out = std::make_shared<scribe_calls>(home);
    return out;
  }

  /// From any thread.
  void add(callee x) {
    {
      const auto lock = std::lock_guard{mutex_};
      waiting_.push_back(std::move(x));
      if (waiting_.size() > 1)
        return;
    }
    home_.post([self = shared_from_this()] { self->run(); });
  }

private:
  void run() {
    auto all = std::vector<callee>{};
    {
      const auto lock = std::lock_guard{mutex_};
      all.swap(waiting_);
    }
    for (const auto& x : all)
      if (*x != nullptr)
        (*x)->read();
  }

  caf::io::network::multiplexer& home_;
  std::mutex mutex_;
  std::vector<callee> waiting_; // Guarded by mutex_.
};

link_scribe::link_scribe(caf::io::network::multiplexer& home, pipe_end link)
  : scribe(next_handle()), home_(home), calls_(scribe_calls::of(home)),
    self_(std::make_shared<link_scribe*>(this)), link_(std::move(link)) {}

link_scribe::~link_scribe() {
  *self_ = nullptr;
}

void link_scribe::configure_read(caf::io::receive_policy::config how) {
  how_ = how;
  add_to_loop();
  if (!unread_.empty() && !is_reading_)
    calls_->add(self_);
}

void link_scribe::flush() {
  if (written_.empty())
    return;
  link_.write(
    {reinterpret_cast<const char*>(written_.data()), written_.size()});
  // A silent link keeps no memory for the next message.
  buffer{}.swap(written_);
}

void link_scribe::graceful_shutdown() {
  flush();
  reads_ = false;
  link_.close();
  detach(&home_, false);
}

void link_scribe::add_to_loop() {
  if (std::exchange(reads_, true))
    return;
  link_.on_change([calls = calls_, self = self_] { calls->add(self); });
  calls_->add(self_);
}

void link_scribe::read() {
  const auto self = caf::io::scribe_ptr{this}; // Its broker may release it.
  if (!reads_)
    return;
  is_reading_ = true;
  auto more = link_.take();
  if (unread_.empty())
    unread_ = std::move(more);
  else
    unread_ += more;
  for (auto size = next_size(); reads_ && size > 0; size = next_size()) {
    const auto* begin
      = reinterpret_cast<const buffer::value_type*>(unread_.data() + read_to_);
    piece_.assign(begin, begin + size);
    read_to_ += size;
    if (!consume(&home_, piece_.data(), size))
      reads_ = false;
  }
  is_reading_ = false;
  is_known_ = is_known_ || forget_spawn_server();
  unread_.erase(0, std::exchange(read_to_, 0));
  if (unread_.empty())
    std::string{}.swap(unread_);
  buffer{}.swap(piece_);
  if (reads_ && link_.is_over()) {
    reads_ = false;
    io_failure(&home_, caf::io::network::operation::read);
  }
}

// For every new system CAF spawns an actor that asks it for a server which starts
// actors. We have none, and the question does not leave (`frame_filter`); the actor
// would keep 1.7 KB for each node of a job.
bool link_scribe::forget_spawn_server() {
  auto* broker = dynamic_cast<caf::io::basp_broker*>(parent());
  if (broker == nullptr)
    return false;
  const auto node = broker->instance.tbl().lookup_direct(hdl());
  const auto i = broker->spawn_servers.find(node);
  if (i == broker->spawn_servers.end())
    return false;
  caf::anon_send_exit(i->second, caf::exit_reason::user_shutdown);
  broker->spawn_servers.erase(i);
  return true;
}

/// Of the piece that the broker wants; 0: it is not complete.
size_t link_scribe::next_size() const {
  if (!how_)
    return 0;
  const auto there = unread_.size() - read_to_;
  const auto [flag, size] = *how_;
  switch (flag) {
    case policy::exactly:
      return there < size ? 0 : size;
    case policy::at_least:
      return there < size ? 0 : there;
    case policy::at_most:
      return std::min(there, size);
  }
  return 0;
}

} // namespace actorrun::detail
