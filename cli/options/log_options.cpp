#include "cli/options/log_options.hpp"

#include "cli/options/log_values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::cli {

namespace {

constexpr auto no_files = "/dev/null";

using core::output_stream;
using core::std_streams;

bool any_file(const core::stream_choice& x) {
  return x.everywhere != std_streams::none
         || std::any_of(x.by_rank.begin(), x.by_rank.end(), [](const auto& y) {
              return y.second != std_streams::none;
            });
}

bool writes_files(const core::log_options& x) {
  return x.folder != no_files && (any_file(x.redirects) || any_file(x.tees));
}

/// Whether lines of a stream are labelled on the console, of any rank.
bool shows_lines(const run_settings& x, output_stream stream) {
  const auto& logs = x.logs;
  for (uint32_t rank = 0; rank < x.slot_count; ++rank)
    if (contains(logs.tees.of(rank), stream)
        && (!logs.shown_ranks || logs.shown_ranks->contains(rank)))
      return logs.folder != no_files;
  return false;
}

/// Why no line of a stream comes past us.
std::string no_lines(const run_settings& x, const std::string& tee) {
  if (x.logs.folder == no_files)
    return "--log-dir=/dev/null leaves the output alone; choose a folder";
  if (any_file(x.logs.tees) && x.logs.shown_ranks)
    return formatted("no local rank is both in {} and in --local-ranks-filter",
                     tee);
  return "this works on lines that are teed; add " + tee;
}

using idle_options = std::vector<idle_option>;

void check_lines(const run_settings& x, idle_options& out) {
  const auto& logs = x.logs;
  const auto has_out = shows_lines(x, output_stream::out);
  const auto has_err = shows_lines(x, output_stream::err);
  if (!logs.stdout_filters.empty() && !has_out)
    out.push_back(
      {"--duplicate-stdout-filters", no_lines(x, "--tee=1 or --tee=3")});
  if (!logs.stderr_filters.empty() && !has_err)
    out.push_back(
      {"--duplicate-stderr-filters", no_lines(x, "--tee=2 or --tee=3")});
  if (has_out || has_err)
    return;
  if (logs.folds_identical)
    out.push_back({"--fold-identical", no_lines(x, "--tee=3")});
  if (!logs.prefix_template.empty())
    out.push_back({"--log-line-prefix-template", no_lines(x, "--tee=3"), true});
}

void check_files(const run_settings& x, idle_options& out) {
  const auto& logs = x.logs;
  if (logs.rotate_size != 0 && !writes_files(logs))
    out.push_back(
      {"--log-rotate-size",
       logs.folder == no_files
         ? "--log-dir=/dev/null makes no files; choose a folder"
         : "no output goes to files; add --redirects=3 or --tee=3"});
  if (x.rotate_keep && logs.rotate_size == 0)
    out.push_back(
      {"--log-rotate-keep", "nothing is rotated without --log-rotate-size"});
}

void check_rank(const char* name, uint32_t rank, const run_settings& x,
                idle_options& out) {
  if (rank < x.slot_count)
    return;
  out.push_back(
    {name, formatted("there is no local rank {}; --nproc-per-node is {}{}",
                     rank, x.slot_count,
                     x.slot_count == 1
                       ? ", so there is 0 only"
                       : formatted(", so there are 0..{}", x.slot_count - 1))});
}

/// The highest rank that each option names: one remark will do.
void check_ranks(const run_settings& x, idle_options& out) {
  const auto& redirects = x.logs.redirects.by_rank;
  if (!redirects.empty())
    check_rank("--redirects", redirects.rbegin()->first, x, out);
  const auto& tees = x.logs.tees.by_rank;
  if (!tees.empty())
    check_rank("--tee", tees.rbegin()->first, x, out);
  const auto& shown = x.logs.shown_ranks;
  if (shown && !shown->empty())
    check_rank("--local-ranks-filter", *shown->rbegin(), x, out);
}

} // namespace

void add_log_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Logs"};
  auto& logs = out.logs;
  add("--log-dir", "FOLDER",
      "folder for logs and error files, in which each run makes a new folder "
      "(default: a new folder for temporary files). /dev/null: no files at all",
      logs.folder);
  add("-r,--redirects", "STREAMS",
      "output that goes to files instead of the console: 0 none "
      "(default), 1 stdout, 2 stderr, 3 both; or by local rank: 0:1,12:3",
      into(logs.redirects, parse_stream_choice));
  add("-t,--tee", "STREAMS",
      "output that goes to files and also, line by line with a label, to "
      "the console; values as for --redirects",
      into(logs.tees, parse_stream_choice));
  add("--local-ranks-filter", "RANKS",
      "show only the output of these local ranks on the console: 0,1,12 "
      "(default: all); files are not affected",
      into(logs.shown_ranks, parse_local_ranks));
  add("--log-line-prefix-template", "TEXT",
      "label of teed lines; ${role_name}, ${local_rank}, ${rank} and "
      "${hostname} are replaced (default: [${role_name}${local_rank}]:)",
      logs.prefix_template, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
  add("--duplicate-stdout-filters", "TEXTS",
      "teed lines of stdout that contain one of these texts also go to the "
      "node's filtered_stdout.log: warning,error; ,, is a literal comma",
      into(logs.stdout_filters, parse_filters));
  add("--duplicate-stderr-filters", "TEXTS",
      "the same for stderr and filtered_stderr.log",
      into(logs.stderr_filters, parse_filters));
  add("--fold-identical",
      "show a line that many ranks print at the same time once on "
      "the console; files are not affected",
      logs.folds_identical);
  add("--log-rotate-size", "SIZE",
      "rotate a log file that grows beyond this size: bytes, 64K, 100M, "
      "2G (default: 0, never)",
      into(logs.rotate_size, parse_rotate_size));
  add("--log-rotate-keep", "N",
      "number of rotated files to keep of each log file (default: 3)",
      into(out.rotate_keep, count_parser(1, core::rotate_keep_max)));
}

std::vector<idle_option> idle_log_options(const run_settings& x) {
  auto out = idle_options{};
  if (x.logs.folder == no_files && any_file(x.logs.tees))
    out.push_back({"--tee",
                   "with --log-dir=/dev/null all output goes to the console as"
                   " it is, without labels",
                   true});
  if (x.logs.folder == no_files && any_file(x.logs.redirects))
    out.push_back({"--redirects",
                   "with --log-dir=/dev/null all output goes to the console as"
                   " it is",
                   true});
  check_ranks(x, out);
  check_lines(x, out);
  check_files(x, out);
  return out;
}

core::log_options log_options_of(const run_settings& x) {
  auto out = x.logs;
  out.rotate_keep = x.rotate_keep.value_or(out.rotate_keep);
  const auto is_missing = [&](uint32_t rank) { return rank >= x.slot_count; };
  for (auto* streams : {&out.redirects, &out.tees})
    std::erase_if(streams->by_rank,
                  [&](const auto& y) { return is_missing(y.first); });
  if (out.shown_ranks)
    std::erase_if(*out.shown_ranks, is_missing);
  return out;
}

} // namespace actorrun::cli
