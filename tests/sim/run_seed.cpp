#include "tests/sim/run_seed.hpp"

#include <csignal>
#include <cstdio>

#include <unistd.h>

namespace actorrun::sim {

namespace {

char seed_text[64];

extern "C" void on_abort(int) {
  for (size_t n = 0; seed_text[n] != '\0'; ++n)
    if (::write(STDERR_FILENO, seed_text + n, 1) < 0)
      break;
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

/// Prints the seed when an assertion in the core ends the program.
class abort_guard {
public:
  explicit abort_guard(uint64_t seed) {
    std::snprintf(seed_text, sizeof seed_text, "ACTORRUN_SIM_SEED=%llu\n",
                  static_cast<unsigned long long>(seed));
    previous_ = std::signal(SIGABRT, on_abort);
  }
  ~abort_guard() { std::signal(SIGABRT, previous_); }
  abort_guard(const abort_guard&) = delete;
  abort_guard& operator=(const abort_guard&) = delete;

private:
  void (*previous_)(int);
};

} // namespace

std::optional<std::string> run_seed(const scenario& plan, history::mode how) {
  const auto guard = abort_guard{plan.seed};
  auto world = cluster{plan, how};
  return world.run();
}

std::string trace_of(const scenario& plan) {
  const auto guard = abort_guard{plan.seed};
  auto world = cluster{plan, history::mode::last_lines};
  world.run();
  return world.trace().text();
}

} // namespace actorrun::sim
