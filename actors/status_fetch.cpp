#include "actors/status_fetch.hpp"

#include <utility>

namespace actorrun {

namespace {

/// At most this many wait for one status; others get none.
constexpr size_t askers_max = 1'024;

} // namespace

void status_fetch::get(const rendezvous_coordinator_actor& from, bool for_watch,
                       sink to) {
  if (now_.to.empty())
    return begin({from, for_watch, {std::move(to)}});
  const auto is_enough = for_watch && now_.from == from;
  auto& joined = is_enough ? now_ : next_;
  if (joined.to.size() == askers_max)
    return to(nullptr);
  if (!is_enough) {
    joined.from = from;
    joined.for_watch = joined.for_watch && for_watch;
  }
  joined.to.push_back(std::move(to));
}

void status_fetch::begin(round x) {
  now_ = std::move(x);
  pages_ = {};
  ask();
}

void status_fetch::ask() {
  auto request = v1::StatusRequest{};
  request.set_snapshot(pages_.next().snapshot());
  request.set_page(pages_.next().index());
  request.set_for_watch(now_.for_watch);
  actorrun::ask(self_, now_.from, limit_, std::move(request))
    .then([this](const v1::JobStatus& x) { on_page(x); },
          [this](const caf::error&) { end(nullptr); });
}

void status_fetch::on_page(const v1::JobStatus& x) {
  const auto is_whole = pages_.add(x);
  if (!is_whole)
    return end(nullptr);
  if (!*is_whole)
    return ask();
  end(picture_of(pages_.take()));
}

void status_fetch::end(const shared_status& x) {
  const auto done = std::exchange(now_, {});
  if (auto next = std::exchange(next_, {}); !next.to.empty())
    begin(std::move(next));
  for (const auto& to : done.to)
    to(x);
}

} // namespace actorrun
