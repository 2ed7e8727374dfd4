#include "cli/program.hpp"

#include "actors/core/protocol/node_end.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include <unistd.h>

namespace actorrun::cli {

log open_log(const std::shared_ptr<program_console>& to, const char* program) {
  const auto* level = std::getenv("LOGLEVEL");
  return actorrun::open_log(to, program, level == nullptr ? "INFO" : level);
}

int fail(const failure& why, std::string_view program,
         program_console& console) {
  console.say(core::output_stream::err, explain(why, program));
  return static_cast<int>(exit_code_of(why.code));
}

void say(const std::vector<std::string>& warnings, const char* program) {
  for (const auto& x : warnings)
    std::cerr << warn(x, program);
}

void leave(int code) {
  std::cout.flush();
  std::cerr.flush();
  ::_exit(code);
}

bool contains(const std::vector<int>& signals, int x) {
  return std::find(signals.begin(), signals.end(), x) != signals.end();
}

void await_console(program_console& console, signal_inbox& inbox,
                   uint32_t signal_count, const std::vector<int>& ignored) {
  using std::chrono::steady_clock;
  const auto is_limited = signal_count > 1;
  const auto limit = steady_clock::now() + core::node_end::hurry_max;
  while (!console.is_flushed()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      limit - steady_clock::now());
    if (is_limited && left.count() <= 0)
      return;
    console.call_when_flushed([&] { inbox.wake_up(); });
    const auto signal
      = inbox.wait(is_limited ? left : std::chrono::milliseconds{-1});
    if (signal != 0 && !contains(ignored, signal) && ++signal_count > 1)
      return;
  }
}

} // namespace actorrun::cli
