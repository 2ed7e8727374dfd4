#include "runtime/os/error_text.hpp"

#include <string.h>

namespace actorrun::detail {

std::string error_text(int error) {
  const auto* description = ::strerrordesc_np(error);
  return description == nullptr ? "error " + std::to_string(error)
                                : description;
}

} // namespace actorrun::detail
