#include "cli/report/report_file.hpp"

#include "actors/core/reports/failure_report.hpp"
#include "actors/core/text.hpp"
#include "cli/report/ending_view.hpp"
#include "messages/formatted.hpp"
#include "runtime/program_support.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

using json = nlohmann::ordered_json;

// Texts come from workers, and from nodes of which we know nothing.
json failure_json(const core::worker_failure& x, std::string_view host) {
  const auto& details = x.details;
  const auto has_file = !details.error_file.empty();
  const auto is_output = details.is_from_stderr;
  return {{"rank", x.global_rank},
          {"local_rank", x.local_rank},
          {"host", core::printable(x.host)},
          {"pid", x.pid},
          {"exit_code", core::reported_exit_code(x)},
          {"error_file", core::printable(details.error_file)},
          {"error_file_is_here", has_file && x.host == host},
          {"message", core::printable(details.message)},
          {"traceback", core::printable(is_output ? "" : details.traceback)},
          {"time_ms", details.wall_ms},
          {"cause", core::printable(core::reported_cause(x))},
          {"stuck", core::printable(details.where)},
          {"last_output", core::printable(is_output ? details.traceback : "")}};
}

json failures_json(const core::ending& how, std::string_view host) {
  auto out = json::array();
  if (!how.result || !how.result->first_failure)
    return out;
  out.push_back(failure_json(*how.result->first_failure, host));
  for (const auto& x : how.result->other_failures)
    out.push_back(failure_json(x, host));
  return out;
}

/// Null: no trouble has ended the job, or that is not known.
json class_json(const core::ending& how) {
  return how.result && how.result->what != core::end_class::none
           ? json(core::to_string(how.result->what))
           : json(nullptr);
}

json ranks_json(const core::placement& x) {
  auto out = json::array();
  for (uint32_t slot = 0; slot < x.slot_count; ++slot)
    out.push_back(x.global_rank(slot));
  return out;
}

std::string folder_of(const std::string& path) {
  const auto end = path.rfind('/');
  if (end == std::string::npos)
    return ".";
  return end == 0 ? "/" : path.substr(0, end);
}

} // namespace

std::string report_json(const core::ending& how, std::string_view host,
                        std::string_view log_folder, bool by_class) {
  const auto& last = how.last;
  auto out = json{
    {"version", 1},
    {"verdict", verdict_of(how)},
    {"exit_code", exit_code_of(how, by_class)},
    {"signal", signal_of(how)},
    {"sentence", core::printable(sentence_of(how))},
    {"remedy", core::printable(remedy_of(how))},
    {"class", class_json(how)},
    {"given_up", how.result ? core::printable(how.result->given_up) : ""},
    {"generation", last ? number_of(last->generation) : 0},
    {"restarts", last ? last->restart_count : 0},
    {"node_rank", nullptr},
    {"ranks", json::array()},
    {"log_dir", core::printable(log_folder)},
    {"failures", failures_json(how, host)},
    {"unlisted_failures", how.result ? how.result->unlisted_failure_count : 0}};
  if (last) {
    out["node_rank"] = last->own.node_rank;
    out["ranks"] = ranks_json(last->own);
  }
  return out.dump() + "\n";
}

// The end of a job is too late to hear of a misspelled folder.
result<void> prepare_report_file(const std::string& path) {
  if (path.empty())
    return {};
  const auto refuse = [&](const std::string& why) {
    return bad_argument(formatted("--report-file: {}: {}", path, why));
  };
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return refuse("it is there, and no regular file");
  if (::faccessat(AT_FDCWD, folder_of(path).c_str(), W_OK | X_OK, AT_EACCESS)
      != 0)
    return refuse(formatted("no file can be made in its folder: {}",
                            core::error_text(errno)));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return refuse(formatted("the file that is there cannot be replaced: {}",
                            core::error_text(errno)));
  return {};
}

result<void> leave_report_file(const std::string& path, const core::ending& how,
                               std::string_view host,
                               std::string_view log_folder, bool by_class) {
  if (path.empty())
    return {};
  if (auto done
      = write_own_file(path, report_json(how, host, log_folder, by_class));
      !done)
    return failure{errc::log_failed,
                   formatted("--report-file: {}: {}", path, done.error().text)};
  return {};
}

} // namespace actorrun::cli
