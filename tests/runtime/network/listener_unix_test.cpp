#include "runtime/network/connector.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/os/run_folder.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <cstdlib>
#include <filesystem>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::test::listener_unix_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct fixture : listener_fixture {
  fixture() {
    auto pattern = std::string{"/tmp/actorrun-unix-XXXXXX"};
    REQUIRE(::mkdtemp(pattern.data()));
    folder = pattern;
    path = folder + "/job.agent.sock";
  }

  ~fixture() { std::filesystem::remove_all(folder); }

  listener listen_here() {
    auto out = listener::listen_unix(loop, path, an_agent().mine, callbacks());
    if (!out)
      FAIL(out.error().text);
    return std::move(*out);
  }

  std::shared_ptr<result<connected>>
  try_to_enter_here(const client_identity& who) {
    const auto attempt = connect_unix(loop, path, who, timeout, on_outcome());
    return outcomes.take().value_or(nullptr);
  }

  std::string folder;
  std::string path;
};

client_identity an_operator() {
  return {{}, purpose::operate, "actorctl-77"};
}

} // namespace

TEST_CASE_METHOD(
  fixture,
  "unix listener: processes of the same user need neither job nor secret",
  "[runtime]") {
  const auto uut = listen_here();
  CHECK(uut.address() == path);
  CHECK(uut.port() == 0);
  const auto outcome = try_to_enter_here(an_operator());
  REQUIRE(outcome);
  REQUIRE(*outcome);
  CHECK((*outcome)->local_address.empty());
  const auto pending_peer = peers.take();
  REQUIRE(pending_peer);
  CHECK(pending_peer->who.id == "actorctl-77");
  CHECK(pending_peer->who.intent == purpose::operate);
  CHECK(pending_peer->who.address.starts_with("pid "));
  CHECK(send_whole((*outcome)->connection.get(), "BASP"));
  CHECK(read_up_to(pending_peer->connection.get(), 4) == "BASP");
}

TEST_CASE_METHOD(fixture, "unix listener: an agent of another job is rejected",
                 "[runtime]") {
  const auto uut = listen_here();
  const auto outcome = try_to_enter_here(an_agent("other"));
  REQUIRE(outcome);
  REQUIRE_FALSE(*outcome);
  CHECK(outcome->error().code == errc::job_mismatch);
  CHECK(outcome->error().text.starts_with(path));
}

TEST_CASE_METHOD(fixture,
                 "unix listener: the socket is private and removed with it",
                 "[runtime]") {
  {
    const auto uut = listen_here();
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK_FALSE(std::filesystem::exists(path + "~"));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE_METHOD(fixture,
                 "unix listener: a socket left by a dead process is replaced",
                 "[runtime]") {
  open_listening_unix(path)->reset();
  REQUIRE(std::filesystem::exists(path));
  const auto refused = try_to_enter_here(an_operator());
  REQUIRE(refused);
  CHECK(refused->error().code == errc::connection_refused);
  const auto uut = listen_here();
  const auto outcome = try_to_enter_here(an_operator());
  REQUIRE(outcome);
  CHECK(*outcome);
}

TEST_CASE_METHOD(fixture, "unix listener: a missing socket is a refusal, too",
                 "[runtime]") {
  const auto outcome = try_to_enter_here(an_operator());
  REQUIRE(outcome);
  REQUIRE_FALSE(*outcome);
  CHECK(outcome->error().code == errc::connection_refused);
  CHECK(outcome->error().text.starts_with(path));
}

TEST_CASE_METHOD(
  fixture, "unix listener: a liveness probe is not counted as a rejection",
  "[runtime]") {
  const auto uut = listen_here();
  for (auto i = 0; i < 10; ++i)
    CHECK(connect_to(*unix_address(path)));
  // Comes after all probes.
  CHECK(*try_to_enter_here(an_operator()));
  run_and_wait(loop, [] {});
  CHECK(reports.size() == 0);
}

TEST_CASE_METHOD(fixture,
                 "unix listener: bytes of another protocol end the connection",
                 "[runtime]") {
  const auto uut = listen_here();
  const auto fd = connect_to(*unix_address(path));
  REQUIRE(send_whole(fd.get(), "status\n"));
  CHECK(is_closed(fd.get()));
  const auto report = reports.take();
  REQUIRE(report);
  CHECK(report->last_address.starts_with("pid " + std::to_string(::getpid())));
}

TEST_CASE_METHOD(fixture, "unix listener: another user's process is rejected",
                 "[runtime]") {
  if (::geteuid() != 0) {
    actorrun::test::skip("root", "only root can become another user");
    return;
  }
  const auto uut = listen_here();
  REQUIRE(::chmod(folder.c_str(), 0777) == 0);
  REQUIRE(::chmod(path.c_str(), 0777) == 0);
  // The system records the user at the time of the connect. The plain call
  // changes only this thread; the library's would also change the listener's.
  REQUIRE(::syscall(SYS_setresuid, -1, 65'534, -1) == 0);
  const auto fd = connect_to(*unix_address(path));
  REQUIRE(::syscall(SYS_setresuid, -1, 0, -1) == 0);
  REQUIRE(fd);
  CHECK(is_closed(fd.get()));
  const auto report = reports.take();
  REQUIRE(report);
  CHECK(report->last_reason == "is another user's process");
}

TEST_CASE_METHOD(fixture, "unix listener: a removed folder is made again",
                 "[runtime]") {
  path = folder + "/run/job.agent.sock";
  const auto opened = run_folder::open_at(folder + "/run", true);
  REQUIRE(opened);
  opened->remove_if_empty();
  const auto uut = listen_here();
  const auto outcome = try_to_enter_here(an_operator());
  REQUIRE(outcome);
  CHECK(*outcome);
  struct stat info {};
  REQUIRE(::stat((folder + "/run").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
}

TEST_CASE_METHOD(fixture, "unix listener: a path that is too long is named",
                 "[runtime]") {
  path = folder + "/" + std::string(108, 'x');
  const auto uut
    = listener::listen_unix(loop, path, an_agent().mine, callbacks());
  REQUIRE_FALSE(uut);
  CHECK(uut.error().code == errc::cannot_listen);
  const auto outcome = try_to_enter_here(an_operator());
  REQUIRE(outcome);
  CHECK_FALSE(*outcome);
}

} // namespace actorrun::test::listener_unix_test
