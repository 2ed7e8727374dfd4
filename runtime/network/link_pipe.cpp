#include "runtime/network/link_pipe.hpp"

#include <array>
#include <mutex>

namespace actorrun::detail {

struct pipe_end::state {
  struct side {
    std::string inbox{};
    std::function<void()> on_change{};
    bool is_called = false; ///< And has not taken since.
    bool misses_room = false;
    bool is_closed = false;
  };

  side& mine(size_t x) { return sides[x]; }
  side& other(size_t x) { return sides[1 - x]; }

  static void call(side& x) {
    if (x.on_change && !std::exchange(x.is_called, true))
      x.on_change();
  }

  std::mutex mutex;
  std::array<side, 2> sides{};
};

std::pair<pipe_end, pipe_end> pipe_end::open() {
  auto both = std::make_shared<state>();
  return {pipe_end{both, 0}, pipe_end{both, 1}};
}

pipe_end& pipe_end::operator=(pipe_end&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::move(other.state_);
    mine_ = other.mine_;
  }
  return *this;
}

void pipe_end::on_change(std::function<void()> fn) {
  if (!state_)
    return;
  const auto lock = std::lock_guard{state_->mutex};
  auto& me = state_->mine(mine_);
  me.on_change = std::move(fn);
  me.is_called = false;
  if (!me.inbox.empty() || state_->other(mine_).is_closed)
    state::call(me);
}

void pipe_end::write(std::string_view bytes) {
  if (!state_ || bytes.empty())
    return;
  const auto lock = std::lock_guard{state_->mutex};
  auto& to = state_->other(mine_);
  if (to.is_closed)
    return;
  to.inbox += bytes;
  state::call(to);
}

std::string pipe_end::take() {
  if (!state_)
    return {};
  const auto lock = std::lock_guard{state_->mutex};
  auto& me = state_->mine(mine_);
  me.is_called = false;
  auto out = std::exchange(me.inbox, {});
  if (auto& other = state_->other(mine_);
      std::exchange(other.misses_room, false))
    state::call(other);
  return out;
}

bool pipe_end::has_room(size_t limit) {
  if (!state_)
    return true;
  const auto lock = std::lock_guard{state_->mutex};
  const auto has = state_->other(mine_).inbox.size() < limit;
  state_->mine(mine_).misses_room = !has;
  return has;
}

bool pipe_end::is_over() const {
  if (!state_)
    return true;
  const auto lock = std::lock_guard{state_->mutex};
  return state_->sides[1 - mine_].is_closed
         && state_->sides[mine_].inbox.empty();
}

void pipe_end::close() {
  const auto both = std::exchange(state_, nullptr);
  if (!both)
    return;
  auto last = std::function<void()>{}; // Destroyed without the lock.
  const auto lock = std::lock_guard{both->mutex};
  auto& me = both->mine(mine_);
  me.is_closed = true;
  std::string{}.swap(me.inbox);
  last = std::exchange(me.on_change, nullptr);
  state::call(both->other(mine_));
}

} // namespace actorrun::detail
