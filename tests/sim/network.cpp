#include "tests/sim/network.hpp"

#include <algorithm>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto delay_min = core::duration{20us};
constexpr auto break_noticed_max = core::duration{20ms};
constexpr auto retransmission_max = core::duration{50ms};
constexpr auto duplicate_percent = 20;
/// CAF notices within a millisecond that a link has been cut, if it runs.
constexpr auto quick_notice_max = core::duration{1ms};
constexpr auto slow_notice_max = core::duration{300ms};
constexpr auto slow_notice_percent = 10;

} // namespace

link::link(event_queue& queue, dice& roll, const route& way,
           core::duration delay_max, bool duplicates, end agent,
           end coordinator)
  : queue_(queue), roll_(roll), route_(way),
    delay_max_(std::max(delay_max, delay_min)),
    duplicates_(duplicates), ends_{
                               state{.what = std::move(agent), .incoming = {}},
                               state{.what = std::move(coordinator),
                                     .incoming = {}}} {}

void link::send(side from, action deliver) {
  if (broken_ || !ends_[size_t(from)].open)
    return;
  const auto twice = duplicates_ && roll_.percent(duplicate_percent);
  if (twice)
    transmit(other(from), {{}, deliver, false});
  transmit(other(from), {{}, std::move(deliver), false});
}

void link::close(side by) {
  if (!ends_[size_t(by)].open)
    return;
  ends_[size_t(by)].open = false;
  if (!broken_)
    transmit(other(by), {{}, {}, true});
}

void link::hang_up(side by, bool is_quick) {
  auto& here = ends_[size_t(by)];
  if (!here.open)
    return;
  close(by);
  here.hung_up = true;
  const auto is_slow = !is_quick && roll_.percent(slow_notice_percent);
  queue_.after(
    roll_.between(delay_min, is_slow ? slow_notice_max : quick_notice_max),
    [this, by] { notice(by); });
}

void link::cut() {
  if (broken_)
    return;
  broken_ = true;
  for (auto at : {side::agent, side::coordinator}) {
    ends_[size_t(at)].incoming.clear();
    queue_.after(roll_.between(delay_min, break_noticed_max),
                 [this, at] { notice(at); });
  }
}

void link::discard() {
  for (auto& x : ends_)
    x.incoming.clear();
}

void link::wake(core::duration late) {
  if (late > core::duration{0})
    resumes_ = queue_.now() + roll_.between(core::duration{0}, late);
  const auto pause = std::max(resumes_ - queue_.now(), core::duration{0});
  for (auto to : {side::agent, side::coordinator})
    queue_.after(pause + roll_.between(delay_min, retransmission_max),
                 [this, to] { arrive(to); });
}

void link::transmit(side to, message what) {
  auto& here = ends_[size_t(to)];
  what.ready = std::max(
    here.newest,
    queue_.floor(queue_.now() + roll_.between(delay_min, delay_max_)));
  here.newest = what.ready;
  here.incoming.push_back(std::move(what));
  queue_.at(here.newest, [this, to] { arrive(to); });
}

void link::arrive(side to) {
  auto& here = ends_[size_t(to)];
  if (is_stalled_ || queue_.now() < resumes_)
    return;
  while (!route_.is_silent(other(to)) && !here.incoming.empty()
         && here.incoming.front().ready <= queue_.now()) {
    auto next = std::move(here.incoming.front());
    here.incoming.pop_front();
    if (next.last) {
      notice(to);
    } else {
      ++here.waiting;
      here.what.owner->post([&here, deliver = std::move(next.deliver)] {
        --here.waiting;
        if (here.open || here.hung_up)
          deliver();
      });
    }
  }
}

void link::notice(side at) {
  auto& here = ends_[size_t(at)];
  here.what.owner->post([&here] {
    if (!here.open && !here.hung_up)
      return;
    here.open = here.hung_up = false;
    here.what.on_closed();
  });
}

} // namespace actorrun::sim
