#include "runtime/logs/torch_log_layout.hpp"
#include "runtime/processes/output_files.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <string>

#include <sys/fsuid.h>
#include <sys/stat.h>

namespace actorrun::test::torch_log_layout_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_folders;
namespace fs = std::filesystem;

namespace {

const auto all_teed = core::stream_choice{.everywhere = core::std_streams::all};

struct fixture {
  folder here;
  core::log_options options{.folder = here / "logs", .redirects = all_teed};

  std::shared_ptr<torch_log_layout> open(const std::string& job = "job") const {
    const auto uut = torch_log_layout::open(options, job_id{job});
    REQUIRE(uut);
    return *uut;
  }

  failure refuse(const std::string& folder) {
    options.folder = folder;
    const auto uut = torch_log_layout::open(options, job_id{"job"});
    REQUIRE(!uut);
    CHECK(uut.error().code == errc::log_failed);
    return uut.error();
  }

  // All paths below a folder, sorted.
  static std::set<std::string> tree(const std::string& path) {
    auto names = std::set<std::string>{};
    for (const auto& x : fs::recursive_directory_iterator{path})
      names.insert(x.path().lexically_relative(path).string());
    return names;
  }
};

core::generation_plan plan(uint64_t generation, uint32_t restart_count,
                           uint32_t slot_count) {
  auto x = core::generation_plan{};
  x.generation = {generation};
  x.own.slot_count = slot_count;
  x.restart_count = restart_count;
  return x;
}

core::generation_outputs prepare(torch_log_layout& uut,
                                 const core::generation_plan& x) {
  const auto outputs = uut.prepare(x);
  REQUIRE(outputs);
  return *outputs;
}

// Redirects temporary files while it lives.
struct temporary_base {
  explicit temporary_base(const std::string& path) {
    ::setenv("TMPDIR", path.c_str(), 1);
  }
  ~temporary_base() { ::unsetenv("TMPDIR"); }
};

// Makes permissions apply to root, too, while it lives.
struct no_privileges {
  no_privileges() { ::setfsuid(65534); }
  ~no_privileges() { ::setfsuid(::geteuid()); }
};

} // namespace

TEST_CASE_METHOD(fixture, "log folders: an agent has a private folder",
                 "[runtime]") {
  options.folder = here / "a/b/c/";
  const auto uut = open();
  CHECK(std::regex_match(uut->folder(),
                         std::regex{here.path() + "/a/b/c/job_[a-z0-9_]{8}"}));
  struct stat info {};
  REQUIRE(::stat(uut->folder().c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);
  CHECK(open()->folder() != uut->folder());
}

TEST_CASE_METHOD(fixture,
                 "log folders: a relative path starts at the working directory",
                 "[runtime]") {
  const auto before = fs::current_path();
  fs::current_path(here.path());
  options.folder = "logs";
  const auto uut = open();
  fs::current_path(before);
  CHECK(uut->folder().starts_with(fs::canonical(here.path()).string()
                                  + "/logs/job_"));
}

TEST_CASE_METHOD(fixture, "log folders: each worker has a folder",
                 "[runtime]") {
  const auto uut = open();
  CHECK(tree(uut->folder()).empty());
  const auto outputs = prepare(*uut, plan(1, 0, 3));
  const auto attempt = uut->folder() + "/attempt_0";
  CHECK(tree(uut->folder())
        == std::set<std::string>{"attempt_0", "attempt_0/0", "attempt_0/1",
                                 "attempt_0/2"});
  REQUIRE(outputs.workers.size() == 3);
  CHECK(outputs.workers[2].out.path == attempt + "/2/stdout.log");
  CHECK(outputs.workers[2].err.path == attempt + "/2/stderr.log");
  CHECK(outputs.workers[2].error_file == attempt + "/2/error.json");
}

TEST_CASE_METHOD(fixture, "log folders: an attempt's folder is never reused",
                 "[runtime]") {
  const auto uut = open();
  prepare(*uut, plan(1, 0, 1));
  const auto file = uut->folder() + "/attempt_0/0/stdout.log";
  std::ofstream{file} << "x";
  const auto regrouped = prepare(*uut, plan(2, 0, 1));
  CHECK(regrouped.workers[0].out.path
        == uut->folder() + "/attempt_0.generation_2/0/stdout.log");
  prepare(*uut, plan(3, 1, 1));
  prepare(*uut, plan(4, 1, 2));
  CHECK(tree(uut->folder())
        == std::set<std::string>{
          "attempt_0", "attempt_0/0", "attempt_0/0/stdout.log",
          "attempt_0.generation_2", "attempt_0.generation_2/0", "attempt_1",
          "attempt_1/0", "attempt_1.generation_4", "attempt_1.generation_4/0",
          "attempt_1.generation_4/1"});
  CHECK(content_of(file) == "x");
  // Of another coordinator's term.
  const auto again = prepare(*uut, plan(generation_of(9, 2).value, 0, 1));
  CHECK(again.workers[0].out.path
        == uut->folder() + "/attempt_0.generation_2_of_9/0/stdout.log");
}

TEST_CASE_METHOD(
  fixture, "log folders: a folder that cannot be made leaves nothing behind",
  "[runtime]") {
  const auto uut = open();
  SECTION("the folder of the attempt") {
    fs::create_directory(uut->folder() + "/attempt_0");
    const auto outputs = uut->prepare(plan(1, 0, 2));
    REQUIRE(!outputs);
    CHECK(outputs.error().code == errc::log_failed);
    CHECK(outputs.error().text
          == "the log folder " + uut->folder()
               + "/attempt_0 cannot be made: File exists");
  }
  SECTION("all folders") {
    fs::remove(uut->folder());
    CHECK(!uut->prepare(plan(1, 0, 2)));
    CHECK(tree(here / "logs").empty());
  }
}

TEST_CASE_METHOD(fixture, "log folders: a full disk leaves nothing behind",
                 "[runtime]") {
  const auto disk = small_disk{"4m", "20"};
  if (!disk)
    return;
  options.folder = disk / "logs";
  const auto uut = open();
  const auto outputs = uut->prepare(plan(1, 0, 20));
  REQUIRE(!outputs);
  CHECK(std::regex_match(
    outputs.error().text,
    std::regex{"the log folder .*/attempt_0/[0-9]+ cannot be made: No space"
               " left on device"}));
  CHECK(tree(uut->folder()).empty());
  while (std::ofstream{disk / std::to_string(tree(disk.path()).size())})
    continue;
  CHECK(refuse(disk / "more/logs").text
        == "the log folder " + disk.path()
             + "/more/logs cannot be made: No space left on device");
}

TEST_CASE_METHOD(fixture, "log folders: a file in the way is named",
                 "[runtime]") {
  std::ofstream{here / "file"} << "x";
  CHECK(refuse(here / "file").text
        == "the log folder " + here.path()
             + "/file cannot be made: Not a directory");
  CHECK(refuse(here / "file/logs").text
        == "the log folder " + here.path()
             + "/file/logs cannot be made: Not a directory");
  const auto name = std::string(300, 'x');
  CHECK(refuse(here / "a/b/" + name).text
        == "the log folder " + here.path() + "/a/b/" + name
             + " cannot be made: File name too long");
  CHECK(tree(here.path()) == std::set<std::string>{"file"});
}

TEST_CASE_METHOD(fixture,
                 "log folders: a path too long for its files is refused",
                 "[runtime]") {
  const auto limit
    = PATH_MAX - log_path_rest_max - std::string{"/job_12345678"}.size();
  auto path = here / "a";
  while (path.size() + 250 < limit)
    path += "/" + std::string(100, 'x');
  path += "/" + std::string(limit - path.size() - 1, 'y');
  CHECK(
    refuse(path + "z").text.ends_with(" cannot be made: File name too long"));
  CHECK(tree(here.path()).empty());
  options.folder = path;
  CHECK(open()->folder().size() == PATH_MAX - log_path_rest_max);
}

TEST_CASE_METHOD(fixture, "log folders: a disk that cannot rotate is named",
                 "[runtime]") {
  const auto disk = small_disk{"1m", "0", "ramfs"};
  if (!disk)
    return;
  options.folder = disk / "logs";
  CHECK(open());
  options.rotate_size = core::rotate_size_min;
  const auto reason = refuse(disk / "more/logs").text;
  CHECK(std::regex_match(
    reason,
    std::regex{"the logs in .*/more/logs/job_.{8} cannot be rotated: the"
               " file system keeps the beginning of files"}));
  CHECK(!fs::exists(disk / "more"));
}

TEST_CASE_METHOD(fixture, "log folders: another user's folder is named",
                 "[runtime]") {
  fs::create_directory(here / "theirs");
  fs::permissions(here.path(), fs::perms{0755});
  ::chmod((here / "theirs").c_str(), 0555);
  const auto denied = no_privileges{};
  CHECK(refuse(here / "theirs/logs").text
        == "the log folder " + here.path()
             + "/theirs/logs cannot be made: Permission denied");
  CHECK(std::regex_match(
    refuse(here / "theirs").text,
    std::regex{"the log folder .*/theirs/job_.{8} cannot be made: Permission"
               " denied"}));
}

TEST_CASE_METHOD(fixture, "log folders: /dev/null means no files",
                 "[runtime]") {
  options.folder = "/dev/null";
  options.tees = all_teed;
  const auto uut = open();
  CHECK(uut->folder().empty());
  const auto outputs = prepare(*uut, plan(1, 0, 2));
  REQUIRE(outputs.workers.size() == 2);
  CHECK(outputs.workers[0].error_file.empty());
  CHECK(outputs.workers[0].out.where == core::stream_target::kind::inherited);
  CHECK(!uut->holds_files());
}

TEST_CASE_METHOD(fixture,
                 "log folders: without a folder a temporary one is made",
                 "[runtime]") {
  const auto base = temporary_base{here.path()};
  options.folder.clear();
  const auto uut = open();
  CHECK(std::regex_match(
    uut->folder(),
    std::regex{here.path() + "/actorrun_[a-z0-9_]{8}/job_[a-z0-9_]{8}"}));
  const auto file = prepare(*uut, plan(1, 0, 1)).workers[0].error_file;
  CHECK(file == uut->folder() + "/attempt_0/0/error.json");
}

TEST_CASE_METHOD(fixture, "log folders: an invalid TMPDIR does not count",
                 "[runtime]") {
  const auto base = temporary_base{here / "missing"};
  options.folder.clear();
  const auto uut = open();
  CHECK(uut->folder().starts_with("/tmp/actorrun_"));
  uut->remove_if_unused();
}

TEST_CASE_METHOD(fixture, "log folders: without files workers get no folders",
                 "[runtime]") {
  const auto base = temporary_base{here.path()};
  options = {};
  options.redirects.by_rank[0] = core::std_streams::none;
  const auto uut = open();
  const auto outputs = prepare(*uut, plan(1, 0, 2));
  CHECK(tree(uut->folder()) == std::set<std::string>{"attempt_0"});
  CHECK(outputs.workers[0].error_file
        == uut->folder() + "/attempt_0/error_0.json");
  CHECK(outputs.workers[1].error_file
        == uut->folder() + "/attempt_0/error_1.json");
  CHECK(outputs.workers[1].out.where == core::stream_target::kind::inherited);
}

TEST_CASE_METHOD(fixture, "log folders: an unused temporary folder is removed",
                 "[runtime]") {
  const auto base = temporary_base{here.path()};
  options.folder.clear();
  const auto uut = open();
  prepare(*uut, plan(1, 0, 2));
  prepare(*uut, plan(2, 0, 2));
  const auto all = tree(here.path());
  SECTION("when nothing was written") {
    CHECK(!uut->holds_files());
    uut->remove_if_unused();
    CHECK(tree(here.path()).empty());
  }
  SECTION("but not when something was written") {
    std::ofstream{uut->folder() + "/attempt_0/1/error.json"};
    CHECK(uut->holds_files());
    uut->remove_if_unused();
    CHECK(tree(here.path()).size() == all.size() + 1);
  }
}

TEST_CASE_METHOD(fixture, "log folders: a folder that was asked for is kept",
                 "[runtime]") {
  const auto uut = open();
  prepare(*uut, plan(1, 0, 1));
  const auto all = tree(here.path());
  uut->remove_if_unused();
  CHECK(tree(here.path()) == all);
}

TEST_CASE("log folders: a job's name is made a valid file name", "[runtime]") {
  const auto name = [](const std::string& x) { return log_job_name({x}); };
  CHECK(name("none") == "none");
  CHECK(name("My-job_1.2+3=4@5,6") == "My-job_1.2+3=4@5,6");
  CHECK(name("../a b\n\xC3\xBC") == "_._a_b___");
  CHECK(name("-rf") == "_rf");
  CHECK(name("") == "");
  CHECK(name(std::string(log_job_name_max, 'x')).size() == log_job_name_max);
  CHECK(name(std::string(log_job_name_max + 1, 'x')).size()
        == log_job_name_max);
}

TEST_CASE_METHOD(fixture,
                 "log folders: one that was replaced gets no generation",
                 "[runtime][folder]") {
  const auto uut = open();
  prepare(*uut, plan(1, 0, 1));
  const auto path = uut->folder();
  fs::rename(path, path + ".moved");
  CHECK(uut->prepare(plan(2, 1, 1))); // There is nothing in its place.
  fs::create_directories(here / "victim/attempt_2/0");
  SECTION("by a link") {
    fs::create_directory_symlink(here / "victim", path);
    const auto outputs = uut->prepare(plan(3, 2, 1));
    REQUIRE(!outputs);
    CHECK(outputs.error().code == errc::log_failed);
    CHECK(outputs.error().text.starts_with(
      "the log folder " + path + " was replaced by a symbolic link: "));
  }
  SECTION("by another folder") {
    fs::create_directory(path);
    CHECK(!uut->prepare(plan(3, 2, 1)));
  }
  CHECK(fs::is_empty(here / "victim/attempt_2/0"));
}

TEST_CASE_METHOD(fixture, "log folders: links below them are not followed",
                 "[runtime][folder]") {
  const auto uut = open();
  const auto out = prepare(*uut, plan(1, 0, 1)).workers[0].out;
  std::ofstream{here / "victim"} << "precious";
  fs::create_symlink(here / "victim", out.path);
  auto null = unique_fd{};
  auto files = output_files{null};
  (void)files.open(out, {});
  CHECK(content_of(here / "victim") == "precious");
  CHECK(files.complaint()
        == "output is lost: cannot open " + out.path + ": " + out.path
             + " is a symbolic link, and links there are not followed: remove "
               "it");
}

TEST_CASE_METHOD(fixture, "log folders: one that others can write to is named",
                 "[runtime][folder]") {
  options.folder = here / "open";
  CHECK(open()->warning().empty());
  ::chmod((here / "open").c_str(), 0777);
  CHECK(open()->warning().starts_with(
    "other users can write to " + here.path()
    + "/open and replace the log folders in it: run chmod +t " + here.path()
    + "/open, or choose another --log-dir; error files are in "));
  ::chmod((here / "open").c_str(), 01777);
  CHECK(open()->warning().empty());
}

TEST_CASE_METHOD(fixture,
                 "log folders: error files are not in one that others can "
                 "write to",
                 "[runtime][folder]") {
  options.folder = here / "open";
  fs::create_directory(here / "open");
  ::chmod((here / "open").c_str(), 0777);
  auto folder = std::string{};
  {
    const auto uut = open();
    const auto workers = prepare(*uut, plan(1, 0, 2)).workers;
    CHECK(workers[0].out.path.starts_with(here / "open/"));
    CHECK(workers[0].error_file != workers[1].error_file);
    folder = fs::path{workers[0].error_file}.parent_path();
    CHECK(fs::status(folder).permissions() == fs::perms::owner_all);
    CHECK(!folder.starts_with(here / "open"));
    CHECK(prepare(*uut, plan(2, 1, 2)).workers[0].error_file
          != workers[0].error_file);
    uut->remove_if_unused();
  }
  CHECK(!fs::exists(folder));
}

} // namespace actorrun::test::torch_log_layout_test
