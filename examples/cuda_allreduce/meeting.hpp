// How the ranks of one epoch find each other: rank 0 leaves a message where all
// can read it.
#pragma once

#include <cstddef>

/// Who this worker is, from the environment that actorrun gives it.
struct worker_identity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int restart_count = 0;
};

/// Exits with 2 if a variable is missing.
worker_identity read_identity();

/// Hands `size` bytes at `data` from rank 0 to all others, through a file in
/// `folder`, which all nodes see. Its name holds the job and the epoch, so
/// nothing of an earlier epoch is ever read. Waits 60 s at most; exits with 3
/// when that has passed: the launcher then starts all again.
void share_from_rank_0(const char* folder, const worker_identity& self,
                       void* data, std::size_t size);
