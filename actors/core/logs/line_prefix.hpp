// Expands the template of the prefix before a worker's lines on the console.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace actorrun::core {

/// A name in a template and what replaces it.
struct template_value {
  std::string_view name;
  std::string_view value;
};

/// Replaces `${name}` and `$name` by their values and `$$` by `$`; a name that
/// has no value, and every other `$`, stays as it is. A name is a letter or
/// `_`, then letters, digits and `_`, all ASCII; the longest counts.
/// @see Python's `string.Template.safe_substitute`
std::string expand_template(std::string_view text,
                            std::span<const template_value> values);

/// Whose line it is.
struct line_origin {
  std::string_view role;
  std::string_view host;
  uint32_t local_rank = 0;
  std::optional<uint32_t> global_rank = 0; ///< None: it has none yet.
};

inline constexpr std::string_view default_prefix_template
  = "[${role_name}${local_rank}]:";

/// Expands `role_name`, `local_rank`, `rank` and `hostname`.
/// @param text The template; empty: `default_prefix_template`.
/// @see torchrun's `--log-line-prefix-template`
std::string line_prefix(std::string_view text, const line_origin& origin);

} // namespace actorrun::core
