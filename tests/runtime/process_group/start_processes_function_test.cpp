#include "runtime/process_group/call_channel.hpp"
#include "tests/runtime/process_group/start_processes_fixture.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace actorrun::test::start_processes_function_test {

using namespace actorrun::start_processes_test;

// -- what the workers do ------------------------------------------------------

namespace {

auto counter = 0;

struct report {
  std::string name;
  std::vector<double> losses;
};

void to_json(nlohmann::json& x, const report& y) {
  x = {{"name", y.name}, {"losses", y.losses}};
}

void from_json(const nlohmann::json& x, report& y) {
  y = {x.at("name").get<std::string>(),
       x.at("losses").get<std::vector<double>>()};
}

const auto train = entry_point("train", [](std::string name, int steps) {
  auto x = report{std::move(name), {}};
  for (auto i = 0; i < steps; ++i)
    x.losses.push_back(1.0 / (1 << i));
  return x;
});

const auto echo_back
  = entry_point("echo-back", [](nlohmann::json x) { return x; });

const auto fill
  = entry_point("fill", [](size_t size) { return std::string(size, 'x'); });

const auto speak = entry_point("speak", [] {
  std::cout << "by stream" << std::endl;
  std::printf("by stdio\n");
  std::fflush(stdout);
  if (std::system("echo by child; echo error >&2") != 0)
    throw std::runtime_error{"no child"};
  std::cout << "at the end"; // Not flushed by the launcher.
});

const auto look = entry_point("look", [](const std::string& name) {
  const auto* value = std::getenv(name.c_str());
  return std::string{value == nullptr ? "unset" : value};
});

const auto count = entry_point("count", [] { return ++counter; });

const auto own_pid = entry_point("own-pid", [] { return ::getpid(); });

const auto tasks = entry_point("tasks", [] {
  return std::distance(fs::directory_iterator{"/proc/self/task"}, {});
});

const auto open_files = entry_point("open-files", [] {
  auto result = std::vector<int>{};
  for (auto fd = 0; fd < 1'024; ++fd)
    if (::fcntl(fd, F_GETFD) != -1)
      result.push_back(fd);
  return result;
});

const auto nest = entry_point("nest", [](std::string folder) {
  auto x = process_options{
    .entrypoint = count, .args = {{0, {}}}, .envs = {{0, {}}}};
  x.logs.folder = std::move(folder);
  auto group = start_processes(std::move(x));
  if (!group)
    throw std::runtime_error{group.error().text};
  return (*group)->wait()->return_values.at(0);
});

const auto methods
  = {start_method::spawn, start_method::fork, start_method::fork_server};

} // namespace

// -- values -------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "start_processes: functions return their values",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(train, method, {{"a", 2}, {"b", 0}}));
  CHECK(failures_of(result).empty());
  const auto first = result.return_values.at(0).get<report>();
  CHECK(first.name == "a");
  CHECK(first.losses == std::vector{1.0, 0.5});
  CHECK(result.return_values.at(1).get<report>().losses.empty());
}

TEST_CASE_METHOD(fixture, "start_processes: a value of 10 MiB comes back",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto size = size_t{10} * 1024 * 1024;
  const auto result = run(calls(fill, method, {{size}, {size}}));
  CHECK(failures_of(result).empty());
  for (const auto& [rank, value] : result.return_values)
    CHECK(value.get_ref<const std::string&>() == std::string(size, 'x'));
  CHECK(result.return_values.size() == 2);
}

TEST_CASE_METHOD(fixture, "start_processes: arguments arrive as they were",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto bytes = std::string{"\xff\0\n", 3};
  const auto result = run(
    calls(echo_back, method,
          {{bytes}, {UINT64_MAX}, {{1, {{"key", nullptr}}}}, {std::nan("")}}));
  CHECK(result.return_values.at(0) == bytes);
  CHECK(result.return_values.at(1) == UINT64_MAX);
  CHECK(result.return_values.at(2) == nlohmann::json({1, {{"key", nullptr}}}));
  CHECK(std::isnan(result.return_values.at(3).get<double>()));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function that returns nothing "
                 "gives null",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(speak, method, {{}}));
  CHECK(failures_of(result).empty());
  CHECK(result.return_values.at(0) == nullptr);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a value that is too large is a "
                 "failure that names its size",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(fill, method, {{return_size_max}}));
  CHECK(failures_of(result) == "0: code 1");
  CHECK(result.first_failure().details.message.find("67108869 bytes")
        != std::string::npos);
}

// -- environment --------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "start_processes: a function has its own variables "
                 "and the launcher's",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  ::setenv("ACTORRUN_TEST_INHERITED", "ours", 1);
  auto x = calls(look, method,
                 {{"LOCAL_RANK"},
                  {"LOCAL_RANK"},
                  {"ACTORRUN_TEST_INHERITED"},
                  {"ACTORRUN_FUNCTION"}});
  x.envs[0] = {{"LOCAL_RANK", "0"}};
  const auto result = run(std::move(x));
  ::unsetenv("ACTORRUN_TEST_INHERITED");
  CHECK(result.return_values.at(0) == "0");
  CHECK(result.return_values.at(1) == "unset");
  CHECK(result.return_values.at(2) == "ours");
  CHECK(result.return_values.at(3) == "unset");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: all output of a function goes to "
                 "its files",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(speak, method, {{}, {}}));
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CHECK(content_of(result.stdouts.at(rank))
          == "by stream\nby stdio\nby child\nat the end");
    CHECK(content_of(result.stderrs.at(rank)) == "error\n");
  }
}

TEST_CASE_METHOD(fixture,
                 "start_processes: unflushed output of the caller "
                 "does not come out of a function",
                 "[start_processes]") {
  auto out = std::make_unique<captured>(STDOUT_FILENO, here / "out");
  std::printf("ours"); // Stays in the buffer.
  const auto result = run(calls(speak, start_method::fork, {{}}));
  std::fflush(stdout);
  const auto text = out->text();
  out.reset();
  CHECK(text == "ours");
  CHECK(content_of(result.stdouts.at(0)).starts_with("by stream"));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function runs alone in the "
                 "process that the context names",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  auto group = start(calls(own_pid, method, {{}, {}}));
  const auto result = finish(*group);
  for (const auto& [rank, pid] : group->pids())
    CHECK(result.return_values.at(rank) == pid);
  CHECK(run(calls(tasks, method, {{}})).return_values.at(0) == 1);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: only a fork has the caller's memory",
                 "[start_processes]") {
  counter = 41;
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(count, method, {{}, {}}));
  const auto expected = method == start_method::fork ? 42 : 1;
  CHECK(result.return_values.at(0) == expected);
  CHECK(result.return_values.at(1) == expected);
  CHECK(counter == 41);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function has none of the "
                 "launcher's descriptors",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(open_files, method, {{}}));
  CHECK(result.return_values.at(0) == nlohmann::json({0, 1, 2, 3}));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function may start processes, "
                 "too",
                 "[start_processes]") {
  const auto method = GENERATE(start_method::spawn, start_method::fork_server);
  const auto result = run(calls(nest, method, {{here / "nested"}}));
  CHECK(failures_of(result).empty());
  CHECK(result.return_values.at(0) == 1);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: wrong arguments are reported at the "
                 "start",
                 "[start_processes]") {
  const auto started
    = start_processes(calls(train, start_method::spawn, {{"a", 1}, {"b"}}));
  REQUIRE_FALSE(started);
  CHECK(started.error().code == errc::bad_argument);
  CHECK(started.error().text
        == "local rank 1: entry point \"train\": takes 2 arguments, not 1");
}

} // namespace actorrun::test::start_processes_function_test
