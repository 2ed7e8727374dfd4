// Jobs of root whose log folder another user can write to, who replaces what is
// in there.
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <filesystem>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::hostile_folder_test {

namespace {

namespace fs = std::filesystem;

constexpr uid_t other_user = 65'534;
constexpr auto precious = "precious";
constexpr uint32_t restart_count = 5;

/// A worker that writes to all its files, and fails.
constexpr auto writing_worker
  = "echo out; echo err >&2; echo '{}' > $TORCHELASTIC_ERROR_FILE; exit 1";

struct attacked_folder : scene {
  attacked_folder() {
    for (const auto& x : {open, trap})
      fs::create_directory(x);
    ::chmod(folder().c_str(), 0755);
    ::chmod(open.c_str(), 0777);
    ::chmod(trap.c_str(), 0777);
    for (uint32_t attempt = 0; attempt <= restart_count; ++attempt)
      set_trap(trap + "/attempt_" + std::to_string(attempt) + "/0");
  }

  /// Whatever is written below the trap would be written to the victims.
  void set_trap(const std::string& at) {
    fs::create_directories(at);
    for (const auto* name : {"stdout.log", "stderr.log", "error.json"}) {
      const auto victim
        = write("victim_" + std::to_string(victims.size()), precious);
      fs::create_symlink(victim, at + "/" + name);
      victims.push_back(victim);
    }
  }

  /// Puts the trap in the place of whatever appears in the folder, forever.
  void attack() const {
    for (auto count = 0;; ++count) {
      auto error = std::error_code{};
      for (auto i = fs::directory_iterator{open, error};
           !error && i != fs::directory_iterator{}; i.increment(error)) {
        const auto& path = i->path();
        if (path.extension() == ".taken" || i->is_symlink())
          continue;
        const auto taken
          = path.string() + "." + std::to_string(count) + ".taken";
        if (::rename(path.c_str(), taken.c_str()) == 0)
          (void)::symlink(trap.c_str(), path.c_str());
      }
    }
  }

  bool was_attacked() const {
    for (const auto& x : fs::directory_iterator{open})
      if (x.is_symlink())
        return true;
    return false;
  }

  std::string open = folder() + "/open";
  std::string trap = folder() + "/trap";
  words victims;
};

} // namespace

TEST_CASE_METHOD(attacked_folder,
                 "hostile folder: another user cannot lead what a job of root "
                 "writes to other files",
                 "[hostile]") {
  if (::geteuid() != 0)
    return skip("root", "only root can become another user");
  const auto attacker = child_process{[] {
                                        if (::setgroups(0, nullptr) != 0
                                            || ::setgid(other_user) != 0
                                            || ::setuid(other_user) != 0)
                                          ::_exit(1);
                                      },
                                      [this] { attack(); }};
  auto attack_count = 0;
  for (auto i = 0; i < 5; ++i) {
    auto& x = run({"--standalone", "--nproc-per-node=1",
                   "--max-restarts=" + std::to_string(restart_count),
                   "--log-dir=" + open, "-r3", "--no-python", "/bin/sh", "-c",
                   writing_worker});
    const auto code = x.wait();
    INFO(x.output());
    CHECK((code == 1 || code == 6)); // The worker has failed, or was not begun.
    if (code == 1)
      CHECK(count_of(x.output(), "other users can write to " + open) == 1);
    attack_count += was_attacked() ? 1 : 0;
  }
  CHECK(attack_count > 0);
  for (const auto& x : victims)
    CHECK(content_of(x) == precious);
}

} // namespace actorrun::test::hostile_folder_test
