#include "runtime/os/run_folder.hpp"
#include "runtime/os/socket.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::run_folder_test {

using namespace actorrun::detail;

namespace {

namespace fs = std::filesystem;

// A place for run folders; restores the environment at its end.
struct fixture {
  fixture() {
    auto pattern = std::string{"/tmp/actorrun-run-XXXXXX"};
    REQUIRE(::mkdtemp(pattern.data()));
    place = pattern;
    for (auto& [name, value] : before)
      if (const auto* x = std::getenv(name))
        value = x;
    ::unsetenv("ACTORRUN_RUN_DIR");
    ::unsetenv("XDG_RUNTIME_DIR");
  }

  ~fixture() {
    for (const auto& [name, value] : before)
      if (value)
        ::setenv(name, value->c_str(), 1);
      else
        ::unsetenv(name);
    fs::remove_all(place);
  }

  run_folder open() {
    auto out = run_folder::open_at(place + "/run", true);
    if (!out)
      FAIL(out.error().text);
    return *out;
  }

  std::string why_not(const std::string& path) {
    const auto out = run_folder::open_at(path, false);
    if (out)
      return "";
    CHECK(out.error().code == errc::system_failure);
    CHECK(out.error().text.find(path) != std::string::npos);
    return out.error().text;
  }

  // The usual name below our `/tmp`.
  std::string usual() const {
    return place + "/actorrun-" + std::to_string(::geteuid());
  }

  // Another user's folder has that name; false, and the test is skipped, if we
  // cannot make one.
  static bool squat(const std::string& path) {
    if (::geteuid() != 0) {
      actorrun::test::skip("root", "only root can make another user's folder");
      return false;
    }
    fs::create_directory(path);
    REQUIRE(::chown(path.c_str(), 65'534, 65'534) == 0);
    return true;
  }

  std::vector<std::string> found() const {
    auto out = std::vector<std::string>{};
    const auto all = run_folder::find_all({place});
    REQUIRE(all);
    for (const auto& x : *all)
      out.push_back(x.path());
    return out;
  }

  // A socket with a listener for as long as the result lives.
  static unique_fd serve(const run_folder& folder, const std::string& job,
                         pid_t pid, socket_role role) {
    return std::move(
      *open_listening_unix(*folder.socket_path(job_id{job}, pid, role)));
  }

  std::string place;
  std::pair<const char*, std::optional<std::string>> before[2]
    = {{"ACTORRUN_RUN_DIR", {}}, {"XDG_RUNTIME_DIR", {}}};
};

std::vector<std::string> names_of(const run_folder& folder) {
  auto out = std::vector<std::string>{};
  for (const auto& x : folder.list())
    out.push_back(x.name.job + " " + std::to_string(x.name.pid) + " "
                  + std::string{to_string(x.name.role)});
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture, "run folder: it is private to its user",
                 "[runtime]") {
  const auto uut = open();
  struct stat info {};
  REQUIRE(::stat(uut.path().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  CHECK(open().path() == uut.path());
}

TEST_CASE_METHOD(fixture, "run folder: the environment gives its path",
                 "[runtime]") {
  SECTION("ACTORRUN_RUN_DIR is the folder itself") {
    ::setenv("ACTORRUN_RUN_DIR", (place + "/mine").c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", place.c_str(), 1);
    CHECK(run_folder::open()->path() == place + "/mine");
  }
  SECTION("XDG_RUNTIME_DIR is the folder around it") {
    ::setenv("XDG_RUNTIME_DIR", place.c_str(), 1);
    CHECK(run_folder::open()->path() == place + "/actorrun");
  }
  SECTION("without a usable one it is below /tmp") {
    const auto below_tmp = "/tmp/actorrun-" + std::to_string(::geteuid());
    const auto there = fs::exists(below_tmp);
    const auto plain = run_folder::open();
    REQUIRE(plain);
    CHECK(plain->path() == below_tmp);
    for (const auto& value : {place + "/absent", std::string{"relative"}}) {
      ::setenv("XDG_RUNTIME_DIR", value.c_str(), 1);
      CHECK(run_folder::open()->path() == below_tmp);
    }
    if (!there)
      plain->remove_if_empty();
  }
}

TEST_CASE_METHOD(fixture, "run folder: an unsafe place is refused and named",
                 "[runtime]") {
  const auto path = place + "/run";
  SECTION("others may write to it") {
    for (const auto mode : {0770u, 0702u}) {
      fs::create_directory(path);
      REQUIRE(::chmod(path.c_str(), mode) == 0);
      CHECK(why_not(path).find("written to by others") != std::string::npos);
    }
  }
  SECTION("others may only read it, which is allowed") {
    fs::create_directory(path);
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    CHECK(why_not(path).empty());
  }
  SECTION("a symbolic link, even to a good one") {
    fs::create_directory(place + "/real");
    fs::create_directory_symlink(place + "/real", path);
    CHECK(why_not(path).find("symbolic link") != std::string::npos);
  }
  SECTION("a file") {
    std::ofstream{path} << "x";
    CHECK(why_not(path).find("no folder") != std::string::npos);
  }
  SECTION("a folder of another user") {
    if (squat(path))
      CHECK(why_not(path).find("another user") != std::string::npos);
  }
  SECTION("no path at all") {
    CHECK(why_not(place + "/absent/run").find("cannot be made")
          != std::string::npos);
  }
}

TEST_CASE_METHOD(fixture, "run folder: a socket's name contains its owner",
                 "[runtime]") {
  const auto uut = open();
  const auto path = uut.socket_path(job_id{"train"}, 4711, socket_role::agent);
  REQUIRE(path);
  CHECK(fs::path{*path}.parent_path() == uut.path());
  const auto name = parse_socket_name(fs::path{*path}.filename().string());
  REQUIRE(name);
  CHECK(*name
        == socket_name{job_label(job_id{"train"}), 4711, socket_role::agent});
  CHECK(parse_socket_name("train.4711.agent.sock")->pid == 4711);
  CHECK(parse_socket_name("train.4711-0123abcd.agent.sock")->pid == 4711);
}

TEST_CASE("run folder: a label is safe, short and unique for a job",
          "[runtime]") {
  const auto label = job_label(job_id{"../a b/ü.sock"});
  CHECK(label.starts_with("___a_b___"));
  CHECK(label.find_first_of("./ ") == std::string::npos);
  CHECK(job_label(job_id{"a/b"}) != job_label(job_id{"a.b"}));
  CHECK(job_label(job_id{std::string(15, 'x')}).size() == 24);
  CHECK(job_label(job_id{std::string(16, 'x')}).size() == 24);
  CHECK(job_label(job_id{std::string(16, 'x')})
        != job_label(job_id{std::string(17, 'x')}));
}

TEST_CASE("run folder: other files are not taken for sockets", "[runtime]") {
  for (const auto* name :
       {"", ".", "a.sock", "a.1.sock", "a.1.worker.sock", "a.x.agent.sock",
        "a.0.agent.sock", "a.-1.agent.sock", "a.1x.agent.sock", ".1.agent.sock",
        "a b.1.agent.sock", "a.1.agent.sock~", "a.1-.agent.sock",
        "a.1-x.agent.sock", "a.1-1x.agent.sock", "a.1_2.agent.sock",
        "a.99999999999999999999.agent.sock"})
    CHECK_FALSE(parse_socket_name(name));
}

TEST_CASE_METHOD(fixture, "run folder: a name that does not fit is refused",
                 "[runtime]") {
  const auto longest = job_id{std::string(200, 'x')};
  const auto tail
    = 1 + 24 + std::string{".1-01234567.coordinator.sock~"}.size();
  const auto size_max = 107 - tail; // characters of the folder's path
  for (const auto size : {size_max, size_max + 1}) {
    auto path = place + "/";
    path += std::string(size - path.size(), 'f');
    const auto folder = run_folder::open_at(path, false);
    REQUIRE(folder);
    const auto made = folder->socket_path(longest, 1, socket_role::coordinator);
    CHECK(static_cast<bool>(made) == (size == size_max));
    if (!made)
      CHECK(made.error().code == errc::cannot_listen);
    else
      CHECK(open_listening_unix(*made));
  }
}

TEST_CASE_METHOD(
  fixture,
  "run folder: sockets of living processes are listed, dead ones removed",
  "[runtime]") {
  const auto uut = open();
  const auto a = serve(uut, "a", 11, socket_role::agent);
  const auto b = serve(uut, "b", 12, socket_role::coordinator);
  serve(uut, "c", 13, socket_role::agent).reset();
  std::ofstream{uut.path() + "/notes.txt"} << "x";
  CHECK(names_of(uut)
        == std::vector{job_label(job_id{"a"}) + " 11 agent",
                       job_label(job_id{"b"}) + " 12 coordinator"});
  CHECK_FALSE(
    fs::exists(*uut.socket_path(job_id{"c"}, 13, socket_role::agent)));
  CHECK(fs::exists(uut.path() + "/notes.txt"));
}

TEST_CASE_METHOD(fixture, "run folder: it is removed when it is empty",
                 "[runtime]") {
  const auto uut = open();
  {
    const auto a = serve(uut, "a", 11, socket_role::agent);
    uut.remove_if_empty();
    CHECK(uut.list().size() == 1);
  }
  CHECK(uut.list().empty());
  uut.remove_if_empty();
  CHECK_FALSE(fs::exists(uut.path()));
  const auto chosen = run_folder::open_at(place + "/chosen", false);
  REQUIRE(chosen);
  chosen->remove_if_empty();
  CHECK(fs::exists(chosen->path()));
}

TEST_CASE_METHOD(fixture, "run folder: another user's folder is passed over",
                 "[runtime]") {
  if (!squat(usual()))
    return;
  CHECK(found().empty());
  const auto uut = run_folder::open({place});
  REQUIRE(uut);
  CHECK(uut->path().starts_with(usual() + "-"));
  struct stat info {};
  REQUIRE(::stat(uut->path().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  CHECK(run_folder::open({place})->path() == uut->path());
  CHECK(found() == std::vector{uut->path()});
  uut->remove_if_empty();
  CHECK(found().empty());
}

TEST_CASE("run folder: with the longest user id the longest names fit",
          "[runtime]") {
  auto path = std::string{"/tmp/actorrun-4294967295-XXXXXX"};
  REQUIRE(::mkdtemp(path.data()));
  const auto uut = run_folder::open_at(path, true);
  REQUIRE(uut);
  CHECK(uut->socket_path(job_id{std::string(200, 'x')}, 4'194'304,
                         socket_role::coordinator));
  uut->remove_if_empty();
}

TEST_CASE_METHOD(fixture, "run folder: no other user can take all names",
                 "[runtime]") {
  for (const auto* tail : {"", "-000000", "-AAAAAA", "-zzzzzz"})
    if (!squat(usual() + tail))
      return;
  fs::create_directory_symlink(place, usual() + "-linked");
  fs::create_directory(usual() + "-1");
  const auto uut = run_folder::open({place});
  REQUIRE(uut);
  CHECK(found() == std::vector{uut->path()});
}

TEST_CASE_METHOD(fixture,
                 "run folder: a job is found when the other folder has gone",
                 "[runtime]") {
  if (!squat(usual()))
    return;
  const auto first = *run_folder::open({place});
  const auto a = serve(first, "a", 11, socket_role::agent);
  fs::remove(usual());
  const auto second = *run_folder::open({place});
  CHECK(second.path() == usual());
  CHECK(found() == std::vector{second.path(), first.path()});
  CHECK(first.list().size() == 1);
}

TEST_CASE_METHOD(fixture, "run folder: is found whatever the environment was",
                 "[runtime]") {
  fs::create_directory(place + "/xdg");
  const auto plain = run_folder::open({place})->path();
  CHECK(plain == usual());
  ::setenv("XDG_RUNTIME_DIR", (place + "/xdg").c_str(), 1);
  CHECK(found() == std::vector{plain}); // To look for it makes none.
  const auto xdg = run_folder::open({place})->path();
  CHECK(xdg == place + "/xdg/actorrun");
  CHECK(found() == std::vector{xdg, plain});
  ::setenv("ACTORRUN_RUN_DIR", (place + "/mine").c_str(), 1);
  CHECK(found() == std::vector{place + "/mine"});
}

TEST_CASE_METHOD(fixture, "run folder: an unusable one has a substitute",
                 "[runtime]") {
  fs::create_directory(place + "/xdg");
  ::setenv("XDG_RUNTIME_DIR", (place + "/xdg").c_str(), 1);
  std::ofstream{place + "/xdg/actorrun"} << "x";
  CHECK(run_folder::open({place})->path() == usual());
  const auto nowhere = run_folder::open({place + "/absent"});
  REQUIRE(!nowhere);
  CHECK(nowhere.error().text.find(place + "/xdg/actorrun")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "run folder: where the first place is missing it is in the "
                 "next",
                 "[runtime]") {
  const auto places = run_folder::folders{place + "/absent", place};
  CHECK(run_folder::open(places)->path() == usual());
  const auto all = run_folder::find_all(places);
  REQUIRE(all);
  REQUIRE(all->size() == 1);
  CHECK(all->front().path() == usual());
}

TEST_CASE_METHOD(fixture, "run folder: a chosen one has no substitute",
                 "[runtime]") {
  std::ofstream{place + "/mine"} << "x";
  ::setenv("ACTORRUN_RUN_DIR", (place + "/mine").c_str(), 1);
  CHECK(!run_folder::open({place}));
  CHECK(!run_folder::find_all({place}));
}

} // namespace actorrun::test::run_folder_test
