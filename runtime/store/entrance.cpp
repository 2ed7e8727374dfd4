#include "runtime/store/entrance.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/socket.hpp"
#include "runtime/os/socket_address.hpp"

#include <optional>
#include <utility>

namespace actorrun::detail {

namespace {

std::string own_address_of(const unique_fd& client) {
  const auto at = local_address_of(client.get());
  return at ? to_string(*at) : "this coordinator's port";
}

} // namespace

void store_entrance::admit(unique_fd client, const std::string& address) {
  const auto guard = std::lock_guard{mutex_};
  if (server_ != nullptr)
    return server_->adopt(std::move(client));
  if (!elsewhere_.empty())
    return refuse(client, address);
  if (waiting_.size() == entrance_waiting_max) {
    waiting_.pop_front();
    ++cut_off_count_;
  }
  waiting_.push_back(
    {std::move(client), address, clock::now() + entrance_wait_max});
  arm();
}

void store_entrance::open(store_server& to) {
  const auto guard = std::lock_guard{mutex_};
  server_ = &to;
  elsewhere_.clear();
  for (auto& x : std::exchange(waiting_, {}))
    to.adopt(std::move(x.socket));
}

void store_entrance::close() {
  const auto guard = std::lock_guard{mutex_};
  server_ = nullptr;
  elsewhere_.clear();
}

void store_entrance::point_to(const core::generation_plan& plan) {
  const auto guard = std::lock_guard{mutex_};
  server_ = nullptr;
  elsewhere_ = formatted("{}:{}", plan.master_address, plan.master_port);
  has_warned_ = false;
  for (auto& x : std::exchange(waiting_, {}))
    refuse(x.socket, x.address);
}

// To serve it from here, we would have to stand between the two as long as it
// lives.
void store_entrance::refuse(const unique_fd& client,
                            const std::string& address) {
  const auto text
    = formatted("{} has come to {} for torch's store, which is at {} now: its "
                "script is to use MASTER_ADDR and MASTER_PORT",
                address, own_address_of(client), elsewhere_);
  if (std::exchange(has_warned_, true))
    lines_.debug(text);
  else
    lines_.warn(text);
}

void store_entrance::arm() {
  if (std::exchange(is_armed_, true))
    return;
  home_.after(entrance_wait_max, [self = weak_from_this()] {
    if (const auto x = self.lock())
      x->expire();
  });
}

void store_entrance::expire() {
  const auto guard = std::lock_guard{mutex_};
  is_armed_ = false;
  const auto now = clock::now();
  auto last = std::optional<waiting_client>{};
  auto count = std::exchange(cut_off_count_, 0);
  while (!waiting_.empty() && waiting_.front().leaves <= now) {
    last = std::move(waiting_.front());
    waiting_.pop_front();
    ++count;
  }
  if (last) // One line, however many they are.
    lines_.warn(formatted(
      "{} has come to {} for torch's store, and none was "
      "served within {} s{}",
      last->address, own_address_of(last->socket), entrance_wait_max.count(),
      count == 1 ? "" : formatted("; {} others likewise", count - 1)));
  if (!waiting_.empty())
    arm();
}

} // namespace actorrun::detail
