#include "runtime/processes/orphan_sweep.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::orphan_sweep_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

/// A child of this program that has ended.
class ended_child {
public:
  explicit ended_child(bool leads_session) : pid_(::fork()) {
    if (pid_ == 0) {
      if (leads_session)
        ::setsid();
      ::_exit(0);
    }
    REQUIRE(soon([this] { return state_of(pid_) == 'Z'; }));
  }

  ended_child(const ended_child&) = delete;
  ended_child& operator=(const ended_child&) = delete;
  ~ended_child() { ::waitpid(pid_, nullptr, 0); }

  pid_t pid() const { return pid_; }
  bool is_reaped() const { return state_of(pid_) == '-'; }

private:
  pid_t pid_;
};

} // namespace

TEST_CASE("reap_orphans: children of a host program are left alone",
          "[runtime]") {
  const auto x = ended_child{true};
  const auto y = ended_child{false};
  CHECK(reap_orphans({}, "") == 0);
  CHECK_FALSE(x.is_reaped());
  CHECK_FALSE(y.is_reaped());
}

TEST_CASE("reap_orphans: a program without such children reaps all but its own "
          "workers and helpers",
          "[runtime]") {
  const auto orphan = ended_child{true};
  const auto worker = ended_child{true};
  const auto helper = ended_child{false};
  CHECK(reap_orphans({worker.pid()}, "", true) == 1);
  CHECK(orphan.is_reaped());
  CHECK_FALSE(worker.is_reaped());
  CHECK_FALSE(helper.is_reaped());
}

} // namespace actorrun::test::orphan_sweep_test
