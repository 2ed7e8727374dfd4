// Reads this worker's rank and peers from the environment that actorrun sets.
#pragma once

#include <cstdint>
#include <string>

struct worker_identity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::uint64_t generation = 1; ///< 1, 2, 3…
};

/// Ends the program with 2 if a variable is missing or no number.
worker_identity read_identity();

/// Ends the program with 2 if it is not set.
std::string variable(const char* name);

/// Parses a number from 0 on; ends the program with 2, naming `what`, if `text`
/// is none.
int number_from(const std::string& text, const char* what);
