#include "runtime/etcd/locator.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

namespace actorrun::detail {

namespace {

/// The event for the candidate whose agent could not connect.
endpoint_report meaning_of(const failure& why) {
  if (why.code == errc::coordinator_gone)
    return core::endpoint_gone{why};
  return core::endpoint_failed{why};
}

} // namespace

// The leadership ends before the object behind `here_` does and makes no calls
// from then on; the link may outlive it.
void etcd_locator::seek(bool was_member, listener on_result) {
  link_->drop();
  const auto report = [x = std::weak_ptr{leadership_}](endpoint_report event) {
    if (const auto leadership = x.lock())
      leadership->report(std::move(event));
  };
  const auto try_at = [=, link = link_](const std::string& text) {
    const auto where = endpoint_of(text);
    if (!where)
      return report(core::endpoint_failed{where.error()});
    link->seek_at(*where, [=](result<ports::location> x) {
      if (!x)
        return report(meaning_of(x.error()));
      report(core::endpoint_reached{});
      on_result(std::move(x));
    });
  };
  leadership_->seek(
    was_member, [=, here = here_](const etcd_leadership::answer& x) {
      if (const auto* text = std::get_if<std::string>(&x))
        return try_at(*text);
      if (const auto* why = std::get_if<failure>(&x))
        return on_result(*why);
      auto found = here();
      if (found.coordinator)
        on_result(std::move(found));
      else
        on_result(
          failure{errc::connection_failed,
                  "this node's coordinator has just given up the leadership"});
    });
}

namespace {

/// At most this many bytes of a foreign entry are shown.
constexpr size_t excerpt_size_max = 80;

bool is_local_number(const std::string& host) {
  const auto number = numeric_address(host, 0);
  return number && is_loopback(*number);
}

result<coordinator_location> place_at(const std::string& host) {
  auto where = listen_address(host, 0);
  if (!where)
    return where.error();
  return coordinator_location{host, std::move(*where)};
}

failure strange(const std::string& text) {
  return {
    errc::not_actorrun,
    formatted("etcd holds \"{}\" in place of a coordinator's address",
              core::first_line_of(core::beginning_of(text, excerpt_size_max)))};
}

} // namespace

result<coordinator_location>
coordinator_location_of(const std::string& announced, const std::string& seen,
                        const endpoint& registry) {
  if (!announced.empty())
    return place_at(announced);
  if (seen.empty())
    return failure{errc::cannot_listen,
                   "this node's own address is unknown; set --local-addr"};
  const auto has_name
    = !numeric_address(registry.host, 0) && registry.host != "localhost";
  return place_at(is_local_number(seen) && has_name ? registry.host : seen);
}

result<endpoint> endpoint_of(const std::string& text) {
  if (auto out = read_endpoint(text))
    return std::move(*out);
  return strange(text);
}

} // namespace actorrun::detail
