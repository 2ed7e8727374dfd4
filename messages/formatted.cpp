#include "messages/formatted.hpp"

#include <fmt/format.h>

#ifndef FMT_HEADER_ONLY
#error "with FMT_HEADER_ONLY no program of ours loads libfmt"
#endif

namespace actorrun::detail {

std::string vformatted(fmt::string_view pattern, fmt::format_args args) {
  return fmt::vformat(pattern, args);
}

} // namespace actorrun::detail
