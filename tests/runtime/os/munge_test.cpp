// The real library and a daemon of the test's own.

#include "runtime/os/munge.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/skip.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::munge_test {

using namespace actorrun::detail;

namespace {

class munge_fixture {
public:
  munge_fixture() {
    REQUIRE(::mkdtemp(folder_.data()) != nullptr);
    ::setenv(munge_socket_variable, (folder_ + "/socket").c_str(), 1);
  }

  ~munge_fixture() {
    ::unsetenv(munge_socket_variable);
    daemon_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// @returns whether there is one
  bool start_daemon() {
    std::ofstream{folder_ + "/key"} << std::string(128, 'k');
    ::chmod((folder_ + "/key").c_str(), 0400);
    daemon_.emplace([] {}, [this] { run_daemon(); });
    for (auto i = 0; i < 500 && !std::filesystem::exists(folder_ + "/socket");
         ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    if (std::filesystem::exists(folder_ + "/socket"))
      return true;
    actorrun::test::skip("munge", "there is no munged");
    return false;
  }

  std::shared_ptr<munge_service> uut = munge_of_host();

private:
  void run_daemon() const {
    const auto option = [&](const char* name, const char* file) {
      return std::string{name} + "=" + folder_ + "/" + file;
    };
    const auto socket = option("--socket", "socket");
    const auto key = option("--key-file", "key");
    const auto pid = option("--pid-file", "pid");
    const auto log = option("--log-file", "log");
    const auto seed = option("--seed-file", "seed");
    const auto null = ::open("/dev/null", O_RDWR);
    for (const auto fd : {0, 1, 2})
      ::dup2(null, fd);
    for (const auto* path : {"munged", "/usr/sbin/munged"})
      ::execlp(path, "munged", "--force", "--foreground", socket.c_str(),
               key.c_str(), pid.c_str(), log.c_str(), seed.c_str(), nullptr);
  }

  std::string folder_ = "/tmp/actorrun-munge-XXXXXX";
  std::optional<actorrun::test::child_process> daemon_;
};

errc code_of(const result<opened_text>& x) {
  return x ? errc::none : x.error().code;
}

} // namespace

TEST_CASE_METHOD(munge_fixture, "munge: a text comes with who has sealed it",
                 "[runtime]") {
  if (!start_daemon())
    return;
  const auto text = std::string{"a\0b", 3};
  for (const auto reader : {::geteuid(), munge_service::any_user}) {
    const auto sealed = uut->seal(text, reader);
    REQUIRE(sealed);
    const auto opened = uut->open(*sealed);
    REQUIRE(opened);
    CHECK(opened->text == text);
    CHECK(opened->user == ::geteuid());
    // A second time it could be anyone's.
    const auto again = uut->open(*sealed);
    CHECK(code_of(again) == errc::connection_failed);
    CHECK(again.error().text.find("before") != std::string::npos);
  }
  CHECK(uut->open(*uut->seal("", ::geteuid()))->text.empty());
}

TEST_CASE_METHOD(munge_fixture, "munge: a text is its reader's only",
                 "[runtime]") {
  if (!start_daemon())
    return;
  const auto sealed = uut->seal("text", ::geteuid() + 1);
  REQUIRE(sealed);
  CHECK(code_of(uut->open(*sealed)) == errc::user_mismatch);
}

TEST_CASE_METHOD(munge_fixture, "munge: what was changed is refused",
                 "[runtime]") {
  if (!start_daemon())
    return;
  const auto sealed = uut->seal("text", ::geteuid());
  REQUIRE(sealed);
  auto changed = *sealed;
  auto& x = changed[changed.size() / 2];
  x = x == 'A' ? 'B' : 'A';
  CHECK(code_of(uut->open(changed)) == errc::secret_mismatch);
  CHECK(code_of(uut->open("MUNGE:no:")) == errc::secret_mismatch);
  CHECK(code_of(uut->open("")) != errc::none);
  CHECK(uut->open(*sealed));
}

TEST_CASE_METHOD(munge_fixture, "munge: where no daemon runs, that is said",
                 "[runtime]") {
  const auto sealed = uut->seal("text", ::geteuid());
  REQUIRE_FALSE(sealed);
  CHECK(sealed.error().code == errc::connection_failed);
  CHECK(sealed.error().text.starts_with("munge "));
}

} // namespace actorrun::test::munge_test
