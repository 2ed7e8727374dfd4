// Parts of forked starts that a host does not show: timeouts and waiting.
#include "runtime/processes/forked_starts.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <vector>

#include <pthread.h>

namespace actorrun::test::forked_starts_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

// Starts forks on a reactor, with short timeouts.
struct starts_fixture {
  reactor loop;
  std::unique_ptr<warden> guard;
  std::unique_ptr<spawner> starter;
  std::unique_ptr<start_thread> files;
  std::shared_ptr<start_batch> batch;
  std::unique_ptr<forked_starts> uut;
  std::shared_ptr<fork_server_process> server;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<started_process> results;

  explicit starts_fixture(core::duration answer_max = 100ms) {
    run([&] {
      guard = std::make_unique<warden>(loop, [] {});
      starter = std::make_unique<spawner>();
      files = std::make_unique<start_thread>(loop);
      batch = files->begin_batch();
      uut = std::make_unique<forked_starts>(loop, *guard, *files, answer_max);
    });
  }

  ~starts_fixture() {
    run([&] {
      for (auto& x : results) {
        ::kill(x.pid, SIGKILL);
        x.registration.reset();
        ::waitpid(x.pid, nullptr, 0);
      }
      server.reset();
      files->end(nullptr);
      uut.reset();
      batch.reset();
      files.reset();
      guard.reset();
    });
  }

  template <class F>
  void run(F fn) {
    auto done = std::promise<void>{};
    loop.post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }

  void serve(strings environment) {
    run([&] {
      server = std::make_shared<fork_server_process>(
        loop, *starter, FORK_SERVER_PROGRAM, FORK_SERVER_PROGRAM,
        std::move(environment), [&] { uut->server_ended(); });
    });
  }

  // On the reactor's thread.
  forked_starts::id start(ports::process_spec spec) {
    return uut->start({.spec = std::move(spec),
                       .fire_count = guard->fire_count(),
                       .batch = batch,
                       .server = server},
                      [&](started_process x) {
                        const auto lock = std::lock_guard{mutex};
                        results.push_back(std::move(x));
                        changed.notify_all();
                      });
  }

  bool wait_for_results(size_t count) {
    auto lock = std::unique_lock{mutex};
    return changed.wait_for(lock, timeout,
                            [&] { return results.size() >= count; });
  }
};

} // namespace

TEST_CASE_METHOD(starts_fixture,
                 "forked starts: a server that hangs is given up",
                 "[runtime]") {
  serve({"SERVER_HANGS=1"});
  run([&] {
    CHECK(start(served(0, {"exit", "0"})) != 0);
    CHECK(start(served(1, {"exit", "0"})) != 0);
  });
  REQUIRE(wait_for_results(2));
  CHECK(results[0].error == ETIMEDOUT);
  CHECK(results[0].subject == FORK_SERVER_PROGRAM " (as a fork server)");
  CHECK((results[1].error == ETIMEDOUT || results[1].error == ECONNRESET));
  results.clear();
  CHECK(soon([&] {
    auto ended = false;
    run([&] { ended = !server->runs(); });
    return ended;
  }));
}

TEST_CASE_METHOD(starts_fixture,
                 "forked starts: a worker that hangs is given up",
                 "[runtime]") {
  static auto hangs = std::atomic<bool>{false};
  ::pthread_atfork(nullptr, nullptr, [] {
    if (hangs)
      ::pause();
  });
  hangs = true;
  run([&] { CHECK(start(function(0, [] { return 0; })) != 0); });
  const auto has_result = wait_for_results(1);
  hangs = false;
  REQUIRE(has_result);
  CHECK(results[0].error == ETIMEDOUT);
  CHECK(results[0].subject == "function");
  results.clear();
  CHECK(!has_children());
}

TEST_CASE_METHOD(starts_fixture,
                 "forked starts: a start that is given up is reported once",
                 "[runtime]") {
  run([&] {
    const auto id = start(function(0, [] { return ::pause(); }));
    CHECK(id != 0);
    CHECK(results.empty());
    uut->give_up(id);
    REQUIRE(results.size() == 1);
    CHECK(results[0].error == ECANCELED);
    uut->give_up(id);
    uut->give_up(id + 1);
    CHECK(results.size() == 1);
  });
  results.clear();
  CHECK(!has_children());
}

TEST_CASE_METHOD(starts_fixture,
                 "forked starts: a waiting start can be given up",
                 "[runtime]") {
  serve({"SERVER_HANGS=1"});
  run([&] {
    auto ids = std::vector<forked_starts::id>{};
    for (auto i = 0U; i <= forks_under_way_max; ++i)
      ids.push_back(start(served(i, {"exit", "0"})));
    uut->give_up(ids.back());
    REQUIRE(results.size() == 1);
    CHECK(results[0].error == ECANCELED);
  });
  REQUIRE(wait_for_results(1 + forks_under_way_max));
  results.clear();
}

TEST_CASE_METHOD(starts_fixture,
                 "forked starts: a worker is guarded from its release on",
                 "[runtime]") {
  run([&] { CHECK(start(function(0, [] { return ::pause(); })) != 0); });
  REQUIRE(wait_for_results(1));
  REQUIRE(results[0].error == 0);
  CHECK(runs(results[0].pid));
  CHECK(results[0].registration);
  CHECK(::getsid(results[0].pid) == results[0].pid);
  run([&] { CHECK(guard->ensure() == 0); });
  guard->set_fence(clock_type::now());
  CHECK(soon([&] { return state_of(results[0].pid) == 'Z'; }));
}

} // namespace actorrun::test::forked_starts_test
