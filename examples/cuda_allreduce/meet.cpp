// The meeting of `cuda_allreduce` without CUDA: rank 0 sends a text to all
// other ranks.
//
//   meet [fail]
//
// With `fail` the last rank fails in the first generation, when all have heard; in
// the next generation all meet again, in a store that contains nothing of the
// first.
#include "environment.hpp"
#include "store.hpp"

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const auto self = read_identity();
  auto meeting = store{};
  if (self.rank == 0)
    meeting.set("greeting", "generation " + std::to_string(self.generation));
  const auto heard = meeting.get("greeting");
  std::printf("rank %d of %d heard: %s\n", self.rank, self.world_size,
              heard.c_str());
  std::fflush(stdout);
  meeting.set("heard by " + std::to_string(self.rank), heard);
  const auto must_fail = argc > 1 && std::string{argv[1]} == "fail"
                         && self.generation == 1
                         && self.rank + 1 == self.world_size;
  if (!must_fail)
    return 0;
  for (int rank = 0; rank < self.world_size; ++rank)
    meeting.get("heard by " + std::to_string(rank));
  return 1;
}
