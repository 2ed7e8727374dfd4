#include "runtime/diagnosis/error_file.hpp"

#include "actors/core/reports/failure_report.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/diagnosis/demangle.hpp"
#include "runtime/diagnosis/error_document.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/program_support.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun {

using namespace detail;

namespace {

/// Of a traceback, before its names are demangled.
constexpr auto raw_traceback_max = 2 * core::failure_traceback_max;

/// A string in an object; empty if there is none of that name.
std::string string_in(const error_document& x, const char* name) {
  const auto i = x.is_object() ? x.find(name) : x.end();
  return i != x.end() && i->is_string() ? i->get<std::string>() : "";
}

error_file_text text_of(const error_document& x) {
  const auto& content = x.at("message");
  const auto is_plain = content.is_string();
  const auto message
    = is_plain ? content.get<std::string>() : string_in(content, "message");
  const auto extra = is_plain ? content.end() : content.find("extraInfo");
  auto stack = is_plain || extra == content.end()
                 ? ""
                 : string_in(*extra, "py_callstack");
  if (stack.empty())
    stack = message;
  const auto traceback = core::printable(
    demangled(core::last_whole_lines(stack, raw_traceback_max)));
  return {std::string{core::beginning_of(core::first_line_of(message),
                                         core::failure_message_max)},
          core::last_whole_lines(traceback, core::failure_traceback_max)};
}

constexpr auto ms_per_second = int64_t{1'000};

/// Seconds, as a number or as text, in ms; 0: they are none of this time.
int64_t ms_of(const error_document& seconds) {
  auto value = 0.0;
  if (seconds.is_number()) {
    value = seconds.get<double>();
  } else if (seconds.is_string()) {
    const auto& text = seconds.get_ref<const std::string&>();
    const auto* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value).ptr != end)
      return 0;
  }
  constexpr auto latest = 253'402'300'800.0; // The year 10,000.
  return value > 0 && value < latest
           ? static_cast<int64_t>(value * static_cast<double>(ms_per_second))
           : 0;
}

int64_t timestamp_in(const error_document& x) {
  const auto& content = x.at("message");
  const auto value_in = [](const error_document& in) {
    const auto i = in.is_object() ? in.find("timestamp") : in.end();
    return i == in.end() ? int64_t{0} : ms_of(*i);
  };
  if (content.is_object())
    if (const auto extra = content.find("extraInfo"); extra != content.end())
      return value_in(*extra);
  return value_in(x);
}

int64_t change_time_of(const std::string& path) {
  constexpr auto ns_per_ms = int64_t{1'000'000};
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0)
    return 0;
  return facts.st_mtim.tv_sec * ms_per_second
         + facts.st_mtim.tv_nsec / ns_per_ms;
}

/// `@record` gives whole seconds, and writes the file at once; so the file's own time
/// is better if the two agree. A worker's time that is far from it is none.
int64_t time_of(const error_document& x, const std::string& path) {
  constexpr auto far = 24 * 60 * 60 * ms_per_second;
  const auto said = timestamp_in(x);
  const auto changed = change_time_of(path);
  const auto later = changed - said;
  if (said == 0 || (later >= 0 && later < 2 * ms_per_second) || later < -far
      || later > far)
    return changed;
  return said;
}

failure not_written(const std::string& path, const std::string& why) {
  return {errc::log_failed,
          formatted("the error file {} cannot be written: {}", path, why)};
}

// A device like /dev/null must not be replaced by a file.
result<void> leave_file(const std::string& path, std::string_view text) {
  constexpr auto mode = 0666;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return not_written(path, "it is not a regular file");
  if (const auto error = replace_file(path, text, mode); error != 0)
    return not_written(path, system_error_text(error));
  return {};
}

error_document document_of(std::string_view message, std::string_view stack,
                           int64_t wall_ms) {
  return {{"message",
           {{"message", message},
            {"extraInfo",
             {{"py_callstack", stack},
              {"timestamp", std::to_string(wall_ms / ms_per_second)}}}}}};
}

// The worker's own text is better than our description.
error_document document_of(const core::worker_failure& first) {
  const auto& details = first.details;
  const auto stack = details.traceback.empty()
                       ? core::substitute_traceback(first)
                       : details.traceback;
  const auto is_own = details.message.empty() || details.is_from_stderr;
  return document_of(is_own ? "WorkerFailed: " + core::to_string(first)
                            : details.message,
                     stack, details.wall_ms);
}

} // namespace

namespace detail {

std::optional<error_file_text> read_error_file(const std::string& path) {
  if (path.empty())
    return {};
  const auto found = load_error_document(path);
  if (!found)
    return error_file_text{
      formatted("the error file {} {}", path, found.error().text), ""};
  if (!*found)
    return {};
  auto out = text_of(**found);
  out.wall_ms = time_of(**found, path);
  return out;
}

} // namespace detail

result<void> write_error_file(const std::string& path,
                              const core::worker_failure& first,
                              bool has_worker_file) {
  auto x = document_of(first);
  if (has_worker_file && !first.details.error_file.empty())
    if (auto found = load_error_document(first.details.error_file);
        found && *found)
      x = std::move(**found);
  const auto code = core::reported_exit_code(first);
  if (auto& content = x["message"]; content.is_object() && code != 0)
    content["errorCode"] = code;
  return leave_file(path, to_text(x));
}

result<void> write_error_file(const std::string& path, std::string_view message,
                              int64_t wall_ms) {
  return leave_file(path, to_text(document_of(message, message, wall_ms)));
}

} // namespace actorrun
