#include "cli/report/failure_view.hpp"

#include "actors/core/reports/failure_report.hpp"
#include "messages/formatted.hpp"
#include "runtime/program_support.hpp"

#include <ctime>

namespace actorrun::cli {

namespace {

using verdict = core::outcome::verdict;

// Who leaves workers behind that cannot be killed still knows why the job ended.
bool has_failed(const core::ending& how) {
  const auto knows = !how.why || how.why->code == errc::worker_unkillable;
  return knows && how.result && how.result->kind == verdict::failed
         && how.result->first_failure;
}

std::string stopped_by(int signal) {
  return formatted("SignalException: got signal {}", signal);
}

std::string coded(errc code, const std::string& text) {
  return formatted("{}: {}", to_string(code), text);
}

} // namespace

std::string local_time(int64_t wall_ms) {
  constexpr auto ms_per_second = 1'000;
  const auto seconds = static_cast<std::time_t>(wall_ms / ms_per_second);
  auto parts = std::tm{};
  char text[sizeof "-2147481748-12-31_23:59:60"];
  if (::localtime_r(&seconds, &parts) == nullptr
      || std::strftime(text, sizeof text, "%Y-%m-%d_%H:%M:%S", &parts) == 0)
    return "<N/A>";
  return text;
}

std::string failure_view(std::string_view name, const core::ending& how) {
  return has_failed(how) ? core::failure_report(name, *how.result, local_time)
                         : "";
}

std::optional<std::string> own_failure(const core::ending& how) {
  if (how.why)
    return coded(how.why->code, how.why->text);
  if (!how.result && how.signal == 0)
    return {};
  if (!how.result)
    return stopped_by(how.signal);
  switch (how.result->kind) {
    case verdict::unmet:
      return coded(errc::rendezvous_timed_out, how.result->reason);
    case verdict::stopped:
      return stopped_by(how.result->signal);
    case verdict::succeeded:
    case verdict::failed:
      break;
  }
  return {};
}

result<void> leave_error_file(const std::string& path, const core::ending& how,
                              std::string_view host, int64_t now_ms) {
  if (path.empty())
    return {};
  if (has_failed(how)) {
    const auto& first = *how.result->first_failure;
    if (first.details.error_file.empty())
      return {}; // Who started us knows the exit code, and more is not known.
    return write_error_file(path, first, first.host == host);
  }
  if (const auto why = own_failure(how))
    return write_error_file(path, *why, now_ms);
  return {};
}

} // namespace actorrun::cli
