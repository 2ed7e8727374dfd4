// Finds the functions of this program that can run in processes of their own.
#pragma once

#include "messages/result.hpp"
#include "runtime/entry_points.hpp"

#include <string>

namespace actorrun::detail {

/// From any thread; also before `main`.
/// @retval errc::bad_argument  none has this name, two have it, or no function
///                             can have it
result<entry_function> find_entry_point(const std::string& name);

} // namespace actorrun::detail
