// Tests the names of built-in checks, and the commands that run them.
#include "actors/core/checks/built_in.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test::built_in_test {

using namespace actorrun::core;

TEST_CASE("built_in: only a text that is exactly a name is a built-in check",
          "[core]") {
  CHECK(find_built_in("disk") == built_in_check::disk);
  CHECK(find_built_in("clock") == built_in_check::clock);
  CHECK(find_built_in("gpu") == built_in_check::gpu);
  CHECK(find_built_in("gpu-quick") == built_in_check::gpu_quick);
  for (const auto* x : {"", "./disk", "disc", "disk ", " disk", "Disk",
                        "disk /tmp", "gpu-quic", "disk;true"})
    CHECK_FALSE(find_built_in(x));
}

TEST_CASE("built_in: folders may stand behind the check of disks", "[core]") {
  CHECK(built_in_of("disk") == built_in_check::disk);
  CHECK(built_in_of("disk /scratch '/my data'") == built_in_check::disk);
  CHECK(built_in_of("gpu") == built_in_check::gpu);
  for (const auto* x : {"", "./disk /a", "disc /a", "gpu 0", "clock now",
                        "disk /a; true", "disk /a && true", "disk $(pwd)"})
    CHECK_FALSE(built_in_of(x));
}

TEST_CASE("built_in: only the check that takes the memory disturbs workers",
          "[core]") {
  for (const auto x : built_in_checks)
    CHECK(disturbs_workers(x) == (x == built_in_check::gpu));
}

TEST_CASE("built_in: the command is quoted for the shell, and only disk has "
          "folders",
          "[core]") {
  const auto program = std::vector<std::string>{"/opt/a b/actorctl", "check"};
  const auto folders = std::vector<std::string>{"/it's", "$HOME"};
  CHECK(command_of("disk", program, folders)
        == R"(exec '/opt/a b/actorctl' 'check' disk '/it'\''s' '$HOME')");
  CHECK(command_of("disk \"$DATA\"", program, {})
        == R"(exec '/opt/a b/actorctl' 'check' disk "$DATA")");
  CHECK(command_of("gpu-quick", program, folders)
        == "exec '/opt/a b/actorctl' 'check' gpu-quick");
}

} // namespace actorrun::test::built_in_test
