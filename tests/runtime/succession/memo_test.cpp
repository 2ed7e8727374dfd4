// Tests memos: what a host remembers of a job whose agent was lost there.
#include "runtime/os/run_folder.hpp"
#include "runtime/succession/memo.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/run_dir.hpp"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace actorrun::test::memo_test {

using namespace actorrun::detail;
using actorrun::detail::test_deadline::soon;

namespace {

namespace fs = std::filesystem;

const auto job = job_id{"job 1"};

memo a_memo() {
  return {.job = job,
          .host = "node-a",
          .boot = "0b",
          .agent = {"node-a-1-abcd"},
          .address = "10.0.0.1",
          .voters = {{{"node-a-1-abcd"}, "10.0.0.1:41000"},
                     {{"node-b-2-abcd"}, "[fd00::2]:41001"}}};
}

std::string lines(const std::vector<std::string>& xs) {
  auto out = std::string{};
  for (const auto& x : xs)
    out += x + "\n";
  return out;
}

struct fixture {
  detail::test::run_dir dir;
  std::mutex mutex;
  std::vector<std::string> warnings; ///< Guarded by the mutex.

  std::unique_ptr<memo_keeper> open() {
    auto own = a_memo();
    own.address.clear();
    own.voters.clear();
    return std::make_unique<memo_keeper>(
      own, actorrun::log{[this](log_level, std::string_view line) {
        const auto guard = std::lock_guard{mutex};
        warnings.emplace_back(line);
      }});
  }

  std::vector<found_memo> found() const { return find_memos(job).memos; }

  bool is_found(const memo& x) const {
    return soon([&] {
      const auto all = found();
      return all.size() == 1 && all[0].what == x;
    });
  }

  std::string put(const std::string& name, const std::string& text) const {
    const auto folder = run_folder::open();
    REQUIRE(folder);
    auto path = folder->path() + "/" + name;
    std::ofstream{path} << text;
    return path;
  }

  std::string put_former() const {
    return put(job_label(job) + ".7-0badcafe.memo", to_text(a_memo()));
  }
};

} // namespace

TEST_CASE("memo: it is read as it was written", "[runtime]") {
  const auto text = to_text(a_memo());
  CHECK(read_memo(text, job) == a_memo());
  auto bare = a_memo();
  bare.voters.clear();
  bare.address.clear();
  CHECK(read_memo(to_text(bare), job) == bare);
  CHECK_FALSE(read_memo(text, job_id{"job 2"}));
}

TEST_CASE("memo: a part of one is none", "[runtime]") {
  const auto text = to_text(a_memo());
  for (size_t size = 0; size + 1 < text.size(); ++size)
    CHECK_FALSE(read_memo(text.substr(0, size), job));
  CHECK_FALSE(read_memo(text + "more", job));
}

TEST_CASE("memo: what has another form is none", "[runtime]") {
  const auto whole = lines({"actorrun memo 1", "job\tjob 1", "agent\tn1\t",
                            "voter\tn1\t10.0.0.1:1", "end"});
  CHECK(read_memo(whole, job));
  const auto with = [](const std::string& line) {
    return lines({"actorrun memo 1", "job\tjob 1", "agent\tn1\t", line, "end"});
  };
  for (const auto& line :
       {std::string{"voter\t\t10.0.0.1:1"}, std::string{"voter\tn\x1b\tx"},
        std::string{"voter\tn1\tx\ty"}, "voter\tn1\t" + std::string(81, '1'),
        "voter\t" + std::string(321, 'n') + "\tx", std::string{"agent\t\tx"},
        std::string{"host\tx\ty"}, std::string{"worker\tn1"}, std::string{}})
    CHECK_FALSE(read_memo(with(line), job));
  CHECK_FALSE(read_memo(with("voter\tn1\tx\nvoter\tn1\ty"), job));
  CHECK_FALSE(read_memo(
    lines({"actorrun memo 2", "job\tjob 1", "agent\tn1\t", "end"}), job));
  CHECK_FALSE(read_memo(lines({"actorrun memo 1", "job\tjob 1", "end"}), job));
  auto many = std::string{};
  for (auto i = 0; i < 65; ++i)
    many += "voter\tn" + std::to_string(i) + "\tx\n";
  many.pop_back();
  CHECK_FALSE(read_memo(with(many), job));
  CHECK_FALSE(read_memo(whole + std::string(memo_size_max, 'x'), job));
}

TEST_CASE_METHOD(fixture, "memo: it stays when its process ends out of order",
                 "[runtime]") {
  auto uut = open();
  CHECK(found().empty());
  uut->keep("10.0.0.1", a_memo().voters);
  CHECK(is_found(a_memo()));
  struct stat info {};
  REQUIRE(::stat(found()[0].path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0600U);
  auto next = a_memo();
  next.voters = {{{"node-c-3-abcd"}, "10.0.0.3:1"}};
  uut->keep("10.0.0.1", next.voters);
  CHECK(is_found(next));
  uut.reset();
  CHECK(found().size() == 1);
}

TEST_CASE_METHOD(fixture, "memo: whoever leaves in order takes it along",
                 "[runtime]") {
  auto uut = open();
  uut->keep("10.0.0.1", a_memo().voters);
  uut->forget();
  uut.reset();
  CHECK(found().empty());
}

TEST_CASE_METHOD(fixture, "memo: those before go once the new one is there",
                 "[runtime]") {
  const auto former = put_former();
  auto uut = open();
  REQUIRE(found().size() == 1);
  uut->settle({former});
  CHECK(found().size() == 1);
  auto next = a_memo();
  next.address = "10.0.0.9";
  uut->keep(next.address, next.voters);
  CHECK(is_found(next));
  CHECK_FALSE(fs::exists(former));
}

TEST_CASE_METHOD(fixture, "memo: what cannot be read is named", "[runtime]") {
  const auto label = job_label(job);
  const auto broken = put(label + ".8-0badcafe.memo", "actorrun memo 1\n");
  const auto other = put("other-00000000.8-0badcafe.memo", "x");
  fs::create_symlink("/etc/hostname", broken + "x.memo");
  const auto out = find_memos(job);
  CHECK(out.memos.empty());
  CHECK(out.unreadable.size() == 2);
}

TEST_CASE_METHOD(fixture, "memo: of those that no one misses the oldest go",
                 "[runtime]") {
  const auto oldest = put("a-00000000.1-0badcafe.memo", "x");
  fs::last_write_time(oldest,
                      fs::file_time_type::clock::now() - std::chrono::hours{1});
  for (size_t i = 1; i < memos_kept_max; ++i)
    put("b-00000000." + std::to_string(i + 1) + "-0badcafe.memo", "x");
  auto uut = open();
  uut->keep("10.0.0.1", a_memo().voters);
  CHECK(soon([&] { return !fs::exists(oldest); }));
  CHECK(is_found(a_memo()));
  CHECK(
    fs::exists(fs::path{oldest}.parent_path() / "b-00000000.2-0badcafe.memo"));
}

TEST_CASE_METHOD(fixture, "memo: where none can be kept that is told once",
                 "[runtime]") {
  const auto path = dir.place / "run";
  std::ofstream{path} << "no folder";
  const auto warning_count = [this] {
    const auto guard = std::lock_guard{mutex};
    return warnings.size();
  };
  auto uut = open();
  uut->keep("10.0.0.3", a_memo().voters);
  REQUIRE(soon([&] { return warning_count() == 1; }));
  CHECK(warnings[0].find("keeps no memo of the job") != std::string::npos);
  uut->keep("10.0.0.2", a_memo().voters);
  fs::remove(path);
  uut->keep("10.0.0.1", a_memo().voters);
  CHECK(is_found(a_memo()));
  CHECK(warning_count() == 1);
}

TEST_CASE("memo: the kernel says which start of it runs", "[runtime]") {
  CHECK(boot_id().size() == 36);
  CHECK(boot_id() == boot_id());
}

} // namespace actorrun::test::memo_test
