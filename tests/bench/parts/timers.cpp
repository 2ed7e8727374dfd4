// Measures the rate of timer messages that the agent of eight workers handles,
// next to torch's server and to a reader that ignores them; and the cost of a
// call of the worker library.

#include "tests/bench/parts/parts.hpp"
#include "tests/bench/timer_fifo_reader.hpp"
#include "tests/bench/tools/timer_worker.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

namespace actorrun::bench::timers_part {

namespace {

using namespace std::chrono_literals;

constexpr size_t worker_count = 8;

/// The same with torch's clients and server.
constexpr auto torch_flood = TORCH_FLOOD;

/// From the start of the first worker to the first message of all: none writes
/// while others are being started.
constexpr auto lead = 300ms;

constexpr double rate_min = 300; ///< In thousands per second, like rates.
constexpr double limit_ratio_min = 0.5;
constexpr double call_us_max = 2;

std::chrono::milliseconds flood_length(const setting& s) {
  return s.quick() ? 200ms : 1000ms;
}

/// The totals of all workers of a flood.
struct flood_figures {
  figures rate; ///< In thousands of messages per second.
  figures errors;
};

template <class T>
result<std::vector<T>> records_of(const std::string& path, size_t count) {
  auto found = std::vector<T>(count);
  auto file = std::ifstream{path, std::ios::binary};
  if (!file.read(reinterpret_cast<char*>(found.data()),
                 std::streamsize(count * sizeof(T))))
    return unmeasured("not all workers have written down what they did");
  return found;
}

/// Creates an empty file.
std::string new_results(setting& s) {
  auto path = s.new_file();
  std::ofstream{path};
  return path;
}

std::string results_variable(const std::string& path) {
  return std::string{timer_results_variable} + "=" + path;
}

std::vector<std::string> flood_command(setting& s) {
  return {s.tool("timer_worker"), "flood",
          std::to_string(stamp_now() + std::chrono::nanoseconds{lead}.count()),
          std::to_string(flood_length(s).count())};
}

measured add(const std::string& path, flood_figures& to) {
  const auto all = records_of<flood_record>(path, worker_count);
  if (!all)
    return all.error();
  auto begin = std::numeric_limits<int64_t>::max();
  auto end = int64_t{0};
  auto message_count = uint64_t{0};
  auto error_count = uint64_t{0};
  for (const auto& x : *all) {
    begin = std::min(begin, x.begin);
    end = std::max(end, x.end);
    message_count += x.message_count;
    error_count += x.error_count;
  }
  to.rate.add(double(message_count) * 1e6 / double(end - begin));
  to.errors.add(double(error_count));
  return {};
}

/// A launcher with `timer_worker`, run from start to end.
measured run_agent(setting& s, std::vector<std::string> worker, size_t count,
                   const std::string& results) {
  auto arguments = std::vector<std::string>{
    s.tool("actorrun"), "--nproc-per-node=" + std::to_string(count),
    "--no-python"};
  arguments.insert(arguments.end(), worker.begin(), worker.end());
  const auto what = s.command(arguments, {results_variable(results)});
  if (const auto done = time_of(what); !done)
    return done.error();
  if (const auto said = last_words(what.output);
      said.find("skips") != std::string::npos)
    return unmeasured("lines were torn: " + said);
  return {};
}

measured flood_agent(setting& s, flood_figures& to) {
  settle();
  const auto results = new_results(s);
  if (const auto done = run_agent(s, flood_command(s), worker_count, results);
      !done)
    return done;
  return add(results, to);
}

// The same workers without a launcher, and a FIFO that is only read.
measured flood_reader(setting& s, flood_figures& to) {
  settle();
  auto reader = timer_fifo_reader::open(s.new_file());
  if (!reader)
    return reader.error();
  const auto results = new_results(s);
  const auto what = s.command(
    flood_command(s), {results_variable(results), (*reader)->variable()});
  auto workers = std::vector<program>{};
  for (size_t i = 0; i < worker_count; ++i) {
    auto worker = program::start(what);
    if (!worker)
      return worker.error();
    workers.push_back(std::move(*worker));
  }
  for (auto& x : workers)
    if (x.wait(deadline()) != 0)
      return unmeasured("a worker that floods has failed");
  return add(results, to);
}

// The rate at which torch's server receives from as many of torch's clients.
measured flood_torch(setting& s, flood_figures& to) {
  if (!s.python_with_torch())
    return {};
  settle();
  const auto seconds = std::chrono::duration<double>{flood_length(s)}.count();
  const auto what
    = s.command({*s.python_with_torch(), torch_flood, s.new_file(),
                 std::to_string(worker_count), std::to_string(seconds)});
  if (const auto done = time_of(what); !done)
    return done.error();
  auto message_count = 0.0;
  auto length = 0.0;
  auto error_count = 0.0;
  auto said = std::ifstream{what.output};
  if (!(said >> message_count >> length >> error_count) || length <= 0)
    return unmeasured("torch's timers: " + last_words(what.output));
  to.rate.add((message_count - error_count) / length / 1e3);
  to.errors.add(error_count);
  return {};
}

measured measure_floods(setting& s) {
  auto ours = flood_figures{};
  auto limit = flood_figures{};
  auto peer = flood_figures{};
  if (auto done = flood_torch(s, peer); !done)
    return done;
  for (size_t i = 0; i < s.stream_repetitions(); ++i) {
    if (auto done = flood_agent(s, ours); !done)
      return done;
    if (auto done = flood_reader(s, limit); !done)
      return done;
  }
  print({.what = "timer messages of 8 workers",
         .unit = "k/s",
         .ours = ours.rate,
         .peer = peer.rate,
         .limit = limit.rate,
         .goal = "≥ 300 k/s",
         .met = ours.rate.median() >= rate_min});
  print({.what = "  beside a FIFO that is only emptied",
         .unit = "k/s",
         .ours = ours.rate,
         .limit = limit.rate,
         .goal = "≥ 0.5 × limit",
         .met = ratio(ours.rate, limit.rate) >= limit_ratio_min});
  print({.what = "  calls that failed",
         .ours = ours.errors,
         .peer = peer.errors,
         .limit = limit.errors,
         .goal = "0",
         .met = ours.errors.max() == 0});
  return {};
}

measured measure_calls(setting& s) {
  auto guard = row{.what = "a block with a timer (two messages), each",
                   .unit = "µs",
                   .goal = "≤ 2 µs"};
  auto alive
    = row{.what = "a step that says alive()", .unit = "µs", .goal = "≤ 2 µs"};
  const auto results = new_results(s);
  if (const auto done
      = run_agent(s, {s.tool("timer_worker"), "calls"}, 1, results);
      !done)
    return done;
  const auto found = records_of<call_record>(results, 1);
  if (!found)
    return found.error();
  guard.ours.add(found->at(0).expires / 2 / 1e3);
  alive.ours.add(found->at(0).alive / 1e3);
  for (auto* x : {&guard, &alive}) {
    x->met = x->ours.max() <= call_us_max;
    print(*x);
  }
  return {};
}

} // namespace

measured measure(setting& s) {
  if (auto done = measure_floods(s); !done)
    return done;
  return measure_calls(s);
}

} // namespace actorrun::bench::timers_part
