#include "tests/actors/log_tailer_fixture.hpp"

namespace actorrun::test::log_tailer_files_test {

namespace {

constexpr auto mib = size_t{1024 * 1024};

struct rotating_fixture : log_tailer_fixture {
  rotating_fixture() {
    options.rotate_size = 64 * 1024;
    options.rotate_keep = 100;
  }

  /// The text that is left in a file and its predecessors.
  std::string whole(const std::string& path) const {
    auto result = std::string{};
    for (auto i = 100; i > 0; --i)
      if (const auto x = files->text(path + "." + std::to_string(i));
          x != "(none)")
        result += x;
    return result + files->text(path);
  }
};

using log_tailer_files_fixture = log_tailer_fixture;

} // namespace

// -- rotation -----------------------------------------------------------------

TEST_CASE("log_tailer: rotation loses nothing, on disk and on the console",
          "[actors]") {
  for (const auto makes_holes : {false, true}) {
    CAPTURE(makes_holes);
    auto x = rotating_fixture{};
    x.files->makes_holes = makes_holes;
    x.follow(1);
    auto text = std::string{};
    auto shown = std::string{};
    for (size_t i = 0; i < 60; ++i) {
      const auto more
        = many_lines("x" + std::to_string(i), 97) + (i % 2 == 0 ? "cut" : "\n");
      text += more;
      x.write(0, more);
      shown += x.out();
    }
    const auto path = x.path(1, 0, "out");
    CHECK(x.files->rotate_count > 5);
    CHECK(x.files->text(path).size() < 128 * 1024);
    CHECK((x.whole(path) == text));
    CHECK((shown == labelled("[w0]:", text)));
    // Each file begins with a line.
    for (size_t i = 1; i <= x.files->rotate_count; ++i)
      CHECK(x.files->text(path + "." + std::to_string(i)).ends_with("\n"));
    CHECK(*x.drain(1, 0));
  }
}

TEST_CASE_METHOD(rotating_fixture,
                 "log_tailer: what is not shown stays in its "
                 "file",
                 "[actors]") {
  follow(1);
  console->take_only(to_out, 0);
  write(0, many_lines("x", 10'000));
  advance(60s);
  CHECK(files->rotate_count <= 4); // Only the pending batch was rotated.
  CHECK(files->text(path(1, 0, "out")).size() > mib / 2);
  console->resume(to_out);
  advance(1s);
  CHECK((out() == labelled("[w0]:", many_lines("x", 10'000))));
  CHECK(files->text(path(1, 0, "out")).size() < 64 * 1024);
}

TEST_CASE_METHOD(rotating_fixture,
                 "log_tailer: a file that is not shown is "
                 "rotated, too",
                 "[actors]") {
  is_shown = false;
  follow(1);
  auto text = std::string{};
  for (auto i = 0; i < 3'000; ++i) { // For 60 s.
    const auto more = many_lines("x", 10) + "torn";
    text += more;
    write(0, more);
  }
  CHECK(out().empty());
  CHECK((whole(path(1, 0, "out")) == text));
  CHECK(files->rotate_count >= 25);
  CHECK(files->text(path(1, 0, "out") + ".1").ends_with("\n"));
  // It was polled seldom, and noticed at most once.
  CHECK(files->read_count <= 61);
  CHECK(files->notice_count <= 2);
  CHECK(*drain(1, 0));
  close(1);
  CHECK(files->open_count() == 0);
}

TEST_CASE_METHOD(log_tailer_files_fixture,
                 "log_tailer: a file that is not shown is polled seldom",
                 "[actors]") {
  is_shown = false;
  follow(1);
  advance(99ms);
  CHECK(files->open_count() == 0); // Workers may end as soon as they start.
  CHECK(*drain(1, 0));
  CHECK(*flush());
  advance(1s);
  CHECK(files->open_count() == 4);
  const auto arms = files->arm_count;
  advance(1h);
  CHECK(files->arm_count == arms);
  write(0, "x\n");
  CHECK(out().empty());
  CHECK(files->rotate_count == 0);
  close(1);
  CHECK(files->open_count() == 0);
}

TEST_CASE_METHOD(log_tailer_files_fixture,
                 "log_tailer: a short generation that is not shown costs "
                 "nothing",
                 "[actors]") {
  is_shown = false;
  follow(1);
  close(1);
  advance(1h);
  CHECK(files->open_count() == 0);
  CHECK(files->arm_count == 0);
}

TEST_CASE_METHOD(
  log_tailer_files_fixture,
  "log_tailer: the number of files followed for the disk is limited",
  "[actors]") {
  is_shown = false;
  follow(1, space_watch_max / 2 + 1);
  advance(1s);
  CHECK(files->open_count() == space_watch_max);
  close(1);
  CHECK(files->open_count() == 0);
  follow(2, space_watch_max / 2);
  advance(1s);
  CHECK(files->open_count() == space_watch_max);
}

TEST_CASE_METHOD(rotating_fixture,
                 "log_tailer: all files are followed that are "
                 "rotated",
                 "[actors]") {
  is_shown = false;
  follow(1, space_watch_max);
  advance(1s);
  CHECK(files->open_count() == 2 * space_watch_max);
}

TEST_CASE_METHOD(log_tailer_files_fixture,
                 "log_tailer: a file that is not shown and cannot be opened is "
                 "left alone",
                 "[actors]") {
  is_shown = false;
  files->unusable = {path(1, 0, "out")};
  follow(1);
  advance(1s);
  CHECK(files->open_count() == 3);
  CHECK(said().empty());
  close(1);
  CHECK(files->open_count() == 0);
}

TEST_CASE_METHOD(rotating_fixture,
                 "log_tailer: a file that cannot be rotated "
                 "is named once and grows on",
                 "[actors]") {
  files->unrotatable = {path(1, 0, "out")};
  follow(1);
  for (auto i = 0; i < 100; ++i)
    write(0, many_lines("x", 1'000));
  CHECK(said()
        == "warning log tailer cannot rotate /1/0/out: no space left; the "
           "file grows on\n");
  CHECK(files->rotate_count == 1);
  CHECK((out().size() == 100'000 * 105));
  advance(60s);
  write(0, "x\n");
  CHECK(files->rotate_count == 2);
  files->unrotatable.clear();
  advance(60s);
  write(0, "x\n");
  CHECK(said().empty());
  CHECK(files->text(path(1, 0, "out")).empty());
}

TEST_CASE_METHOD(rotating_fixture,
                 "log_tailer: files are rotated though the "
                 "console is closed",
                 "[actors]") {
  follow(1);
  console->close(to_out);
  for (auto i = 0; i < 500; ++i)
    write(0, many_lines("x", 10));
  CHECK(files->rotate_count >= 3);
}

// -- full disks ---------------------------------------------------------------

TEST_CASE_METHOD(
  log_tailer_files_fixture,
  "log_tailer: a full disk costs shown lines of the largest file", "[actors]") {
  follow(1);
  write(0, many_lines("x", 10'000));
  write(1, many_lines("y", 20'000));
  files->short_of_space = mib;
  advance(1s);
  CHECK(files->discarded.empty()); // Without output the disk is not checked.
  write(0, "x\n");
  REQUIRE(files->discarded.size() == 1);
  const auto& lost = files->discarded[path(1, 1, "out")];
  CHECK(lost.size() == 2'000'000 - core::discard_keeps);
  CHECK(files->short_of_space == 0);
  CHECK(said()
        == "warning disk of /1/1 is almost full: " + std::to_string(lost.size())
             + " bytes of logs were given up so far\n");
  // Everything is shown all the same.
  const auto all = out();
  CHECK(all.size() == 30'000 * 105 + 7);
  // The second time nothing is reported, except at the end.
  files->short_of_space = 1;
  advance(1s);
  write(0, "x\n");
  CHECK(said().empty());
  CHECK(files->discarded.size() == 2);
  close(1);
  CHECK(*flush());
  const auto total = lost.size() + files->discarded[path(1, 0, "out")].size();
  CHECK(said()
        == "warning disk of /1/0 was almost full: " + std::to_string(total)
             + " bytes of logs were given up\n");
  CHECK(*flush());
  CHECK(said().empty());
}

TEST_CASE_METHOD(log_tailer_files_fixture,
                 "log_tailer: free space is checked at intervals", "[actors]") {
  follow(1);
  for (auto i = 0; i < 5'000; ++i) {
    files->write(path(1, 0, "out"), "x\n");
    advance(2ms);
  }
  CHECK(files->space_question_count <= 101);
  CHECK(files->space_question_count >= 80);
}

TEST_CASE_METHOD(log_tailer_files_fixture,
                 "log_tailer: a full disk and a full console cost the "
                 "older half",
                 "[actors]") {
  follow(1);
  console->take_only(to_out, 0);
  write(0, many_lines("x", 40'000));
  files->short_of_space = mib;
  advance(2s);
  const auto lost = files->discarded[path(1, 0, "out")];
  CHECK(lost.size() >= mib);
  CHECK(lost.ends_with("\n"));
  CHECK(said()
        == "warning disk of /1/0 is almost full: " + std::to_string(lost.size())
             + " bytes of logs were given up so far\n");
  console->resume(to_out);
  advance(1s);
  const auto rest = labelled("[w0]:", many_lines("x", 40'000))
                      .substr(lost.size() / 100 * 105);
  CHECK((out().ends_with(rest)));
}

TEST_CASE_METHOD(log_tailer_files_fixture,
                 "log_tailer: a full disk costs lines that are only redirected",
                 "[actors]") {
  is_shown = false;
  follow(1);
  for (auto i = 0; i < 20; ++i)
    write(0, many_lines("x", 2'000)); // 10 MB/s
  files->short_of_space = mib;
  advance(80ms);
  write(0, "x\n");
  advance(100ms);
  CHECK(files->short_of_space == 0);
  CHECK(files->text(path(1, 0, "out")).size() < 1 * mib);
  CHECK(said().starts_with("warning disk of /1/0 is almost full: "));
}

TEST_CASE_METHOD(log_tailer_files_fixture,
                 "log_tailer: small needs discard nothing", "[actors]") {
  follow(1);
  files->short_of_space = mib;
  for (auto i = 0; i < 20; ++i)
    write(0, many_lines("x", 50));
  CHECK(files->discarded.empty());
  CHECK(said().empty());
}

} // namespace actorrun::test::log_tailer_files_test
