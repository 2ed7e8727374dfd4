#include "runtime/diagnosis/vitals_sampler.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::vitals_sampler_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_deadline;
using namespace std::chrono_literals;
using actorrun::test::child_process;

namespace {

constexpr auto mib = uint64_t{1} << 20;
constexpr auto many = size_t{50} * mib;

using pids = std::vector<int64_t>;

void allocate() {
  auto* memory = ::mmap(nullptr, many, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, many);
}

void spin() {
  for (auto i = std::atomic<uint64_t>{0};;)
    ++i;
}

core::worker_vitals only(const core::node_vitals& x) {
  REQUIRE(x.workers.size() == 1);
  return x.workers.front();
}

} // namespace

TEST_CASE("vitals_sampler: it knows the node", "[runtime]") {
  auto uut = vitals_sampler{};
  const auto x = uut.take({});
  REQUIRE(x.load);
  REQUIRE(x.cpu_count);
  CHECK(*x.cpu_count >= std::thread::hardware_concurrency());
  REQUIRE(x.memory);
  CHECK(x.memory->total > 16 * mib);
  CHECK(x.memory->available > 0);
  CHECK(x.memory->available <= x.memory->total);
  CHECK(x.workers.empty());
  CHECK_FALSE(x.truncated);
}

TEST_CASE("vitals_sampler: a busy worker and one that sleeps", "[runtime]") {
  const auto busy = child_process{[] {}, spin};
  const auto idle = child_process{};
  auto uut = vitals_sampler{};
  const auto both = pids{busy.pid(), idle.pid()};
  CHECK_FALSE(uut.has_base());
  uut.take(both);
  CHECK(uut.has_base());
  auto last = core::node_vitals{};
  CHECK(soon([&] { // Other programs may keep all CPUs for a while.
    std::this_thread::sleep_for(50ms);
    last = uut.take(both);
    return last.workers.size() == 2 && last.workers[0].state == 'R'
           && last.workers[0].cpu_percent.value_or(0) >= 10;
  }));
  REQUIRE(last.workers.size() == 2);
  CHECK(last.workers[0].pid == busy.pid());
  CHECK(last.workers[0].local_rank == 0);
  CHECK(last.workers[1].pid == idle.pid());
  CHECK(last.workers[1].local_rank == 1);
  CHECK(last.workers[1].state == 'S');
  CHECK(last.workers[1].cpu_percent == 0u);
  CHECK(last.workers[1].process_count == 1);
}

TEST_CASE("vitals_sampler: the age of a worker grows", "[runtime]") {
  const auto worker = child_process{};
  auto uut = vitals_sampler{};
  const auto before = only(uut.take({worker.pid()})).age;
  REQUIRE(before);
  CHECK(*before < 20s);
  std::this_thread::sleep_for(100ms);
  const auto after = only(uut.take({worker.pid()})).age;
  REQUIRE(after);
  CHECK(*after - *before >= 90ms);
  CHECK(*after - *before < 20s);
}

TEST_CASE("vitals_sampler: the threads of a worker are counted", "[runtime]") {
  const auto worker = child_process{[] {
    for (auto i = 0; i < 3; ++i)
      std::thread{[] {
        for (;;)
          ::pause();
      }}.detach();
  }};
  const auto alone = child_process{};
  auto uut = vitals_sampler{};
  const auto x = uut.take({worker.pid(), alone.pid()});
  REQUIRE(x.workers.size() == 2);
  REQUIRE(x.workers[0].thread_count);
  CHECK(*x.workers[0].thread_count - *x.workers[1].thread_count == 3);
  CHECK(soon([&] { return only(uut.take({worker.pid()})).state == 'S'; }));
}

TEST_CASE("vitals_sampler: memory is resident memory, with that of child "
          "processes",
          "[runtime]") {
  const auto large = child_process{allocate};
  const auto parent = child_process{[] {
    int ready[2];
    char byte = 0;
    if (::pipe(ready) != 0)
      return;
    if (::fork() == 0) {
      allocate();
      const auto ignored = ::write(ready[1], "", 1);
      (void)ignored;
      for (;;)
        ::pause();
    }
    const auto ignored = ::read(ready[0], &byte, 1);
    (void)ignored;
  }};
  const auto small = child_process{};
  auto uut = vitals_sampler{};
  const auto x = uut.take({large.pid(), parent.pid(), small.pid()});
  REQUIRE(x.workers.size() == 3);
  const auto base = *x.workers[2].memory;
  CHECK(base > 0);
  CHECK(*x.workers[0].memory >= many);
  CHECK(*x.workers[0].memory < many + base + 8 * mib);
  CHECK(x.workers[0].process_count == 1);
  CHECK(*x.workers[1].memory >= many);
  CHECK(x.workers[1].process_count == 2);
}

TEST_CASE("vitals_sampler: the use of child processes counts, also when they "
          "have ended",
          "[runtime]") {
  const auto worker
    = child_process{[] {},
                    [] {
                      for (;;) { // A child after the other burns 50 ms.
                        if (::fork() == 0) {
                          const auto end = ::clock() + CLOCKS_PER_SEC / 20;
                          while (::clock() < end)
                            continue;
                          ::_exit(0);
                        }
                        ::wait(nullptr);
                      }
                    }};
  auto uut = vitals_sampler{};
  uut.take({worker.pid()});
  CHECK(soon([&] {
    std::this_thread::sleep_for(200ms);
    return only(uut.take({worker.pid()})).cpu_percent.value_or(0) >= 10;
  }));
}

TEST_CASE("vitals_sampler: a bounded number of processes counts", "[runtime]") {
  const auto worker = child_process{[] {
    for (auto i = 0; i < 100; ++i)
      if (::fork() == 0)
        for (;;)
          ::pause();
  }};
  auto uut = vitals_sampler{};
  CHECK(only(uut.take({worker.pid()})).process_count == worker_processes_max);
}

TEST_CASE("vitals_sampler: stopped workers and those that have ended are shown "
          "as such",
          "[runtime]") {
  auto worker = child_process{};
  auto uut = vitals_sampler{};
  worker.signal(SIGSTOP);
  CHECK(soon([&] { return only(uut.take({worker.pid()})).state == 'T'; }));
  worker.kill();
  worker.await_end();
  CHECK(only(uut.take({worker.pid()})).state == 'Z');
  CHECK(only(uut.take({worker.pid()})).memory == 0u);
  const auto pid = worker.pid();
  worker.end();
  CHECK(uut.take({pid}).workers.empty());
}

TEST_CASE("vitals_sampler: other processes are left out", "[runtime]") {
  const auto grandchild = child_process{};
  auto uut = vitals_sampler{};
  // The first of the system, ourselves, none, and what is no number of a process.
  for (const auto pid : {int64_t{1}, int64_t{::getpid()}, int64_t{0},
                         int64_t{-1}, int64_t{INT64_MAX}})
    CHECK(uut.take({pid}).workers.empty());
  const auto x = uut.take({1, grandchild.pid()});
  CHECK(only(x).local_rank == 1);
}

TEST_CASE("vitals_sampler: workers may die while they are sampled",
          "[runtime]") {
  // Its child processes come and go all the time.
  const auto churning = child_process{[] {},
                                      [] {
                                        for (;;) {
                                          if (::fork() == 0)
                                            ::_exit(0);
                                          ::wait(nullptr);
                                        }
                                      }};
  auto uut = vitals_sampler{};
  for (auto i = 0; i < 30; ++i) {
    auto dying = child_process{};
    auto killer = std::thread{[&] { dying.kill(); }};
    const auto x = uut.take({churning.pid(), dying.pid()});
    killer.join();
    REQUIRE_FALSE(x.workers.empty());
    CHECK(x.workers[0].pid == churning.pid());
    CHECK(x.workers[0].process_count >= 1);
    CHECK(x.workers[0].process_count <= 2);
  }
}

TEST_CASE("vitals_sampler: no more workers are read than the bound",
          "[runtime]") {
  const auto worker = child_process{};
  auto uut = vitals_sampler{};
  auto asked = pids(core::sampled_workers_max, 1);
  asked.push_back(worker.pid());
  const auto x = uut.take(asked);
  CHECK(x.workers.empty());
  CHECK(x.truncated);
}

TEST_CASE("inspect_outputs: size and age are those of the files", "[runtime]") {
  const auto where = test_folders::folder{};
  std::ofstream{where / "out"} << "12345";
  std::ofstream{where / "err"} << "678";
  std::ofstream{where / "empty"};
  const auto old = timespec{::time(nullptr) - 100, 0};
  const timespec times[2] = {old, old};
  REQUIRE(::utimensat(AT_FDCWD, (where / "out").c_str(), times, 0) == 0);
  using kind = core::stream_target::kind;
  const auto file = [&](const char* name) {
    return core::stream_target{kind::file, where / name, false};
  };
  const auto console = core::stream_target{};
  const auto x = inspect_outputs({.workers = {{file("out"), file("err"), ""},
                                              {file("out"), console, ""},
                                              {file("out"), file("out"), ""},
                                              {file("empty"), console, ""},
                                              {console, console, ""},
                                              {file("none"), file(""), ""}},
                                  .filtered_out = {},
                                  .filtered_err = {}});
  REQUIRE(x.size() == 6);
  CHECK(x[0].size == 8u);
  REQUIRE(x[0].age);
  CHECK(*x[0].age < 20s); // The younger file counts.
  CHECK(x[1].size == 5u);
  REQUIRE(x[1].age);
  CHECK(*x[1].age >= 100s);
  CHECK(x[2].size == 5u); // One file counts once.
  CHECK(x[3].size == 0u);
  CHECK_FALSE(x[3].age);
  CHECK_FALSE(x[4].size);
  CHECK_FALSE(x[5].size); // A folder is no file.
}

TEST_CASE("inspect_outputs: a file of the future has just grown", "[runtime]") {
  const auto where = test_folders::folder{};
  std::ofstream{where / "out"} << "12345";
  const auto later = timespec{::time(nullptr) + 1'000, 0};
  const timespec times[2] = {later, later};
  REQUIRE(::utimensat(AT_FDCWD, (where / "out").c_str(), times, 0) == 0);
  const auto x = inspect_outputs(
    {.workers
     = {{{core::stream_target::kind::file, where / "out", false}, {}, ""}},
     .filtered_out = {},
     .filtered_err = {}});
  CHECK(x.at(0).age == 0ms);
}

} // namespace actorrun::test::vitals_sampler_test
