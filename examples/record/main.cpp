// A C++ worker whose launcher reports why it died: by which exception or which
// signal, and where.
//
//     actorrun --nproc-per-node 2 --no-python ./record_example throw
//
// prints at the end, for the rank that was first,
//
//     error_file: /tmp/…/attempt_0/1/error.json
//     traceback : Traceback (most recent call last):
//       main+0x1a, …/record_example+0x2a1a
//       …
//       load_batch(int)+0x64, …/record_example+0x2584
//     std::runtime_error: shard 3 has no header
//
// usage: record_example work|throw|crash

#include <actorrun/runtime/worker/record.hpp>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

constexpr auto steps = 5;
constexpr auto bad_step = 3;

const char* way = "work";

} // namespace

// A call that the compiler has inlined has no line of its own.
[[gnu::noinline]] double load_batch(int step) {
  if (step == bad_step && std::strcmp(way, "throw") == 0)
    throw std::runtime_error{"shard " + std::to_string(step)
                             + " has no header"};
  return 1.0 / (1 + step);
}

[[gnu::noinline]] double weigh(const double* batch) {
  return *batch * 2;
}

double train_step(int step) {
  const auto batch = load_batch(step);
  const auto is_lost = step == bad_step && std::strcmp(way, "crash") == 0;
  return weigh(is_lost ? nullptr : &batch);
}

int train(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_example work|throw|crash\n");
    return 2;
  }
  way = argv[1];
  auto loss = 0.0;
  for (auto step = 0; step < steps; ++step)
    loss += train_step(step);
  std::printf("loss %.3f\n", loss);
  return 0;
}

int main(int argc, char** argv) {
  return actorrun::record(train, argc, argv);
}
