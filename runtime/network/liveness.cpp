#include "runtime/network/liveness.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/acceptor.hpp"
#include "runtime/os/connect.hpp"
#include "runtime/os/socket.hpp"

#include <cassert>
#include <cerrno>
#include <memory>
#include <utility>

namespace actorrun::detail {

namespace {

class sign_of_life : public reactor_part {
public:
  sign_of_life(reactor& home, unique_fd socket)
    : acceptor_(std::make_shared<acceptor>(
      home, std::move(socket),
      acceptor_owner{[](unique_fd, const socket_address&) {},
                     [] { return false; }, ""})) {}

  void start() override {
    if (!stopped_)
      acceptor_->start();
  }

  void stop() override {
    if (!std::exchange(stopped_, true))
      acceptor_->stop();
  }

private:
  std::shared_ptr<acceptor> acceptor_;
  bool stopped_ = false;
};

class liveness_probe : public reactor_part,
                       public std::enable_shared_from_this<liveness_probe> {
public:
  liveness_probe(reactor& home, const socket_address& where,
                 core::duration deadline, std::function<void(liveness)> on_done)
    : home_(home), where_(where), deadline_(deadline),
      on_done_(std::move(on_done)) {}

  void start() override {
    if (!on_done_)
      return;
    timer_ = home_.after(deadline_, [this] { finish(liveness::silent); });
    dial_ = std::make_unique<dial>(
      home_, where_, [this](int error, const unique_fd&) {
        finish(error == 0              ? liveness::alive
               : error == ECONNREFUSED ? liveness::refused
                                       : liveness::silent);
      });
  }

  void stop() override {
    on_done_ = nullptr;
    home_.cancel(std::exchange(timer_, 0));
    dial_.reset();
  }

private:
  // The probe may be gone when this returns.
  void finish(liveness outcome) {
    const auto self = shared_from_this();
    const auto on_done = std::exchange(on_done_, nullptr);
    stop();
    on_done(outcome);
  }

  reactor& home_;
  socket_address where_;
  core::duration deadline_;
  std::function<void(liveness)> on_done_;
  reactor::timer timer_ = 0;
  std::unique_ptr<dial> dial_;
};

} // namespace

result<liveness_listener> liveness_listener::listen(reactor& home,
                                                    const std::string& host) {
  const auto where = numeric_address(host, 0);
  if (!where)
    return failure{errc::cannot_listen,
                   formatted("cannot listen on \"{}\": it is not an address; "
                             "give a number like 10.0.0.1",
                             host)};
  auto fd = open_listening(*where);
  if (!fd)
    return fd.error();
  const auto bound = local_address_of(fd->get()).value_or(*where);
  auto sign = std::make_shared<sign_of_life>(home, std::move(*fd));
  return liveness_listener{reactor_handle{home, std::move(sign)}, bound};
}

reactor_handle probe(reactor& home, const socket_address& where,
                     core::duration deadline,
                     std::function<void(liveness)> on_done) {
  assert(deadline > core::duration{0});
  return {home, std::make_shared<liveness_probe>(home, where, deadline,
                                                 std::move(on_done))};
}

} // namespace actorrun::detail
