#include "tests/bench/torchrun_nodes.hpp"

#include "tests/bench/free_port.hpp"
#include "tests/bench/process_usage.hpp"

#include <algorithm>
#include <iterator>

namespace actorrun::bench {

namespace {

/// When a node joins, the first one's wait for others is not measured.
constexpr auto short_last_call = ",last_call_timeout=1";

/// Without this, torchrun from 2.4 on ends when a node joins, because it does
/// not know the address of the store (seen with 2.14). Earlier versions do not
/// have it.
constexpr auto no_shared_store = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1";

/// Both write standard error to files and copy standard output to the console:
/// 1.13 on Python 3.11 takes neither 0 nor 3.
std::vector<std::string> stream_options(setting& s) {
  return {"--redirects=2", "--tee=1", "--log_dir=" + s.new_folder()};
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

} // namespace

result<launched_job> launched_job::prepare(setting& s, launcher_kind kind,
                                           const shape& x) {
  auto tracker = s.new_tracker();
  if (!tracker)
    return tracker.error();
  const auto port = free_port();
  if (port == 0)
    return unmeasured("no port is free");
  return launched_job{kind, x, std::move(*tracker),
                      std::string{loopback} + ":" + std::to_string(port)};
}

result<void> launched_job::start_node(setting& s) {
  const auto what = s.command(
    kind_ == launcher_kind::ours ? ours(s) : torchrun(s), variables());
  output_ = what.output;
  auto node = program::start(what);
  if (!node)
    return node.error();
  nodes_.push_back(std::move(*node));
  return {};
}

std::vector<std::string> launched_job::variables() const {
  auto out = std::vector<std::string>{tracker_.variable(), "OMP_NUM_THREADS=1"};
  if (shape_.has_late_nodes)
    out.emplace_back(no_shared_store);
  return out;
}

std::vector<pid_t> launched_job::workers_of(size_t node) {
  const auto children = children_of(pid(node));
  auto out = std::vector<pid_t>{};
  for (const auto& x : tracker_.read())
    if (std::find(children.begin(), children.end(), x.pid) != children.end()
        && is_alive(x.pid))
      out.push_back(x.pid);
  return out;
}

result<stamps> launched_job::await_world(uint32_t world_size, size_t count,
                                         clock::time_point due) {
  auto found = tracker_.await_world(known_, int32_t(world_size), count, due);
  if (!found)
    return unmeasured(found.error().text + ": " + last_words(output_));
  known_ = tracker_.read().size();
  return found;
}

std::vector<std::string> launched_job::ours(setting& s) const {
  auto out = std::vector<std::string>{
    s.tool("actorrun"), "--nnodes=" + shape_.nodes,
    "--nproc-per-node=" + std::to_string(shape_.worker_count),
    "--max-restarts=1000"};
  append(out, stream_options(s));
  if (shape_.nodes != "1")
    out.insert(out.end(), {"--rdzv-endpoint=" + endpoint_, "--rdzv-id=bench",
                           std::string{"--rdzv-conf=is_host="}
                             + (nodes_.empty() ? "1" : "0")});
  out.insert(out.end(), {"--no-python", s.tool("stamp")});
  return out;
}

// Spelled as 1.13 and 2.14 both accept it. By default 1.13 checks its workers
// every 5 s.
std::vector<std::string> launched_job::torchrun(setting& s) const {
  auto out = std::vector<std::string>{*s.python_with_torch(),
                                      "-m",
                                      "torch.distributed.run",
                                      "--nnodes=" + shape_.nodes,
                                      "--nproc_per_node="
                                        + std::to_string(shape_.worker_count),
                                      "--max_restarts=1000",
                                      "--monitor_interval=0.1"};
  append(out, stream_options(s));
  if (shape_.nodes == "1")
    out.emplace_back("--standalone");
  else
    out.insert(
      out.end(),
      {"--rdzv_backend=c10d", "--rdzv_endpoint=" + endpoint_, "--rdzv_id=bench",
       std::string{"--rdzv_conf=is_host="} + (nodes_.empty() ? "1" : "0")
         + (shape_.has_late_nodes ? short_last_call : "")});
  out.insert(out.end(), {"--no_python", s.tool("stamp")});
  return out;
}

} // namespace actorrun::bench
