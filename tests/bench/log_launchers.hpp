// Launchers that show the output of workers: actorrun, its peers, the limit.
#pragma once

#include "tests/bench/line_checker.hpp"
#include "tests/bench/setting.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace actorrun::bench {

/// Makes the command of a launcher that runs a number of workers and shows
/// their lines. Its files go into `folder`.
struct log_launcher {
  std::string name;
  std::vector<std::string> (*arguments)(setting& s, const std::string& folder,
                                        size_t worker_count,
                                        std::vector<std::string> worker);
};

extern const log_launcher our_tee;   ///< `--tee=3`
extern const log_launcher our_files; ///< `--redirects=3`: shows nothing.
extern const log_launcher copy_loop;
extern const log_launcher hydra_prefix;    ///< `-prepend-rank`
extern const log_launcher torchrun_tee;    ///< Shows standard output.
extern const log_launcher torchrun_errors; ///< Shows standard error.

/// Hydra and torchrun, if they are installed.
std::vector<log_launcher> log_peers(setting& s);

/// A running launcher, and the other end of its console.
struct shown_run {
  program launcher;
  line_checker console;
  std::shared_ptr<const std::string> folder; ///< Removed with its last user.
};

result<shown_run> start(setting& s, const log_launcher& x, size_t worker_count,
                        std::vector<std::string> worker,
                        std::vector<std::string> environment = {});

/// Runs it from start to end.
result<line_account> account_of(setting& s, const log_launcher& x,
                                size_t worker_count, const std::string& mode,
                                uint64_t line_count);

} // namespace actorrun::bench
