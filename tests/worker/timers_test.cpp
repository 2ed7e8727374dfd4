#include "runtime/worker/actorrun_worker.h"
#include "runtime/worker/timers.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker/timers_fixture.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <climits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>

namespace actorrun::test::timers_test {

using namespace actorrun::worker;
using namespace std::chrono_literals;

using fixture = test_timers::timers_fixture;

namespace {

/// Writes down what it is told.
struct noting_client : timer_client {
  timer_status acquire(std::string_view scope,
                       std::chrono::nanoseconds after) override {
    told += "acquire " + std::string{scope} + " "
            + std::to_string(after.count()) + "\n";
    return timer_status::ok;
  }

  timer_status release(std::string_view scope) override {
    told += "release " + std::string{scope} + "\n";
    return timer_status::lost;
  }

  std::string told;
};

std::chrono::nanoseconds wall_now() {
  return std::chrono::system_clock::now().time_since_epoch();
}

} // namespace

TEST_CASE_METHOD(fixture, "timers: an acquire is a line in torch's format",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto before = wall_now();
  CHECK(acquire("train.py#42", 30s) == timer_status::ok);
  const auto after = wall_now();
  const auto bytes = read_bytes();
  REQUIRE(bytes.ends_with("}\n"));
  const auto line = nlohmann::ordered_json::parse(bytes);
  auto names = std::string{};
  for (const auto& x : line.items())
    names += x.key() + " ";
  CHECK(names == "version pid scope_id expiration_time signal ");
  CHECK(line["version"] == 1);
  CHECK(line["pid"] == ::getpid());
  CHECK(line["scope_id"] == "train.py#42");
  CHECK(line["signal"] == 9);
  const auto seconds = line["expiration_time"].get<double>();
  CHECK(seconds >= double((before + 30s).count()) / 1e9 - 1e-6);
  CHECK(seconds <= double((after + 30s).count()) / 1e9 + 1e-6);
}

TEST_CASE_METHOD(fixture, "timers: a release is a line in torch's format",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  CHECK(release("a") == timer_status::ok);
  CHECK(read_bytes()
        == R"({"version": 1, "pid": )" + std::to_string(::getpid())
             + R"(, "scope_id": "a", "expiration_time": -1, "signal": 0})"
             + "\n");
}

TEST_CASE_METHOD(fixture, "timers: the signal is the one that is configured",
                 "[worker]") {
  for (const auto signal : {1, 15, 64, 0, -1}) {
    REQUIRE(configure(path, signal) == timer_status::ok);
    acquire("a", 1s);
    const auto found = read();
    REQUIRE(found.size() == 1);
    CHECK(found[0].signal == signal);
  }
  CHECK(configure(path, 65) == timer_status::bad_argument);
  acquire("a", 1s);
  CHECK(read().at(0).signal == -1); // Unchanged.
}

TEST_CASE_METHOD(fixture, "timers: progress renews a timer", "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  CHECK(alive("train_step", 60s) == timer_status::ok);
  CHECK(alive("train_step", 60s) == timer_status::ok);
  CHECK(release("train_step") == timer_status::ok);
  CHECK(read_scopes() == "+train_step +train_step -train_step");
}

TEST_CASE_METHOD(fixture, "timers: a time of any length is written",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  acquire("never", std::chrono::nanoseconds::max());
  acquire("ever", std::chrono::nanoseconds::min());
  acquire("now", 0s);
  const auto found = read();
  REQUIRE(found.size() == 3);
  CHECK(found[0].expiration > 9'000'000'000s);
  CHECK(!found[1].is_release);
  CHECK(found[1].expiration == 0s);
  CHECK(found[2].expiration <= wall_now() + 1us);
  CHECK(found[2].expiration > wall_now() - 1h);
}

TEST_CASE_METHOD(fixture, "timers: a guard holds a timer for a block",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  {
    const auto guard = expires(30s, "block");
    CHECK(guard.scope() == "block");
    CHECK(guard.status() == timer_status::ok);
    CHECK(read_scopes() == "+block");
  }
  CHECK(read_scopes() == "-block");
}

TEST_CASE_METHOD(fixture, "timers: a guard is named by file and line",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto guard = expires(30s);
  const auto line = __LINE__ - 1;
  CHECK(guard.scope() == std::string{__FILE__} + "#" + std::to_string(line));
  CHECK(read_scopes() == "+" + guard.scope());
}

TEST_CASE_METHOD(fixture, "timers: guards may be nested", "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  {
    const auto outer = expires(30s, "outer");
    { const auto inner = expires(10s, "inner"); }
    const auto other = expires(10s, "other");
  }
  CHECK(read_scopes() == "+outer +inner -inner +other -other -outer");
}

TEST_CASE_METHOD(fixture, "timers: a guard can be moved, and released early",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  {
    auto a = expires(30s, "a");
    auto b = std::move(a);
    CHECK(b.scope() == "a");
    auto c = expires(30s, "c");
    c = std::move(b);
    CHECK(read_scopes() == "+a +c -c");
    c.release();
    c.release();
    CHECK(read_scopes() == "-a");
  }
  CHECK(read_scopes() == "");
}

TEST_CASE_METHOD(fixture, "timers: a guard is released by an exception, too",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  try {
    const auto guard = expires(30s, "a");
    throw 1;
  } catch (int) {
  }
  CHECK(read_scopes() == "+a -a");
}

TEST_CASE_METHOD(fixture, "timers: any text can name a scope", "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto read_back = [this](const std::string& scope) {
    CHECK(acquire(scope, 1s) == timer_status::ok);
    const auto bytes = read_bytes();
    for (const auto c : bytes)
      CHECK((c == '\n' || (c >= ' ' && c < '\x7f')));
    CHECK(bytes.find('\n') == bytes.size() - 1);
    return nlohmann::json::parse(bytes)["scope_id"].get<std::string>();
  };
  for (const auto* x :
       {"", "a b", "\"quoted\"", "back\\slash", "two\nlines\t\x01\x7f",
        "\xC3\xA4\xE2\x82\xAC", "\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF", "{}[],:"})
    CHECK(read_back(x) == x);
  CHECK(read_back(std::string{"a\0b", 3}) == std::string("a\0b", 3));
  const auto bad = std::string{"\xEF\xBF\xBD"};
  CHECK(read_back("\xFFx") == bad + "x");
  CHECK(read_back("\xC3") == bad);
  CHECK(read_back("\xC0\x80") == bad + bad);
  CHECK(read_back("\xE0\x80\x80") == bad + bad + bad);
  CHECK(read_back("\xED\xA0\x80") == bad + bad + bad);
  CHECK(read_back("\xF0\x80\x80\x80") == bad + bad + bad + bad);
  CHECK(read_back("\xF4\x90\x80\x80") == bad + bad + bad + bad);
  CHECK(read_back("\xE2\x82z") == bad + bad + "z");
}

TEST_CASE_METHOD(
  fixture, "timers: a line is at most as long as an atomic write to a FIFO",
  "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  release("");
  const auto room = PIPE_BUF - read_bytes().size();
  CHECK(release(std::string(room, 'x')) == timer_status::ok);
  CHECK(read_bytes().size() == PIPE_BUF);
  CHECK(release(std::string(room + 1, 'x')) == timer_status::bad_argument);
  // The limit in the documentation.
  CHECK(acquire(std::string(3'900, 'x'), std::chrono::nanoseconds::max())
        == timer_status::ok);
  CHECK(acquire(std::string(600, '\n'), 1s) == timer_status::ok);
  CHECK(acquire(std::string(100'000, '\n'), 1s) == timer_status::bad_argument);
  CHECK(expires(1s, std::string(5'000, 'x')).status()
        == timer_status::bad_argument);
  CHECK(read().size() == 2);
}

TEST_CASE_METHOD(fixture, "timers: without a server nothing is written",
                 "[worker]") {
  CHECK(configure("") == timer_status::no_server);
  CHECK(acquire("a", 1s) == timer_status::no_server);
  CHECK(alive("a", 1s) == timer_status::no_server);
  CHECK(release("a") == timer_status::no_server);
  CHECK(expires(1s).status() == timer_status::no_server);
  CHECK(acquire(std::string(100'000, 'x'), 1s) == timer_status::no_server);
}

TEST_CASE_METHOD(fixture,
                 "timers: a path that cannot be a server is reported as none",
                 "[worker]") {
  CHECK(configure(folder + "/nothing") == timer_status::no_server);
  CHECK(acquire("a", 1s) == timer_status::no_server);
  CHECK(configure(folder) == timer_status::bad_argument);
  const auto file = folder + "/file";
  ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  CHECK(configure(file) == timer_status::bad_argument);
  CHECK(acquire("a", 1s) == timer_status::no_server);
  CHECK(std::filesystem::file_size(file) == 0);
  close_server();
  CHECK(configure(path) == timer_status::no_server);
}

TEST_CASE_METHOD(fixture,
                 "timers: a client of the program's own is told instead of the "
                 "FIFO",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto own = std::make_shared<noting_client>();
  configure(own);
  {
    const auto guard = expires(2s, "block");
    CHECK(guard.status() == timer_status::ok);
    CHECK(alive("loop", 1ns) == timer_status::ok);
  }
  CHECK(release("loop") == timer_status::lost);
  CHECK(actorrun_timer_acquire("c", 5) == ACTORRUN_TIMER_OK);
  CHECK(own->told
        == "acquire block 2000000000\nacquire loop 1\nrelease block\n"
           "release loop\nacquire c 5\n");
  CHECK(read_bytes() == "");
  configure(nullptr);
  CHECK(own.use_count() == 1);
  CHECK(acquire("a", 1s) == timer_status::ok);
  CHECK(read().size() == 1);
}

TEST_CASE_METHOD(fixture, "timers: without a server there may be a client",
                 "[worker]") {
  CHECK(configure("") == timer_status::no_server);
  configure(std::make_shared<noting_client>());
  CHECK(acquire("a", 1s) == timer_status::ok);
  configure(nullptr);
  CHECK(acquire("a", 1s) == timer_status::no_server);
}

} // namespace actorrun::test::timers_test
