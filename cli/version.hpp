// Prints the version of a program.
#pragma once

namespace actorrun::cli {

/// Eight digits or more, and `-dirty` if the tree had changes; empty: unknown, as
/// where the sources came without their history.
const char* build_commit();

/// Prints `NAME VERSION (commit COMMIT)`, without what is in parentheses if that is
/// unknown, to standard output.
void print_version(const char* name, const char* version);

} // namespace actorrun::cli
