// Limits of this system: too few processes and descriptors for a job.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <string>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test {

namespace {

/// A user that has no processes.
constexpr auto other_user = "54321";

struct limits_scene : scene {
  /// Starts a job in a shell of another user that has set a limit.
  program& limited(const std::string& limit, const words& arguments) {
    ::chmod(folder().c_str(), 0777);
    auto line = words{"setpriv",
                      std::string{"--reuid="} + other_user,
                      std::string{"--regid="} + other_user,
                      "--clear-groups",
                      "sh",
                      "-c",
                      "ulimit " + limit + "; exec \"$0\" \"$@\"",
                      ACTORRUN_PROGRAM,
                      "--standalone"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return start(std::move(line), {{"ACTORRUN_RUN_DIR", folder() + "/other"},
                                   {"HOME", folder() + "/other"}});
  }

  static void raise(const program& x, __rlimit_resource which) {
    const auto enough = rlimit{1'000, 1'000};
    REQUIRE(::prlimit(x.pid(), which, &enough, nullptr) == 0);
  }

  static bool can_be_another() {
    if (::geteuid() == 0 && ::access("/usr/bin/setpriv", X_OK) == 0)
      return true;
    actorrun::test::skip("root", "only root can become another user");
    return false;
  }
};

} // namespace

TEST_CASE_METHOD(
  limits_scene,
  "limits: U8 without threads for the launcher it ends with 6 and "
  "a sentence",
  "[limits]") {
  if (!can_be_another())
    return;
  for (const auto* limit : {"-u 1", "-u 2", "-u 3"}) {
    CAPTURE(limit);
    auto& x = limited(limit, {"--no-python", "true"});
    CHECK(x.wait() == 6);
    const auto text = x.output();
    CHECK(count_of(text, "RLIMIT_NPROC: ulimit -u is") == 1);
    CHECK(count_of(text, "terminate") == 0);
  }
}

TEST_CASE_METHOD(limits_scene,
                 "limits: U8 workers for which there is no process are started "
                 "when there is one",
                 "[limits]") {
  if (!can_be_another())
    return;
  auto& x = limited("-u 20", {"--nproc-per-node=24", "--max-restarts=1",
                              "--no-python", "true"});
  REQUIRE(x.says("RLIMIT_NPROC: ulimit -u is 20"));
  CHECK(x.says("which costs no restart"));
  raise(x, RLIMIT_NPROC);
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "epoch 2") == 0);
}

TEST_CASE_METHOD(
  limits_scene,
  "limits: S5 workers for which there is no descriptor are started "
  "when there is one",
  "[limits]") {
  if (::geteuid() != 0) // Who else may not raise a hard limit.
    return actorrun::test::skip("root", "only root can raise a limit");
  auto& x = start({"sh", "-c", "ulimit -n 48; exec \"$0\" \"$@\"",
                   ACTORRUN_PROGRAM, "--standalone", "--nproc-per-node=40",
                   "--max-restarts=1", "--no-python", "true"});
  REQUIRE(x.says("RLIMIT_NOFILE: ulimit -Hn is 48"));
  CHECK(x.says("which costs no restart"));
  raise(x, RLIMIT_NOFILE);
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "epoch 2") == 0);
}

} // namespace actorrun::test
