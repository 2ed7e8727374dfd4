#include "tests/actors/log_tailer_fixture.hpp"

namespace actorrun::test::log_tailer_filter_test {

using log_tailer_filter_fixture = log_tailer_fixture;

// -- lines that match a filter ------------------------------------------------

TEST_CASE_METHOD(log_tailer_filter_fixture,
                 "log_tailer: lines that match a filter are also filed",
                 "[actors]") {
  options.stdout_filters = {"loss=", "acc="};
  options.stderr_filters = {"Error"};
  follow(1);
  write(0, "loss=1\nnothing\n");
  write(1, "the acc=2 loss=3\nloss =\n");
  write(1, "Error: x\nloss=\n", "err");
  CHECK(files->text("/1/filtered_out")
        == "[w0]:loss=1\n[w1]:the acc=2 loss=3\n");
  CHECK(files->text("/1/filtered_err") == "[w1]:Error: x\n");
  CHECK(out()
        == "[w0]:loss=1\n[w0]:nothing\n[w1]:the acc=2 loss=3\n[w1]:loss =\n");
  write(0, "loss=torn");
  CHECK(*drain(1, 0));
  CHECK(files->text("/1/filtered_out").ends_with("[w0]:loss=torn\n"));
}

TEST_CASE_METHOD(log_tailer_filter_fixture,
                 "log_tailer: filed lines are written in one batch",
                 "[actors]") {
  options.stdout_filters = {"x"};
  follow(1);
  write(0, many_lines("x", 1'000));
  CHECK(files->append_count == 1);
  CHECK((files->text("/1/filtered_out")
         == labelled("[w0]:", many_lines("x", 1'000))));
}

TEST_CASE_METHOD(log_tailer_filter_fixture,
                 "log_tailer: a closed console does not stop the "
                 "filing",
                 "[actors]") {
  options.stdout_filters = {"x"};
  follow(1);
  console->close(to_out);
  write(0, "x\ny\n");
  CHECK(files->text("/1/filtered_out") == "[w0]:x\n");
}

TEST_CASE_METHOD(log_tailer_filter_fixture,
                 "log_tailer: what cannot be filed is counted", "[actors]") {
  options.stdout_filters = {"x"};
  files->unusable = {"/1/filtered_out"};
  follow(1);
  write(0, "x\n");
  write(0, "xx\n");
  CHECK(out() == "[w0]:x\n[w0]:xx\n");
  CHECK(said()
        == "warning log tailer cannot write to /1/filtered_out: its lines are "
           "lost from here on\n");
  CHECK(*flush());
  CHECK(said()
        == "warning log tailer could not write 15 bytes of filtered lines, the "
           "last ones to /1/filtered_out\n");
}

// -- folding ------------------------------------------------------------------

namespace {

struct folding_fixture : log_tailer_fixture {
  folding_fixture() { options.folds_identical = true; }

  void write_all(std::string_view text, const char* name = "out") {
    for (uint32_t rank = 0; rank < 4; ++rank)
      files->write(path(1, rank, name), text);
    run();
  }
};

} // namespace

TEST_CASE_METHOD(folding_fixture, "log_tailer: equal lines are shown as one",
                 "[actors]") {
  follow(1, 4);
  write_all("hello\n");
  CHECK(out() == "[×4 10-13] hello\n"); // At once: all workers have written it.
  files->write(path(1, 0, "out"), "a\n");
  files->write(path(1, 2, "out"), "a\n");
  files->write(path(1, 3, "out"), "b\n");
  advance(99ms);
  CHECK(out().empty());
  advance(5ms); // With the poll.
  CHECK(out() == "[×2 10,12] a\n[w3]:b\n");
  advance(1s);
  const auto reads = files->read_count;
  advance(1h);
  CHECK(files->read_count == reads); // It costs nothing to be idle.
}

TEST_CASE_METHOD(folding_fixture, "log_tailer: both streams fold separately",
                 "[actors]") {
  follow(1, 4);
  files->write(path(1, 0, "out"), "x\n");
  files->write(path(1, 1, "err"), "x\n");
  advance(100ms);
  CHECK(out() == "[w0]:x\n");
  CHECK(err() == "[w1]:x\n");
}

TEST_CASE_METHOD(folding_fixture,
                 "log_tailer: a worker's end waits briefly for "
                 "others",
                 "[actors]") {
  follow(1, 4);
  files->write(path(1, 0, "out"), "bye");
  const auto first = drain(1, 0);
  CHECK_FALSE(*first);
  files->write(path(1, 1, "out"), "bye");
  const auto second = drain(1, 1);
  advance(9ms);
  CHECK_FALSE(*first);
  advance(1ms);
  CHECK(*first);
  CHECK(*second);
  CHECK(out() == "[×2 10-11] bye\n");
}

TEST_CASE_METHOD(folding_fixture,
                 "log_tailer: a generation that is over is shown "
                 "before the next",
                 "[actors]") {
  follow(1, 4);
  files->write(path(1, 0, "out"), "x\n");
  close(1);
  follow(2, 4);
  files->write(path(2, 0, "out"), "x\n");
  const auto flushed = flush();
  advance(50ms);
  CHECK(out() == "[w0]:x\n[w0]:x\n");
  CHECK(*flushed);
  CHECK(files->open_count() == 8);
}

TEST_CASE_METHOD(folding_fixture,
                 "log_tailer: folding waits for a full console", "[actors]") {
  follow(1, 4);
  console->take_only(to_out, 0);
  for (auto i = 0; i < 100; ++i)
    write_all(many_lines("x" + std::to_string(i), 100));
  advance(60s);
  CHECK(files->read_bytes < size_t{2 * 1024 * 1024});
  console->resume(to_out);
  advance(1s);
  auto expected = std::string{};
  for (auto i = 0; i < 100; ++i)
    expected
      += labelled("[×4 10-13] ", many_lines("x" + std::to_string(i), 100));
  CHECK((out() == expected));
}

} // namespace actorrun::test::log_tailer_filter_test
