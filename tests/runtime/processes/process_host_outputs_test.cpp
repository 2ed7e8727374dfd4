// Where the processes of a host write, and what they inherit.
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::test::process_host_outputs_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

// Each kind of process that prints a given text.
ports::process_spec printing(ports::start_method method, uint32_t rank) {
  switch (method) {
    case ports::start_method::exec:
      return shell(rank, "printf out; printf err >&2");
    case ports::start_method::fork:
      return function(rank, [] {
        std::cout << "out"; // Not flushed.
        std::fputs("err", stderr);
        return 0;
      });
    case ports::start_method::fork_server:
      return served(rank, {"print", "out", "err"});
  }
  return {};
}

ports::process_spec pausing(ports::start_method method, uint32_t rank) {
  switch (method) {
    case ports::start_method::exec:
      return worker(rank, {"sleep", "1000"});
    case ports::start_method::fork:
      return function(rank, [] { return ::pause(); });
    case ports::start_method::fork_server:
      return served(rank, {"pause"});
  }
  return {};
}

const auto methods = {ports::start_method::exec, ports::start_method::fork,
                      ports::start_method::fork_server};

size_t own_descriptor_count() {
  const auto all = fs::directory_iterator{"/proc/self/fd"};
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

} // namespace

TEST_CASE_METHOD(fixture, "process host: outputs go where they should",
                 "[runtime]") {
  const auto here = folder{};
  auto specs = std::vector<ports::process_spec>{};
  for (const auto method : methods) {
    auto& spec = specs.emplace_back(printing(method, specs.size()));
    spec.out = to_file(here / std::to_string(spec.local_rank));
    spec.err = discarded;
  }
  auto reversed = printing(ports::start_method::exec, 3);
  reversed.out = discarded;
  reversed.err = to_file(here / "3");
  specs.push_back(std::move(reversed));
  start(std::move(specs));
  REQUIRE(wait_for_events(8));
  for (const auto* name : {"0", "1", "2"})
    CHECK(content_of(here / name) == "out");
  CHECK(content_of(here / "3") == "err");
  CHECK(notes.empty());
}

TEST_CASE_METHOD(fixture, "process host: both outputs can share a file",
                 "[runtime]") {
  const auto here = folder{};
  auto specs = std::vector<ports::process_spec>{};
  for (const auto method : methods) {
    auto& spec = specs.emplace_back(pausing(method, specs.size()));
    spec.out = spec.err = to_file(here / std::to_string(spec.local_rank));
  }
  start(std::move(specs));
  REQUIRE(wait_for_events(3));
  for (const auto& x : all<ports::process_started>())
    CHECK(::syscall(SYS_kcmp, x.pid, x.pid, KCMP_FILE, 1, 2) == 0);
}

TEST_CASE_METHOD(fixture,
                 "process host: a worker has what it is given and no more",
                 "[runtime]") {
  const auto here = folder{};
  const auto leaking = unique_fd{::open("/dev/null", O_RDONLY)};
  const auto a
    = unique_fd{::open((here / "a").c_str(), O_CREAT | O_RDWR, 0600)};
  const auto b
    = unique_fd{::open((here / "b").c_str(), O_CREAT | O_RDWR, 0600)};
  auto specs = std::vector<ports::process_spec>{};
  for (const auto method : methods) {
    auto plain = pausing(method, specs.size());
    auto full = pausing(method, specs.size() + 1);
    full.out = to_file(here / "out" + std::to_string(full.local_rank));
    full.err = discarded;
    full.descriptors = {b.get(), a.get(), b.get()};
    specs.push_back(std::move(plain));
    specs.push_back(std::move(full));
  }
  const auto count = specs.size();
  start(std::move(specs));
  REQUIRE(wait_for_events(count));
  for (const auto& x : all<ports::process_started>()) {
    const auto at = [&](int fd) {
      const auto base = "/proc/" + std::to_string(x.pid) + "/fd/";
      return fs::read_symlink(base + std::to_string(fd)).string();
    };
    if (x.local_rank % 2 == 0) {
      CHECK(has_descriptors(x.pid, {"0", "1", "2"}));
      continue;
    }
    CHECK(has_descriptors(x.pid, {"0", "1", "2", "3", "4", "5"}));
    CHECK(at(1) == here / "out" + std::to_string(x.local_rank));
    CHECK(at(2) == "/dev/null");
    CHECK(at(3) == here / "b");
    CHECK(at(4) == here / "a");
    CHECK(at(5) == here / "b");
  }
}

TEST_CASE_METHOD(fixture, "process host: a hundred batches leak no descriptor",
                 "[runtime]") {
  if (actorrun::test::has_thread_sanitizer)
    return actorrun::test::skip("no tsan", "in time, a fork hangs in it");
  const auto here = folder{};
  const auto run = [&](uint64_t number) {
    auto specs = std::vector<ports::process_spec>{};
    for (const auto method : methods) {
      auto& spec = specs.emplace_back(printing(method, specs.size()));
      spec.out = to_file(here / std::to_string(spec.local_rank));
      spec.err = number % 2 == 0 ? spec.out : discarded;
      spec.descriptors = {STDIN_FILENO};
    }
    specs.push_back(worker(3, {"no-such-program"}));
    specs.push_back(function(4, {}));
    const auto before = all<ports::process_exited>().size();
    start(std::move(specs), generation_id{number});
    REQUIRE(wait([&] {
      return std::ranges::count_if(
               events,
               [](const auto& x) {
                 return std::holds_alternative<ports::process_exited>(x);
               })
             == static_cast<ptrdiff_t>(before + 3);
    }));
    uut->release(generation_id{number});
    on_thread([] {});
  };
  run(1);
  CHECK(soon([&] { // It comes a little later than the first.
    auto pid = pid_t{};
    on_thread([&] { pid = uut->second_warden_pid(); });
    return pid != 0;
  }));
  const auto before = own_descriptor_count();
  for (auto i = 2U; i <= 101; ++i)
    run(i);
  CHECK(own_descriptor_count() == before);
}

TEST_CASE_METHOD(fixture,
                 "process host: files that cannot be opened cost only the "
                 "output, and one warning per batch",
                 "[runtime]") {
  const auto here = folder{};
  auto specs = std::vector<ports::process_spec>{};
  for (const auto method : methods) {
    auto& spec = specs.emplace_back(printing(method, specs.size()));
    spec.out = to_file(here / "none/x");
    spec.err = to_file(here / "none/y");
  }
  start(specs);
  REQUIRE(wait_for_events(6));
  for (const auto& x : all<ports::process_exited>())
    CHECK(x.exit_code == 0);
  REQUIRE(wait([&] { return !notes.empty(); }));
  CHECK(notes
        == strings{"output is lost: cannot open " + (here / "none/x")
                   + ": No such file or directory; and 5 more files of this "
                     "start"});
  start(specs, generation_id{2});
  REQUIRE(wait_for_events(12));
  CHECK(wait([&] { return notes.size() == 2; }));
}

TEST_CASE_METHOD(fixture, "process host: bad descriptors are reported",
                 "[runtime]") {
  auto closed = worker(0, {"true"});
  closed.descriptors = {0, ::fcntl(0, F_DUPFD, 900)};
  ::close(closed.descriptors[1]);
  auto most = worker(1, {"true"});
  most.descriptors.assign(descriptor_count_max, 0);
  auto many = worker(2, {"true"});
  many.descriptors.assign(descriptor_count_max + 1, 0);
  auto served_most = served(3, {"exit", "0"});
  served_most.descriptors.assign(descriptor_count_max, 0);
  auto forked_most = function(4, [] { return 0; });
  forked_most.descriptors.assign(descriptor_count_max, 0);
  const auto number = std::to_string(closed.descriptors[1]);
  start({closed, most, many, served_most, forked_most});
  REQUIRE(wait_for_events(8));
  for (const auto& x : all<ports::process_exited>())
    CHECK(x.exit_code == 0);
  const auto failures = all<ports::process_not_started>();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].error == EBADF);
  CHECK(failures[0].subject == "true (its descriptor " + number + ")");
  CHECK(failures[1].error == EINVAL);
  CHECK(failures[1].subject == "true (129 descriptors; 128 are possible)");
}

} // namespace actorrun::test::process_host_outputs_test
