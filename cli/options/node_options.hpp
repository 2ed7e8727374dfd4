// The nodes of a job, and where and how they meet: how the options on them go
// together.
#pragma once

#include "cli/options/actorrun_options.hpp"
#include "cli/options/arguments.hpp"

#include <optional>

namespace actorrun::cli {

/// Decides whether the job is of this node alone, and else who takes part,
/// where they meet and by which back end.
///
/// torchrun's default back end is `static`. Here it is meant by who says which
/// rank this node has, or where node rank 0 is; else ours is. A job of one node
/// needs neither.
/// @retval errc::bad_argument  options exclude each other, or one is missing;
///         the text names it
std::optional<failure> settle_nodes(const run_settings& settings,
                                    run_arguments& out);

/// Where and how the nodes of a job meet, for who is none of them.
/// @param endpoints As `--rdzv-endpoint` has them.
/// @retval errc::bad_argument  there is none, or one too many, or one that
///         nobody else can know
std::optional<failure> settle_meeting(const std::string& endpoints,
                                      rendezvous_backend backend,
                                      job_options& out);

/// @pre the nodes are settled
std::optional<failure> settle_job_id(const run_settings& settings,
                                     const host_facts& world,
                                     run_arguments& out);

} // namespace actorrun::cli
