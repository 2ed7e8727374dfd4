// Runs the checks that actorrun brings along, in a process of their own.
#pragma once

#include "messages/result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Takes a line for people, about what is well.
using check_listener = std::function<void(const std::string& line)>;

// Each may hang with what it checks. `errc::system_failure` says what is wrong, in one
// line.

/// Whether files can be written there and read back.
/// @param folders Need not exist: then what they would be made in.
result<void> check_disk(const std::vector<std::string>& folders,
                        const check_listener& say);

/// Whether the kernel takes its clock for synchronised.
result<void> check_clock(const check_listener& say);

/// What the driver says of each visible GPU. Uses none of them.
result<void> check_gpus_quickly(const check_listener& say);

/// The same, and then uses the memory of each, all at once.
result<void> check_gpus(const check_listener& say);

} // namespace actorrun::detail
