#include "actors/core/reports/worker_stack.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace actorrun::core {

namespace {

/// A thread with its frames.
using thread_lines = std::vector<std::string>;

std::string shown(std::string_view line) {
  return one_line(line, stack_frame_size_max);
}

void append(std::vector<std::string>& out, thread_lines x) {
  std::ranges::move(x, std::back_inserter(out));
  out.resize(std::min(out.size(), stack_frames_max));
}

} // namespace

// `Thread 4711 (idle): "MainThread"`, then frames, indented.
std::vector<std::string> python_frames(std::string_view dump) {
  auto threads = std::vector<thread_lines>{};
  auto main = size_t{0};
  while (!dump.empty()) {
    const auto line = take_until(dump, '\n');
    if (line.starts_with("Thread ")) {
      if (line.find("\"MainThread\"") != line.npos)
        main = threads.size();
      threads.push_back({shown(line)});
    } else if (!threads.empty() && line.starts_with("    ")
               && line.ends_with(')')) {
      threads.back().push_back(shown(line));
    }
  }
  auto out = std::vector<std::string>{};
  if (threads.empty() || threads[main].size() < 2)
    return out;
  threads[main].erase(threads[main].begin()); // Its frames come first anyway.
  append(out, std::move(threads[main]));
  for (size_t i = 0; i < threads.size(); ++i)
    if (i != main)
      append(out, std::move(threads[i]));
  return out;
}

// `[<0>] futex_wait_queue+0x69/0xd0`
std::vector<std::string> kernel_frames(const thread_snapshot& first,
                                       std::string_view kernel_stack) {
  auto out = std::vector<std::string>{place_of(first)};
  if (!first.syscall.empty())
    out.push_back("system call " + shown(first.syscall));
  while (!kernel_stack.empty()) {
    auto line = take_until(kernel_stack, '\n');
    if (const auto name = line.find("] "); name != line.npos)
      line.remove_prefix(name + 2);
    append(out, {shown(line)});
  }
  return out;
}

} // namespace actorrun::core
