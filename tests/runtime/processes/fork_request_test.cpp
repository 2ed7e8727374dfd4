#include "runtime/processes/fork_request.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::test::fork_request_test {

using namespace actorrun::detail;
namespace fs = std::filesystem;

namespace {

struct line_fixture {
  unique_fd agent;
  unique_fd server;
  unique_fd null{::open("/dev/null", O_WRONLY)};
  unique_fd zero{::open("/dev/zero", O_RDONLY)};

  line_fixture() {
    auto fds = std::array<int, 2>{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds.data()) == 0);
    agent.reset(fds[0]);
    server.reset(fds[1]);
  }
};

std::string link_of(const unique_fd& fd) {
  return fs::read_symlink("/proc/self/fd/" + std::to_string(fd.get()));
}

std::string number(uint32_t x) {
  auto bytes = std::string(sizeof x, '\0');
  std::memcpy(bytes.data(), &x, sizeof x);
  return bytes;
}

bool is_damaged(const std::string& bytes) {
  const auto file = unique_fd{::memfd_create("test", MFD_CLOEXEC)};
  REQUIRE(::write(file.get(), bytes.data(), bytes.size())
          == static_cast<ssize_t>(bytes.size()));
  return !read_fork_text(file.get());
}

// Bytes of the text beyond its characters: two numbers for the lists and one
// for each string.
constexpr size_t text_overhead = 3 * sizeof(uint32_t);

} // namespace

TEST_CASE_METHOD(line_fixture, "fork request: all of it arrives", "[runtime]") {
  const auto text = fork_text{.arguments = {"a", "", std::string{"x\0y", 3}},
                              .environment = {"E=1"}};
  const auto given = std::array{zero.get(), null.get()};
  const auto files
    = child_files{.out = null.get(), .err = zero.get(), .descriptors = given};
  REQUIRE(send_fork_request(agent.get(), text, files, zero.get()) == 0);
  const auto request = receive_fork_request(server.get());
  REQUIRE(request);
  CHECK(request->error == 0);
  CHECK(link_of(request->handshake) == "/dev/zero");
  CHECK(link_of(request->out) == "/dev/null");
  CHECK(link_of(request->err) == "/dev/zero");
  CHECK(!request->err_is_out);
  REQUIRE(request->descriptors.size() == 2);
  CHECK(link_of(request->descriptors[0]) == "/dev/zero");
  CHECK(link_of(request->descriptors[1]) == "/dev/null");
  CHECK(::fcntl(request->descriptors[1].get(), F_GETFD) == FD_CLOEXEC);
  const auto told = read_fork_text(request->text.get());
  REQUIRE(told);
  CHECK(told->arguments == text.arguments);
  CHECK(told->environment == text.environment);
}

TEST_CASE_METHOD(line_fixture, "fork request: shared and inherited outputs",
                 "[runtime]") {
  const auto shared = child_files{.out = null.get(), .err = null.get()};
  REQUIRE(send_fork_request(agent.get(), {}, shared, zero.get()) == 0);
  REQUIRE(send_fork_request(agent.get(), {}, {}, zero.get()) == 0);
  const auto first = receive_fork_request(server.get());
  REQUIRE(first);
  CHECK(link_of(first->out) == "/dev/null");
  CHECK(!first->err);
  CHECK(first->err_is_out);
  const auto second = receive_fork_request(server.get());
  REQUIRE(second);
  CHECK(!second->out);
  CHECK(!second->err);
  CHECK(!second->err_is_out);
  const auto text = read_fork_text(second->text.get());
  REQUIRE(text);
  CHECK(text->arguments.empty());
}

TEST_CASE_METHOD(line_fixture, "fork request: text has a limit", "[runtime]") {
  const auto most = std::string(fork_text_max - text_overhead, 'x');
  CHECK(send_fork_request(agent.get(), {{most}, {}}, {}, zero.get()) == 0);
  const auto request = receive_fork_request(server.get());
  REQUIRE(request);
  const auto text = read_fork_text(request->text.get());
  REQUIRE(text);
  CHECK(text->arguments[0] == most);
  CHECK(send_fork_request(agent.get(), {{most + "x"}, {}}, {}, zero.get())
        == E2BIG);
}

TEST_CASE_METHOD(line_fixture, "fork request: an agent that is gone is noticed",
                 "[runtime]") {
  agent.reset();
  CHECK(!receive_fork_request(server.get()));
}

TEST_CASE_METHOD(line_fixture, "fork request: a server that is gone is noticed",
                 "[runtime]") {
  server.reset();
  CHECK(send_fork_request(agent.get(), {}, {}, zero.get()) == EPIPE);
}

TEST_CASE_METHOD(line_fixture, "fork request: the agent does not wait",
                 "[runtime]") {
  auto error = 0;
  for (auto i = 0; i < 10'000 && error == 0; ++i)
    error = send_fork_request(agent.get(), {}, {}, zero.get());
  CHECK(error != 0);
  CHECK((error == EAGAIN || error == ETOOMANYREFS));
}

TEST_CASE_METHOD(line_fixture,
                 "fork request: a request of another build is refused",
                 "[runtime]") {
  CHECK(::send(agent.get(), "hello", 5, 0) == 5);
  const auto request = receive_fork_request(server.get());
  REQUIRE(request);
  CHECK(request->error == EPROTO);
  CHECK(!request->handshake);
}

TEST_CASE_METHOD(line_fixture,
                 "fork request: descriptors that do not fit are reported",
                 "[runtime]") {
  const auto given = std::vector<int>(descriptor_count_max, zero.get());
  const auto files = child_files{.descriptors = given};
  REQUIRE(send_fork_request(agent.get(), {}, files, zero.get()) == 0);
  auto old = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  const auto first_free = unique_fd{::dup(0)};
  const auto few
    = rlimit{static_cast<rlim_t>(first_free.get()) + 5, old.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  const auto request = receive_fork_request(server.get());
  ::setrlimit(RLIMIT_NOFILE, &old);
  REQUIRE(request);
  CHECK(request->error == EMFILE);
  CHECK(link_of(request->handshake) == "/dev/zero");
}

TEST_CASE("fork request: damaged text is refused", "[runtime]") {
  CHECK(!is_damaged(number(0) + number(0)));
  CHECK(!is_damaged(number(1) + number(2) + "ab" + number(0)));
  CHECK(is_damaged(""));
  CHECK(is_damaged(number(0)));
  CHECK(is_damaged(number(1) + number(3) + "ab" + number(0)));
  CHECK(is_damaged(number(0) + number(0) + "x"));
  CHECK(is_damaged(number(~0U) + number(~0U)));
  CHECK(is_damaged(std::string(fork_text_max + 1, '\0')));
}

} // namespace actorrun::test::fork_request_test
