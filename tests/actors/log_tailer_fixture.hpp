// A log tailer with a terminal and a disk in memory.
#pragma once

#include "actors/core/logs/line_label.hpp"
#include "actors/log_tailer.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_console.hpp"
#include "tests/support/fake_log_files.hpp"
#include "tests/support/log_lines.hpp"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

namespace actorrun::test {

inline constexpr auto to_out = core::output_stream::out;
inline constexpr auto to_err = core::output_stream::err;

/// Role `w`, global rank = local rank + 10; the file of rank 1's standard error
/// in generation 2 is `/2/1/err`. No generation is followed before `follow`.
struct log_tailer_fixture : actor_fixture {
  /// Reads the options when the first generation is followed.
  void follow(uint64_t generation, uint32_t slot_count = 2) {
    if (!uut)
      uut = keep(spawn_log_tailer(system, config()));
    auto plan = core::generation_plan{};
    plan.generation = {generation};
    plan.own.slot_count = slot_count;
    plan.own.first_global_rank = 10;
    tell_tailer(follow_generation{plan, outputs(generation, slot_count)});
  }

  log_tailer_config config() {
    auto result = log_tailer_config{};
    result.options = options;
    result.role = "w";
    result.host = "node-a";
    result.prefixes = prefixes;
    result.console = console;
    result.files = files;
    result.lines = said_.writer(log_level::info);
    result.has_own_thread = false;
    return result;
  }

  core::generation_outputs outputs(uint64_t generation,
                                   uint32_t slot_count) const {
    auto result = core::generation_outputs{};
    for (uint32_t rank = 0; rank < slot_count; ++rank)
      result.workers.push_back({.out = target(generation, rank, "out"),
                                .err = target(generation, rank, "err"),
                                .error_file = {}});
    if (!options.stdout_filters.empty())
      result.filtered_out = folder(generation) + "/filtered_out";
    if (!options.stderr_filters.empty())
      result.filtered_err = folder(generation) + "/filtered_err";
    return result;
  }

  static std::string folder(uint64_t generation) {
    return "/" + std::to_string(generation);
  }

  static std::string path(uint64_t generation, uint32_t rank,
                          const char* name) {
    return folder(generation) + "/" + std::to_string(rank) + "/" + name;
  }

  core::stream_target target(uint64_t generation, uint32_t rank,
                             const char* name) const {
    return {.where = core::stream_target::kind::file,
            .path = path(generation, rank, name),
            .shown = is_shown};
  }

  /// Lets all messages arrive, one actor after the other: an actor that sends
  /// to itself does not delay the others.
  template <class Function>
  void run_in_turns(Function after_each) {
    here_.run_in_turns(after_each);
  }

  template <class Message>
  void tell_tailer(Message x) {
    tell_anonymously(uut, std::move(x));
    run();
  }

  /// True when the answer has arrived.
  template <class Answer, class Question>
  std::shared_ptr<bool> ask_tailer(Question x) {
    auto out = std::make_shared<bool>(false);
    keep(system.spawn([to = uut, x, out](caf::event_based_actor* self) {
      ask(self, to, std::chrono::seconds{10'000'000}, x)
        .then([out](const Answer&) { *out = true; });
      return caf::behavior{};
    }));
    run();
    return out;
  }

  std::shared_ptr<bool> drain(uint64_t generation, uint32_t rank) {
    return ask_tailer<worker_drained>(drain_worker{{generation}, rank});
  }

  std::shared_ptr<bool> flush() {
    return ask_tailer<logs_flushed>(flush_logs{});
  }

  void close(uint64_t generation) {
    tell_tailer(close_generation{{generation}});
  }

  /// Rank `rank` of generation 1 writes, and the tailer gets time to read it.
  void write(uint32_t rank, std::string_view text, const char* name = "out") {
    files->write(path(1, rank, name), text);
    advance(20ms);
  }

  std::string out() { return console->out(); }
  std::string err() { return console->err(); }

  /// The log lines of the tailer since the last call.
  std::string said() { return said_.told(); }

  core::log_options options;
  std::vector<std::string> prefixes;
  bool is_shown = true; ///< Applies to generations followed later.
  std::shared_ptr<fake_console> console = std::make_shared<fake_console>();
  std::shared_ptr<fake_log_files> files = std::make_shared<fake_log_files>();
  log_tailer_actor uut;

private:
  log_lines said_;
};

/// `count` lines of 100 bytes: `<name> <number>`, filled up with dots.
inline std::string many_lines(std::string_view name, size_t count) {
  auto result = std::string{};
  for (size_t i = 0; i < count; ++i) {
    auto line = std::string{name} + " " + std::to_string(i) + " ";
    line.resize(99, '.');
    result += line + "\n";
  }
  return result;
}

/// The same, as it is shown.
inline std::string labelled(std::string_view prefix, const std::string& lines) {
  auto result = std::string{};
  auto in = std::istringstream{lines};
  for (std::string line; std::getline(in, line);)
    result += std::string{prefix} + line + "\n";
  return result;
}

} // namespace actorrun::test
