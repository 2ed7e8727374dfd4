// Runs `actorctl bundle`: packs what is known of a job into one file to send.
#pragma once

#include "cli/actorctl_arguments.hpp"

#include <string>

namespace actorrun::cli {

/// Writes the file. Blocks for two minutes at most, where the job does not answer.
/// @returns the exit code
int make_bundle(const bundle_arguments& arguments);

/// A word of a command line, or `NAME=VALUE` of an environment, without what may be a
/// secret: the value of a name such as `password`, `token`, `secret` or `api_key`.
std::string without_secret(const std::string& word);

} // namespace actorrun::cli
