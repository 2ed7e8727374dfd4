#include "runtime/network/coordinator_link.hpp"

#include "runtime/network/caf_links.hpp"

#include <fcntl.h>
#include <sys/socket.h>

namespace actorrun::detail {

door_locator::door_locator(caf::actor_system& system, reactor& home, target to,
                           log lines)
  : system_(system), home_(home), to_(std::move(to)), lines_(std::move(lines)) {
}

door_locator::~door_locator() {
  run_and_wait(home_, [this] {
    *alive_ = false;
    attempt_.reset();
    cut();
  });
}

void door_locator::seek(listener on_result) {
  seek_at(to_.where, std::move(on_result));
}

void door_locator::seek_at(const endpoint& where, listener on_result) {
  home_.post([this, where, alive = alive_, on_result = std::move(on_result)] {
    if (!*alive)
      return;
    cut();
    attempt_ = connect(home_, where, {to_.mine, purpose::join, to_.agent},
                       to_.limit, [this, on_result](result<connected> x) {
                         on_connected(std::move(x), on_result);
                       });
  });
}

void door_locator::drop() {
  home_.post([this, alive = alive_] {
    if (*alive)
      cut();
  });
}

void door_locator::on_connected(result<connected> x,
                                const listener& on_result) {
  if (!x) {
    lines_.debug("agent finds no coordinator: " + x.error().text);
    on_result(explain(x.error()));
    return;
  }
  show_life(x->local_address);
  copy_.reset(::fcntl(x->connection.get(), F_DUPFD_CLOEXEC, 0));
  auto where = ports::location{
    {}, x->local_address, life_ ? life_->port() : uint16_t{0}};
  attach(system_, std::move(x->connection), to_.limit,
         [where, on_result](result<caf::strong_actor_ptr> actor) mutable {
           if (!actor)
             return on_result(actor.error());
           where.coordinator = *actor;
           on_result(std::move(where));
         });
}

// The coordinator asks this host whether our process still lives. It can only
// do so on the address that we come from.
void door_locator::show_life(const std::string& address) {
  if (life_ && host_of(life_->address()) == address)
    return;
  life_.reset();
  auto life = life_listener::listen(home_, address);
  if (life)
    life_.emplace(std::move(*life));
  else
    lines_.debug("agent cannot be probed: " + life.error().text);
}

failure door_locator::explain(failure why) const {
  if (to_.occupied && why.code == errc::not_actorrun)
    why = {errc::address_in_use,
           to_string(to_.where)
             + " is this host and another program listens there"};
  return why;
}

void door_locator::cut() {
  if (copy_)
    ::shutdown(copy_.get(), SHUT_RDWR);
  copy_.reset();
}

} // namespace actorrun::detail
