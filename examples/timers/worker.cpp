// A worker in C++ that is killed when it is stuck.
//
//     actorrun --nproc-per-node 2 --max-restarts 1 --no-python ./timed_worker stuck
//
// Rank 1 of the first attempt waits in its third step for an event that never
// comes. After half a second it is killed, the group restarts, and the launcher
// reports:
//
//     rank 1 … was killed by its timer: scope "exchange" was not left within 500 ms
//
// Without actorrun it runs in the same way, without timers.
//
// usage: timed_worker work|stuck

#include <actorrun/runtime/worker/timers.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;
namespace worker = actorrun::worker;

namespace {

constexpr auto steps = 5;
constexpr auto bad_step = 3;

bool is(const char* variable, const char* value) {
  const auto* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, value) == 0;
}

// Hangs like a deadlock.
void wait_for_ever() {
  auto mutex = std::timed_mutex{};
  mutex.lock();
  std::thread{[&] { mutex.lock(); }}.join();
}

void exchange(int step, bool may_hang) {
  // A deadline for this block; without a name it is `<file>#<line>`.
  const auto guard = worker::expires(500ms, "exchange");
  std::this_thread::sleep_for(1ms);
  if (step == bad_step && may_hang)
    wait_for_ever();
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: timed_worker work|stuck\n");
    return 2;
  }
  const auto may_hang = std::strcmp(argv[1], "stuck") == 0 && is("RANK", "1")
                        && is("TORCHELASTIC_RESTART_COUNT", "0");
  for (auto step = 1; step <= steps; ++step) {
    // For the whole loop: the next step must begin within ten seconds.
    worker::alive("train_step", 10s);
    exchange(step, may_hang);
  }
  worker::release("train_step"); // The rest has no time limit.
  std::printf("%d steps\n", steps);
}
