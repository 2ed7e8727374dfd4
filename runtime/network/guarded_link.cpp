#include "runtime/network/guarded_link.hpp"

#include <string_view>
#include <utility>

namespace actorrun::detail {

namespace {

/// At most about so many bytes wait for a side, above a message, while the other is
/// read.
constexpr size_t unread_max = size_t{128} << 10;

/// At most about so many bytes, above a message, are given to CAF and not handled
/// yet; whether they are is asked at half of that.
constexpr size_t unhandled_max = size_t{128} << 10;

/// What waits in a mailbox takes more than its bytes on the wire.
constexpr size_t message_overhead = 512;

} // namespace

open_link carry(reactor& home, unique_fd connection, link_setup setup) {
  auto [ours, for_caf] = pipe_end::open();
  auto part = std::make_shared<guarded_link>(home, std::move(connection),
                                             std::move(ours), std::move(setup));
  return {reactor_handle{home, std::move(part)}, std::move(for_caf)};
}

guarded_link::guarded_link(reactor& home, unique_fd network, pipe_end caf,
                           link_setup setup)
  : home_(home),
    network_(std::move(network), setup.ends.mine, setup.key, setup.trust),
    caf_(std::move(caf)),
    network_watch_(home, network_.fd(), [this](uint32_t) { on_network(); }),
    filter_(
      setup.ends,
      [this](const std::string& host) {
        const auto& session = network_.session();
        return !session || session->may_speak_for(host);
      },
      std::move(setup.has_lease), std::move(setup.is_member),
      setup.trust.identity ? std::string{} : std::move(setup.peer_host)),
    answer_pause_(setup.answer_pause), limit_(setup.limit),
    call_when_handled_(std::move(setup.call_when_handled)),
    on_encrypted_(std::move(setup.on_encrypted)),
    on_closed_(std::move(setup.on_closed)) {}

void guarded_link::start() {
  if (network_.is_closed())
    return;
  if (network_.session())
    timer_ = home_.after(limit_, [this] { finish(late_encryption()); });
  caf_.on_change([&home = home_, weak = weak_from_this()] {
    home.post([weak] {
      if (const auto self = weak.lock())
        self->on_caf();
    });
  });
  network_.flush();
  watch_network();
}

void guarded_link::stop() {
  on_closed_ = nullptr;
  if (!network_.is_closed() && network_.is_open()) {
    if (network_.unsent() < frame_content_max)
      read_caf();
    network_.say_end();
  }
  finish({});
}

// -- events -------------------------------------------------------------------

void guarded_link::on_network() {
  const auto self = shared_from_this(); // `finish` may end the owner's share.
  if (!network_.flush())
    return finish({});
  if (may_read_network()) {
    const auto done = read_network();
    if (!done)
      return finish(done.error());
    if (*done == progress::ended)
      return finish({});
  }
  on_caf();
}

void guarded_link::on_caf() {
  const auto self = shared_from_this();
  if (network_.is_closed())
    return; // The call was under way.
  for (auto got = progress::some;
       got == progress::some && network_.is_open() && network_.unsent() == 0;) {
    got = read_caf();
    if (got == progress::ended)
      return finish({});
  }
  watch_network();
}

result<guarded_link::progress> guarded_link::read_network() {
  auto plain = std::string{};
  const auto got = network_.receive(plain);
  if (!got)
    return got.error();
  if (network_.is_open() && timer_ != 0) {
    home_.cancel(std::exchange(timer_, 0));
    if (on_encrypted_)
      on_encrypted_(network_.session()->key_to_resume());
  }
  auto checked = std::string{};
  const auto ok = filter_.arriving(plain, checked);
  const auto has_passed = !checked.empty();
  pass_to_caf(std::move(checked)); // Frames before a bad one arrive.
  const auto answers = filter_.take_answers();
  if (!answers.empty() && !network_.send(answers))
    return progress::ended;
  if (!answers.empty() && !has_passed)
    home_.could_wait(answer_pause_);
  const auto is_written = network_.flush();
  if (!ok)
    return ok.error();
  return is_written ? *got : progress::ended;
}

void guarded_link::pass_to_caf(std::string checked) {
  caf_.write(dialect_.from_wire(checked));
  if (!call_when_handled_ || checked.empty())
    return;
  unhandled_ += checked.size() + message_overhead * filter_.take_passed_count();
  if (unhandled_ >= unhandled_max / 2 && asked_ == 0)
    ask_whether_handled();
}

void guarded_link::ask_whether_handled() {
  asked_ = unhandled_;
  call_when_handled_([&home = home_, weak = weak_from_this()] {
    home.post([weak] {
      const auto self = weak.lock();
      if (!self || self->network_.is_closed())
        return;
      self->unhandled_ -= std::exchange(self->asked_, 0);
      if (self->unhandled_ >= unhandled_max / 2)
        self->ask_whether_handled();
      self->watch_network();
    });
  });
}

guarded_link::progress guarded_link::read_caf() {
  const auto written = caf_.take();
  if (written.empty())
    return caf_.is_over() ? progress::ended : progress::none;
  const auto frames = dialect_.to_wire(written);
  auto checked = std::string{};
  if (!frames || !filter_.leaving(*frames, checked) || !network_.send(checked))
    return progress::ended;
  return network_.flush() ? progress::some : progress::ended;
}

// -- descriptors --------------------------------------------------------------

// An agent that waits for us in turn still reads: only its own CAF stops it.
bool guarded_link::may_read_network() {
  return caf_.has_room(unread_max) && unhandled_ < unhandled_max
         && (!network_.is_open() || network_.unsent() < unread_max);
}

void guarded_link::watch_network() {
  network_watch_.expect(may_read_network(), network_.unsent() > 0);
}

// The callback may destroy the link: call this last.
void guarded_link::finish(const result<void>& how) {
  home_.cancel(std::exchange(timer_, 0));
  network_watch_.end();
  // The callback comes first: CAF may report the end of its side, but not why.
  const auto network = network_.take_fd();
  const auto caf = std::exchange(caf_, {});
  if (const auto on_closed = std::exchange(on_closed_, nullptr))
    on_closed(how);
}

} // namespace actorrun::detail
