// Where our programs' lines go, and how they look.
#pragma once

#include "actors/log.hpp"
#include "runtime/logs/posix_console.hpp"

#include <memory>
#include <string_view>

namespace actorrun::detail {

/// Lines on standard error, in colour on a terminal only:
/// `[actorrun 12:34:56.789 info] coordinator forms epoch 2: …`.
/// @param to Never makes who logs wait; see `posix_console::note`.
/// @param level torchrun's LOGLEVEL: DEBUG, INFO, WARNING, ERROR or CRITICAL,
///              in any case; anything else means INFO, and a line says so
///              unless it is empty.
log open_log(std::shared_ptr<posix_console> to, std::string_view program,
             std::string_view level);

} // namespace actorrun::detail
