// Guesses which known word a misspelled one was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// The known word that `typed` begins, or begins but for its last letters
/// (`--nprocs` for `--nproc-per-node`), or else the one that differs from it in
/// the fewest characters.
/// @returns empty if all of them are something else altogether
/// @complexity O(K L²) for K known words of L characters
std::string nearest(std::string_view typed,
                    const std::vector<std::string>& known);

/// `; is … meant?` to end a message with; empty if nothing is near.
std::string guess(std::string_view typed,
                  const std::vector<std::string>& known);

} // namespace actorrun::cli
