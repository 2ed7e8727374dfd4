// A worker program in C++ that lives through changes, for live_test.py: does and
// prints the same as live_child.py.
#include <actorrun/runtime/worker/live.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
namespace worker = actorrun::worker;

std::mutex mutex;
std::condition_variable changed;
int call_count = 0;
bool is_unblocked = false;

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::string text_of(const worker::ranks& x) {
  auto out = std::string{};
  for (const auto& [first, last] : x.runs())
    out += (out.empty() ? "" : ",") + std::to_string(first)
           + (first == last ? "" : "-" + std::to_string(last));
  return out;
}

void describe(const worker::generation& x) {
  const auto* port = std::getenv("MASTER_PORT");
  say("generation " + std::to_string(x.number()) + " rank "
      + std::to_string(x.rank()) + "/" + std::to_string(x.world_size())
      + " local " + std::to_string(x.local_rank()) + " survivors "
      + text_of(x.survivors()) + " restarts " + std::to_string(x.restarts())
      + " reason " + x.reason() + " port " + (port == nullptr ? "" : port)
      + (std::getenv("ACTORRUN_AHEAD") == nullptr ? "" : " ahead"));
}

void wait_for(const worker::generation& x) {
  x.wait_over(30s);
  x.throw_if_over();
  throw std::runtime_error{"nothing came"};
}

void flag(const worker::generation& x) {
  while (!x.is_over())
    std::this_thread::sleep_for(1ms);
  say("flag");
}

void fail(const worker::generation& x) {
  if (x.restarts() == 0)
    throw std::invalid_argument{"first line\nsecond line"};
}

void count(const worker::generation& x, std::chrono::milliseconds pause) {
  for (uint64_t step = 1;; ++step) {
    try {
      x.safe_point(step);
    } catch (const worker::regroup&) {
      say("stopped at " + std::to_string(step));
      throw;
    }
    if (pause > 0ms)
      std::this_thread::sleep_for(pause);
  }
}

void fork_at(const worker::generation& x, uint64_t step) {
  const auto child = ::fork();
  if (child == 0) {
    x.safe_point(step);
    ::_exit(x.is_over() || x.wait_over(10ms) ? 1 : 0);
  }
  auto status = 0;
  ::waitpid(child, &status, 0);
  say("child " + std::to_string(status));
}

// Does what the lines of its input say, one after the other.
void ordered(const worker::generation& x) {
  auto word = std::string{};
  auto step = uint64_t{0};
  const auto save = [&] {
    say("save " + std::to_string(step));
    if (word == "fail")
      throw std::runtime_error{"first line\nsecond line"};
    auto more = std::string{};
    if (word == "wait")
      std::cin >> more;
  };
  while (std::cin >> word >> step) {
    try {
      if (word == "step")
        x.safe_point(step);
      else if (word == "fork")
        fork_at(x, step);
      else
        x.safe_point(step, save);
    } catch (const worker::regroup&) {
      say("over at " + std::to_string(step));
      throw;
    }
    say("past " + std::to_string(step));
  }
}

// Waits for something that only the hook brings.
void hook(const worker::generation&) {
  auto lock = std::unique_lock{mutex};
  changed.wait_for(lock, 30s, [] { return is_unblocked; });
  is_unblocked = false;
  throw std::runtime_error{"unblocked"};
}

void fork_one(const worker::generation& x) {
  fork_at(x, 7);
  wait_for(x);
}

void call_hooks(const std::string& way) {
  worker::on_regroup([way](std::string_view reason) {
    const auto lock = std::lock_guard{mutex};
    if (++call_count == 1)
      say("hook " + std::string{reason});
    if (call_count >= 2 || way == "hook")
      is_unblocked = true;
    changed.notify_all();
  });
}

// In each generation another thread waits as long as it is this program's.
void watch() {
  auto loop = worker::generation_loop{};
  auto watcher = std::thread{};
  while (const auto* generation = loop.next()) {
    if (watcher.joinable())
      watcher.join();
    describe(*generation);
    watcher = std::thread{[x = loop.current()] {
      say("watches");
      say(x->wait_over(1h) ? "watch 1" : "watch 0");
    }};
    auto line = std::string{};
    std::getline(std::cin, line);
  }
  watcher.join();
}

} // namespace

int main(int, char** argv) {
  const auto ways
    = std::map<std::string, std::function<void(const worker::generation&)>>{
      {"done", [](const worker::generation&) {}},
      {"wait", wait_for},
      {"flag", flag},
      {"fail", fail},
      {"steps", [](const worker::generation& x) { count(x, 5ms); }},
      {"spin", [](const worker::generation& x) { count(x, 0ms); }},
      {"ordered", ordered},
      {"hook", hook},
      {"hook_again", hook},
      {"fork", fork_one}};
  const auto way = std::string{argv[1]};
  if (way.starts_with("hook"))
    call_hooks(way);
  try {
    if (way == "watch")
      watch();
    else
      for (auto& generation : worker::generations()) {
        describe(generation);
        generation.run([&] { ways.at(way)(generation); });
      }
    say("ended");
  } catch (const worker::agent_lost&) {
    say("failed AgentLost");
    return 1;
  } catch (const std::exception& x) {
    say(std::string{"failed "} + x.what());
    return 1;
  }
}
