#include "runtime/network/guarded_link.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

/// At most about so many bytes wait for the network, above a message, while it is read.
constexpr size_t unread_max = size_t{128} << 10;

/// At most about so many bytes, above a message, are delivered and not handled yet;
/// whether they are is asked at half of that.
constexpr size_t unhandled_max = size_t{128} << 10;

/// What waits in a mailbox takes more than its bytes on the wire.
constexpr size_t message_overhead = 512;

} // namespace

reactor_handle carry(reactor& home, unique_fd connection, link_setup setup) {
  return {home, std::make_shared<guarded_link>(home, std::move(connection),
                                               std::move(setup))};
}

guarded_link::guarded_link(reactor& home, unique_fd network, link_setup setup)
  : home_(home),
    network_(std::move(network), setup.mine, setup.key, setup.trust),
    peer_(std::move(setup.peer)),
    network_watch_(home, network_.fd(), [this](uint32_t) { on_network(); }),
    answer_pause_(setup.answer_pause), limit_(setup.limit),
    call_when_handled_(std::move(setup.call_when_handled)),
    on_encrypted_(std::move(setup.on_encrypted)),
    on_closed_(std::move(setup.on_closed)) {}

void guarded_link::start() {
  if (network_.is_closed())
    return;
  if (network_.session())
    timer_ = home_.after(limit_, [this] { finish(late_encryption()); });
  outbox_->on_change([&home = home_, weak = weak_from_this()] {
    home.post([weak] {
      if (const auto self = weak.lock())
        self->on_outbox();
    });
  });
  begin_peer();
  network_.flush();
  watch_network();
}

void guarded_link::stop() {
  on_closed_ = nullptr;
  if (!network_.is_closed() && network_.is_open()) {
    if (network_.unsent() < message_frame_max)
      read_outbox();
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
  on_outbox();
}

void guarded_link::on_outbox() {
  const auto self = shared_from_this();
  if (network_.is_closed())
    return; // The call was under way.
  for (auto got = progress::some;
       got == progress::some && network_.is_open() && network_.unsent() == 0;) {
    got = read_outbox();
    if (got == progress::ended)
      return finish({});
  }
  watch_network();
}

/// @returns whether the link goes on
bool guarded_link::begin_peer() {
  if (has_begun_ || !network_.is_open())
    return true;
  home_.cancel(std::exchange(timer_, 0));
  if (on_encrypted_ && network_.session()
      && !on_encrypted_(network_.session()->key_to_resume()))
    return false;
  has_begun_ = true;
  peer_->begin({outbox_, [this](const std::string& host) {
                  const auto& session = network_.session();
                  return !session || session->may_speak_for(host);
                }});
  return true;
}

result<guarded_link::progress> guarded_link::read_network() {
  auto plain = std::string{};
  const auto got = network_.receive(plain);
  if (!got)
    return got.error();
  if (!begin_peer())
    return progress::ended;
  frames_.add(plain);
  auto passed = size_t{0};
  const auto ok = pass_to_peer(passed);
  note_passed(passed);
  const auto answers = peer_->take_answers();
  if (!answers.empty() && !network_.send(answers))
    return progress::ended;
  if (!answers.empty() && passed == 0)
    home_.could_wait(answer_pause_);
  const auto is_written = network_.flush();
  if (!ok)
    return ok.error();
  return is_written ? *got : progress::ended;
}

/// Messages before a bad one arrive.
/// @param passed Grows by what those take that an actor has got.
result<void> guarded_link::pass_to_peer(size_t& passed) {
  for (;;) {
    const auto frame = frames_.next();
    if (!frame)
      return frame.error();
    if (!*frame)
      return {};
    const auto size = (*frame)->size();
    const auto is_passed = peer_->take(**frame);
    if (!is_passed)
      return is_passed.error();
    if (*is_passed)
      passed += size + message_overhead;
  }
}

void guarded_link::note_passed(size_t size) {
  if (!call_when_handled_)
    return;
  unhandled_ += size;
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

guarded_link::progress guarded_link::read_outbox() {
  const auto written = outbox_->take();
  if (written.empty())
    return outbox_->is_over() ? progress::ended : progress::none;
  if (!network_.send(written))
    return progress::ended;
  return network_.flush() ? progress::some : progress::ended;
}

// -- descriptors --------------------------------------------------------------

// An agent that waits for us in turn still reads.
bool guarded_link::may_read_network() {
  return unhandled_ < unhandled_max
         && (!network_.is_open() || network_.unsent() < unread_max);
}

void guarded_link::watch_network() {
  network_watch_.expect(may_read_network(), network_.unsent() > 0);
}

// The callback may destroy the link: call this last.
void guarded_link::finish(const result<void>& how) {
  home_.cancel(std::exchange(timer_, 0));
  network_watch_.end();
  outbox_->on_change(nullptr);
  outbox_->end();
  // The callback comes first: the actor reports the end of the link, but not why.
  const auto network = network_.take_fd();
  const auto peer = std::move(peer_);
  if (const auto on_closed = std::exchange(on_closed_, nullptr))
    on_closed(how);
  if (peer)
    peer->end();
}

} // namespace actorrun::detail
