// A worker program that dies in the way that its first argument names.

#include "runtime/worker/record.h"
#include "runtime/worker/record.hpp"

#include <atomic>
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace child {

struct strange {};

struct slippery : std::exception {
  const char* what() const noexcept override;
};

// The compiler must not know how these functions end.
volatile int zero = 0;
int* volatile nowhere = nullptr;
void (*volatile no_function)() = nullptr;

[[gnu::noinline]] void write_nowhere() {
  *nowhere = 1;
}

const char* slippery::what() const noexcept {
  write_nowhere();
  return "";
}

[[gnu::noinline]] void throw_runtime_error(const std::string& text) {
  throw std::runtime_error{text};
}

[[gnu::noinline]] void throw_nested() {
  try {
    try {
      throw std::invalid_argument{"the innermost"};
    } catch (...) {
      std::throw_with_nested(std::logic_error{"the middle"});
    }
  } catch (...) {
    std::throw_with_nested(std::runtime_error{"the outermost"});
  }
}

[[gnu::noinline]] void throw_in_silence() noexcept {
  throw_runtime_error("not allowed");
}

[[gnu::noinline]] int recurse(int depth) {
  volatile char space[4'096];
  space[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + space[0];
}

[[gnu::noinline]] void call_nowhere() {
  no_function();
  zero = 1; // It would return here.
}

[[gnu::noinline]] void free_twice() {
  auto* volatile x = static_cast<char*>(std::malloc(100));
  std::free(x);
  std::free(x);
}

[[gnu::noinline]] void divide() {
  zero = 100 / zero;
}

[[gnu::noinline]] void read_beyond_file() {
  auto* file = std::tmpfile();
  auto* x = static_cast<volatile char*>(
    ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, ::fileno(file), 0));
  zero = x[0];
}

// The stack is no longer valid at the fault.
[[gnu::noinline]] void destroy_stack() {
  volatile char space[16];
  for (int i = 0; i < 400; ++i)
    space[i] = 0x5a;
}

// All threads fail at once, as far as the machine can.
void fail_in_threads(int count) {
  static std::atomic<int> waiting;
  waiting = count;
  auto threads = std::vector<std::thread>{};
  for (int i = 0; i < count; ++i)
    threads.emplace_back([i] {
      --waiting;
      while (waiting > 0) {
      }
      switch (i % 4) {
        case 0:
          write_nowhere();
          break;
        case 1:
          throw_runtime_error("thread " + std::to_string(i));
          break;
        case 2:
          std::abort();
        default:
          divide();
      }
    });
  for (auto& x : threads)
    x.join();
}

void say_and_leave(int) {
  (void)!::write(STDERR_FILENO, "earlier handler\n", 16);
  ::_exit(42);
}

int crash_in_fork() {
  const auto pid = ::fork();
  if (pid == 0)
    write_nowhere();
  auto status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : 1;
}

int record_in_fork(const std::string& file) {
  const auto pid = ::fork();
  if (pid == 0) {
    ::setenv("TORCHELASTIC_ERROR_FILE", file.c_str(), 1);
    actorrun::enable_record(actorrun::uncaught::exits);
    throw_runtime_error("in a fork");
  }
  auto status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : 1;
}

int die(int argc, char** argv) {
  const auto how = std::string{argv[1]};
  const auto word = std::string{argc > 2 ? argv[2] : ""};
  const std::map<std::string, void (*)()> ways = {
    {"nested", throw_nested},
    {"int", [] { throw 42; }},
    {"cstring", [] { throw "plain words"; }},
    {"string", [] { throw std::string{"a string"}; }},
    {"strange", [] { throw strange{}; }},
    {"slippery", [] { throw slippery{}; }},
    {"noexcept", throw_in_silence},
    {"terminate", [] { std::thread{[] {}}.~thread(); }},
    {"segv", write_nowhere},
    {"null-call", call_nowhere},
    {"overflow", [] { recurse(0); }},
    {"abort", [] { std::abort(); }},
    {"assert", [] { assert(zero == 1); }},
    {"free-twice", free_twice},
    {"fpe", divide},
    {"ill", [] { __builtin_trap(); }},
    {"bus", read_beyond_file},
    {"destroyed", destroy_stack},
    {"wait", [] { std::fputs("waits", stderr), ::pause(); }},
  };
  if (const auto way = ways.find(how); way != ways.end())
    way->second();
  else if (how == "throw")
    throw_runtime_error(word);
  else if (how == "long")
    throw_runtime_error(std::string(std::stoul(word), 'x'));
  else if (how == "thread")
    std::thread{throw_runtime_error, word}.join();
  else if (how == "threads")
    fail_in_threads(std::stoi(word));
  else if (how == "exit")
    return std::stoi(word);
  else if (how == "chdir-throw")
    throw_runtime_error(::chdir("/") == 0 ? word : "no chdir");
  else if (how == "crash-in-fork")
    return crash_in_fork();
  else if (how == "record-in-fork")
    return record_in_fork(word);
  return 99;
}

} // namespace child

int main(int argc, char** argv) {
  const auto entry = std::string{argc > 1 ? argv[1] : ""};
  if (entry == "function")
    return actorrun::record(child::die, argc - 1, argv + 1);
  if (entry == "lambda")
    return actorrun::record([&] { return child::die(argc - 1, argv + 1); });
  if (entry == "c")
    actorrun_record_enable();
  else if (entry == "exits")
    actorrun::enable_record(actorrun::uncaught::exits);
  else if (entry == "earlier") {
    std::signal(SIGSEGV, child::say_and_leave);
    actorrun::enable_record();
  } else {
    return 98;
  }
  return child::die(argc - 1, argv + 1);
}
