// Names the checks that actorrun brings along.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace actorrun::core {

enum class built_in_check : uint8_t { clock, disk, gpu_quick, gpu };

inline constexpr auto built_in_checks
  = std::array{built_in_check::clock, built_in_check::disk,
               built_in_check::gpu_quick, built_in_check::gpu};

/// `gpu-quick`
std::string_view to_string(built_in_check x);

/// The check whose name is exactly this; none: there is none.
std::optional<built_in_check> find_built_in(std::string_view name);

/// The check that a command is, which is its name, and of `disk` folders behind it; none:
/// it is one for the shell.
std::optional<built_in_check> built_in_of(std::string_view command);

/// Whether it takes what workers need, so that it cannot run beside them.
bool disturbs_workers(built_in_check x);

/// The command for the shell that runs one.
/// @param command Of which there is a `built_in_of`.
/// @param program What runs built-in checks, with its first arguments; not empty.
/// @param folders More of them, for `disk`; others take none.
std::string command_of(std::string_view command,
                       std::span<const std::string> program,
                       std::span<const std::string> folders);

} // namespace actorrun::core
