// Tests the reader of log files on real files.
#include "runtime/logs/file_log_reader.hpp"
#include "runtime/logs/inotify_log_files.hpp"
#include "runtime/logs/log_pattern.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

namespace actorrun::test::file_log_reader_test {

using namespace actorrun::detail;

namespace {

using namespace std::chrono_literals;
using test_deadline::timeout;

/// What has come of a reading.
class catcher {
public:
  ports::log_reader::listener listener() {
    return [this](core::log_chunk x) {
      const auto guard = std::lock_guard{mutex_};
      for (const auto& line : x.lines) {
        text_ += std::to_string(line.rank) + (line.is_err ? "e " : "o ")
                 + line.text + "|";
        cost_ += core::log_line_cost(line.text.size());
        ++count_;
      }
      trouble_ += x.trouble;
      is_over_ = is_over_ || x.is_end;
      changed_.notify_all();
    };
  }

  /// Waits until it is over. @returns its lines
  std::string all() {
    auto guard = std::unique_lock{mutex_};
    REQUIRE(changed_.wait_for(guard, timeout, [this] { return is_over_; }));
    return text_;
  }

  /// Waits for a line.
  bool sees(const std::string& line) {
    auto guard = std::unique_lock{mutex_};
    return changed_.wait_for(guard, timeout,
                             [&] { return text_.find(line) != text_.npos; });
  }

  bool has_count(size_t count) {
    auto guard = std::unique_lock{mutex_};
    return changed_.wait_for(guard, timeout, [&] { return count_ >= count; });
  }

  std::string trouble() {
    const auto guard = std::lock_guard{mutex_};
    return trouble_;
  }

  size_t cost() {
    const auto guard = std::lock_guard{mutex_};
    return cost_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::string trouble_;
  size_t cost_ = 0;
  size_t count_ = 0;
  bool is_over_ = false;
};

struct fixture {
  static constexpr auto much = uint32_t{1'000'000'000};

  fixture() { options.redirects.everywhere = core::std_streams::all; }

  /// Two workers, from rank 4 on, write to files of this generation.
  void begin_generation(uint64_t number) {
    const auto path = here / std::to_string(number);
    for (const auto* rank : {"0", "1"})
      std::filesystem::create_directories(path + "/" + rank);
    auto plan = core::generation_plan{};
    plan.generation = {number};
    plan.own.first_global_rank = 4;
    plan.own.slot_count = 2;
    outputs = core::plan_outputs(options, path, 2);
    uut.follow(plan, outputs);
  }

  void write(uint32_t local_rank, const std::string& text,
             bool is_err = false) {
    const auto& x = outputs.workers[local_rank];
    std::ofstream{(is_err ? x.err : x.out).path, std::ios::app} << text;
  }

  std::string read(const core::log_selection& what) {
    auto got = catcher{};
    REQUIRE(uut.begin(what, much, got.listener()) != 0);
    auto out = got.all();
    trouble = got.trouble();
    return out;
  }

  test_folders::folder here;
  core::log_options options;
  core::generation_outputs outputs;
  std::shared_ptr<rotation_book> book = std::make_shared<rotation_book>();
  file_log_reader uut{book};
  std::string trouble;
};

} // namespace

TEST_CASE_METHOD(fixture, "file_log_reader: reads what is there", "[runtime]") {
  CHECK(read({}) == "");
  CHECK(trouble == "no worker was started here yet");
  begin_generation(1);
  CHECK(read({}) == ""); // No file yet.
  write(0, "a\nb\n");
  write(0, "err\n", true);
  write(1, "c\nno end");
  CHECK(read({}) == "4o a|4o b|4e err|5o c|5o no end|");
  CHECK(trouble == "");
  CHECK(read({.ranks = {5}}) == "5o c|5o no end|");
  CHECK(read({.ranks = {9}}) == "");
  CHECK(read({.outputs = core::std_streams::err}) == "4e err|");
  CHECK(read({.tail = 1}) == "4o b|4e err|5o no end|");
  CHECK(read({.tail = 0}) == "");
  CHECK(read({.grep = "^(a|c)$"}) == "4o a|5o c|");
  CHECK(read({.ranks = {4}, .tail = 1, .grep = "a"}) == "4o a|");
}

TEST_CASE_METHOD(fixture, "file_log_reader: the generation before",
                 "[runtime]") {
  begin_generation(1);
  write(0, "old\n");
  CHECK(read({.previous = true}) == "");
  CHECK(trouble == "no generation before this one is known");
  begin_generation(2);
  write(0, "new\n");
  CHECK(read({.previous = true}) == "4o old|");
  CHECK(trouble
        == "this is generation 1, the one before the newest of this node");
  CHECK(read({}) == "4o new|");
}

TEST_CASE_METHOD(fixture,
                 "file_log_reader: a generation that is named, or none (P4)",
                 "[runtime]") {
  begin_generation(1);
  write(0, "one\n");
  begin_generation(2);
  write(0, "two\n");
  // This node was silent in generation 3, and is back in 4.
  begin_generation(4);
  write(0, "four\n");
  CHECK(read({.previous = true, .generation = {2}}) == "4o two|");
  CHECK(trouble == "");
  CHECK(read({.previous = true, .generation = {3}}) == "");
  CHECK(trouble
        == "no worker of generation 3, the job's previous one, was started "
           "here");
  CHECK(read({.generation = {4}}) == "4o four|");
  CHECK(read({.generation = {5}}) == "");
  CHECK(trouble == "no worker of generation 5 was started here");
  // Who follows goes on with the first one from there.
  auto got = catcher{};
  const auto id
    = uut.begin({.generation = {5}, .follow = true}, much, got.listener());
  begin_generation(6);
  write(0, "six\n");
  CHECK(got.sees("4o six|"));
  uut.end(id);
  auto early = catcher{};
  const auto all
    = uut.begin({.generation = {2}, .follow = true}, much, early.listener());
  CHECK(early.sees("4o two|4o four|4o six|"));
  uut.end(all);
}

TEST_CASE_METHOD(fixture, "file_log_reader: says when there are no files",
                 "[runtime]") {
  options.redirects.everywhere = core::std_streams::none;
  begin_generation(1);
  CHECK(read({.follow = true}) == "");
  CHECK(trouble.find("the output of ranks 4-5 goes to the console")
        != std::string::npos);
  options.redirects.everywhere = core::std_streams::err;
  begin_generation(2);
  write(0, "err\n", true);
  CHECK(read({}) == "4e err|");
  CHECK(trouble.find("a part of the output of ranks 4-5") != std::string::npos);
  CHECK(read({.outputs = core::std_streams::err}) == "4e err|");
  CHECK(trouble == "");
}

TEST_CASE_METHOD(fixture,
                 "file_log_reader: follows files into later generations",
                 "[runtime]") {
  begin_generation(1);
  write(0, "a\n");
  auto got = catcher{};
  const auto id = uut.begin({.follow = true, .tail = 1}, much, got.listener());
  CHECK(got.sees("4o a|"));
  write(0, "b\nhalf a ");
  CHECK(got.sees("4o b|"));
  write(0, "line\n");
  CHECK(got.sees("4o half a line|"));
  write(1, "a new file\nopen");
  CHECK(got.sees("5o a new file|"));
  begin_generation(2);
  CHECK(got.sees("5o open|"));
  write(1, "c\n", true);
  CHECK(got.sees("5e c|"));
  auto is_drained = std::atomic<bool>{false};
  write(1, "the end");
  uut.drain([&] { is_drained = true; });
  CHECK(got.all().ends_with("5o the end|"));
  CHECK(test_deadline::soon([&] { return is_drained.load(); }));
  uut.end(id);
}

TEST_CASE_METHOD(
  fixture, "file_log_reader: a worker that lives through a change goes on",
  "[runtime]") {
  begin_generation(1);
  write(0, "a\n");
  auto got = catcher{};
  const auto id = uut.begin({.follow = true}, much, got.listener());
  CHECK(got.sees("4o a|"));
  const auto before = outputs.workers[0];
  auto plan = core::generation_plan{};
  plan.generation = {2};
  plan.own.first_global_rank = 6;
  plan.own.slot_count = 2;
  outputs = core::plan_outputs(options, here / "2", 2);
  outputs.workers[0] = before;
  uut.follow(plan, outputs);
  write(0, "b\n");
  CHECK(got.sees("o b|"));
  uut.drain([] {});
  const auto all = got.all();
  uut.end(id);
  // It may have been read just before the change was noticed.
  CHECK((all == "4o a|4o b|" || all == "4o a|6o b|"));
}

TEST_CASE_METHOD(fixture, "file_log_reader: sends no more than its credit",
                 "[runtime]") {
  begin_generation(1);
  auto text = std::string{};
  for (int i = 0; i < 10'000; ++i)
    text += std::string(36, 'x') + "\n"; // Each costs 100.
  write(0, text);
  auto got = catcher{};
  const auto id = uut.begin({.follow = true}, 20'000, got.listener());
  CHECK(got.has_count(200));
  write(1, "more\n");
  uut.add_credit(id, 5'000); // Wakes it up: it sends these and no more.
  CHECK(got.has_count(250));
  CHECK(got.cost() == 25'000);
  uut.add_credit(id, 5'000);
  CHECK(got.has_count(300));
  CHECK(got.cost() == 30'000);
  uut.end(id);
}

TEST_CASE_METHOD(fixture,
                 "file_log_reader: who lags behind at the end sees the last "
                 "lines",
                 "[runtime]") {
  begin_generation(1);
  auto got = catcher{};
  const auto id = uut.begin({.follow = true}, 20'000, got.listener());
  write(0, "first\n");
  CHECK(got.sees("4o first|"));
  auto text = std::string{};
  for (int i = 0; i < 100'000; ++i)
    text += std::to_string(i) + "\n";
  write(0, text);
  CHECK(got.has_count(200)); // It is on its way, and then out of credit.
  auto is_drained = std::atomic<bool>{false};
  uut.drain([&] { is_drained = true; });
  CHECK(test_deadline::soon([&] {
    uut.add_credit(id, 20'000);
    return is_drained.load();
  }));
  const auto all = got.all();
  CHECK(all.ends_with("4o 99998|4o 99999|"));
  CHECK(all.find("4o 50000|") == all.npos);
  const auto last = text.size() - 256 * 1024;
  const auto begin = text.find('\n', last) + 1;
  const auto first = text.substr(begin, text.find('\n', begin) - begin);
  CHECK(all.find("|4o " + first + "|") != all.npos);
  CHECK(got.trouble().ends_with(" bytes of rank 4 were passed over: the job "
                                "ended before they could be shown"));
  uut.end(id);
}

TEST_CASE_METHOD(
  fixture, "file_log_reader: a reading that waits for credit ends at once",
  "[runtime]") {
  begin_generation(1);
  write(0, std::string(10'000'000, '\n'));
  for (int i = 0; i < 100; ++i) {
    auto got = catcher{};
    const auto id = uut.begin({}, core::log_line_cost_max, got.listener());
    REQUIRE(id != 0);
    CHECK(got.has_count(1));
    uut.end(id); // The listener is not called any more.
  }
}

TEST_CASE_METHOD(fixture, "file_log_reader: there are not too many readings",
                 "[runtime]") {
  auto got = catcher{};
  for (size_t i = 0; i < ports::log_reader::reading_count_max; ++i)
    REQUIRE(uut.begin({.follow = true}, much, got.listener()) != 0);
  CHECK(uut.begin({.follow = true}, much, got.listener()) == 0);
}

TEST_CASE_METHOD(fixture, "file_log_reader: a link or FIFO is not read",
                 "[runtime]") {
  begin_generation(1);
  const auto path = outputs.workers[0].out.path;
  std::ofstream{here / "secret"} << "secret\n";
  std::filesystem::create_symlink(here / "secret", path);
  CHECK(read({.ranks = {4}}) == "");
  CHECK(trouble.find("symbolic link") != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "file_log_reader: lines that are rotated meanwhile come once",
                 "[runtime]") {
  begin_generation(1);
  auto loop = reactor{};
  auto files = inotify_log_files{loop, book};
  const auto path = outputs.workers[0].out.path;
  const auto id = files.open(path);
  REQUIRE(id);
  auto expected = std::string{};
  auto number = 0;
  const auto write_many = [&] {
    auto text = std::string{};
    for (int i = 0; i < 2'000; ++i) {
      const auto line = std::to_string(++number) + std::string(30, 'x');
      text += line + "\n";
      expected += "4o " + line + "|";
    }
    write(0, text);
  };
  write_many();
  auto got = catcher{};
  const auto reading = uut.begin({.follow = true}, much, got.listener());
  for (int i = 0; i < 10; ++i) {
    write_many();
    CHECK(got.has_count(size_t(number)));
    const auto done = files.rotate(*id, 40'000, 20);
    if (!done)
      return; // The file system cannot.
  }
  CHECK(got.trouble() == "");
  CHECK(read({.ranks = {4}}) == expected);
  uut.end(reading);
  files.close(*id);
}

TEST_CASE_METHOD(
  fixture,
  "file_log_reader: who lags behind gets what was rotated away, as "
  "long as it is there",
  "[runtime]") {
  begin_generation(1);
  auto loop = reactor{};
  auto files = inotify_log_files{loop, book};
  const auto id = files.open(outputs.workers[0].out.path);
  REQUIRE(id);
  auto text = std::string{};
  for (int i = 0; i < 10'000; ++i)
    text += std::to_string(10'000 + i) + std::string(30, 'x') + "\n";
  write(0, text);
  auto got = catcher{};
  const auto reading = uut.begin({.follow = true}, 20'000, got.listener());
  CHECK(got.has_count(200));
  for (int i = 0; i < 4; ++i) {
    write(0, text);
    if (!files.rotate(*id, 200'000, 4))
      return; // The file system cannot.
  }
  for (size_t count = 200; count < 50'000; count += 190) {
    CHECK(got.has_count(count));
    uut.add_credit(reading, 20'000); // It takes all that is under way.
  }
  CHECK(got.has_count(50'000));
  CHECK(got.trouble() == "");
  uut.end(reading);
  files.close(*id);
}

TEST_CASE_METHOD(
  fixture,
  "file_log_reader: an output that has not changed since is left "
  "out",
  "[runtime]") {
  begin_generation(1);
  write(0, "old\n");
  write(1, "new\n");
  const auto long_ago = std::filesystem::file_time_type::clock::now() - 1h;
  std::filesystem::last_write_time(outputs.workers[0].out.path, long_ago);
  const auto since = std::chrono::floor<std::chrono::milliseconds>(
    std::chrono::system_clock::now() - 1min);
  CHECK(read({.since_ms = since.time_since_epoch().count()}) == "5o new|");
  CHECK(trouble == "");
  const auto now = since + 1min + 10ms; // After the generation began.
  // The clock of files lags by a tick of the kernel.
  CHECK(test_deadline::soon(
    [&] { return std::chrono::system_clock::now() > now + 20ms; }));
  write(1, "newer\n");
  CHECK(read({.since_ms = now.time_since_epoch().count()})
        == "5o new|5o newer|");
  CHECK(trouble.find("do not say when") != std::string::npos);
}

TEST_CASE("log_pattern: as grep -E", "[runtime]") {
  auto uut = log_pattern::parse("(los|step) [0-9]+$");
  REQUIRE(uut);
  CHECK(uut->matches("at step 12"));
  CHECK_FALSE(uut->matches("at step 12 "));
  CHECK_FALSE(uut->matches(""));
  CHECK(uut->matches(std::string("\0step 1", 7)));
  const auto bad = log_pattern::parse("(");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == errc::bad_argument);
}

} // namespace actorrun::test::file_log_reader_test
