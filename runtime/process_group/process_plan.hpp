// Checks the options of `start_processes` and turns them into processes.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "actors/ports/process_host.hpp"
#include "messages/result.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/start_processes.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Checks every field and whether they go together. Reads no files.
/// @retval errc::bad_argument
result<void> check(const process_options& options);

/// `{0-2, 5}`; `{}` for none.
std::string ranks_text(const std::set<uint32_t>& ranks);

/// The environment `inherited` with `own` over it, and the error file.
/// @returns `NAME=value` by ascending name, each name once
std::vector<std::string>
process_environment(std::span<const std::string> inherited,
                    const environment_map& own, const std::string& error_file);

/// The generation that the group is for its supervisor: the first and only one of
/// one node. Run id and restart count are what the variables of local rank 0
/// say, as for torch.
core::generation_plan plan_of(const process_options& options);
std::string run_id_of(const process_options& options);

/// The memory files of one function worker; of a program there are none.
struct call_files {
  unique_fd returned;
  unique_fd call;
};

/// @pre `check(options)`
/// @retval errc::bad_argument    the arguments of a rank are too large
/// @retval errc::system_failure  no descriptor or memory is left
result<std::vector<call_files>> make_call_files(const process_options& options);

/// @pre `check(options)`
/// @param outputs Of each worker.
/// @param files   As `make_call_files` made them; the processes name their
///                descriptors.
/// @returns one process per local rank, but for where its output goes
std::vector<ports::process_spec> make_processes(
  const process_options& options, std::span<const std::string> inherited,
  const core::generation_outputs& outputs, std::span<const call_files> files);

} // namespace actorrun::detail
