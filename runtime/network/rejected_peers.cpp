#include "runtime/network/rejected_peers.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::detail {

rejected_peers::rejected_peers(reactor& home, core::duration interval,
                               listener on_report)
  : home_(home), interval_(interval), on_report_(std::move(on_report)) {}

void rejected_peers::add(std::string address, std::string reason) {
  ++next_.count;
  next_.last_address = std::move(address);
  next_.last_reason = std::move(reason);
  if (timer_ != 0)
    return;
  const auto now = core::time_point::clock::now();
  const auto wait = std::max(core::duration{0}, earliest_ - now);
  timer_ = home_.after(wait, [this] { report(); });
}

void rejected_peers::stop() {
  home_.cancel(std::exchange(timer_, 0));
  on_report_ = nullptr;
}

void rejected_peers::report() {
  timer_ = 0;
  earliest_ = core::time_point::clock::now() + interval_;
  const auto due = std::exchange(next_, {});
  // The listener may end this object.
  const auto on_report = on_report_;
  if (on_report)
    on_report(due);
}

} // namespace actorrun::detail
