// Says how this node's part in a job has ended: in a word, in a sentence and as an
// exit code. The log, the report file and the exit code rest on it.
#pragma once

#include "actors/core/generation.hpp"

#include <optional>
#include <string>

namespace actorrun::cli {

/// The job has succeeded, and not here.
bool has_stood_by(const core::ending& how);

/// @param by_class With a code of its own for each class of failures.
int exit_code_of(const core::ending& how, bool by_class);

/// The exit code for the end of a job, or of our part in it.
int exit_code_of(const core::ending& how);

/// `succeeded`, `failed`, `stopped` or `unmet`, as the job has ended; `left` and
/// `stood_by` for our part in it; or `error`.
std::string verdict_of(const core::ending& how);

/// The signal that has ended the job, or our part in it; 0: none.
int signal_of(const core::ending& how);

/// What is wrong apart from the workers; none: nothing is.
std::optional<failure> trouble_of(const core::ending& how);

/// What people are told of the end, in one line.
std::string sentence_of(const core::ending& how);

/// What may help; empty if there is no general advice.
std::string remedy_of(const core::ending& how);

} // namespace actorrun::cli
