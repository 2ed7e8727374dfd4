#include "runtime/diagnosis/worker_evidence.hpp"

#include "actors/core/text.hpp"
#include "runtime/diagnosis/error_file.hpp"
#include "runtime/os/disk.hpp"
#include "runtime/os/file.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

namespace actorrun::detail {

namespace {

/// The wall clock's time of a moment by the monotonic clock.
int64_t wall_time_of(core::time_point when) {
  using std::chrono::system_clock;
  const auto since = when == core::time_point{}
                       ? core::duration{0}
                       : core::time_point::clock::now() - when;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
           system_clock::now().time_since_epoch() - since)
    .count();
}

/// Up to `limit` bytes; none if there is no such file. A rotation may leave a
/// hole in front, which reads as zeros.
std::string end_of_file(const std::string& path, size_t limit) {
  const auto file = open_regular_file(path);
  if (!file || !*file)
    return {};
  const auto size = (*file)->size;
  auto text = read_part(**file, size - std::min<uint64_t>(size, limit), limit);
  return text.erase(0, std::min(text.find_first_not_of('\0'), text.size()));
}

void add_last_words(core::death_details& out, const core::worker_outputs& x) {
  if (x.err.where != core::stream_target::kind::file)
    return;
  out.traceback = last_words(x.err.path);
  out.is_from_stderr = true;
}

} // namespace

void worker_evidence::begin() {
  kills_.begin();
}

core::death_details
worker_evidence::examine(const ports::process_exited& death,
                         const core::worker_outputs& outputs) {
  auto out = recall(death, outputs);
  out.out_of_memory = death.signal == SIGKILL && kills_.claim();
  if (out.out_of_memory && out.message.empty())
    out.message = kills_.limit();
  if (out.traceback.empty())
    add_last_words(out, outputs);
  if (out.message.empty() && lacks_space(outputs))
    out.message = "no space is left on the disk of its log files";
  return out;
}

// A file that was written by a clock of its own says nothing of the time.
core::death_details
worker_evidence::recall(const ports::process_exited& death,
                        const core::worker_outputs& outputs) {
  auto out = core::death_details{};
  out.wall_ms = wall_time_of(death.when);
  auto said = read_error_file(outputs.error_file);
  if (!said)
    return out;
  out.error_file = outputs.error_file;
  out.message = std::move(said->message);
  out.traceback = std::move(said->traceback);
  if (said->wall_ms > 0 && said->wall_ms < out.wall_ms)
    out.wall_ms = said->wall_ms;
  return out;
}

core::duration worker_evidence::age_of(int64_t wall_ms) {
  return std::chrono::milliseconds{wall_time_of({}) - wall_ms};
}

// The agent makes room on a full disk, and may have done so by now.
bool worker_evidence::lacks_space(const core::worker_outputs& x) const {
  using kind = core::stream_target::kind;
  const auto had_none = [this](const core::stream_target& to) {
    return to.where == kind::file && was_full_ && was_full_(to.path);
  };
  return x.err.where == kind::file
         && (is_on_full_disk(x.err.path) || had_none(x.out) || had_none(x.err));
}

core::death_details
worker_evidence::examine(const ports::process_not_started& death,
                         const ports::process_spec& spec) {
  auto out = core::death_details{};
  out.wall_ms = wall_time_of(death.when);
  out.subject = !death.subject.empty() || spec.arguments.empty()
                  ? death.subject
                  : spec.arguments.front();
  return out;
}

std::string last_words(const std::string& path) {
  // One more byte shows whether the first line is complete.
  constexpr auto limit = last_words_size_max + 1;
  auto text = end_of_file(path, limit);
  // What is missing in front may have been rotated away just now.
  if (text.size() < limit)
    text = end_of_file(path + ".1", limit - text.size()) + text;
  const auto lines
    = core::last_lines(text, text.size() == limit, last_words_lines_max);
  return std::string{core::end_of(lines, core::failure_traceback_max)};
}

} // namespace actorrun::detail
