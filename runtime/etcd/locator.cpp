#include "runtime/etcd/locator.hpp"

#include "runtime/etcd/office.hpp"

namespace actorrun::detail {

namespace {

/// What it means to the candidate that its agent could not get in.
core::leadership_event meaning_of(const failure& why) {
  if (why.code == errc::connection_refused)
    return core::endpoint_refused{why};
  return core::endpoint_failed{why};
}

} // namespace

// The leadership ends before what is behind `here_` does, and calls nobody any
// more from then on; the door may outlive it.
void etcd_locator::seek(listener on_result) {
  door_->drop();
  const auto report
    = [x = std::weak_ptr{leadership_}](core::leadership_event event) {
        if (const auto leadership = x.lock())
          leadership->report(std::move(event));
      };
  const auto try_at = [=, door = door_](const std::string& text) {
    const auto where = endpoint_of(text);
    if (!where)
      return report(core::endpoint_failed{where.error()});
    door->seek_at(*where, [=](result<ports::location> x) {
      if (!x)
        return report(meaning_of(x.error()));
      report(core::endpoint_reached{});
      on_result(std::move(x));
    });
  };
  leadership_->seek([=, here = here_](const etcd_leadership::answer& x) {
    if (const auto* text = std::get_if<std::string>(&x))
      return try_at(*text);
    if (const auto* why = std::get_if<failure>(&x))
      return on_result(*why);
    auto found = here();
    if (found.coordinator)
      on_result(std::move(found));
    else
      on_result(failure{errc::connection_failed,
                        "this node's coordinator has just left office"});
  });
}

} // namespace actorrun::detail
