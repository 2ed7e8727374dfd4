#include "torchrun_nodes.hpp"

#include "free_port.hpp"
#include "process_usage.hpp"

#include <algorithm>

namespace actorrun::bench {

result<launched_job> launched_job::prepare(setting& s, launcher_kind kind,
                                           const shape& x) {
  auto board = s.new_board();
  if (!board)
    return board.error();
  const auto port = free_port();
  if (port == 0)
    return unmeasured("no port is free");
  return launched_job{kind, x, std::move(*board),
                      std::string{loopback} + ":" + std::to_string(port)};
}

result<std::monostate> launched_job::start_node(setting& s) {
  const auto what
    = s.command(kind_ == launcher_kind::ours ? ours(s) : torchrun(s),
                {board_.variable(), "OMP_NUM_THREADS=1"});
  output_ = what.output;
  auto node = program::start(what);
  if (!node)
    return node.error();
  nodes_.push_back(std::move(*node));
  return std::monostate{};
}

std::vector<pid_t> launched_job::workers_of(size_t node) {
  const auto children = children_of(pid(node));
  auto out = std::vector<pid_t>{};
  for (const auto& x : board_.read())
    if (std::find(children.begin(), children.end(), x.pid) != children.end()
        && is_alive(x.pid))
      out.push_back(x.pid);
  return out;
}

result<stamps> launched_job::await_world(uint32_t world_size, size_t count,
                                         clock::time_point due) {
  auto found = board_.await_world(known_, int32_t(world_size), count, due);
  if (!found)
    return unmeasured(found.error().text + ": " + last_words(output_));
  known_ = board_.read().size();
  return found;
}

std::vector<std::string> launched_job::ours(setting& s) const {
  auto out = std::vector<std::string>{
    s.tool("actorrun"), "--nnodes=" + shape_.nodes,
    "--nproc-per-node=" + std::to_string(shape_.worker_count),
    "--max-restarts=1000"};
  if (shape_.nodes != "1")
    out.insert(out.end(), {"--rdzv-endpoint=" + endpoint_, "--rdzv-id=bench",
                           std::string{"--rdzv-conf=is_host="}
                             + (nodes_.empty() ? "1" : "0")});
  out.insert(out.end(), {"--no-python", s.tool("stamp")});
  return out;
}

// Spelt as 1.13 and 2.14 both take it. 1.13 looks at its workers every 5 s
// unless it is told otherwise; and on Python 3.11 it takes neither 0 nor 3 for
// the streams.
std::vector<std::string> launched_job::torchrun(setting& s) const {
  auto out = std::vector<std::string>{*s.python_with_torch(),
                                      "-m",
                                      "torch.distributed.run",
                                      "--nnodes=" + shape_.nodes,
                                      "--nproc_per_node="
                                        + std::to_string(shape_.worker_count),
                                      "--max_restarts=1000",
                                      "--monitor_interval=0.1",
                                      "--redirects=2",
                                      "--tee=1",
                                      "--log_dir=" + s.new_folder()};
  if (shape_.nodes == "1")
    out.emplace_back("--standalone");
  else
    out.insert(out.end(),
               {"--rdzv_backend=c10d", "--rdzv_endpoint=" + endpoint_,
                "--rdzv_id=bench",
                std::string{"--rdzv_conf=is_host="}
                  + (nodes_.empty() ? "1" : "0") + shape_.torchrun_conf});
  out.insert(out.end(), {"--no_python", s.tool("stamp")});
  return out;
}

} // namespace actorrun::bench
