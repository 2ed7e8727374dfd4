#include "cli/top/actions.hpp"

namespace actorrun::cli::top {

std::vector<action> bound_actions(const top_arguments&) {
  return {};
}

} // namespace actorrun::cli::top
