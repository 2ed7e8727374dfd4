// The GPUs of a test: those of a stand-in, which the test describes, or with
// ACTORRUN_TEST_GPUS=real those of this machine.
#pragma once

#include "runtime/devices/nvml.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::detail::gpu_test {

namespace fs = std::filesystem;

/// Limit for expected events; a test that passes never waits that long.
inline constexpr auto timeout = std::chrono::seconds{20};

inline bool uses_real_gpus() {
  const auto* which = std::getenv("ACTORRUN_TEST_GPUS");
  return which != nullptr && std::string_view{which} == "real";
}

/// A world of drivers that the test writes; see gpu_standin_world.hpp.
class standin {
public:
  standin() : folder_(the_folder().path) {
    for (const auto* variable :
         {"ACTORRUN_NVML_LIBRARY", "ACTORRUN_CUDA_LIBRARY",
          "ACTORRUN_ZE_LIBRARY"})
      ::setenv(variable, GPU_STANDIN, 1);
    write("");
  }

  ~standin() { fs::remove(folder_ / "world"); }
  standin(const standin&) = delete;
  standin& operator=(const standin&) = delete;

  /// Replaces the world; readers never see half of it.
  void write(const std::string& text) const {
    std::ofstream{folder_ / "next"} << text;
    fs::rename(folder_ / "next", folder_ / "world");
  }

private:
  struct temporary_folder {
    ~temporary_folder() { fs::remove_all(path); }
    fs::path path;
  };

  // One for all tests: a thread of the last one may still look.
  static const temporary_folder& the_folder() {
    static const auto result = [] {
      auto name = (fs::temp_directory_path() / "actorrun-XXXXXX").string();
      REQUIRE(::mkdtemp(name.data()) != nullptr);
      ::setenv("ACTORRUN_GPU_STANDIN", (fs::path{name} / "world").c_str(), 1);
      return temporary_folder{name};
    }();
    return result;
  }

  const fs::path& folder_;
};

/// Collects the events of the code under test on threads that may outlive it.
template <class Note>
class notes {
public:
  void add(Note x) {
    const auto guard = std::lock_guard{mutex_};
    all_.push_back(std::move(x));
    changed_.notify_all();
  }

  /// @returns false if there are fewer after a long time
  bool wait_for(size_t count) {
    auto guard = std::unique_lock{mutex_};
    return changed_.wait_for(guard, timeout,
                             [&] { return all_.size() >= count; });
  }

  size_t count() {
    const auto guard = std::lock_guard{mutex_};
    return all_.size();
  }

  /// @pre there is one
  Note last() {
    const auto guard = std::lock_guard{mutex_};
    return all_.back();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Note> all_;
};

/// The world of two ordinary GPUs.
inline constexpr auto two_gpus
  = "gpu uuid=GPU-aa name=NVIDIA_H200 pci=00000000:65:00.0 used=1000"
    " total=150000 util=87 temp=54 pids=\n"
    "gpu uuid=GPU-bb name=NVIDIA_H200 pci=00000000:E5:00.0 used=0"
    " total=150000 util=0 temp=41 pids=\n"
    "cuda 2\n";

/// The real GPUs if these are to be tested, otherwise two of a stand-in.
class any_gpus {
public:
  any_gpus() {
    if (!uses_real_gpus()) {
      standin_.emplace();
      standin_->write(two_gpus);
    } else if (!may_have_gpus()) {
      actorrun::test::skip("gpu",
                           "this machine has no GPU with an NVIDIA driver");
    }
  }

  bool are_there() const { return standin_ || may_have_gpus(); }

private:
  std::optional<standin> standin_{};
};

} // namespace actorrun::detail::gpu_test
