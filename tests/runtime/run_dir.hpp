// A run-time folder for one test, where no other jobs are found.
#pragma once

#include "tests/runtime/folders.hpp"

#include <cstdlib>
#include <string>

namespace actorrun::detail::test {

struct run_dir {
  run_dir() {
    if (const auto* x = std::getenv("ACTORRUN_RUN_DIR"))
      former = x;
    ::setenv("ACTORRUN_RUN_DIR", (place / "run").c_str(), 1);
  }

  ~run_dir() {
    if (former.empty())
      ::unsetenv("ACTORRUN_RUN_DIR");
    else
      ::setenv("ACTORRUN_RUN_DIR", former.c_str(), 1);
  }

  test_folders::folder place;
  std::string former;
};

} // namespace actorrun::detail::test
