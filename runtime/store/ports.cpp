#include "runtime/store/ports.hpp"

#include "actors/core/shortage.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/control_group.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>

namespace actorrun::detail {

namespace {

/// Of torch 2.0 and before; later ones have one.
constexpr size_t clients_per_worker = 2;

/// The rest is for the workers, whose node the store shares.
constexpr uint64_t memory_divisor = 4;

} // namespace

size_t store_memory_max(std::optional<uint64_t> available) {
  const auto most = core::store_limits{}.memory_max;
  return available ? std::min<uint64_t>(most, *available / memory_divisor)
                   : most;
}

void store_ports::announce(const std::string& address) {
  if (std::exchange(address_, address) == address)
    return;
  where_.reset();
  if (auto where = look_up())
    where_ = *where;
  else
    open_to_all(where.error().text);
}

// On one host a name may well lead to loopback.
result<socket_address> store_ports::look_up() const {
  const auto port = place_.port.value_or(0);
  if (!place_.is_alone)
    return listen_address(address_, port);
  const auto found = resolve(address_, port);
  if (!found)
    return found.error();
  return found->front();
}

// Both families, where the system has IPv6. What is meant for this host is
// never served to others.
bool store_ports::open_to_all(const std::string& why) {
  if (place_.is_alone) {
    trouble_ = why + " (a job of one node needs an address of this host)";
    return false;
  }
  if (address_ == "localhost" || (where_ && is_loopback(*where_))) {
    trouble_ = why + " (only this host leads to " + address_ + ")";
    return false;
  }
  lines_.warn(formatted(
    "the store is not served at {} but at all addresses of this host: {}",
    address_, why));
  const auto has_both = static_cast<bool>(bind_port(*numeric_address("::", 0)));
  where_
    = numeric_address(has_both ? "::" : "0.0.0.0", place_.port.value_or(0));
  return true;
}

// Two sockets that are bound and do not listen yet may have the same port, so two
// jobs that start at the same time need the lock.
result<bound_port> store_ports::bind_given(uint16_t port) {
  auto lock = lock_ ? result<unique_fd>{std::move(lock_)} : lock_port(port);
  if (!lock)
    return lock.error();
  const auto where = numeric_address(host_of(*where_), port);
  auto bound = where ? bind_port(*where) : bind_port(*where_);
  if (bound)
    lock_ = std::move(*lock);
  return bound;
}

result<bound_port> store_ports::bind() {
  if (const auto port = std::exchange(preferred_, std::nullopt))
    if (auto bound = bind_given(*port)) {
      place_.port = port;
      return bound;
    }
  return place_.port ? bind_given(*place_.port) : bind_master_port(*where_);
}

result<void> store_ports::hold() {
  if (next() != 0)
    return {};
  const auto code = failed_with_.value_or(errc::cannot_listen);
  if (place_.port)
    return failure{code, formatted("MASTER_PORT {} cannot be used: {}",
                                   *place_.port, trouble_)};
  return failure{code, "there is no MASTER_PORT: " + trouble_};
}

uint16_t store_ports::next() {
  if (!where_)
    return 0;
  if (place_.port && current_)
    return shown_.value_or(current_->port);
  auto fresh = bind();
  // For lack of a descriptor no other address is better.
  if (!fresh && fresh.error().code == errc::cannot_listen
      && core::shortage_in(fresh.error().text) == 0) {
    if (!open_to_all(fresh.error().text))
      return 0;
    fresh = bind();
  }
  if (!fresh) {
    trouble_ = fresh.error().text;
    failed_with_ = fresh.error().code;
    return 0;
  }
  last_ = std::exchange(current_, std::move(*fresh));
  return shown_.value_or(current_->port);
}

std::optional<bound_port>* store_ports::find(uint16_t port) {
  if (port == shown_)
    return current_ ? &current_ : nullptr;
  for (auto* x : {&current_, &last_})
    if (*x && (*x)->port == port)
      return x;
  return nullptr;
}

// The socket stays ours: a generation may have the port of the one before, if that
// has ended without its workers here being stopped.
result<void> store_ports::open(const core::generation_plan& plan) {
  retire();
  const auto name = "store of generation " + to_string(plan.generation);
  const auto refuse = [&](const std::string& why) {
    return failure{errc::cannot_listen,
                   formatted("cannot serve the {} at {}:{}: {}; with "
                             "--no-agent-store the worker with rank 0 listens",
                             name, plan.master_address, plan.master_port, why)};
  };
  const auto* held = find(plan.master_port);
  if (held == nullptr)
    return refuse(trouble_.empty() ? "that port is not held here" : trouble_);
  auto socket = unique_fd{::fcntl((*held)->socket.get(), F_DUPFD_CLOEXEC, 0)};
  if (!socket)
    return refuse(system_error_text(errno));
  if (!memory_max_)
    memory_max_ = store_memory_max(memory_limit());
  auto server = store_server::start(
    home_, std::move(socket),
    {.limits = {.memory_max = *memory_max_},
     .client_count_expected
     = std::max(store_clients_expected, clients_per_worker * plan.world_size),
     .name = name,
     .lines = lines_});
  if (!server)
    return refuse(server.error().text);
  server_ = std::move(*server);
  if (entrance_)
    entrance_->open(*server_);
  return {};
}

void store_ports::elsewhere(const core::generation_plan& plan) {
  close();
  if (entrance_)
    entrance_->point_to(plan);
}

// The next generation does not wait until the memory of a large store is freed.
void store_ports::retire() {
  if (!server_)
    return;
  if (entrance_)
    entrance_->close();
  server_->stop();
  server_->await_stopped();
  retired_ = std::move(server_);
}

void store_ports::close() {
  if (entrance_)
    entrance_->close();
  if (server_)
    server_->stop();
}

} // namespace actorrun::detail
