#include "runtime/network/operator_client.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <future>
#include <utility>

#include <poll.h>

namespace actorrun::detail {

namespace {

using std::chrono::milliseconds;

result<connected> dialled(const operator_client::dialler& dial) {
  auto promise = std::promise<result<connected>>{};
  auto home = reactor{};
  const auto attempt = dial(
    home, [&promise](result<connected> x) { promise.set_value(std::move(x)); });
  return promise.get_future().get();
}

/// For poll(2).
int milliseconds_until(operator_client::time_point due) {
  if (due == operator_client::never)
    return -1;
  const auto left = std::chrono::ceil<milliseconds>(
    due - operator_client::time_point::clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX));
}

failure of_the_job(const failure& x) {
  return {x.code, "the coordinator " + x.text};
}

} // namespace

result<operator_client>
operator_client::open(const dialler& dial,
                      std::shared_ptr<const tls_identity> identity,
                      time_point due) {
  auto x = dialled(dial);
  if (!x)
    return x.error();
  auto out = operator_client{std::make_unique<link_socket>(
    std::move(x->connection), link_side::client, x->key,
    tls_trust{std::move(identity), x->server_host})};
  if (auto ok = out.agree(due); !ok)
    return ok.error();
  return out;
}

result<void> operator_client::agree(time_point due) {
  due = std::min(due, time_point::clock::now() + encryption_limit);
  while (!socket_->is_open()) {
    socket_->flush();
    if (wait(due, -1) == event::late)
      return of_the_job(late_encryption());
    if (auto ok = exchange(); !ok)
      return ok;
    if (has_ended_)
      return failure{errc::connection_failed,
                     "the coordinator has closed the connection"};
  }
  return {};
}

result<void> operator_client::send(const v1::OperatorRequest& x) {
  if (!socket_->send(message_frame(x)))
    return system_failure("no memory is left");
  socket_->flush();
  return {};
}

result<std::optional<v1::OperatorReply>>
operator_client::receive(time_point due, int stop) {
  for (;;) {
    auto x = next_message<v1::OperatorReply>(replies_);
    if (!x)
      return of_the_job(x.error());
    if (*x)
      return x;
    if (has_ended_)
      return failure{errc::connection_failed,
                     "the job has closed the connection"};
    switch (wait(due, stop)) {
      case event::late:
        return failure{errc::connection_timed_out, "the job does not answer"};
      case event::stopped:
        return std::optional<v1::OperatorReply>{};
      case event::moved:
        if (auto ok = exchange(); !ok)
          return ok.error();
    }
  }
}

operator_client::event operator_client::wait(time_point due, int stop) const {
  const auto output = socket_->unsent() > 0 ? POLLOUT : 0;
  for (;;) {
    pollfd both[] = {{socket_->fd(), static_cast<short>(POLLIN | output), 0},
                     {stop, POLLIN, 0}};
    const auto count = ::poll(both, 2, milliseconds_until(due));
    if (count == 0)
      return event::late;
    if (count > 0)
      return both[1].revents != 0 ? event::stopped : event::moved;
    if (errno != EINTR)
      return event::late; // Out of memory.
  }
}

result<void> operator_client::exchange() {
  if (!socket_->flush()) {
    has_ended_ = true;
    return {};
  }
  auto plain = std::string{};
  const auto got = socket_->receive(plain);
  if (!got)
    return of_the_job(got.error());
  replies_.add(plain);
  has_ended_ = *got == link_socket::progress::ended;
  socket_->flush();
  return {};
}

} // namespace actorrun::detail
