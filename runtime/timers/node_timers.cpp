#include "runtime/timers/node_timers.hpp"

#include "runtime/os/reactor.hpp"
#include "runtime/timers/posix_session_members.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>

#include <utility>

namespace actorrun::detail {

result<std::unique_ptr<node_timers>>
node_timers::open(caf::actor_system& system, std::shared_ptr<reactor> loop,
                  node_timers_config config) {
  auto x
    = std::unique_ptr<node_timers>{new node_timers{system, std::move(config)}};
  if (auto done = x->make_fifo(*loop); !done)
    return done.error();
  if (auto done = x->make_socket(*loop); !done)
    return done.error();
  if (!x->fifo_ && !x->socket_ && !x->config_.options.enabled)
    return x;
  x->spawn(std::move(loop));
  if (!x->server_)
    return failure{errc::bad_argument,
                   "launcher_hooks::timer_server has made no timer server"};
  return x;
}

result<void> node_timers::make_fifo(reactor& loop) {
  const auto& asked = config_.options;
  if (!asked.enabled)
    return {};
  if (!asked.path.empty()) {
    auto made = timer_fifo::open(loop, asked.path);
    if (made)
      fifo_ = std::move(*made);
    else
      config_.lines.warn(made.error().text + "; workers get another one");
  }
  if (!fifo_) {
    auto made = timer_fifo::open_private(loop);
    if (made)
      fifo_ = std::move(*made);
    else
      obstacle_ = made.error().text;
  }
  if (fifo_)
    fifo_path_ = fifo_->path();
  return {};
}

result<void> node_timers::make_socket(reactor& loop) {
  if (config_.options.watchdog.count() == 0)
    return {};
  auto made = notify_socket::open(loop);
  if (!made)
    return made.error();
  socket_ = std::move(*made);
  socket_path_ = socket_->path();
  return {};
}

// Even without a FIFO: parts of this program may have timers.
void node_timers::spawn(std::shared_ptr<reactor> loop) {
  auto config = timer_server_config{
    .source = keep(std::move(fifo_), loop),
    .notices = keep(std::move(socket_), loop),
    .members = std::make_shared<posix_session_members>(),
    .watchdog = config_.options.watchdog,
    .lines = config_.lines,
    .functions = std::move(config_.functions),
  };
  server_ = config_.spawn ? config_.spawn(system_, std::move(config))
                          : spawn_timer_server(system_, std::move(config));
}

node_timers::~node_timers() {
  if (!server_)
    return;
  caf::scoped_actor self{system_};
  self->send_exit(server_, caf::exit_reason::kill);
  self->wait_for(server_);
}

void node_timers::announce(core::job_environment& to) const {
  to.timer_file = fifo_path_;
  to.notify_socket = socket_path_;
  to.watchdog = config_.options.watchdog;
}

} // namespace actorrun::detail
