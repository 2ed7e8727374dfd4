// The names of torchrun's options: what abbreviations are made of, and what the
// compatibility ledger must speak of.
#pragma once

#include <span>
#include <string_view>

namespace actorrun::cli {

/// All options of torchrun 2.14 and `torch.distributed.launch`, with dashes, in
/// the order of torchrun's help.
std::span<const std::string_view> torchrun_options();

/// @param name With dashes: `--max-restarts`.
bool is_torchrun_option(std::string_view name);

} // namespace actorrun::cli
