// A worker that says how long it computes per step, and then waits as if for its
// peers: all take equally long per step.
//
//   paced_worker FOLDER
//
// FOLDER/slow    made by a test: the rank that computes for twice as long
// FOLDER/end     made by a test: all end
#include "runtime/worker/steps.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr auto compute_time = 20ms;
constexpr auto step_time = 60ms;

bool is_slow(const std::string& folder) {
  const auto* rank = std::getenv("RANK");
  auto slow = std::string{};
  return std::ifstream{folder + "/slow"} >> slow && rank != nullptr
         && slow == rank;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  const auto folder = std::string{argv[1]};
  while (::access((folder + "/end").c_str(), F_OK) != 0) {
    const auto begun = std::chrono::steady_clock::now();
    {
      const auto own = actorrun::worker::computing{};
      std::this_thread::sleep_for(is_slow(folder) ? 2 * compute_time
                                                  : compute_time);
    }
    std::this_thread::sleep_until(begun + step_time);
  }
}
