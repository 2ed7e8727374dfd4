#include "cli/options/store_options.hpp"

namespace actorrun::cli {

option_rules store_rules(store_settings& out) {
  return {
    {"--no-agent-store",
     0,
     "",
     "Workers",
     "the worker with rank 0 listens at MASTER_PORT\n"
     "itself (default: its agent serves torch's store\n"
     "there)",
     switch_on(out.is_workers),
     {"PET_NO_AGENT_STORE", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"}},
  };
}

} // namespace actorrun::cli
