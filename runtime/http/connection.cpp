#include "runtime/http/connection.hpp"

#include <array>
#include <cerrno>
#include <utility>
#include <variant>

#include <sys/socket.h>

namespace actorrun::detail {

namespace {

/// Whoever has not taken an answer for so long makes room for others.
constexpr auto unread_limit = std::chrono::seconds{1};

} // namespace

http_connection::http_connection(reactor& home, unique_fd client,
                                 const http_limits& limits, owner whose)
  : home_(home), fd_(std::move(client)),
    watch_(home, fd_.get(), [this](uint32_t) { on_ready(); }), limits_(limits),
    owner_(std::move(whose)) {}

void http_connection::start() {
  enter(step::reading, limits_.request);
}

http_worth http_connection::worth(core::time_point now) const {
  if (now_ == step::reading && input_.empty())
    return http_worth::idle;
  if (now_ == step::reading || now_ == step::ending)
    return http_worth::unfinished;
  if (now_ == step::writing && now - since_ > unread_limit)
    return http_worth::unread;
  return http_worth::served;
}

void http_connection::stop() {
  owner_.on_closed = nullptr;
  close();
}

void http_connection::enter(step next, core::duration limit) {
  now_ = next;
  since_ = core::time_point::clock::now();
  home_.cancel(deadline_);
  deadline_ = home_.after(limit, [this] { on_late(); });
  watch_.expect(next != step::waiting && next != step::writing,
                next == step::writing);
}

// -- events -------------------------------------------------------------------

void http_connection::on_ready() {
  const auto self = shared_from_this(); // `close` may end the owner's share.
  switch (now_) {
    case step::reading:
      return read();
    case step::writing:
      flush();
      return take_requests(); // Some may have come with the one before.
    case step::streaming:     // It has nothing more to say.
      return close();
    case step::ending:
      if (!receive(nullptr))
        close();
      return;
    case step::waiting:
      return;
  }
}

void http_connection::on_late() {
  const auto self = shared_from_this();
  deadline_ = 0;
  switch (now_) {
    case step::reading:
      if (input_.empty())
        return close();
      return write(text_reply(408, "the request has not come in time"), false,
                   true);
    case step::waiting: // The answer has a timeout of its own.
      return write(text_reply(503, "the job does not answer"), false, true);
    case step::streaming: // Events come more often than that: see `publish`.
    case step::writing:
    case step::ending:
      return close();
  }
}

/// @param into Null: the bytes are thrown away.
/// @returns whether the client may send more
bool http_connection::receive(std::string* into) {
  auto bytes = std::array<char, 4096>{};
  const auto count = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0)
    return errno == EAGAIN || errno == EINTR;
  if (into != nullptr)
    into->append(bytes.data(), static_cast<size_t>(count));
  return count > 0;
}

void http_connection::read() {
  const auto was_idle = input_.empty();
  if (!receive(&input_))
    return close();
  if (was_idle && !input_.empty())
    enter(step::reading, limits_.request);
  take_requests();
}

// An answer that comes at once leads back here.
void http_connection::take_requests() {
  if (std::exchange(is_taking_, true))
    return;
  while (now_ == step::reading && fd_ && !input_.empty()) {
    auto found = read_request(input_);
    if (auto* x = std::get_if<http_request>(&found)) {
      x->client = fd_.get();
      input_.erase(0, x->size);
      answer(*x);
    } else if (const auto* fault = std::get_if<http_fault>(&found)) {
      write(text_reply(fault->status, fault->text), false, true);
    } else {
      break;
    }
  }
  is_taking_ = false;
}

void http_connection::answer(const http_request& x) {
  enter(step::waiting, limits_.write);
  const auto number = ++answer_count_;
  owner_.answer(x, [whom = weak_from_this(), number, keeps = x.keeps_alive,
                    has_body = x.method != "HEAD"](http_reply reply) {
    const auto self = whom.lock();
    if (self && self->now_ == step::waiting && self->answer_count_ == number) {
      self->write(std::move(reply), keeps, has_body);
      self->take_requests();
    }
  });
}

// -- answers ------------------------------------------------------------------

void http_connection::write(http_reply x, bool keeps_alive, bool has_body) {
  keeps_alive_ = keeps_alive && !x.is_stream;
  is_stream_ = x.is_stream && has_body;
  head_ = head_of(x, keeps_alive_);
  body_ = has_body ? std::move(x.body) : nullptr;
  written_ = 0;
  enter(step::writing, limits_.write);
  flush();
}

void http_connection::push(const http_body& event) {
  const auto self = shared_from_this();
  if (now_ != step::streaming) {
    next_event_ = event;
    return;
  }
  head_.clear();
  body_ = event;
  written_ = 0;
  enter(step::writing, limits_.write);
  flush();
}

// Without a copy: many clients may get the same large answer.
void http_connection::flush() {
  const auto body = body_ ? std::string_view{*body_} : std::string_view{};
  while (written_ < head_.size() + body.size()) {
    const auto rest = written_ < head_.size()
                        ? std::string_view{head_}.substr(written_)
                        : body.substr(written_ - head_.size());
    const auto count
      = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (count <= 0)
      return close();
    written_ += static_cast<size_t>(count);
  }
  on_written();
}

void http_connection::on_written() {
  body_ = nullptr;
  if (!is_stream_)
    return keeps_alive_ ? enter(step::reading,
                                input_.empty() ? limits_.idle : limits_.request)
                        : end();
  enter(step::streaming, limits_.idle);
  if (const auto event = std::exchange(next_event_, nullptr))
    push(event);
}

// -- the end ------------------------------------------------------------------

// Closed at once, unread bytes would turn the end into a reset that overtakes the
// answer.
void http_connection::end() {
  ::shutdown(fd_.get(), SHUT_WR);
  enter(step::ending, limits_.linger);
}

void http_connection::close() {
  now_ = step::ending;
  home_.cancel(std::exchange(deadline_, 0));
  watch_.end();
  fd_.reset();
  body_ = nullptr;
  next_event_ = nullptr;
  if (const auto on_closed = std::exchange(owner_.on_closed, nullptr))
    on_closed();
}

} // namespace actorrun::detail
