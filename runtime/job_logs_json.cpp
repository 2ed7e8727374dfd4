#include "runtime/job_logs_json.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace actorrun {

namespace {

std::string line_of(const nlohmann::json& x) {
  return x.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
         + "\n";
}

} // namespace

std::vector<core::worker_snapshot> innermost_frames(const v1::Stacks& x) {
  auto out = std::vector<core::worker_snapshot>{};
  for (const auto& worker : x.workers())
    out.push_back(
      {worker.rank(),
       worker.frames().empty() ? worker.trouble() : worker.frames(0),
       {}});
  return out;
}

std::string to_json(const v1::Stacks& x) {
  auto workers = nlohmann::json::array();
  for (const auto& worker : x.workers())
    workers.push_back(
      {{"rank", worker.rank()},
       {"local_rank", worker.local_rank()},
       {"pid", worker.pid()},
       {"host", worker.host()},
       {"source", worker.source()},
       {"frames", std::vector<std::string>(worker.frames().begin(),
                                           worker.frames().end())},
       {"trouble", worker.trouble()},
       {"behind", worker.behind()}});
  auto out = nlohmann::json{{"workers", std::move(workers)},
                            {"trouble", x.trouble()},
                            {"truncated", x.truncated()}};
  if (const auto odd = core::odd_one_out(innermost_frames(x)))
    out["odd_one_out"] = *odd;
  return line_of(out);
}

std::string to_json(const v1::LogLines& x) {
  auto lines = nlohmann::json::array();
  for (const auto& line : x.lines())
    lines.push_back(
      {{"rank", line.rank()},
       {"generation", number_of(generation_id{line.generation()})},
       {"is_err", line.is_err()},
       {"text", line.text()},
       {"truncated", line.truncated()},
       {"time_ms", line.wall_ms()}});
  return line_of(
    nlohmann::json{{"lines", std::move(lines)}, {"trouble", x.trouble()}});
}

} // namespace actorrun
