// Log folders that cannot be used: the message, and that no file is left.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/log_scene.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::logs_refusals_test {

namespace {

namespace fs = std::filesystem;

struct refusal_scene : log_scene {
  /// Starts a job with an unusable log folder; no worker may run.
  std::string refused(const std::string& path, const words& prefix = {}) {
    auto line = prefix;
    for (const auto& word :
         {std::string{ACTORRUN_PROGRAM}, std::string{"--standalone"},
          std::string{"-r3"}, "--log-dir=" + path, std::string{"--no-python"},
          std::string{"touch"}, folder() + "/tmp/started"})
      line.push_back(word);
    auto& x = start(line);
    CHECK(x.wait() == 6);
    INFO(x.output());
    CHECK(count_of(x.output(), "actorrun: error: ") == 1);
    CHECK(count_of(x.output(), "  try: ") == 1);
    CHECK(count_of(x.output(), "--log-dir") >= 1);
    CHECK_FALSE(fs::exists(folder() + "/tmp/started"));
    return x.output();
  }
};

} // namespace

TEST_CASE_METHOD(refusal_scene, "log folder: a file in its way is named",
                 "[logs]") {
  const auto file = write("plain", "text");
  CHECK(count_of(refused(file), file) >= 1);
  CHECK(count_of(refused(file + "/below/it"), file) >= 1);
  CHECK(content_of(file) == "text");
}

TEST_CASE_METHOD(refusal_scene, "log folder: a name that is too long is named",
                 "[logs]") {
  const auto name = std::string(300, 'x');
  const auto text = refused(folder() + "/" + name);
  CHECK(count_of(text, name) >= 1);
  CHECK(count_of(text, "too long") >= 1);
}

TEST_CASE_METHOD(refusal_scene, "log folder: a link to nothing is named",
                 "[logs]") {
  fs::create_symlink("nowhere", folder() + "/link");
  CHECK(count_of(refused(folder() + "/link"), "/link") >= 1);
}

TEST_CASE_METHOD(refusal_scene, "log folder: a read-only place is named",
                 "[logs]") {
  // The kernel's own file system refuses root, too.
  CHECK(count_of(refused("/proc/self/logs"), "/proc/self/logs") >= 1);
}

TEST_CASE_METHOD(refusal_scene, "log folder: missing permission is named",
                 "[logs]") {
  const auto closed = folder() + "/closed";
  REQUIRE(::mkdir(closed.c_str(), 0555) == 0);
  auto prefix = words{};
  if (::geteuid() == 0) {
    // Root may do all: become the user nobody, with access to the program.
    prefix = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    auto code = -1;
    auto probe = prefix;
    probe.insert(probe.end(), {ACTORRUN_PROGRAM, "--version"});
    fs::permissions(folder(), fs::perms{0755});
    read(probe, &code);
    if (code != 0) {
      actorrun::test::skip("nobody",
                           "the user nobody cannot start actorrun here");
      return;
    }
    REQUIRE(::chown((folder() + "/run").c_str(), 65534, 65534) == 0);
  }
  for (const auto& path : {closed, closed + "/logs"}) {
    const auto text = refused(path, prefix);
    CHECK(count_of(text, path) >= 1);
    CHECK(count_of(text, "Permission denied") >= 1);
  }
  CHECK(fs::is_empty(closed));
}

TEST_CASE_METHOD(refusal_scene, "log folder: a node of many reports it, too",
                 "[logs]") {
  const auto file = write("plain", "text");
  auto& a = agent({.nodes = "1:2", .more = {"--log-dir=" + file, "-r3"}});
  CHECK(a.wait() == 6);
  CHECK(count_of(a.output(), file) >= 1);
  CHECK(records().empty());
}

TEST_CASE_METHOD(scene, "log options: the error is named, exit code 2",
                 "[logs]") {
  const auto wrong = std::vector<words>{
    {"--redirects=4", "x"},
    {"--tee=0:1,0:2", "x"},
    {"--fold-identical", "x"},
    {"--log-rotate-size=1", "-r3", "x"},
    {"--log-rotate-keep=0", "x"},
    {"--log-dir=" + std::string(5'000, 'x'), "x"},
    {"--signals-to-handle=SIGKILL", "x"},
    {"--signals-to-forward=SIGTERM", "x"},
    {"--stop-signal=SIGSTOP", "x"},
    {"--shutdown-timeout=-1", "x"},
  };
  for (const auto& line : wrong) {
    auto& x = run(line);
    INFO(line[0].substr(0, 80));
    CHECK(x.wait() == 2);
    CHECK(count_of(x.output(), "actorrun: error: ") == 1);
    const auto option = line[0].substr(0, line[0].find('='));
    if (option != "--log-dir")
      CHECK(count_of(x.output(), option) >= 1);
  }
}

// Scripts that work with torchrun contain such options.
TEST_CASE_METHOD(scene, "log options: torchrun's without effect are warnings",
                 "[logs]") {
  const auto idle = std::vector<words>{
    {"--tee=1:3", "--no-python", "true"},
    {"--local-ranks-filter=1", "--no-python", "true"},
    {"--duplicate-stdout-filters=x", "--no-python", "true"},
  };
  for (const auto& line : idle) {
    auto& x = run(line);
    INFO(line[0]);
    CHECK(x.wait() == 0);
    CHECK(count_of(x.output(), "warning: ") == 1);
    CHECK(count_of(x.output(), line[0].substr(0, line[0].find('='))) == 1);
  }
}

} // namespace actorrun::test::logs_refusals_test
