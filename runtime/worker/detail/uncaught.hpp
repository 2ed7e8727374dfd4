// Records uncaught exceptions.
#pragma once

#include "runtime/worker/record.hpp"

namespace actorrun::recording {

/// From now on what ends in `std::terminate` is recorded first, if there is an
/// error file, and then ends as `how` says.
void catch_uncaught(uncaught how);

} // namespace actorrun::recording
