#include "actors/core/reports/failure_report.hpp"

#include "actors/core/text.hpp"
#include "actors/core/unbegun_program.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace actorrun::core {

namespace {

constexpr auto not_available = std::string_view{"<N/A>"};
constexpr auto width_max = size_t{60};
// Tools search for exactly this text.
constexpr auto hint = "To enable traceback see: "
                      "https://pytorch.org/docs/stable/elastic/errors.html";

/// `label` is padded to the width of torchrun's; what the value holds may come
/// from a worker.
std::string line(std::string_view label, std::string_view value) {
  constexpr auto label_width = size_t{10};
  auto out = "\n  " + std::string{label};
  out.append(label_width - std::min(label.size(), label_width), ' ');
  return out + ": " + printable(value);
}

// The further lines of a text stand below their field.
std::string indented(std::string_view text) {
  auto out = std::string{};
  for (const auto c : text) {
    out += c;
    if (c == '\n')
      out += "  ";
  }
  return out;
}

bool has_signal(const worker_failure& x) {
  return x.kind == failure_kind::signalled
         || x.kind == failure_kind::timer_expired
         || x.kind == failure_kind::unkillable;
}

/// @param is_advised Whether the report has said how to keep standard error; it
///                   says so once.
std::string output_of(const worker_failure& x, bool& is_advised) {
  const auto& details = x.details;
  if (x.kind == failure_kind::not_started || x.kind == failure_kind::unkillable)
    return "";
  if (details.is_from_stderr)
    return details.traceback.empty()
             ? "nothing was written to standard error"
             : "the traceback is the end of standard error";
  if (!details.traceback.empty() || std::exchange(is_advised, true))
    return "";
  return "standard error was not kept: it went to the console of " + x.host
         + "; -t 2 keeps it, and shows its end here";
}

// A traceback ends in the message, most of the time.
std::string message_of(const worker_failure& x) {
  const auto& message = x.details.message;
  return x.details.traceback.find(message) == std::string::npos ? message : "";
}

/// A line may be all that a worker has in memory, as text.
constexpr auto line_size_max = size_t{1'000};

std::string with_short_lines(std::string_view text) {
  auto out = std::string{};
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    const auto kept = beginning_of(line, line_size_max);
    out += kept;
    if (kept.size() < line.size())
      out += "… (" + std::to_string(line.size() - kept.size()) + " more bytes)";
    if (end < text.size())
      out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string traceback_of(const worker_failure& x) {
  if (!x.details.traceback.empty())
    return with_short_lines(x.details.traceback);
  return substitute_traceback(x);
}

std::string exit_code_of(const worker_failure& x) {
  auto out = std::to_string(reported_exit_code(x))
             + " (pid: " + std::to_string(x.pid) + ")";
  const auto name = has_signal(x) ? signal_name(x.code) : std::string{};
  return name.empty() ? out : out + "  (" + name + ")";
}

std::string block_of(size_t index, const worker_failure& x,
                     const local_time_text& local_time, bool& is_advised) {
  const auto& details = x.details;
  auto out = "[" + std::to_string(index) + "]:";
  out += line("time", details.wall_ms == 0 ? std::string{not_available}
                                           : local_time(details.wall_ms));
  out += line("host", x.host);
  out += line("rank", std::to_string(x.global_rank) + " (local_rank: "
                        + std::to_string(x.local_rank) + ")");
  out += line("exitcode", exit_code_of(x));
  out += line("error_file",
              details.error_file.empty() ? not_available : details.error_file);
  out += line("traceback", indented(traceback_of(x)));
  const auto add = [&out](std::string_view label, const std::string& value) {
    if (!value.empty())
      out += line(label, indented(value));
  };
  add("cause", reported_cause(x));
  add("stuck", details.where);
  add("message", with_short_lines(message_of(x)));
  add("output", output_of(x, is_advised));
  return out;
}

std::string others_of(const outcome& how, const local_time_text& local_time,
                      bool& is_advised) {
  auto out = std::string{};
  auto index = size_t{0};
  for (const auto& x : how.other_failures) {
    out += (out.empty() ? "" : "\n");
    out += block_of(++index, x, local_time, is_advised);
  }
  if (how.unlisted_failure_count > 0) {
    out += (out.empty() ? "  " : "\n  ");
    out += "and " + std::to_string(how.unlisted_failure_count)
           + " more that are not listed";
  }
  return out.empty() ? "  <NO_OTHER_FAILURES>" : out;
}

/// In characters.
size_t longest_line(std::string_view text) {
  auto longest = size_t{0};
  auto current = size_t{0};
  for (const auto c : text) {
    const auto continues_character = (static_cast<uint8_t>(c) & 0xC0) == 0x80;
    current = c == '\n' ? 0 : current + (continues_character ? 0 : 1);
    longest = std::max(longest, current);
  }
  return longest;
}

} // namespace

std::string reported_cause(const worker_failure& x) {
  if (x.kind == failure_kind::timer_expired)
    return (x.details.scope == hang_scope ? "the job hung: "
                                          : "its timer expired: ")
           + overrun_text(x.details);
  if (x.kind == failure_kind::unkillable)
    return "it outlived SIGKILL and hangs in the kernel; its node is out of "
           "the job"
           + (x.details.scope.empty()
                ? ""
                : "; its timer had expired: " + overrun_text(x.details));
  if (x.details.out_of_memory)
    return "killed by the kernel: out of memory";
  if (x.kind == failure_kind::not_started)
    return "could not be started: " + error_text(x.code)
           + (x.details.subject.empty() ? "" : ": " + x.details.subject);
  if (const auto why = why_not_begun(x); !why.empty())
    return "it probably ended before its program began: " + why;
  return x.kind == failure_kind::signalled && x.dumped ? "core dumped" : "";
}

int reported_exit_code(const worker_failure& x) {
  constexpr auto not_found = 127;
  constexpr auto not_executable = 126;
  switch (x.kind) {
    case failure_kind::exited:
      return x.code;
    case failure_kind::signalled:
    case failure_kind::timer_expired:
    case failure_kind::unkillable:
      return -x.code;
    case failure_kind::not_started:
      break;
  }
  return x.code == ENOENT || x.code == ENOTDIR ? not_found : not_executable;
}

std::string substitute_traceback(const worker_failure& x) {
  if (x.kind == failure_kind::not_started)
    return "The worker never ran.";
  if (!has_signal(x))
    return hint;
  const auto name = signal_name(x.code);
  return "Signal " + std::to_string(x.code) + " ("
         + (name.empty() ? std::string{not_available} : name)
         + ") received by PID " + std::to_string(x.pid);
}

std::string failure_report(std::string_view name, const outcome& how,
                           const local_time_text& local_time) {
  if (!how.first_failure)
    return {};
  const auto title = one_line(name, line_message_max) + " FAILED";
  auto is_advised = false;
  const auto root = block_of(0, *how.first_failure, local_time, is_advised);
  const auto others = others_of(how, local_time, is_advised);
  const auto width = std::min(
    width_max,
    std::max({longest_line(title), longest_line(root), longest_line(others)}));
  const auto border = std::string(width, '=') + "\n";
  const auto rule = std::string(width, '-') + "\n";
  return border + title + "\n" + rule + "Failures:\n" + others + "\n" + rule
         + "Root Cause (first observed failure):\n" + root + "\n" + border;
}

} // namespace actorrun::core
