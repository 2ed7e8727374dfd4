#include "tests/actors/log_tailer_fixture.hpp"

namespace actorrun::test::log_tailer_end_test {

using log_tailer_end_fixture = log_tailer_fixture;

// -- the end of a worker ------------------------------------------------------

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a worker's last lines are shown", "[actors]") {
  follow(1);
  files->write(path(1, 0, "out"), "a\nlast out");
  files->write(path(1, 0, "err"), "last err");
  const auto drained = drain(1, 0);
  CHECK(*drained);
  CHECK(out() == "[w0]:a\n[w0]:last out\n");
  CHECK(err() == "[w0]:last err\n");
  // The next writer of the file may go on; its text is a line of its own.
  write(0, " words\n");
  CHECK(out() == "[w0]: words\n");
  close(1);
  CHECK(out().empty());
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: an end concerns only the worker that ended",
                 "[actors]") {
  follow(1);
  write(0, "half");
  write(1, "other half");
  CHECK(*drain(1, 1));
  CHECK(out() == "[w1]:other half\n");
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a worker that is not followed is drained at once",
                 "[actors]") {
  follow(1);
  CHECK(*drain(1, 2));
  CHECK(*drain(2, 0));
  CHECK(*drain(1, 0));
}

TEST_CASE_METHOD(
  log_tailer_end_fixture,
  "log_tailer: a worker is drained when all its lines are written",
  "[actors]") {
  follow(1);
  const auto text = many_lines("x", 50'000);
  files->write(path(1, 0, "out"), text + "end");
  auto drained = std::make_shared<bool>(false);
  keep(system.spawn([&, drained](caf::event_based_actor* self) {
    ask(self, uut, 3'600s, drain_worker{{1}, 0})
      .then([&, drained](const worker_drained& x) {
        *drained = true;
        CHECK(x.generation == generation_id{1});
        CHECK(x.local_rank == 0);
        CHECK((out() == labelled("[w0]:", text + "end")));
      });
    return caf::behavior{};
  }));
  run();
  CHECK(*drained);
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a worker's end goes before a flood of output",
                 "[actors]") {
  follow(1, 8);
  for (uint32_t rank = 0; rank < 7; ++rank)
    files->write(path(1, rank, "out"), many_lines("x", 100'000));
  files->write(path(1, 7, "out"), "last");
  auto seen = std::string{};
  keep(system.spawn([&](caf::event_based_actor* self) {
    ask(self, uut, 3'600s, drain_worker{{1}, 7})
      .then([&](const worker_drained&) { seen = out(); });
    return caf::behavior{};
  }));
  run_in_turns([] {});
  CHECK(seen.find("[w7]:last\n") != std::string::npos);
  CHECK(seen.size() < 10 * tail_slice); // Others were far from done.
  CHECK(seen.size() + out().size() == 7 * 100'000 * 105 + 10);
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a full console does not delay a worker's end",
                 "[actors]") {
  follow(1);
  console->take_only(to_out, 1);
  const auto text = many_lines("x", 20'000);
  files->write(path(1, 0, "out"), text + "last");
  run();
  CHECK(*drain(1, 0));
  console->resume(to_out);
  advance(1s);
  CHECK((out() == labelled("[w0]:", text + "last")));
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a console that fills up answers pending drains",
                 "[actors]") {
  follow(1);
  console->take_only(to_out, 8);
  files->write(path(1, 0, "out"), many_lines("x", 50'000) + "last");
  CHECK(*drain(1, 0));
  CHECK(out().find("last") == std::string::npos);
}

// -- the end of a generation ------------------------------------------------------

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a closed generation is shown to its end",
                 "[actors]") {
  follow(1);
  write(0, "half");
  files->write(path(1, 1, "err"), "x\ny");
  close(1);
  CHECK(out() == "[w0]:half\n");
  CHECK(err() == "[w1]:x\n[w1]:y\n");
  CHECK(files->open_count() == 0);
  close(1);
  files->write(path(1, 0, "out"), "too late\n");
  advance(1h);
  CHECK(out().empty());
  CHECK(*drain(1, 0));
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a new generation comes after one that is over",
                 "[actors]") {
  follow(1);
  console->take_only(to_out, 0);
  const auto text = many_lines("old", 20'000);
  write(0, text);
  close(1);
  follow(2);
  files->write(path(2, 0, "out"), "new\n");
  files->write(path(2, 0, "err"), "new\n");
  advance(1s);
  CHECK(err() == "[w0]:new\n"); // Nothing old is left there.
  CHECK(*drain(2, 0));
  console->resume(to_out, 5);
  advance(1s);
  console->resume(to_out);
  advance(1s);
  CHECK((out() == labelled("[w0]:", text) + "[w0]:new\n"));
  CHECK(files->open_count() == 4);
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: three generations wait for each other",
                 "[actors]") {
  console->take_only(to_out, 0);
  auto text = std::string{};
  for (uint64_t generation = 1; generation <= 3; ++generation) {
    follow(generation, 1);
    files->write(path(generation, 0, "out"),
                 "of " + std::to_string(generation));
    text += "[w0]:of " + std::to_string(generation) + "\n";
    if (generation == 2)
      CHECK(*drain(2, 0));
    close(generation);
  }
  const auto flushed = flush();
  CHECK_FALSE(*flushed);
  console->resume(to_out);
  advance(1s);
  CHECK(out() == text);
  CHECK(*flushed);
  CHECK(files->open_count() == 0);
}

TEST_CASE_METHOD(
  log_tailer_end_fixture,
  "log_tailer: a generation that goes on does not delay the next", "[actors]") {
  follow(1);
  follow(2);
  files->write(path(2, 0, "out"), "new\n");
  files->write(path(1, 0, "out"), "old\n");
  run();
  CHECK(out() == "[w0]:new\n[w0]:old\n");
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a generation is followed once", "[actors]") {
  follow(1);
  follow(1);
  CHECK(files->open_count() == 4);
  write(0, "x\n");
  CHECK(out() == "[w0]:x\n");
}

// -- flushing -----------------------------------------------------------------

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a flush of nothing is answered at once",
                 "[actors]") {
  uut = keep(spawn_log_tailer(system, config()));
  CHECK(*flush());
  follow(1);
  CHECK(*flush());
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a flush waits for a slow console", "[actors]") {
  follow(1);
  console->take_only(to_out, 1);
  const auto text = many_lines("x", 20'000);
  write(0, text);
  close(1);
  const auto first = flush();
  const auto second = flush();
  advance(1h);
  CHECK_FALSE(*first);
  console->resume(to_out, 3);
  advance(1s);
  CHECK_FALSE(*first);
  console->resume(to_out);
  advance(1s);
  CHECK(*first);
  CHECK(*second);
  CHECK((out() == labelled("[w0]:", text)));
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a flush takes living workers as they are",
                 "[actors]") {
  follow(1);
  files->write(path(1, 0, "out"), many_lines("x", 50'000) + "half");
  const auto flushed = flush();
  CHECK(*flushed);
  CHECK((out() == labelled("[w0]:", many_lines("x", 50'000))));
  write(0, " line\n");
  CHECK(out() == "[w0]:half line\n");
}

// -- what goes wrong ----------------------------------------------------------

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a file that cannot be opened is named",
                 "[actors]") {
  files->unusable = {path(1, 0, "out")};
  follow(1);
  CHECK(said() == "warning log tailer cannot follow /1/0/out: it is cursed\n");
  write(1, "x\n");
  CHECK(out() == "[w1]:x\n");
  CHECK(*drain(1, 0));
  close(1);
  CHECK(*flush());
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: many unusable files are one warning",
                 "[actors]") {
  files->unusable = {path(1, 0, "err"), path(1, 1, "out"), path(1, 1, "err")};
  follow(1);
  CHECK(said()
        == "warning log tailer cannot follow /1/0/err: it is cursed; nor 2 "
           "other files\n");
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a file that cannot be read is given up",
                 "[actors]") {
  follow(1);
  files->unreadable = {path(1, 0, "out")};
  write(0, "lost");
  CHECK(*drain(1, 0));
  close(1);
  CHECK(*flush());
  CHECK(files->open_count() == 0);
}

TEST_CASE_METHOD(log_tailer_end_fixture,
                 "log_tailer: a file that was emptied is followed further",
                 "[actors]") {
  follow(1);
  write(0, "one\ntwo\nhal");
  out();
  advance(1s);
  files->empty(path(1, 0, "out"));
  write(0, "x\n");
  advance(1s);
  write(0, "y\n");
  CHECK(out() == "[w0]:x\n[w0]:y\n");
  write(0, "z");
  CHECK(*drain(1, 0));
  CHECK(out() == "[w0]:z\n");
}

// -- its own end --------------------------------------------------------------

TEST_CASE_METHOD(
  log_tailer_end_fixture,
  "log_tailer: its end answers all pending requests and frees its "
  "files",
  "[actors]") {
  follow(1);
  console->take_only(to_out, 0);
  write(0, "x\n");
  const auto flushed = flush();
  CHECK_FALSE(*flushed);
  end(uut);
  CHECK(*flushed);
  CHECK(files->open_count() == 0);
  CHECK(files.use_count() == 1);
  CHECK(console.use_count() == 1);
  console->resume(to_out);
  files->write(path(1, 1, "out"), "late\n");
  run();
}

TEST_CASE("log_tailer: it ends when the last handle is gone", "[actors]") {
  auto x = log_tailer_fixture{};
  x.uut = spawn_log_tailer(x.system, x.config());
  x.follow(1);
  x.console->take_only(to_out, 0);
  x.write(0, "x\n"); // Console and files hold callbacks.
  x.console->resume(to_out);
  x.advance(2s);
  x.uut = nullptr;
  x.advance(2s);
  CHECK(x.files->open_count() == 0);
  CHECK(x.files.use_count() == 1);
}

} // namespace actorrun::test::log_tailer_end_test
