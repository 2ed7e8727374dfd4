// Brings actors' replies to the thread of a reactor.
#pragma once

#include "actors/interfaces.hpp"
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
  using status_taker = std::function<void(uint64_t number, shared_status)>;

  /// @param take        Called on the reactor's thread until `close`.
  /// @param take_status Likewise; null: there are no questions about the status.
  static std::shared_ptr<reply_path> open(reactor& home, taker take,
                                          status_taker take_status = {}) {
    return std::shared_ptr<reply_path>{
      new reply_path{home, std::move(take), std::move(take_status)}};
  }

  /// Takes replies to the question of this number on any thread, and never blocks.
  static std::function<void(v1::OperatorReply)>
  of(const std::shared_ptr<reply_path>& self, uint64_t number) {
    return to(self, number, &reply_path::take_);
  }

  /// The same for a status.
  static std::function<void(shared_status)>
  of_status(const std::shared_ptr<reply_path>& self, uint64_t number) {
    return to(self, number, &reply_path::take_status_);
  }

  /// On the reactor's thread.
  void close() {
    take_ = nullptr;
    take_status_ = nullptr;
    const auto lock = std::lock_guard{mutex_};
    home_ = nullptr;
  }

private:
  reply_path(reactor& home, taker take, status_taker take_status)
    : home_(&home), take_(std::move(take)),
      take_status_(std::move(take_status)) {}

  template <class T>
  static std::function<void(T)>
  to(const std::shared_ptr<reply_path>& self, uint64_t number,
     std::function<void(uint64_t, T)> reply_path::*taker) {
    return [self, number, taker](T x) {
      const auto lock = std::lock_guard{self->mutex_};
      if (self->home_ != nullptr)
        self->home_->post([self, number, taker, x = std::move(x)]() mutable {
          if (const auto take = (*self).*taker)
            take(number, std::move(x));
        });
    };
  }

  std::mutex mutex_;
  reactor* home_; ///< Null: closed. Guarded by the mutex.
  // Of the reactor's thread.
  taker take_;
  status_taker take_status_;
};

} // namespace actorrun::detail
