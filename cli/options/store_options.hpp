// What is asked of the store where workers meet.
#pragma once

#include "cli/options/option_table.hpp"

namespace actorrun::cli {

struct store_settings {
  /// The worker with rank 0 serves it; else the agent of its node.
  bool is_workers = false;
};

/// The rules that fill `out`, which must outlive them.
option_rules store_rules(store_settings& out);

} // namespace actorrun::cli
