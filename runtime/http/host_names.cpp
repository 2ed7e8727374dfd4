#include "runtime/http/host_names.hpp"

#include "actors/core/text.hpp"
#include "runtime/os/socket_address.hpp"

#include <algorithm>
#include <cctype>

namespace actorrun::detail {

namespace {

bool is_port(std::string_view x) {
  return !x.empty() && x.size() <= 5
         && x.find_first_not_of("0123456789") == x.npos;
}

/// Without brackets and port; empty: it has another form.
std::string_view host_in(std::string_view field) {
  if (field.starts_with('[')) {
    const auto end = field.find(']');
    if (end == field.npos)
      return {};
    const auto rest = field.substr(end + 1);
    if (!rest.empty() && !(rest.starts_with(':') && is_port(rest.substr(1))))
      return {};
    return field.substr(1, end - 1);
  }
  const auto colon = field.find(':');
  if (colon != field.npos && !is_port(field.substr(colon + 1)))
    return {};
  return field.substr(0, colon);
}

} // namespace

bool is_own_name(std::string_view field, const std::string& own) {
  auto host = core::lowered(host_in(field));
  if (host.ends_with('.'))
    host.pop_back();
  if (host.empty())
    return false;
  const auto mine = core::lowered(own);
  return host == "localhost" || host == mine
         || host == mine.substr(0, mine.find('.'))
         || numeric_address(host, 0).has_value();
}

} // namespace actorrun::detail
