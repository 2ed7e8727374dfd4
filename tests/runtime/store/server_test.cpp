#include "runtime/store/master_port.hpp"
#include "runtime/store/server.hpp"
#include "tests/runtime/store/store_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_lines.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::server_test {

using namespace actorrun::detail;

namespace {

using enum core::store_verb;
using core::store_request;

constexpr auto megabyte = size_t{1} << 20;

struct fixture {
  explicit fixture(store_server_config config = {}) {
    auto bound = bind_master_port(*numeric_address("127.0.0.1", 0));
    REQUIRE(bound);
    where = *numeric_address("127.0.0.1", bound->port);
    auto started = store_server::start(home, std::move(bound->socket), config);
    REQUIRE(started);
    uut = std::move(*started);
  }

  reactor home;
  socket_address where;
  std::unique_ptr<store_server> uut;
};

store_request set_of(std::string key, std::string value) {
  return {.verb = set, .keys = {std::move(key)}, .values = {std::move(value)}};
}

store_request get_of(std::string key) {
  return {.verb = get, .keys = {std::move(key)}};
}

bool is_refused(const socket_address& where) {
  const auto fd
    = unique_fd{::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return ::connect(fd.get(), where.get(), where.size) != 0
         && errno == ECONNREFUSED;
}

/// The number of descriptors that this process may have.
size_t descriptor_room() {
  auto file = std::ifstream{"/proc/self/status"};
  for (auto word = std::string{}; file >> word;)
    if (auto size = size_t{}; word == "FDSize:" && file >> size)
      return size;
  return 0;
}

/// The other end of a connection, which is also in this process; -1 if there is
/// none yet.
int other_end_of(int fd) {
  auto mine = sockaddr_in{};
  auto size = socklen_t{sizeof mine};
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&mine), &size);
  for (auto other = 0; other < 1'024; ++other) {
    auto peer = sockaddr_in{};
    size = sizeof peer;
    if (other != fd
        && ::getpeername(other, reinterpret_cast<sockaddr*>(&peer), &size) == 0
        && peer.sin_family == AF_INET && peer.sin_port == mine.sin_port)
      return other;
  }
  return -1;
}

int option_of(int fd, int level, int name) {
  auto out = 0;
  auto size = socklen_t{sizeof out};
  REQUIRE(::getsockopt(fd, level, name, &out, &size) == 0);
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture, "store_server: serves torch 2.14", "[runtime]") {
  auto a = store_client{where};
  auto b = store_client{where};
  a.ask(set_of("/k", "value"));
  b.ask({.verb = wait, .keys = {"/k"}});
  CHECK(b.number<uint8_t>() == 0);
  b.ask(get_of("/k"));
  CHECK(b.value() == "value");
  b.ask({.verb = add, .keys = {"init/"}, .number = 1});
  CHECK(b.number<int64_t>() == 1);
  b.ask({.verb = compare_set, .keys = {"/k"}, .values = {"value", "new"}});
  CHECK(b.value() == "new");
  a.ask({.verb = check, .keys = {"/k", "/none"}});
  CHECK(a.number<uint8_t>() == 1);
  a.ask({.verb = append, .keys = {"/k"}, .values = {"er"}});
  a.ask({.verb = multi_set, .keys = {"/a", "/b"}, .values = {"1", "22"}});
  a.ask({.verb = multi_get, .keys = {"/k", "/b", "/a"}});
  CHECK(a.value() == "newer");
  CHECK(a.value() == "22");
  CHECK(a.value() == "1");
  a.ask({.verb = count_keys});
  CHECK(a.number<int64_t>() == 4);
  a.ask({.verb = delete_key, .keys = {"init/"}});
  CHECK(a.number<int64_t>() == 1);
  a.ask({.verb = list_keys});
  CHECK(a.number<int64_t>() == 3);
  CHECK(a.value() == "/a");
  CHECK(a.value() == "/b");
  CHECK(a.value() == "/k");
  a.ask({.verb = queue_push, .keys = {"/q"}, .values = {"item"}});
  a.ask({.verb = queue_length, .keys = {"/q"}});
  CHECK(a.number<int64_t>() == 1);
  a.ask({.verb = queue_pop, .keys = {"/q"}});
  CHECK(a.number<int64_t>() == 1);
  CHECK(a.value() == "item");
}

TEST_CASE_METHOD(fixture, "store_server: serves torch 1.13 beside torch 2.1",
                 "[runtime]") {
  auto a = store_client{where, torch::v1_13};
  auto b = store_client{where, torch::v2_1};
  b.ask(set_of("/k", "a"));
  b.ask({.verb = append, .keys = {"/k"}, .values = {"b"}});
  b.ask(get_of("/k"));
  CHECK(b.value() == "ab");
  a.ask({.verb = delete_key, .keys = {"/k"}}); // It is read again later.
  CHECK(a.number<int64_t>() == 1);
  a.ask({.verb = delete_key, .keys = {"/k"}});
  CHECK(a.number<int64_t>() == 0);
  b.ask(set_of("/k", ""));
  b.ask({.verb = delete_key, .keys = {"/k"}});
  CHECK(b.number<int64_t>() == 1);
}

TEST_CASE_METHOD(fixture, "store_server: wakes waiting clients", "[runtime]") {
  auto a = store_client{where};
  auto b = store_client{where};
  b.ask({.verb = wait, .keys = {"/late"}});
  a.ask(set_of("/late", ""));
  CHECK(b.number<uint8_t>() == 0);
  b.ask({.verb = wait, .keys = {"/never"}});
  b.ask({.verb = cancel_wait});
  CHECK(b.number<uint8_t>() == 1);
  a.ask(set_of("/never", ""));
  CHECK(a.is_silent());
  CHECK(b.is_silent());
}

TEST_CASE_METHOD(fixture, "store_server: 256 clients meet at a barrier",
                 "[runtime]") {
  constexpr auto count = 256;
  auto clients = std::vector<std::unique_ptr<store_client>>{};
  for (auto i = 0; i < count; ++i)
    clients.push_back(std::make_unique<store_client>(where));
  for (auto& x : clients)
    x->ask({.verb = barrier, .keys = {"/all"}, .number = count});
  for (auto& x : clients)
    CHECK(x->number<uint8_t>() == 0);
}

TEST_CASE_METHOD(fixture, "store_server: large values go both ways",
                 "[runtime]") {
  auto a = store_client{where};
  auto large = std::string(20 * megabyte, 'x');
  large.front() = 'a';
  large.back() = 'z';
  a.ask(set_of("/k", large));
  a.ask(get_of("/k"));
  CHECK((a.value() == large));
  a.ask({.verb = multi_get, .keys = {"/k", "/none", "/k"}});
  CHECK((a.value() == large));
  CHECK(a.value().empty());
  CHECK((a.value() == large));
}

TEST_CASE_METHOD(fixture,
                 "store_server: a client that does not read delays no other",
                 "[runtime]") {
  auto a = store_client{where};
  auto b = store_client{where};
  a.ask(set_of("/k", std::string(megabyte, 'x')));
  // As many as arrive until the server stops reading.
  auto requests = std::string{};
  for (auto i = 0; i < 50; ++i)
    requests += store_bytes(torch::v2_14, get_of("/k"));
  REQUIRE(a.send(requests));
  b.ask({.verb = add, .keys = {"/n"}, .number = 1});
  CHECK(b.number<int64_t>() == 1);
  for (auto i = 0; i < 50; ++i)
    REQUIRE(a.value().size() == megabyte);
  CHECK(a.is_silent());
}

TEST_CASE_METHOD(fixture,
                 "store_server: cuts clients of other protocols, and no others",
                 "[runtime]") {
  auto a = store_client{where};
  auto foreign = store_client{where, torch::v1_13};
  foreign.send("GET / HTTP/1.1\r\n\r\n");
  CHECK(foreign.is_over());
  auto greedy = store_client{where};
  greedy.send(std::string{'\x01'} + store_int(UINT64_MAX));
  CHECK(greedy.is_over());
  auto wrong = store_client{where, torch::v1_13};
  wrong.send(std::string{"\0\xce\xf7\x85\x3d\r\1\2\3\4", 10});
  CHECK(wrong.is_over());
  auto half = store_client{where};
  half.send(std::string{'\x01'} + store_int(uint64_t{100}) + "half");
  half.close();
  CHECK(a.is_silent());
}

TEST_CASE("store_server: the number of clients is bounded", "[runtime]") {
  auto x = fixture{{.client_count_max = 2}};
  auto a = store_client{x.where};
  {
    auto b = store_client{x.where};
    auto c = store_client{x.where, torch::v1_13};
    CHECK(c.is_over());
    CHECK(b.is_silent());
  }
  // The place of a client that has left is free again.
  CHECK(test_deadline::soon([&] {
    auto d = store_client{x.where, torch::v1_13};
    d.send(store_bytes(torch::v1_13, {.verb = count_keys}));
    return d.read(8).size() == 8;
  }));
  CHECK(a.is_silent());
}

TEST_CASE("store_server: a full store cuts clients that want more",
          "[runtime]") {
  auto x = fixture{{.limits = {.memory_max = megabyte}}};
  auto a = store_client{x.where};
  auto b = store_client{x.where};
  a.ask(set_of("/k", std::string(megabyte / 3, 'x')));
  b.send(store_bytes(torch::v2_14, set_of("/l", std::string(megabyte, 'x'))));
  CHECK(b.is_over());
  a.ask({.verb = delete_key, .keys = {"/k"}});
  CHECK(a.number<int64_t>() == 1);
}

TEST_CASE("store_server: a full store says how much it may have", "[runtime]") {
  const auto lines = log_lines{};
  auto x = fixture{{.limits = {.memory_max = megabyte},
                    .name = "store of generation 3",
                    .lines = lines.writer()}};
  auto a = store_client{x.where};
  a.send(store_bytes(torch::v2_14, set_of("/k", std::string(megabyte, 'x'))));
  CHECK(a.is_over());
  x.uut.reset();
  const auto text = lines.told();
  CHECK(text.find("store of generation 3 cuts off 127.0.0.1") != text.npos);
  CHECK(text.find("the store is full") != text.npos);
  CHECK(text.find("(here 1 MiB)") != text.npos);
}

TEST_CASE("store_server: a full store has no room for a connection",
          "[runtime]") {
  const auto lines = log_lines{};
  auto x = fixture{{.limits = {.memory_max = 400}, .lines = lines.writer()}};
  auto a = store_client{x.where, torch::v1_13};
  CHECK(a.is_over());
  x.uut.reset();
  const auto text = lines.told();
  CHECK(text.find("refuses 127.0.0.1") != text.npos);
  CHECK(text.find("the store is full") != text.npos);
}

TEST_CASE_METHOD(fixture, "store_server: ends while clients wait",
                 "[runtime]") {
  auto clients = std::vector<std::unique_ptr<store_client>>{};
  for (auto i = 0; i < 256; ++i) {
    clients.push_back(std::make_unique<store_client>(where));
    if (i % 2 == 0)
      clients.back()->ask({.verb = wait, .keys = {"/never"}});
    else
      clients.back()->ask({.verb = barrier, .keys = {"/all"}, .number = 1'000});
  }
  uut.reset();
  for (auto& x : clients)
    CHECK(x->is_over());
  CHECK(is_refused(where));
}

TEST_CASE_METHOD(fixture, "store_server: replies go out without delay",
                 "[runtime]") {
  auto a = store_client{where}; // Has had an answer: is accepted.
  const auto other = other_end_of(a.fd());
  REQUIRE(other >= 0);
  CHECK(option_of(other, IPPROTO_TCP, TCP_NODELAY) != 0);
  CHECK(option_of(other, SOL_SOCKET, SO_KEEPALIVE) != 0);
}

TEST_CASE("store_server: makes room for expected clients", "[runtime]") {
  const auto wanted = descriptor_room() + 1;
  auto limit = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur / 2 < wanted) {
    actorrun::test::skip("descriptors", "`ulimit -n` is too small for this");
    return;
  }
  const auto x = fixture{{.client_count_expected = wanted}};
  auto a = store_client{x.where};
  a.ask({.verb = count_keys});
  CHECK(a.number<int64_t>() == 0);
  CHECK(descriptor_room() > wanted);
}

TEST_CASE_METHOD(fixture,
                 "store_server: a client with many requests waits for its turn",
                 "[runtime]") {
  constexpr auto count = 20'000;
  auto a = store_client{where};
  auto b = store_client{where};
  a.ask(set_of("/k", std::string(1'000, 'x')));
  auto requests = std::string{};
  for (auto i = 0; i < count; ++i)
    requests += store_bytes(torch::v2_14, get_of("/k"));
  auto sender = std::thread{[&] { a.send(requests); }};
  for (auto i = 0; i < count; ++i) {
    REQUIRE(a.value().size() == 1'000);
    if (i % 1'000 == 0)
      CHECK(b.is_silent()); // It is served in between.
  }
  sender.join();
  CHECK(a.is_silent());
}

TEST_CASE("store_server: does not listen after it has stopped", "[runtime]") {
  auto bound = bind_master_port(*numeric_address("127.0.0.1", 0));
  REQUIRE(bound);
  const auto where = *numeric_address("127.0.0.1", bound->port);
  const auto mine = unique_fd{::dup(bound->socket.get())};
  CHECK(is_refused(where)); // The port is only bound.
  auto home = reactor{};
  for (auto i = 0; i < 2; ++i) {
    auto uut = store_server::start(home, unique_fd{::dup(mine.get())}, {});
    REQUIRE(uut);
    auto a = store_client{where};
    a.ask({.verb = count_keys});
    CHECK(a.number<int64_t>() == 0); // A new store each time.
    a.ask(set_of("/k", ""));
    CHECK(a.is_silent());
    (*uut)->stop();
    CHECK(a.is_over());
    *uut = nullptr;
    CHECK(is_refused(where));
  }
}

TEST_CASE("store_server: may be stopped twice, also without a client",
          "[runtime]") {
  auto bound = bind_master_port(*numeric_address("127.0.0.1", 0));
  REQUIRE(bound);
  auto home = reactor{};
  auto uut = store_server::start(home, std::move(bound->socket), {});
  REQUIRE(uut);
  (*uut)->stop();
  (*uut)->await_stopped();
  (*uut)->stop();
  run_and_wait(home, [] {}); // The second has had its turn.
  CHECK(is_refused(*numeric_address("127.0.0.1", bound->port)));
}

TEST_CASE("store_server: goes on when descriptors run out", "[runtime]") {
  auto x = fixture{};
  auto a = store_client{x.where};
  auto many = std::vector<std::unique_ptr<store_client>>{};
  auto before = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  // Both ends are in this process: one is left for this end, none for the other.
  const auto next = unique_fd{::dup(a.fd())}.get();
  auto b = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto none = rlimit{static_cast<rlim_t>(b.get() + 1), before.rlim_max};
  CHECK(next <= b.get());
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto connected = ::connect(b.get(), x.where.get(), x.where.size);
  const auto is_alive = a.is_silent();
  ::setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE(connected == 0); // The system has completed the connection.
  CHECK(is_alive);
  const auto request = store_bytes(torch::v1_13, {.verb = count_keys});
  CHECK(::send(b.get(), request.data(), request.size(), MSG_NOSIGNAL) == 1);
  auto reply = char{};
  CHECK(::recv(b.get(), &reply, 1, MSG_WAITALL) == 1);
}

// Whatever a client sends, in whatever pieces, the others are served.
TEST_CASE_METHOD(fixture, "store_server: survives clients that send anything",
                 "[runtime]") {
  auto random = std::mt19937{20261121};
  auto a = store_client{where};
  for (auto run = 0; run < 200; ++run) {
    auto x = store_client{where, torch::v1_13};
    auto bytes = run % 2 == 0 ? store_hello(1) : std::string{};
    for (auto n = random() % 200; n > 0; --n)
      bytes += static_cast<char>(random() % (run % 4 < 2 ? 20 : 256));
    x.send(bytes);
  }
  a.ask({.verb = ping, .number = 7});
  CHECK(a.number<uint32_t>() == 7);
}

namespace {

/// Whose user the system gives.
template <uid_t user>
std::optional<uid_t> always(int) {
  return user;
}

std::optional<uid_t> never(int) {
  return {};
}

constexpr auto another_user = uid_t{10'001};

/// Connects as another user, and sends what a client of the store sends first.
/// @returns what came back before the end of the connection; -1: no such user
ssize_t answer_for_another_user(const socket_address& where) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto child = ::fork();
  if (child == 0) {
    auto got = ssize_t{-1};
    if (::setresuid(another_user, another_user, another_user) == 0) {
      const auto hello = store_hello(4711);
      const auto fd = ::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
      char reply[64];
      if (::connect(fd, where.get(), where.size) == 0)
        ::send(fd, hello.data(), hello.size(), MSG_NOSIGNAL);
      got = std::max<ssize_t>(::recv(fd, reply, sizeof reply, 0), 0);
    }
    ::_exit(::write(ends[1], &got, sizeof got) == sizeof got ? 0 : 1);
  }
  ::close(ends[1]);
  auto out = ssize_t{-1};
  CHECK(::read(ends[0], &out, sizeof out) == sizeof out);
  ::close(ends[0]);
  auto status = 0;
  ::waitpid(child, &status, 0);
  return out;
}

} // namespace

TEST_CASE("store_server: S7 another user of this host is not served",
          "[runtime]") {
  const auto lines = log_lines{};
  auto mine
    = fixture{{.name = "store of generation 2", .lines = lines.writer()}};
  auto own = store_client{mine.where};
  own.ask(set_of("/k", "the job's own"));
  own.ask(get_of("/k"));
  CHECK(own.value() == "the job's own");
  CHECK(lines.told().empty());
  if (::geteuid() != 0)
    return skip("root", "only root can become another user");
  CHECK(answer_for_another_user(mine.where) == 0);
  CHECK(own.is_silent()); // The store's thread has written its line.
  const auto told = lines.told();
  CHECK(told.starts_with("warning store of generation 2 refuses 127.0.0.1:"));
  CHECK(told.find("another user (uid 10001)") != std::string::npos);
  CHECK(told.find("--no-agent-store") != std::string::npos);
}

TEST_CASE("store_server: S7 what is lost of a client that closed too early is "
          "said, and one that has sent nothing is not worth a line",
          "[runtime]") {
  const auto lines = log_lines{};
  static auto asked = std::atomic{0};
  const auto gone = [](int fd) -> std::optional<uid_t> {
    ++asked;
    asked.notify_one();
    auto closed = pollfd{.fd = fd, .events = POLLRDHUP, .revents = 0};
    ::poll(&closed, 1, -1);
    return no_user;
  };
  auto x = fixture{{.name = "store of generation 2",
                    .lines = lines.writer(),
                    .user_of = gone}};
  for (const auto* sent : {"", "a request", ""}) {
    const auto fd = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    REQUIRE(::connect(fd.get(), x.where.get(), x.where.size) == 0);
    ::send(fd.get(), sent, std::strlen(sent), MSG_NOSIGNAL);
  }
  for (auto count = asked.load(); count < 3; count = asked)
    asked.wait(count);
  x.uut.reset(); // Its thread has written its lines, and ended.
  const auto told = lines.told();
  CHECK(told.starts_with("warning store of generation 2 refuses 127.0.0.1:"));
  CHECK(told.find("what it sent is lost") != std::string::npos);
  CHECK(std::ranges::count(told, '\n') == 1);
}

TEST_CASE(
  "store_server: S7 who is served is root, our user, and whom the system "
  "does not name",
  "[runtime]") {
  const auto is_served = [](std::optional<uid_t> (*user_of)(int)) {
    auto x = fixture{{.user_of = user_of}};
    auto fd = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    REQUIRE(::connect(fd.get(), x.where.get(), x.where.size) == 0);
    const auto hello = store_hello(4711);
    ::send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
    char reply[64];
    return ::recv(fd.get(), reply, sizeof reply, 0) > 0;
  };
  CHECK(is_served(always<0>));
  CHECK(is_served([](int) { return std::optional{::geteuid()}; }));
  CHECK(is_served(never));
  CHECK_FALSE(is_served(always<another_user>));
  CHECK_FALSE(is_served(always<no_user>)); // It is gone, whoever it was.
}

} // namespace actorrun::test::server_test
