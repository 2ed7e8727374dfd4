#include "runtime/os/error_text.hpp"

#include "messages/formatted.hpp"

#include <string.h>

namespace actorrun::detail {

std::string error_text(int error) {
  const auto* description = ::strerrordesc_np(error);
  return description == nullptr ? formatted("error {}", error) : description;
}

} // namespace actorrun::detail
