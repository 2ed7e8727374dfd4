#include "tests/actors/log_tailer_fixture.hpp"

#include <array>
#include <random>

namespace actorrun::test::log_tailer_random_test {

namespace {

constexpr uint32_t worker_count = 3;

/// Writes, waits, fills the console and ends workers, in random order.
struct history : log_tailer_fixture {
  explicit history(uint32_t seed) : dice{seed} {
    options.rotate_size = roll(2) == 0 ? 64 * 1024 : 0;
    options.rotate_keep = 1'000;
    files->makes_holes = roll(2) == 0;
    follow(1, worker_count);
  }

  uint32_t roll(uint32_t sides) { return uint32_t(dice() % sides); }

  /// Whole lines of any bytes, or the beginning of a line.
  std::string some_text() {
    auto text = std::string{};
    for (auto count = roll(20); count > 0; --count) {
      auto line = std::string(roll(50) == 0 ? roll(700'000) : roll(200), '.');
      for (size_t i = 0; i < line.size(); i += 7)
        line[i] = char(dice());
      std::replace(line.begin(), line.end(), '\n', 'n');
      std::replace(line.begin(), line.end(), '\r', 'r');
      text += line + (roll(3) == 0 ? "\r\n" : "\n");
    }
    if (roll(2) == 0)
      text += "half ";
    return text;
  }

  void write_some() {
    const auto rank = roll(worker_count);
    const auto is_err = roll(4) == 0;
    auto& text = written[is_err][rank];
    // Sometimes it comes in pieces.
    auto more = some_text();
    text += more;
    const auto cut
      = roll(2) == 0 ? size_t(roll(uint32_t(more.size() + 1))) : more.size();
    const auto to = path(1, rank, is_err ? "err" : "out");
    files->write(to, more.substr(0, cut));
    if (roll(2) == 0)
      advance(std::chrono::milliseconds{roll(5)});
    files->write(to, more.substr(cut));
  }

  void step() {
    const auto stream = roll(2) == 0 ? to_out : to_err;
    switch (roll(12)) {
      case 0:
        console->take_only(stream, roll(4));
        break;
      case 1:
      case 2:
        console->resume(stream, 1 + roll(5));
        break;
      case 3:
        console->resume(stream);
        break;
      case 4:
        advance(std::chrono::milliseconds{roll(300)});
        break;
      case 5:
        flush();
        break;
      default:
        write_some();
    }
    if (roll(2) == 0)
      advance(std::chrono::milliseconds{roll(5)});
  }

  /// All that has been shown of a worker, without prefixes.
  std::string shown_of(const std::string& text, uint32_t rank) {
    const auto prefix = "[w" + std::to_string(rank) + "]:";
    auto result = std::string{};
    auto in = std::istringstream{text};
    for (std::string line; std::getline(in, line);)
      if (line.starts_with(prefix))
        result += line.substr(prefix.size()) + "\n";
    return result;
  }

  std::mt19937 dice;
  std::array<std::array<std::string, worker_count>, 2> written;
};

} // namespace

TEST_CASE("log_tailer: in random histories each stream is shown as written",
          "[actors]") {
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    auto x = history{seed};
    for (auto i = 0; i < 60; ++i)
      x.step();
    for (uint32_t rank = 0; rank < worker_count; ++rank)
      x.drain(1, rank);
    x.close(1);
    const auto flushed = x.flush();
    for (const auto stream : {to_out, to_err})
      x.console->resume(stream);
    x.advance(1s);
    CHECK(*flushed);
    CHECK(x.files->open_count() == 0);
    const std::string shown[] = {x.out(), x.err()};
    size_t size = 0;
    for (const auto is_err : {false, true}) {
      for (uint32_t rank = 0; rank < worker_count; ++rank) {
        auto expected = x.written[is_err][rank];
        if (!expected.empty() && !expected.ends_with("\n"))
          expected += "\n";
        size
          += expected.size()
             + 5 * size_t(std::count(expected.begin(), expected.end(), '\n'));
        CAPTURE(rank, is_err);
        CHECK((x.shown_of(shown[is_err], rank) == expected));
      }
    }
    CHECK(shown[0].size() + shown[1].size() == size);
  }
}

} // namespace actorrun::test::log_tailer_random_test
