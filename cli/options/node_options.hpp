// Defines the options about the nodes of a job, and where and how they meet.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"

#include <optional>
#include <string>

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_node_options(CLI::App& app, run_settings& out);

// Options and readers that `actorctl` uses, too.

/// `--secret-file`, `--tls-…` and `--munge`.
void add_trust_options(option_adder& add, std::string& secret_file,
                       tls_options& tls, std::optional<bool>& munge);
void add_journal_option(option_adder& add, std::optional<std::string>& target,
                        const std::string& help);

/// Checks addresses and keeps them as they were typed: the back end decides how
/// many there may be, and which port is the default.
value_reader endpoint_reader(std::string& target);
value_reader backend_reader(std::optional<rendezvous_backend>& target);

/// Reads `--local-addr`: without white space around it; may be empty.
/// @retval errc::bad_argument  no other node finds this one there
result<std::string> parse_local_address(const std::string& text);

/// Decides whether the job has this node alone; if not, which nodes take part,
/// where they meet, and by which back end.
///
/// torchrun's default back end is `static`. Here `static` is implied by an option
/// that names this node's rank or the address of node rank 0; otherwise ours is
/// used. A job of one node needs neither, and has nowhere to meet, whatever is said,
/// unless the coordinator is said to be another process (decision 0050).
/// @retval errc::bad_argument  options exclude each other, or one is missing;
///         the text names it
result<void> settle_nodes(const run_settings& settings, const host_facts& world,
                          run_arguments& out);

/// @retval errc::bad_argument  other nodes cannot find a coordinator at this
///         `--rdzv-endpoint`, whatever the network is
result<void> refuse_endpoint(const endpoint& x);

/// Decides where and how the nodes of a job meet, for a program that is none of
/// them.
/// @param endpoints As `--rdzv-endpoint` has them.
/// @retval errc::bad_argument  there is none, or one too many, or one that other
///         programs cannot know
result<void> settle_meeting(const std::string& endpoints,
                            rendezvous_backend backend, job_options& out);

/// What the options say of those who may join.
struct trust_settings {
  const std::string& secret_file; ///< Empty: not given.
  const tls_options& tls;
  std::optional<bool> munge;
};

/// Fills in the secret, the certificates, and whether munge stands in for them: by
/// itself it does under Slurm.
/// @retval errc::bad_argument  as `secret_of`, or munge is to stand in for a secret
///         that is given
result<void> settle_trust(const trust_settings& settings,
                          const host_facts& world, job_options& out);

/// @pre the nodes are settled
result<void> settle_job_id(const run_settings& settings,
                           const host_facts& world, run_arguments& out);

} // namespace actorrun::cli
