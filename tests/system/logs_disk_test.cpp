// Disks that fill while the job runs. Needs root, for a small file system.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/log_scene.hpp"

#include <optional>

namespace actorrun::test::logs_disk_test {

namespace {

struct disk_scene : log_scene {
  /// Runs a job with one worker and its logs on a disk of 64 MiB that has 6 MiB
  /// left. Below 4 MiB, a 16th, it counts as almost full.
  /// @returns nothing if such a disk cannot be had here
  std::optional<std::string> on_full_disk(const std::string& options,
                                          const std::string& script) {
    auto code = -1;
    read({"unshare", "--mount", "sh", "-c", "mount -t tmpfs none ."}, &code);
    if (code != 0) {
      actorrun::test::skip("root", "no disk can be made, which only root may");
      return std::nullopt;
    }
    write("worker.sh", script);
    auto& x = start({"unshare", "--mount", "sh", "-c",
                     "mkdir disk && mount -t tmpfs -o size=64m none disk &&"
                     "head -c 60817408 /dev/zero > disk/ballast &&"
                     "\"$0\" --standalone --log-dir=disk/logs "
                       + options
                       + " --no-python sh worker.sh; code=$?;"
                         "du -sk disk/logs | cut -f1 > used; exit $code",
                     ACTORRUN_PROGRAM});
    CHECK(x.wait(60s) == 0);
    return x.output();
  }
};

// 8 MiB in lines of 64 bytes, 2 MiB a second: more than the disk has left, and
// slow enough for a check every second. A failed write ends the worker.
constexpr auto more_than_is_left
  = "set -e\n"
    "line=123456789012345678901234567890123456789012345678901234567890123\n"
    "block=$(i=0; while [ $i -lt 1024 ]; do i=$((i+1)); echo $line; done)\n"
    "i=0; while [ $i -lt 128 ]; do i=$((i+1)); printf '%s\\n' \"$block\";"
    " sleep 0.03; done\n"
    "echo last words\n";

} // namespace

TEST_CASE_METHOD(disk_scene,
                 "full disk: teed lines are shown, and the job ends",
                 "[logs]") {
  const auto text = on_full_disk("-t1", more_than_is_left);
  if (!text)
    return;
  CHECK(count_of(*text, "[default0]:123456789012") == 1'024 * 128);
  CHECK(count_of(*text, "[default0]:last words\n") == 1);
  CHECK(count_of(*text, "almost full") >= 1);
  CHECK(count_of(*text, "almost full") <= 2);
}

TEST_CASE_METHOD(disk_scene,
                 "full disk: a redirected stream does not fail the job",
                 "[logs]") {
  const auto text = on_full_disk("-r1", more_than_is_left);
  if (!text)
    return;
  CHECK(count_of(*text, "full") >= 1);
  CHECK(count_of(*text, "full") <= 2);
}

TEST_CASE_METHOD(disk_scene, "full disk: rotated files make room", "[logs]") {
  // Files that are shown are followed closely; others only every second.
  const auto text = on_full_disk("-t1 --log-rotate-size=512K "
                                 "--log-rotate-keep=2",
                                 more_than_is_left);
  if (!text)
    return;
  CHECK(count_of(*text, "[default0]:last words\n") == 1);
  const auto used = std::stoi("0" + content_of(folder() + "/used"));
  CHECK(used > 0);
  CHECK(used < 3 * 512 + 128); // In KiB: two kept, one written, and folders.
}

} // namespace actorrun::test::logs_disk_test
