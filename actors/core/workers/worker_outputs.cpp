#include "actors/core/workers/worker_outputs.hpp"

namespace actorrun::core {

namespace {

stream_target target_of(const log_options& options, const std::string& folder,
                        output_stream stream, uint32_t rank) {
  const auto is_shown
    = !options.shown_ranks || options.shown_ranks->contains(rank);
  const auto is_teed = contains(options.tees.of(rank), stream);
  const auto is_filed = is_teed || contains(options.redirects.of(rank), stream);
  if (is_filed && !folder.empty())
    return {.where = stream_target::kind::file,
            .path
            = folder + "/" + std::to_string(rank)
              + (stream == output_stream::out ? "/stdout.log" : "/stderr.log"),
            .shown = is_teed && is_shown};
  return {.where = is_shown ? stream_target::kind::inherited
                            : stream_target::kind::discarded,
          .path = {}};
}

} // namespace

generation_outputs plan_outputs(const log_options& options,
                                const std::string& folder,
                                uint32_t slot_count) {
  auto result = generation_outputs{};
  result.workers.reserve(slot_count);
  for (uint32_t rank = 0; rank < slot_count; ++rank)
    result.workers.push_back(
      {.out = target_of(options, folder, output_stream::out, rank),
       .err = target_of(options, folder, output_stream::err, rank),
       .error_file = folder.empty()
                       ? std::string{}
                       : folder + "/" + std::to_string(rank) + "/error.json"});
  if (!folder.empty() && !options.stdout_filters.empty())
    result.filtered_out = folder + "/filtered_stdout.log";
  if (!folder.empty() && !options.stderr_filters.empty())
    result.filtered_err = folder + "/filtered_stderr.log";
  return result;
}

} // namespace actorrun::core
