// Checks that the programs' own malloc is not changed by what is meant for workers.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace actorrun::test::allocator_test {

namespace {

namespace fs = std::filesystem;

/// The names of the threads of all programs of a job, each followed by a space.
std::string threads_of(const program& x) {
  auto all = descendants(x.pid());
  all.push_back(x.pid());
  auto out = std::string{};
  for (const auto pid : all) {
    auto error = std::error_code{};
    for (const auto& y : fs::directory_iterator{
           "/proc/" + std::to_string(pid) + "/task", error}) {
      auto name = content_of(y.path().string() + "/comm");
      if (!name.empty())
        name.back() = ' ';
      out += name;
    }
  }
  return out;
}

} // namespace

TEST_CASE_METHOD(scene,
                 "allocator: MALLOC_CONF comes to the workers, and starts no "
                 "thread of ours",
                 "[environment]") {
  constexpr auto conf = "background_thread:true,dirty_decay_ms:-1";
  auto& x = start({"env", std::string{"MALLOC_CONF="} + conf, ACTORRUN_PROGRAM,
                   "--standalone", "--no-python", "sh", "-c",
                   "echo conf $MALLOC_CONF; exec sleep 1000"});
  require(x.says(std::string{"conf "} + conf), "the worker has it");
  const auto threads = threads_of(x);
  INFO(threads);
  CHECK(threads.find("actorrun") != std::string::npos);
  CHECK(threads.find("jemalloc") == std::string::npos);
  x.signal(SIGTERM);
  CHECK(x.wait() == 128 + SIGTERM);
}

} // namespace actorrun::test::allocator_test
