#include "cli/options/torchrun_options.hpp"

#include <algorithm>

namespace actorrun::cli {

std::span<const std::string_view> torchrun_options() {
  static constexpr std::string_view names[] = {
    "--help",
    "--nnodes",
    "--nproc-per-node",
    "--rdzv-backend",
    "--rdzv-endpoint",
    "--rdzv-id",
    "--rdzv-conf",
    "--standalone",
    "--max-restarts",
    "--monitor-interval",
    "--start-method",
    "--event-log-handler",
    "--role",
    "--module",
    "--no-python",
    "--run-path",
    "--log-dir",
    "--redirects",
    "--tee",
    "--local-ranks-filter",
    "--log-line-prefix-template",
    "--duplicate-stdout-filters",
    "--duplicate-stderr-filters",
    "--node-rank",
    "--master-addr",
    "--master-port",
    "--local-addr",
    "--logs-specs",
    "--numa-binding",
    "--signals-to-handle",
    "--shutdown-timeout",
    "--virtual-local-rank",
    "--print-completion",
    "--use-env", // Of torch.distributed.launch alone.
  };
  return names;
}

bool is_torchrun_option(std::string_view name) {
  const auto names = torchrun_options();
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace actorrun::cli
