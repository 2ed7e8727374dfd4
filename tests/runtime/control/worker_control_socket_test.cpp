#include "runtime/control/messages.hpp"
#include "runtime/control/worker_control_socket.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::worker_control_socket_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using actorrun::test::child_process;
using test_deadline::soon;

namespace {

namespace fs = std::filesystem;

constexpr auto hello = R"({"type":"hello","version":1})";

/// A container's first process may belong to a session outside, which has no number
/// here: then this process begins its own.
pid_t own_session() {
  if (::getsid(0) == 0)
    REQUIRE(::setsid() > 0);
  return ::getsid(0);
}

/// The worker's end of a connection.
class caller {
public:
  explicit caller(const std::string& path)
    : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const auto address = unix_address(path);
    if (!address || ::connect(fd_.get(), address->get(), address->size) != 0)
      fd_.reset();
  }

  explicit operator bool() const { return bool(fd_); }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

  bool say(std::string_view text) const {
    return ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL)
           == static_cast<ssize_t>(text.size());
  }

  /// The next packet; `end` if the other side has closed.
  std::string hear() const {
    auto place = std::string(2 * control_packet_size_max, '\0');
    auto entry = pollfd{fd_.get(), POLLIN, 0};
    if (::poll(&entry, 1, 20'000) != 1)
      return "nothing";
    const auto count = ::recv(fd_.get(), place.data(), place.size(), 0);
    if (count < 0)
      return std::strerror(errno);
    return count == 0 ? "end" : place.substr(0, static_cast<size_t>(count));
  }

  std::string hear_type() const {
    const auto text = hear();
    const auto x = nlohmann::json::parse(text, nullptr, false);
    return x.is_object() ? x["type"].get<std::string>() : text;
  }

  /// Hears an error, and then the end.
  std::string hear_refusal() const {
    const auto x = nlohmann::json::parse(hear(), nullptr, false);
    if (!x.is_object() || x["type"] != "error")
      return "no refusal";
    return hear() == "end" ? x["text"].get<std::string>() : "no end";
  }

private:
  unique_fd fd_;
};

struct word_writer {
  std::string operator()(const core::said_hello&) const { return "hello"; }
  std::string operator()(const core::said_parked& x) const {
    return "parked " + std::to_string(x.generation);
  }
  std::string operator()(const core::said_trouble& x) const {
    return "trouble " + x.text;
  }
  std::string operator()(const core::said_step& x) const {
    return "at " + std::to_string(x.step);
  }
  std::string operator()(const core::said_held& x) const {
    return "held " + std::to_string(x.step) + " in "
           + std::to_string(x.generation);
  }
  std::string operator()(const core::said_reached& x) const {
    return "reached " + std::to_string(x.step) + " in "
           + std::to_string(x.generation);
  }
  std::string operator()(const core::hung_up&) const { return "hung up"; }
};

struct fixture {
  fixture() {
    if (const auto* x = std::getenv("ACTORRUN_RUN_DIR"))
      before = x;
    ::setenv("ACTORRUN_RUN_DIR", (place / "run").c_str(), 1);
  }

  ~fixture() {
    uut.reset();
    if (before.empty())
      ::unsetenv("ACTORRUN_RUN_DIR");
    else
      ::setenv("ACTORRUN_RUN_DIR", before.c_str(), 1);
  }

  void open(const control_limits& limits = {}) {
    auto made = worker_control_socket::open(loop, limits);
    INFO((made ? "" : made.error().text));
    REQUIRE(made);
    uut = std::move(*made);
    uut->listen([this](ports::worker_message x) {
      const auto lock = std::lock_guard{mutex};
      words.push_back(std::to_string(x.local_rank) + " "
                      + std::visit(word_writer{}, x.word));
      last_pid = x.pid;
    });
  }

  /// Admits this process as local rank 3, which most tests speak for.
  void admit_us() { uut->admit({{.local_rank = 3, .pid = own_session()}}); }

  std::vector<std::string> heard() {
    const auto lock = std::lock_guard{mutex};
    return words;
  }

  bool hears(const std::vector<std::string>& expected) {
    const auto all = soon([&] { return heard().size() >= expected.size(); });
    CHECK(heard() == expected);
    return all;
  }

  test_folders::folder place;
  std::string before;
  reactor loop;
  std::mutex mutex;
  std::vector<std::string> words;
  int64_t last_pid = 0;
  std::unique_ptr<worker_control_socket> uut;
};

// A child that runs a function with the worker's end of a connection, and lives on.
std::function<void()> with_call(const std::string& path,
                                std::function<void(const caller&)> fn) {
  return [=] {
    const auto line = caller{path};
    if (line)
      fn(line);
    for (;;)
      ::pause();
  };
}

} // namespace

TEST_CASE_METHOD(
  fixture,
  "worker control: it is private to the user and removed with its "
  "owner",
  "[runtime]") {
  open();
  const auto path = uut->address();
  CHECK(path.starts_with("/"));
  CHECK(fs::is_socket(path));
  CHECK((fs::status(path).permissions() & fs::perms::all)
        == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(
    (fs::status(fs::path{path}.parent_path()).permissions() & fs::perms::all)
    == fs::perms::owner_all);
  uut.reset();
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE_METHOD(fixture, "worker control: words and orders in their order",
                 "[runtime]") {
  open();
  admit_us();
  const auto line = caller{uut->address()};
  REQUIRE(line);
  CHECK(line.say(hello));
  CHECK(hears({"3 hello"}));
  CHECK(last_pid == own_session());
  uut->tell(3, core::tell_generation{.generation = generation_id{4},
                                     .environment = {"RANK=1"}});
  uut->tell(2, core::tell_stop{});
  uut->tell(3, core::tell_hold{});
  uut->tell(3, core::tell_stop_at{13});
  uut->tell(3, core::tell_go_on{});
  uut->tell(3, core::tell_regroup{"a node was lost", 2s});
  uut->tell(3, core::tell_stop{"drained", 2s});
  CHECK(line.hear_type() == "generation");
  CHECK(line.hear_type() == "hold");
  CHECK(line.hear_type() == "stop_at");
  CHECK(line.hear_type() == "go_on");
  CHECK(line.hear_type() == "regroup");
  CHECK(line.hear_type() == "stop");
  CHECK(line.say(R"({"type":"at","step":7})"));
  CHECK(line.say(R"({"type":"dances"})"));
  CHECK(line.say(R"({"type":"trouble","text":"a\nb"})"));
  CHECK(line.say(R"({"type":"held","generation":4,"step":8})"));
  CHECK(line.say(R"({"type":"reached","generation":4,"step":13})"));
  CHECK(line.say(R"({"type":"parked","generation":4})"));
  CHECK(hears({"3 hello", "3 at 7", "3 trouble a", "3 held 8 in 4",
               "3 reached 13 in 4", "3 parked 4"}));
}

TEST_CASE_METHOD(fixture, "worker control: the end comes last", "[runtime]") {
  open();
  admit_us();
  auto line = caller{uut->address()};
  CHECK(line.say(hello));
  CHECK(line.say(R"({"type":"at","step":1})"));
  line.close();
  REQUIRE(soon([&] { return heard().size() == 3; }));
  CHECK(hears({"3 hello", "3 at 1", "3 hung up"}));
  // And may come back.
  const auto again = caller{uut->address()};
  CHECK(again.say(hello));
  CHECK(hears({"3 hello", "3 at 1", "3 hung up", "3 hello"}));
}

TEST_CASE_METHOD(fixture,
                 "worker control: of steps read at once the last counts",
                 "[runtime]") {
  open();
  const auto line = caller{uut->address()};
  CHECK(line.say(hello));
  for (const auto* x : {"1", "2", "3"})
    CHECK(line.say(std::string{R"({"type":"at","step":)"} + x + "}"));
  CHECK(line.say(R"({"type":"held","generation":1,"step":4})"));
  CHECK(line.say(R"({"type":"at","step":4})"));
  CHECK(line.say(R"({"type":"at","step":5})"));
  CHECK(line.say(R"({"type":"reached","generation":1,"step":6})"));
  CHECK(line.say(R"({"type":"parked","generation":1})"));
  CHECK(line.say(R"({"type":"at","step":4})"));
  admit_us();
  CHECK(hears({"3 hello", "3 at 3", "3 held 4 in 1", "3 at 5",
               "3 reached 6 in 1", "3 parked 1", "3 at 4"}));
}

TEST_CASE_METHOD(fixture,
                 "worker control: the session says whose a connection is",
                 "[runtime]") {
  open();
  const auto path = uut->address();
  const auto speak = with_call(path, [](const caller& x) {
    x.say(hello);
    x.hear();
  });
  const auto worker = child_process{[] {}, speak};
  // Its child speaks for the other worker.
  const auto parent = child_process{[] {},
                                    [&] {
                                      if (::fork() == 0)
                                        speak();
                                      for (;;)
                                        ::pause();
                                    }};
  uut->admit({{.local_rank = 0, .pid = worker.pid()},
              {.local_rank = 1, .pid = parent.pid()}});
  REQUIRE(soon([&] { return heard().size() == 2; }));
  auto both = heard();
  std::sort(both.begin(), both.end());
  CHECK(both == std::vector<std::string>{"0 hello", "1 hello"});
}

TEST_CASE_METHOD(fixture,
                 "worker control: a process that has left its session does not "
                 "speak for it",
                 "[runtime]") {
  open({.hello = 200ms});
  const auto path = uut->address();
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto worker = child_process{
    [] {},
    [&] {
      if (::fork() == 0) {
        ::setsid();
        const auto line = caller{path};
        line.say(hello);
        const auto said = line.hear_refusal();
        ::_exit(::write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
      }
      for (;;)
        ::pause();
    }};
  uut->admit({{.local_rank = 0, .pid = worker.pid()}});
  auto said = std::string(100, '\0');
  const auto count = ::read(ends[0], said.data(), said.size());
  REQUIRE(count > 0);
  CHECK(said.substr(0, static_cast<size_t>(count))
        == "this is no process of a worker that may speak");
  CHECK(heard().empty());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE_METHOD(fixture, "worker control: who is not admitted waits a while",
                 "[runtime]") {
  open();
  const auto line = caller{uut->address()};
  CHECK(line.say(hello));
  run_and_wait(loop, [] {});
  uut->admit({{.local_rank = 0, .pid = 1}});
  run_and_wait(loop, [] {});
  CHECK(heard().empty());
  admit_us();
  CHECK(hears({"3 hello"}));
  // Not a new one any more.
  uut->admit({});
  CHECK(line.hear_refusal() == "this worker may not speak any more");
  CHECK(hears({"3 hello", "3 hung up"}));
}

TEST_CASE_METHOD(fixture, "worker control: its rank may change", "[runtime]") {
  open();
  admit_us();
  const auto line = caller{uut->address()};
  CHECK(line.say(hello));
  CHECK(hears({"3 hello"}));
  uut->admit({{.local_rank = 5, .pid = own_session()}});
  uut->tell(3, core::tell_stop{});
  uut->tell(5, core::tell_stop_at{1});
  CHECK(line.hear_type() == "stop_at");
  CHECK(line.say(R"({"type":"at","step":1})"));
  CHECK(hears({"3 hello", "5 at 1"}));
}

TEST_CASE_METHOD(fixture, "worker control: one that says nothing is closed",
                 "[runtime]") {
  open({.hello = 50ms});
  admit_us();
  const auto line = caller{uut->address()};
  CHECK(line.hear_refusal() == "there was no hello in time");
  CHECK(heard().empty());
}

TEST_CASE_METHOD(fixture, "worker control: a worker has one connection",
                 "[runtime]") {
  open();
  admit_us();
  auto first = caller{uut->address()};
  CHECK(first.say(hello));
  const auto second = caller{uut->address()};
  second.say(hello); // It may have been refused by then.
  CHECK(second.hear_refusal() == "this worker has a connection already");
  // One that is closed is none, even if that has not been noticed yet.
  run_and_wait(loop, [&] {
    first.close();
    const auto third = caller{uut->address()};
    third.say(hello);
    uut->tell(3, core::tell_stop{});
  });
  REQUIRE(soon([&] { return heard().size() == 4; }));
  CHECK(heard()
        == std::vector<std::string>{"3 hello", "3 hung up", "3 hello",
                                    "3 hung up"});
}

TEST_CASE_METHOD(fixture, "worker control: what breaks a rule is refused",
                 "[runtime]") {
  open();
  admit_us();
  const auto refusal_of = [&](const std::vector<std::string>& said) {
    const auto line = caller{uut->address()};
    for (const auto& x : said)
      line.say(x);
    return line.hear_refusal();
  };
  CHECK(refusal_of({R"({"type":"at","step":1})"})
        == "the first word is not hello");
  CHECK(refusal_of({R"({"type":"dances"})"}) == "the first word is not hello");
  CHECK(refusal_of({R"({"type":"hello","version":7})"})
        == "version 7 is not spoken here, but version 1");
  CHECK(heard().empty());
  CHECK(refusal_of({hello, "\x01\xff", "{}"}) == "a packet is no JSON object");
  CHECK(refusal_of({hello, hello}) == "hello has been said");
  CHECK(refusal_of({hello, std::string(control_packet_size_max + 1, ' ')})
        == "a packet has more than 4096 bytes");
  CHECK(refusal_of({hello, std::string(60'000, ' ')})
        == "a packet has more than 4096 bytes");
  const auto pair = std::vector<std::string>{"3 hello", "3 hung up"};
  auto expected = std::vector<std::string>{};
  for (auto i = 0; i < 4; ++i)
    expected.insert(expected.end(), pair.begin(), pair.end());
  CHECK(hears(expected));
}

TEST_CASE_METHOD(fixture, "worker control: descriptors sent along are closed",
                 "[runtime]") {
  open();
  admit_us();
  const auto line = caller{uut->address()};
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
  auto text = std::string{hello};
  auto bytes = iovec{text.data(), text.size()};
  auto message = msghdr{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &ends[1], sizeof(int));
  CHECK(::sendmsg(line.fd(), &message, 0) > 0);
  ::close(ends[1]);
  CHECK(hears({"3 hello"}));
  char byte = 0;
  CHECK(soon([&] { return ::read(ends[0], &byte, 1) == 0; }));
  ::close(ends[0]);
}

TEST_CASE_METHOD(fixture, "worker control: a worker that never reads is cut",
                 "[runtime]") {
  open();
  admit_us();
  const auto line = caller{uut->address()};
  CHECK(line.say(hello));
  CHECK(hears({"3 hello"}));
  auto order = core::tell_generation{.generation = generation_id{4}};
  order.environment = {"A=" + std::string(3'000, 'x')};
  auto count = 0;
  CHECK(soon([&] {
    uut->tell(3, order);
    run_and_wait(loop, [] {});
    return ++count == 5'000 || heard().size() == 2;
  }));
  CHECK(count < 1'000);
  CHECK(hears({"3 hello", "3 hung up"}));
}

TEST_CASE_METHOD(fixture, "worker control: one that reads late gets all",
                 "[runtime]") {
  // The first wait in the system, the last in the queue.
  open({.outgoing_count = 1'000});
  admit_us();
  const auto line = caller{uut->address()};
  CHECK(line.say(hello));
  CHECK(hears({"3 hello"}));
  auto told = uint64_t{0};
  auto heard_count = uint64_t{0};
  auto text = core::tell_regroup{std::string(250, 'x'), 1s};
  for (; told < 900; ++told)
    uut->tell(3, text);
  run_and_wait(loop, [] {});
  while (heard_count < told && line.hear_type() == "regroup")
    ++heard_count;
  CHECK(heard_count == told);
  CHECK(heard().size() == 1);
}

TEST_CASE_METHOD(fixture,
                 "worker control: one that says too much is read slowly",
                 "[runtime]") {
  open({.reading_count = 4, .reading_interval = 50ms});
  admit_us();
  const auto line = caller{uut->address()};
  const auto begin = test_deadline::clock_type::now();
  CHECK(line.say(hello));
  for (auto i = 1; i <= 20; ++i)
    CHECK(
      line.say(R"({"type":"parked","generation":)" + std::to_string(i) + "}"));
  REQUIRE(soon([&] { return heard().size() == 21; }));
  CHECK(heard().back() == "3 parked 20");
  CHECK(test_deadline::clock_type::now() - begin >= 200ms);
  // It is told orders all the same.
  uut->tell(3, core::tell_stop_at{1});
  CHECK(line.hear_type() == "stop_at");
}

TEST_CASE_METHOD(fixture,
                 "worker control: the number of those that wait is "
                 "bounded",
                 "[runtime]") {
  open({.waiting_count = 3});
  auto lines = std::vector<caller>{};
  for (auto i = 0; i < 4; ++i)
    lines.emplace_back(uut->address());
  CHECK(lines[0].hear_refusal() == "too many connections wait here");
  CHECK(lines[3].say(hello));
  lines.erase(lines.begin(), lines.begin() + 3);
  admit_us();
  CHECK(hears({"3 hello"}));
}

TEST_CASE_METHOD(fixture, "worker control: a worker that dies hangs up",
                 "[runtime]") {
  open();
  const auto path = uut->address();
  auto worker = child_process{[] {}, with_call(path, [](const caller& x) {
                                x.say(hello);
                                x.hear();
                              })};
  uut->admit({{.local_rank = 0, .pid = worker.pid()}});
  CHECK(hears({"0 hello"}));
  worker.end();
  CHECK(hears({"0 hello", "0 hung up"}));
}

TEST_CASE_METHOD(fixture, "worker control: garbage from many does no harm",
                 "[runtime]") {
  open();
  admit_us();
  for (auto i = 0; i < 200; ++i) {
    const auto line = caller{uut->address()};
    if (i % 2 == 0)
      line.say(hello);
    auto bytes = std::string(static_cast<size_t>(1 + i * 37 % 5'000), '\0');
    for (size_t j = 0; j < bytes.size(); ++j)
      bytes[j] = static_cast<char>((j * 31 + size_t(i) * 17) % 256);
    line.say(bytes);
  }
  const auto line = caller{uut->address()};
  CHECK(line.say(hello));
  CHECK(soon([&] {
    const auto all = heard();
    return !all.empty() && all.back() == "3 hello";
  }));
}

TEST_CASE_METHOD(fixture,
                 "worker control: its end closes the connections and "
                 "reports nothing",
                 "[runtime]") {
  open();
  admit_us();
  const auto line = caller{uut->address()};
  CHECK(line.say(hello));
  CHECK(hears({"3 hello"}));
  uut.reset();
  CHECK(line.hear() == "end");
  CHECK(hears({"3 hello"}));
}

TEST_CASE_METHOD(fixture, "worker control: sockets of dead agents are removed",
                 "[runtime]") {
  open();
  const auto dead = ::fork();
  if (dead == 0)
    ::_exit(0);
  REQUIRE(::waitpid(dead, nullptr, 0) == dead);
  const auto left = place / "run/" + std::to_string(dead) + ".1.control";
  {
    const auto address = unix_address(left);
    REQUIRE(address);
    const auto fd
      = unique_fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    REQUIRE(::bind(fd.get(), address->get(), address->size) == 0);
  }
  uut.reset();
  CHECK_FALSE(fs::exists(left));
}

} // namespace actorrun::test::worker_control_socket_test
