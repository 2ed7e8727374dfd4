#include "tests/bench/log_launchers.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace actorrun::bench {

namespace {

using words = std::vector<std::string>;

words joined(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

words ours(setting& s, const std::string& streams, const std::string& folder,
           size_t worker_count, const words& worker) {
  return joined({s.tool("actorrun"),
                 "--nproc-per-node=" + std::to_string(worker_count), streams,
                 "--log-dir=" + folder, "--no-python"},
                worker);
}

// Torch 1.13 on Python 3.11, which Debian 12 has, takes neither 0 nor 3 for the
// streams.
words torchrun(setting& s, const words& streams, const std::string& folder,
               size_t worker_count, const words& worker) {
  return joined(
    joined({*s.python_with_torch(), "-m", "torch.distributed.run",
            "--standalone", "--nproc_per_node=" + std::to_string(worker_count),
            "--monitor_interval=0.1", "--log_dir=" + folder, "--no_python"},
           streams),
    worker);
}

} // namespace

const log_launcher our_tee{
  "actorrun --tee",
  [](setting& s, const std::string& folder, size_t count, words worker) {
    return ours(s, "--tee=3", folder, count, worker);
  }};

const log_launcher our_files{
  "actorrun --redirects",
  [](setting& s, const std::string& folder, size_t count, words worker) {
    return ours(s, "--redirects=3", folder, count, worker);
  }};

const log_launcher copy_loop{
  "copy loop",
  [](setting& s, const std::string& folder, size_t count, words worker) {
    return joined({s.tool("copy_loop"), std::to_string(count), folder}, worker);
  }};

const log_launcher hydra_prefix{
  "Hydra", [](setting& s, const std::string&, size_t count, words worker) {
    return joined({*s.hydra(), "-prepend-rank", "-n", std::to_string(count)},
                  worker);
  }};

const log_launcher torchrun_tee{
  "torchrun",
  [](setting& s, const std::string& folder, size_t count, words worker) {
    return torchrun(s, {"--redirects=2", "--tee=1"}, folder, count, worker);
  }};

const log_launcher torchrun_errors{
  "torchrun",
  [](setting& s, const std::string& folder, size_t count, words worker) {
    return torchrun(s, {"--redirects=1", "--tee=2"}, folder, count, worker);
  }};

std::vector<log_launcher> log_peers(setting& s) {
  auto result = std::vector<log_launcher>{};
  if (s.hydra())
    result.push_back(hydra_prefix);
  if (s.python_with_torch())
    result.push_back(torchrun_tee);
  return result;
}

result<shown_run> start(setting& s, const log_launcher& x, size_t worker_count,
                        std::vector<std::string> worker,
                        std::vector<std::string> environment) {
  auto console = line_checker::open(worker_count);
  if (!console)
    return console.error();
  const auto folder = std::shared_ptr<const std::string>{
    new std::string{s.new_folder()}, [](const std::string* path) {
      auto error = std::error_code{};
      std::filesystem::remove_all(*path, error);
      delete path;
    }};
  auto what
    = s.command(x.arguments(s, *folder, worker_count, std::move(worker)),
                std::move(environment));
  what.console = console->writing_end();
  auto launcher = program::start(what);
  if (!launcher)
    return launcher.error();
  console->close_writing_end();
  return shown_run{std::move(*launcher), std::move(*console), folder};
}

result<line_account> account_of(setting& s, const log_launcher& x,
                                size_t worker_count, const std::string& mode,
                                uint64_t line_count) {
  settle();
  auto run = start(s, x, worker_count,
                   {s.tool("line_writer"), mode, std::to_string(line_count)});
  if (!run)
    return run.error();
  auto account = run->console.read(line_count);
  if (account && !run->launcher.wait(deadline()))
    return unmeasured(x.name + " does not end");
  return account;
}

} // namespace actorrun::bench
