#include "runtime/network/operator_session.hpp"

#include "actors/operator_questions.hpp"
#include "actors/steering.hpp"
#include "runtime/os/clock.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

namespace actorrun::detail {

namespace {

using progress = link_socket::progress;

/// An operator proves who it is by the system, a secret or a certificate.
constexpr auto no_right_to_steer
  = "this job has no secret, so operators cannot prove from afar who they are:"
    " ask on the host of its coordinator, as the user who runs it there; or"
    " start the job with a secret: actorctl secret create (docs/security.md)";

core::duration fitted_interval(uint32_t ms) {
  return std::clamp(std::chrono::milliseconds{ms}, watch_interval_min,
                    watch_interval_max);
}

} // namespace

uint64_t next_session() {
  static auto last = std::atomic<uint64_t>{0};
  return ++last;
}

operator_session::operator_session(reactor& home, unique_fd connection,
                                   operator_setup setup)
  : home_(home),
    socket_(std::move(connection), link_side::server, setup.key, setup.trust),
    watch_socket_(home, socket_.fd(), [this](uint32_t) { go_on(); }),
    setup_(std::move(setup)), number_(next_session()), last_request_(now()) {}

void operator_session::start() {
  if (socket_.is_closed())
    return;
  const auto take
    = [whom = weak_from_this()](question_id id, v1::OperatorReply x) {
        if (const auto alive = whom.lock())
          alive->on_answer(id, std::move(x));
      };
  const auto take_status
    = [whom = weak_from_this()](question_id id, const shared_status& x) {
        if (const auto alive = whom.lock())
          alive->on_status(id, x);
      };
  path_ = reply_path::open(home_, take, take_status);
  if (socket_.session())
    encryption_timer_
      = home_.after(encryption_limit, [this] { finish(late_encryption()); });
  idle_timer_ = home_.after(setup_.limits.idle, [this] { end_if_idle(); });
  go_on();
}

void operator_session::stop() {
  setup_.on_closed = nullptr;
  if (!socket_.is_closed())
    socket_.say_end();
  finish({});
}

// -- events -------------------------------------------------------------------

void operator_session::go_on() {
  const auto self = shared_from_this(); // `finish` may end the owner's share.
  const auto done = serve();
  if (!done)
    return finish(done.error());
  if (*done == progress::ended)
    return finish({});
  watch_socket_.expect(takes_requests(), socket_.unsent() > 0);
}

result<progress> operator_session::serve() {
  if (!socket_.flush() || !send_pages())
    return progress::ended;
  auto done = takes_requests() ? read() : progress::none;
  if (!done)
    return done;
  if (const auto ok = take_requests(); !ok)
    return ok.error();
  pass_credit();
  return socket_.flush() ? done : progress::ended;
}

result<progress> operator_session::read() {
  auto plain = std::string{};
  auto done = socket_.receive(plain);
  requests_.add(plain);
  if (done && socket_.is_open())
    home_.cancel(std::exchange(encryption_timer_, 0));
  return done;
}

bool operator_session::takes_requests() const {
  const auto unsent_max = streams_.empty() ? 0 : stream_unsent_max;
  return questions_.size() + transfers_.size() < open_question_count_max
         && socket_.unsent() <= unsent_max;
}

void operator_session::end_if_idle() {
  const auto self = shared_from_this();
  const auto left = setup_.limits.idle - (now() - last_request_);
  const auto is_served = watch_ || !streams_.empty() || !transfers_.empty();
  if (!is_served && left <= core::duration{0})
    return finish({});
  idle_timer_ = home_.after(is_served ? setup_.limits.idle : left,
                            [this] { end_if_idle(); });
}

// -- requests -----------------------------------------------------------------

result<void> operator_session::take_requests() {
  while (socket_.is_open() && takes_requests()) {
    const auto x = next_message<v1::OperatorRequest>(requests_);
    if (!x)
      return x.error();
    if (!*x)
      return {};
    last_request_ = now();
    handle(**x);
  }
  return {};
}

void operator_session::handle(const v1::OperatorRequest& x) {
  switch (x.what_case()) {
    case v1::OperatorRequest::WHAT_NOT_SET: {
      auto reply = refusal_of(errc::protocol_mismatch,
                              "this version does not know the request");
      reply.set_number(x.number());
      return send(reply);
    }
    case v1::OperatorRequest::kWatch:
      return begin_watch(x);
    case v1::OperatorRequest::kLogs:
      return begin_stream(x);
    case v1::OperatorRequest::kLogCredit: // It has no answer.
      return add_credit(x.log_credit());
    default: // An actor knows it.
      break;
  }
  if (!is_steering(x) || setup_.rights.may_steer) {
    ask(x);
    return;
  }
  auto reply = refusal_of(errc::bad_argument, no_right_to_steer);
  reply.set_number(x.number());
  send(reply);
}

operator_session::question_id
operator_session::ask(const v1::OperatorRequest& x, bool is_of_watch) {
  const auto id = ++last_question_;
  const auto on_late = [this, id] {
    on_answer(
      id, refusal_of(errc::connection_timed_out, "the job does not answer"));
  };
  questions_[id]
    = {x.number(), is_of_watch, home_.after(setup_.limits.answer, on_late)};
  pass_on(id, x);
  return id;
}

/// @param id 0: no answer is expected.
void operator_session::pass_on(question_id id, const v1::OperatorRequest& x) {
  setup_.ask({x, reply_path::of(path_, id), setup_.rights.by,
              setup_.rights.may_steer, number_,
              reply_path::of_status(path_, id)});
}

void operator_session::on_answer(question_id id, v1::OperatorReply x) {
  const auto self = shared_from_this();
  if (streams_.contains(id))
    return on_streamed(id, std::move(x));
  if (x.has_status())
    return on_status(id, picture_of(std::move(*x.mutable_status())));
  const auto known = questions_.extract(id);
  if (!known)
    return; // It came too late.
  home_.cancel(known.mapped().deadline);
  x.set_number(known.mapped().number);
  if (!known.mapped().is_of_watch)
    send(x);
  else if (watch_ && watch_->asked == id) // Another may have taken its place.
    on_watched(x);
  go_on();
}

void operator_session::on_status(question_id id, const shared_status& x) {
  const auto self = shared_from_this();
  const auto known = questions_.extract(id);
  if (!known)
    return; // It came too late.
  home_.cancel(known.mapped().deadline);
  if (!known.mapped().is_of_watch)
    begin_transfer(id, known.mapped(), x);
  else if (watch_ && watch_->asked == id)
    on_watched(id, x);
  go_on();
}

// Whatever is not taken at once waits for `go_on`.
void operator_session::send(const v1::OperatorReply& x) {
  if (x.ByteSizeLong() > reply_size_max) {
    auto instead
      = refusal_of(errc::system_failure, "the answer is too long to be sent");
    instead.set_number(x.number());
    return send(instead);
  }
  if (!socket_.send(message_frame(x)))
    return; // Out of memory; the operator waits in vain.
  socket_.flush();
}

// -- pages --------------------------------------------------------------------

void operator_session::begin_transfer(question_id id, const question& of,
                                      const shared_status& x) {
  transfers_.push_back(
    {id, of.number, of.is_of_watch, x->pages, 0,
     home_.after(setup_.limits.pages, [this, id] { on_late_pages(id); })});
}

// The next page waits until the operator has taken the last one.
/// @returns whether there is another side
bool operator_session::send_pages() {
  while (!transfers_.empty() && socket_.is_open() && socket_.unsent() == 0) {
    auto& x = transfers_.front();
    const auto has_room
      = bool(socket_.send(status_frame(x.number, (*x.pages)[x.next])));
    if (!has_room || ++x.next == x.pages->size()) {
      home_.cancel(x.deadline);
      transfers_.pop_front();
    }
    if (!socket_.flush())
      return false;
  }
  return true;
}

void operator_session::on_late_pages(question_id id) {
  const auto i = std::ranges::find(transfers_, id, &transfer::id);
  i->deadline = 0;
  if (!i->is_of_watch)
    return finish({});
  transfers_.erase(i);
}

void operator_session::drop_transfers(bool of_watch_only) {
  std::erase_if(transfers_, [&](const auto& x) {
    const auto goes = x.is_of_watch || !of_watch_only;
    if (goes)
      home_.cancel(x.deadline);
    return goes;
  });
}

// -- readings -----------------------------------------------------------------

void operator_session::begin_stream(const v1::OperatorRequest& x) {
  const auto is_known = std::ranges::any_of(
    streams_, [&](const auto& y) { return y.second.number == x.number(); });
  if (is_known || streams_.size() == open_stream_count_max) {
    auto reply
      = refusal_of(errc::bad_argument,
                   is_known ? "a reading of this number is going on"
                            : "too many readings are going on in one session");
    reply.set_number(x.number());
    return send(reply);
  }
  const auto id = ++last_question_;
  const auto on_late = [this, id] {
    stop_stream(streams_.at(id).number);
    on_answer(
      id, refusal_of(errc::connection_timed_out, "the job does not answer"));
  };
  streams_[id] = {x.number(), home_.after(setup_.limits.answer, on_late)};
  pass_on(id, x);
}

void operator_session::on_streamed(question_id id, v1::OperatorReply x) {
  auto& known = streams_.at(id);
  home_.cancel(std::exchange(known.deadline, 0));
  x.set_number(known.number);
  if (!x.has_logs() || x.logs().is_end())
    streams_.erase(id);
  send(x);
  go_on();
}

// However often an operator adds to it, it is passed on once per turn.
void operator_session::add_credit(const v1::AddLogCredit& x) {
  const auto known = std::ranges::find_if(
    streams_, [&](const auto& y) { return y.second.number == x.number(); });
  if (known == streams_.end())
    return; // It has ended.
  auto& to = known->second;
  if (x.size() == 0)
    to.is_unwanted = true;
  constexpr auto max = std::numeric_limits<uint32_t>::max();
  to.credit += std::min(x.size(), max - to.credit);
}

void operator_session::pass_credit() {
  for (auto i = streams_.begin(); i != streams_.end();) {
    auto& x = i->second;
    if (const auto credit = std::exchange(x.credit, 0); credit > 0) {
      auto request = v1::OperatorRequest{};
      request.mutable_log_credit()->set_number(x.number);
      request.mutable_log_credit()->set_size(credit);
      pass_on(0, request);
    }
    if (!x.is_unwanted) {
      ++i;
      continue;
    }
    home_.cancel(x.deadline);
    stop_stream(x.number); // Answered by nothing.
    i = streams_.erase(i);
  }
}

// Whoever reads for it must not wait for more credit for ever.
void operator_session::stop_stream(uint64_t number) {
  auto request = v1::OperatorRequest{};
  request.mutable_log_credit()->set_number(number);
  pass_on(0, request);
}

void operator_session::end_streams() {
  for (const auto& [id, x] : std::exchange(streams_, {})) {
    home_.cancel(x.deadline);
    stop_stream(x.number);
  }
}

// -- the watch ----------------------------------------------------------------

void operator_session::begin_watch(const v1::OperatorRequest& x) {
  end_watch();
  watch_ = status_watch{.number = x.number(),
                        .interval = fitted_interval(x.watch().interval_ms())};
  look();
}

// Nothing is asked for an operator that has not read the last reply: it gets the
// newest status when it has.
void operator_session::look() {
  const auto pace = watch_->last ? watch_->last->pace : core::duration{};
  watch_->timer
    = home_.after(std::max(watch_->interval, pace), [this] { look(); });
  if (watch_->asked != 0 || socket_.unsent() > 0 || !transfers_.empty())
    return;
  auto request = v1::OperatorRequest{};
  request.set_number(watch_->number);
  request.mutable_status()->set_for_watch(true);
  watch_->asked = ask(request, true);
}

void operator_session::on_watched(const v1::OperatorReply& x) {
  watch_->asked = 0;
  if (is_news(x.SerializeAsString()))
    send(x);
}

void operator_session::on_watched(question_id id, const shared_status& x) {
  watch_->asked = 0;
  if (watch_->last == x || !is_news(std::to_string(x->news)))
    return;
  watch_->last = x;
  begin_transfer(id, {watch_->number, true}, x);
}

/// Whether the operator gets it: it differs from what it got last, beside the time
/// that has passed, or that was long ago.
bool operator_session::is_news(std::string news) {
  const auto is_due = now() - watch_->told >= watch_silence_max;
  if (news == watch_->last_news && !is_due)
    return false;
  watch_->last_news = std::move(news);
  watch_->told = now();
  return true;
}

void operator_session::end_watch() {
  if (!watch_)
    return;
  home_.cancel(watch_->timer);
  drop_transfers(true);
  watch_.reset();
}

// -- the end ------------------------------------------------------------------

// The callback may destroy the session: call this last.
void operator_session::finish(const result<void>& how) {
  if (path_)
    path_->close();
  end_watch();
  end_streams();
  drop_transfers(false);
  for (const auto& [id, x] : questions_)
    home_.cancel(x.deadline);
  questions_.clear();
  home_.cancel(std::exchange(encryption_timer_, 0));
  home_.cancel(std::exchange(idle_timer_, 0));
  watch_socket_.end();
  const auto fd = socket_.take_fd();
  if (const auto on_closed = std::exchange(setup_.on_closed, nullptr))
    on_closed(how);
}

} // namespace actorrun::detail
