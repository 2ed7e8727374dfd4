#include "actors/timer_requests.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_timer_source.hpp"
#include "tests/support/log_lines.hpp"

#include <string>

namespace actorrun::test::timer_requests_test {

namespace {

using namespace std::chrono_literals;

struct timer_requests_fixture {
  static std::string line(const std::string& scope) {
    return R"({"version": 1, "pid": 7, "scope_id": ")" + scope
           + R"(", "expiration_time": 5.0, "signal": 9})"
             "\n";
  }

  void write(const std::string& text) { source->write_unheard(text); }

  /// Reads once, and takes all requests: their scopes.
  std::string read(size_t limit = timer_slice) {
    uut.read(limit);
    auto out = std::string{};
    while (const auto* x = uut.next())
      out += (out.empty() ? "" : " ") + std::string{x->scope};
    return out;
  }

  void warn_at(core::duration x) { uut.warn(core::time_point{x}); }

  std::shared_ptr<fake_timer_source> source
    = std::make_shared<fake_timer_source>();
  log_lines said;
  timer_requests uut{source, said.writer()};
};

} // namespace

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: they come in the order of their lines",
                 "[actors]") {
  write(line("a") + line("b") + line("c"));
  CHECK(read() == "a b c");
  CHECK(uut.next() == nullptr);
  CHECK(read() == "");
  CHECK(uut.counts().requests == 3);
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: a line may come in two reads", "[actors]") {
  const auto text = line("a") + line("b");
  write(text.substr(0, text.size() - 10));
  CHECK(read() == "a");
  write(text.substr(text.size() - 10));
  CHECK(read() == "b");
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: a read takes no more than it is asked to",
                 "[actors]") {
  write(line("a"));
  const auto size = source->size();
  CHECK(uut.read(5) == 5);
  CHECK(uut.next() == nullptr);
  CHECK(source->size() == size - 5);
  CHECK(uut.read(timer_slice) == size - 5);
  REQUIRE(uut.next() != nullptr);
  CHECK(uut.read(timer_slice) == 0);
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: a read takes no more than a FIFO holds",
                 "[actors]") {
  write(std::string(2 * timer_slice, '\n'));
  CHECK(uut.read(2 * timer_slice) == timer_slice);
  CHECK(uut.next() == nullptr);
  CHECK(uut.read(2 * timer_slice) == timer_slice);
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: without malformed lines there is no warning",
                 "[actors]") {
  write(line("a"));
  read();
  warn_at(1h);
  uut.close();
  CHECK(said.told() == "");
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: malformed lines are warned about once",
                 "[actors]") {
  write("x\n\x01\n" + std::string(core::timer_line_max + 1, 'x') + "\n"
        + line("a") + "{}\n");
  CHECK(read() == "a");
  warn_at(0s);
  CHECK(said.told()
        == "warning timer server skips 4 lines that are no requests; the "
           "last: "
             + to_string(core::timer_fault{core::timer_fault::kind::no_pid, 1})
             + "\n");
  warn_at(1h);
  CHECK(said.told() == "");
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: warnings have an interval", "[actors]") {
  write("x\n");
  read();
  warn_at(1h);
  CHECK(said.told().find("skips 1 lines") != std::string::npos);
  write("x\ny\n");
  read();
  warn_at(1h + timer_warning_interval - 1ns);
  CHECK(said.told() == "");
  warn_at(1h + timer_warning_interval);
  CHECK(said.told().find("skips 2 lines") != std::string::npos);
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: the end warns about the rest at once",
                 "[actors]") {
  write("x\n");
  read();
  warn_at(1h);
  write("x\ny\n");
  read();
  said.told();
  uut.close();
  CHECK(said.told().find("skips 2 lines") != std::string::npos);
  CHECK(uut.counts().malformed == 3);
}

TEST_CASE_METHOD(timer_requests_fixture,
                 "timer_requests: at the end they let go of the FIFO",
                 "[actors]") {
  const auto held = std::weak_ptr{source};
  source.reset();
  REQUIRE_FALSE(held.expired());
  uut.close();
  CHECK(held.expired());
}

TEST_CASE("timer_requests: without a FIFO there are none", "[actors]") {
  const auto said = log_lines{};
  auto uut = timer_requests{nullptr, said.writer()};
  CHECK(uut.counts() == core::timer_line_counts{});
  uut.close();
  CHECK(said.told() == "");
}

} // namespace actorrun::test::timer_requests_test
