// Brings actors' replies to the thread of a reactor.
#pragma once

#include "runtime/os/reactor.hpp"

#include "messages/operator.pb.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace actorrun::detail {

/// Drops replies when it has been closed, because its reactor may follow whoever
/// asked.
class reply_path {
public:
  using taker = std::function<void(uint64_t number, v1::OperatorReply)>;

  /// @param take Called on the reactor's thread until `close`.
  static std::shared_ptr<reply_path> open(reactor& home, taker take) {
    return std::shared_ptr<reply_path>{new reply_path{home, std::move(take)}};
  }

  /// Takes replies to the question of this number on any thread, and never blocks.
  static std::function<void(v1::OperatorReply)>
  of(const std::shared_ptr<reply_path>& self, uint64_t number) {
    return [self, number](v1::OperatorReply x) {
      const auto lock = std::lock_guard{self->mutex_};
      if (self->home_ != nullptr)
        self->home_->post([self, number, x = std::move(x)]() mutable {
          if (const auto take = self->take_)
            take(number, std::move(x));
        });
    };
  }

  /// On the reactor's thread.
  void close() {
    take_ = nullptr;
    const auto lock = std::lock_guard{mutex_};
    home_ = nullptr;
  }

private:
  reply_path(reactor& home, taker take)
    : home_(&home), take_(std::move(take)) {}

  std::mutex mutex_;
  reactor* home_; ///< Null: closed. Guarded by the mutex.
  taker take_;    ///< Of the reactor's thread.
};

} // namespace actorrun::detail
