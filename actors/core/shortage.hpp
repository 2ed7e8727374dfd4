// Tells starts that fail for lack of what the system has to give from others.
#pragma once

#include <chrono>
#include <string_view>

namespace actorrun::core {

/// Whether this errno means that processes, descriptors or memory are used up: the
/// program is not at fault, and the same start may succeed a moment later.
bool is_shortage(int error);

/// The one whose description, as by `error_text`, stands in a failure's text; 0:
/// none.
int shortage_in(std::string_view text);

/// So long, the starts of a generation are tried again. Then that is a failure as
/// any other.
inline constexpr auto shortage_max = std::chrono::milliseconds{30'000};

/// The first pause between two attempts; each further one is twice as long, up to …
inline constexpr auto shortage_pause_min = std::chrono::milliseconds{100};
inline constexpr auto shortage_pause_max = std::chrono::milliseconds{3'000};

} // namespace actorrun::core
