// Rank 0 saves once per generation, and all go on as if they trained.
//
//   saving_worker FOLDER
//
// FOLDER/trained made by rank 0, a while after it has saved
// FOLDER/fail    made by a test: rank 1 fails if it was not restarted
// FOLDER/end     made by a test: all end
#include "runtime/worker/saves.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

bool has(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

bool is(const char* name, std::string_view value) {
  const auto* text = std::getenv(name);
  return text != nullptr && text == value;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  const auto folder = std::string{argv[1]};
  std::this_thread::sleep_for(100ms);
  if (is("RANK", "0")) {
    {
      const auto save = actorrun::worker::saving{};
      std::this_thread::sleep_for(200ms);
    }
    std::this_thread::sleep_for(500ms);
    std::ofstream{folder + "/trained"} << "yes";
  }
  while (!has(folder + "/end")) {
    if (is("RANK", "1") && is("TORCHELASTIC_RESTART_COUNT", "0")
        && has(folder + "/fail"))
      return 3;
    std::this_thread::sleep_for(20ms);
  }
}
