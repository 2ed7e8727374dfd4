#include "tests/actors/log_tailer_fixture.hpp"

namespace actorrun::test::log_tailer_test {

using log_tailer_fixture = log_tailer_fixture;

// -- lines --------------------------------------------------------------------

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: each line is shown once, with its prefix",
                 "[actors]") {
  follow(1);
  write(0, "one\ntwo\n");
  CHECK(out() == "[w0]:one\n[w0]:two\n");
  write(1, "three\n");
  write(1, "four\n", "err");
  CHECK(out() == "[w1]:three\n");
  CHECK(err() == "[w1]:four\n");
  advance(1h);
  CHECK(out().empty());
  CHECK(err().empty());
}

TEST_CASE_METHOD(log_tailer_fixture, "log_tailer: a template makes the prefix",
                 "[actors]") {
  options.prefix_template = "${hostname} ${role_name}/${local_rank}/${rank}> ";
  follow(1);
  write(1, "x\n");
  CHECK(out() == "node-a w/1/11> x\n");
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: prefixes by rank go before the template",
                 "[actors]") {
  prefixes = {"first "};
  follow(1);
  write(0, "x\n");
  write(1, "y\n");
  CHECK(out() == "first x\n[w1]:y\n");
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: an unfinished line waits, others pass it",
                 "[actors]") {
  follow(1);
  write(0, "ha");
  write(1, "whole\n");
  CHECK(out() == "[w1]:whole\n");
  write(0, "l");
  write(0, "f\n");
  CHECK(out() == "[w0]:half\n");
}

TEST_CASE_METHOD(log_tailer_fixture, "log_tailer: bytes pass unchanged",
                 "[actors]") {
  follow(1);
  write(0, std::string_view{"\0\xff\n\r\nx\r\n", 8});
  CHECK(out() == (std::string{"[w0]:\0\xff\n", 8} + "[w0]:\r\n[w0]:x\r\n"));
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a long line is whole, however slow", "[actors]") {
  follow(1);
  auto line = std::string{};
  for (size_t i = 0; i < 1024 * 1024; i += 64 * 1024) {
    const auto piece = std::string(64 * 1024, char('a' + i % 26));
    line += piece;
    write(0, piece);
  }
  CHECK(out().empty());
  write(0, "\nnext\n");
  CHECK((out() == "[w0]:" + line + "\n[w0]:next\n"));
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a longer line comes in whole pieces",
                 "[actors]") {
  follow(1);
  write(0, std::string(core::line_max, 'x') + "yz\n");
  CHECK((out() == "[w0]:" + std::string(core::line_max, 'x') + "\n[w0]:yz\n"));
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: progress is shown as it stands", "[actors]") {
  follow(1);
  const auto began = now();
  for (auto i = 0; i < 100; ++i)
    write(0, "\rstep " + std::to_string(i)); // 20 ms each.
  const auto bar = out();
  const auto count = std::count(bar.begin(), bar.end(), '\n');
  CHECK(count >= (now() - began) / 250ms - 1);
  CHECK(count <= (now() - began) / 250ms + 1);
  advance(1s); // Nothing more arrives.
  CHECK(out().ends_with("[w0]:step 99\n"));
  write(0, "\rstep 100\nafter\n");
  CHECK(out() == "[w0]:step 100\n[w0]:after\n");
}

// -- waiting for more ---------------------------------------------------------

TEST_CASE_METHOD(log_tailer_fixture, "log_tailer: an idle stream costs nothing",
                 "[actors]") {
  follow(1);
  write(0, "x\nhalf");
  advance(1s);
  const auto reads = files->read_count;
  const auto arms = files->arm_count;
  advance(1h);
  CHECK(files->read_count == reads);
  CHECK(files->arm_count == arms);
  files->write(path(1, 0, "out"), "\n");
  run();
  CHECK(out() == "[w0]:x\n[w0]:half\n");
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a busy stream is polled and sends no notices",
                 "[actors]") {
  follow(1);
  for (auto i = 0; i < 1'000; ++i) {
    files->write(path(1, 0, "out"), many_lines("x", 200));
    advance(1ms);
  }
  CHECK(files->notice_count == 1);
  advance(20ms);
  CHECK((out() == [] {
    auto all = std::string{};
    for (auto i = 0; i < 1'000; ++i)
      all += labelled("[w0]:", many_lines("x", 200));
    return all;
  }()));
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a write just before the arming is seen",
                 "[actors]") {
  follow(1);
  write(0, "x\n");
  files->write(path(1, 0, "out"), "y\n");
  files->before_arming = [this] { files->write(path(1, 0, "out"), "z\n"); };
  advance(1h);
  CHECK(out() == "[w0]:x\n[w0]:y\n[w0]:z\n");
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a late notice of a stream is harmless",
                 "[actors]") {
  follow(1);
  tell_tailer(log_file_grown{0});
  tell_tailer(log_file_grown{4'711}); // No such stream.
  tell_tailer(console_ready{core::tail_kind::err});
  tell_tailer(tail_timer_fired{4'711}); // An old one.
  write(0, "x\n");
  CHECK(out() == "[w0]:x\n");
}

// -- fairness and memory ------------------------------------------------------

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a flood of one worker does not delay another",
                 "[actors]") {
  follow(1);
  const auto flood = many_lines("flood", 40'000);
  files->write(path(1, 0, "out"), flood);
  files->write(path(1, 1, "out"), "word\n");
  run();
  const auto all = out();
  const auto word = all.find("[w1]:word\n");
  REQUIRE(word != std::string::npos);
  CHECK(word <= 2 * tail_slice);
  CHECK(all.size() == labelled("[w0]:", flood).size() + 10);
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: other actors get turns in between", "[actors]") {
  follow(1);
  files->write(path(1, 0, "out"), many_lines("flood", 100'000));
  auto turns = 0;
  auto before = files->read_bytes;
  run_in_turns([&] {
    CHECK(files->read_bytes - before <= tail_slice + core::read_size);
    before = files->read_bytes;
    ++turns;
  });
  CHECK(turns >= 8);
  CHECK(out().size() == 100'000 * 105);
}

TEST_CASE_METHOD(log_tailer_fixture, "log_tailer: reads and batches stay small",
                 "[actors]") {
  follow(1);
  write(0, many_lines("x", 100'000));
  CHECK(files->read_largest == core::read_size);
  CHECK(console->largest() <= core::batch_max + 105);
  // A long line needs more, but only for itself.
  write(0, std::string(core::line_max, 'x') + "\n");
  CHECK(files->read_largest == core::line_max + 2);
  files->read_largest = 0;
  write(0, many_lines("x", 100'000));
  CHECK(files->read_largest == core::read_size);
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: empty lines do not make a huge batch",
                 "[actors]") {
  follow(1);
  write(0, std::string(1'000'000, '\n'));
  CHECK(out().size() == 6'000'000);
  CHECK(console->largest() <= core::batch_max + 6);
}

// -- a console that is slow, or gone ------------------------------------------

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: it reads nothing while the console is full",
                 "[actors]") {
  follow(1);
  console->take_only(to_out, 2);
  const auto text = many_lines("x", 50'000);
  write(0, text);
  const auto shown = out();
  CHECK(shown.size() <= 2 * (core::batch_max + 105));
  const auto reads = files->read_count;
  const auto offers = console->offer_count();
  write(0, "more\n");
  write(1, "other\n");
  advance(60s);
  CHECK(files->read_count == reads);
  CHECK(console->offer_count() == offers);
  console->resume(to_out);
  advance(1s);
  auto all = shown + out();
  const auto other = all.find("[w1]:other\n");
  REQUIRE(other != std::string::npos);
  all.erase(other, std::string{"[w1]:other\n"}.size());
  CHECK((all == labelled("[w0]:", text + "more\n")));
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a console that stutters loses nothing",
                 "[actors]") {
  follow(1);
  auto text = std::string{};
  auto shown = std::string{};
  for (size_t i = 0; i < 200; ++i) {
    console->take_only(to_out, i % 3);
    const auto more = many_lines("x" + std::to_string(i), 1 + i * 37 % 5'000);
    text += more;
    write(0, more);
    shown += out();
    console->resume(to_out, i % 2);
    advance(20ms);
    shown += out();
  }
  console->resume(to_out);
  advance(1s);
  shown += out();
  CHECK((shown == labelled("[w0]:", text)));
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: one full stream does not block the other",
                 "[actors]") {
  follow(1);
  console->take_only(to_err, 0);
  write(0, "e\n", "err");
  write(0, "o\n");
  CHECK(out() == "[w0]:o\n");
  CHECK(err().empty());
  console->resume(to_err);
  run();
  CHECK(err() == "[w0]:e\n");
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: nothing is formatted for a closed console",
                 "[actors]") {
  follow(1);
  write(0, "x\n");
  console->close(to_out);
  const auto read = files->read_bytes;
  write(0, many_lines("y", 1'000));
  write(1, "z\n", "err");
  CHECK(err() == "[w1]:z\n"); // The other one is read.
  CHECK(files->read_bytes == read + 2);
  const auto drained = drain(1, 0);
  close(1);
  const auto flushed = flush();
  CHECK(*drained);
  CHECK(*flushed);
  CHECK(files->open_count() == 0);
}

TEST_CASE_METHOD(log_tailer_fixture,
                 "log_tailer: a console that closes while full is given up",
                 "[actors]") {
  follow(1);
  console->take_only(to_out, 0);
  write(0, many_lines("x", 10'000));
  close(1);
  const auto flushed = flush();
  CHECK_FALSE(*flushed);
  console->close(to_out);
  run();
  CHECK(*flushed);
  CHECK(files->open_count() == 0);
}

} // namespace actorrun::test::log_tailer_test
