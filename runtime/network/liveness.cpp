#include "runtime/network/liveness.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/tombstone.hpp"
#include "runtime/os/acceptor.hpp"
#include "runtime/os/connect.hpp"
#include "runtime/os/socket.hpp"

#include <array>
#include <cassert>
#include <cerrno>
#include <memory>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>

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
                 statement_reader reader, core::duration deadline,
                 std::function<void(liveness)> on_done)
    : home_(home), where_(where), reader_(std::move(reader)),
      deadline_(deadline), on_done_(std::move(on_done)) {}

  void start() override {
    if (!on_done_)
      return;
    timer_ = home_.after(deadline_, [this] { finish(liveness::silent); });
    dial_
      = std::make_unique<dial>(home_, where_, [this](int error, unique_fd x) {
          on_dialled(error, std::move(x));
        });
  }

  void stop() override {
    on_done_ = nullptr;
    home_.cancel(std::exchange(timer_, 0));
    dial_.reset();
    if (fd_)
      home_.unwatch(fd_.get());
    fd_.reset();
  }

private:
  void on_dialled(int error, unique_fd fd) {
    if (error != 0)
      return finish(error == ETIMEDOUT ? liveness::silent : liveness::unknown);
    fd_ = std::move(fd);
    home_.watch(fd_.get(), EPOLLIN, [this](uint32_t) { on_ready(); });
  }

  void on_ready() {
    auto buffer = std::array<char, 1024>{};
    const auto got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      return;
    if (got > 0)
      read_.append(buffer.data(), static_cast<size_t>(got));
    if (got <= 0)
      finish(liveness::unknown);
    else if (const auto meaning = reader_(read_))
      finish(*meaning);
  }

  // The probe may be gone when this returns.
  void finish(liveness outcome) {
    const auto self = shared_from_this();
    const auto on_done = std::exchange(on_done_, nullptr);
    stop();
    on_done(outcome);
  }

  reactor& home_;
  socket_address where_;
  statement_reader reader_;
  std::string read_;
  core::duration deadline_;
  std::function<void(liveness)> on_done_;
  reactor::timer timer_ = 0;
  std::unique_ptr<dial> dial_;
  unique_fd fd_; // Watched while it is open.
};

} // namespace

result<liveness_listener>
liveness_listener::listen(reactor& home, const std::string& host,
                          const std::function<void(int socket)>& keep) {
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
  keep(fd->get());
  auto sign = std::make_shared<sign_of_life>(home, std::move(*fd));
  return liveness_listener{reactor_handle{home, std::move(sign)}, bound};
}

reactor_handle probe(reactor& home, const socket_address& where,
                     statement_reader reader, core::duration deadline,
                     std::function<void(liveness)> on_done) {
  assert(deadline > core::duration{0});
  return {home, std::make_shared<liveness_probe>(home, where, std::move(reader),
                                                 deadline, std::move(on_done))};
}

reactor_handle probe(reactor& home, const socket_address& where,
                     std::string tombstone, core::duration deadline,
                     std::function<void(liveness)> on_done) {
  assert(tombstone.size() == agent_tombstone_size);
  auto reader = [tombstone = std::move(tombstone)](
                  std::string_view said) -> std::optional<liveness> {
    if (!tombstone.starts_with(said))
      return liveness::unknown;
    return said == tombstone ? std::optional{liveness::gone} : std::nullopt;
  };
  return probe(home, where, statement_reader{std::move(reader)}, deadline,
               std::move(on_done));
}

} // namespace actorrun::detail
