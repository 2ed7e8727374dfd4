// Turns lines of workers and their stacks into text.
#pragma once

#include "messages/operator.pb.h"

#include <string>

namespace actorrun::cli {

/// Lines with their labels, `[rank3]:`.
/// @param for_terminal Control characters are shown instead of obeyed, except
///                     colours; otherwise bytes are as the worker has written them.
std::string to_text(const v1::LogLines& x, bool for_terminal);

/// The odd one out, if there is one; who is where; each worker's frames.
std::string to_text(const v1::Stacks& x);

} // namespace actorrun::cli
