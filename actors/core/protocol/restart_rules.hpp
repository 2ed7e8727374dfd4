// Names rules about restarts as they are typed.
#pragma once

#include "actors/core/failure.hpp"

#include <string>

namespace actorrun::core {

/// `--on-failure=node:exclude`
/// @param action `stop` or `exclude`.
std::string rule_text(end_class what, end_action action);

} // namespace actorrun::core
