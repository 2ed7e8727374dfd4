#include "runtime/etcd/office.hpp"

#include "actors/core/text.hpp"

#include <charconv>

namespace actorrun::detail {

namespace {

/// Most of a strange entry that is shown to a person, in bytes.
constexpr size_t excerpt_size_max = 80;

bool is_local_number(const std::string& host) {
  const auto number = numeric_address(host, 0);
  return number && is_loopback(*number);
}

result<office_place> place_at(const std::string& host) {
  auto where = listen_address(host, 0);
  if (!where)
    return where.error();
  return office_place{host, std::move(*where)};
}

failure strange(const std::string& text) {
  return {errc::not_actorrun,
          "etcd holds \""
            + core::first_line_of(core::beginning_of(text, excerpt_size_max))
            + "\" in place of a coordinator's address"};
}

} // namespace

result<office_place> office_place_of(const std::string& announced,
                                     const std::string& seen,
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
  const auto colon = text.rfind(':');
  if (colon == text.npos)
    return strange(text);
  auto host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  auto port = uint16_t{0};
  const auto* end = text.data() + text.size();
  const auto [stop, error]
    = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc{} || stop != end || port == 0 || !is_host(host))
    return strange(text);
  return endpoint{std::move(host), port};
}

} // namespace actorrun::detail
