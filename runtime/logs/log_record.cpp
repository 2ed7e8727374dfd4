#include "runtime/logs/log_record.hpp"

#include "messages/formatted.hpp"
#include "runtime/logs/torch_log_layout.hpp"
#include "runtime/os/file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

using json = nlohmann::json;

constexpr auto record_version = 1;
constexpr auto record_suffix = std::string_view{".logs"};

/// In bytes. A larger file is no record of ours.
constexpr auto record_bytes_max = 64 * log_record_size_max;

/// In a folder for each worker, as torchrun has it.
std::string usual_path(const std::string& folder, size_t local_rank,
                       const char* name) {
  return formatted("{}/{}/{}", folder, local_rank, name);
}

/// The folder above those of the workers; empty: they have none.
std::string folder_of_attempt(const core::generation_outputs& x) {
  for (size_t i = 0; i < x.workers.size(); ++i)
    for (const auto* target : {&x.workers[i].out, &x.workers[i].err}) {
      const auto rest = formatted(
        "/{}/{}", i, target == &x.workers[i].out ? "stdout.log" : "stderr.log");
      if (target->where == core::stream_target::kind::file
          && target->path.ends_with(rest))
        return target->path.substr(0, target->path.size() - rest.size());
    }
  return {};
}

using target_of = core::stream_target core::worker_outputs::*;

/// `true`: each has the usual file. Else, by local rank, a path, or null for no file.
json paths_in(const core::generation_outputs& x, const std::string& folder,
              target_of which, const char* name) {
  auto out = json::array();
  auto is_usual = true;
  for (size_t i = 0; i < x.workers.size(); ++i) {
    const auto& target = x.workers[i].*which;
    const auto is_file = target.where == core::stream_target::kind::file;
    is_usual
      = is_usual && is_file && target.path == usual_path(folder, i, name);
    out.push_back(is_file ? json(target.path) : json(nullptr));
  }
  return is_usual ? json(true) : out;
}

void read_paths(const json& from, const std::string& folder, target_of which,
                const char* name, core::generation_outputs& x) {
  for (size_t i = 0; i < x.workers.size(); ++i) {
    auto& target = x.workers[i].*which;
    if (from.is_boolean())
      target.path = usual_path(folder, i, name);
    else if (!from.at(i).is_null())
      target.path = from.at(i).get<std::string>();
    if (!target.path.empty())
      target.where = core::stream_target::kind::file;
  }
}

json to_json(const recorded_generation& x) {
  const auto folder = folder_of_attempt(x.outputs);
  const auto& own = x.plan.own;
  return {{"token", x.plan.generation.value},
          {"restarts", x.plan.restart_count},
          {"nodes", x.plan.node_count},
          {"workers", x.plan.world_size},
          {"node_rank", own.node_rank},
          {"first_rank", own.first_global_rank},
          {"slots", own.slot_count},
          {"lead_slot", own.lead_slot},
          {"begun_ms", x.begun_ms},
          {"folder", folder},
          {"stdout", paths_in(x.outputs, folder, &core::worker_outputs::out,
                              "stdout.log")},
          {"stderr", paths_in(x.outputs, folder, &core::worker_outputs::err,
                              "stderr.log")}};
}

recorded_generation generation_from(const json& x) {
  auto out = recorded_generation{};
  auto& plan = out.plan;
  plan.generation.value = x.at("token").get<uint64_t>();
  plan.restart_count = x.at("restarts").get<uint32_t>();
  plan.node_count = x.at("nodes").get<uint32_t>();
  plan.world_size = x.at("workers").get<uint32_t>();
  plan.own.node_rank = x.at("node_rank").get<uint32_t>();
  plan.own.first_global_rank = x.at("first_rank").get<uint32_t>();
  plan.own.slot_count
    = std::min(x.at("slots").get<uint32_t>(), core::slots_per_agent_max);
  plan.own.lead_slot = x.at("lead_slot").get<uint32_t>();
  out.begun_ms = x.at("begun_ms").get<int64_t>();
  out.outputs.workers.resize(plan.own.slot_count);
  const auto folder = x.at("folder").get<std::string>();
  read_paths(x.at("stdout"), folder, &core::worker_outputs::out, "stdout.log",
             out.outputs);
  read_paths(x.at("stderr"), folder, &core::worker_outputs::err, "stderr.log",
             out.outputs);
  return out;
}

bool writes_files(const core::generation_outputs& x) {
  using enum core::stream_target::kind;
  return std::ranges::any_of(x.workers, [](const auto& y) {
    return y.out.where == file || y.err.where == file;
  });
}

struct record_file {
  std::string path;
  int64_t changed_ms = 0;
};

/// The newest in front.
std::vector<record_file> list_records(const std::string& folder) {
  auto out = std::vector<record_file>{};
  auto error = std::error_code{};
  auto all = std::filesystem::directory_iterator{folder, error};
  for (; !error && all != std::filesystem::end(all); all.increment(error)) {
    struct stat facts {};
    const auto& path = all->path().native();
    if (path.ends_with(record_suffix) && ::lstat(path.c_str(), &facts) == 0
        && S_ISREG(facts.st_mode))
      out.push_back({path, int64_t{facts.st_mtim.tv_sec} * 1'000
                             + facts.st_mtim.tv_nsec / 1'000'000});
  }
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return a.changed_ms > b.changed_ms;
  });
  return out;
}

} // namespace

std::string to_json(const log_record& x) {
  auto generations = json::array();
  for (const auto& y : x.generations)
    generations.push_back(to_json(y));
  const auto& run = x.run;
  return json{{"version", record_version},
              {"job", run.job.value},
              {"host", run.host},
              {"agent", run.agent.value.get()},
              {"pid", run.pid},
              {"folder", run.folder},
              {"began_ms", run.began_ms},
              {"ended_ms", run.ended_ms},
              {"generations", std::move(generations)}}
           .dump(-1, ' ', false, json::error_handler_t::replace)
         + "\n";
}

result<log_record> log_record_from(const std::string& text) {
  try {
    const auto x = json::parse(text);
    if (x.at("version").get<int>() != record_version)
      return failure{errc::bad_argument, "it is of another version"};
    auto out = log_record{};
    auto& run = out.run;
    run.job.value = x.at("job").get<std::string>();
    run.host = x.at("host").get<std::string>();
    run.agent.value = x.at("agent").get<std::string>();
    run.pid = x.at("pid").get<int64_t>();
    run.folder = x.at("folder").get<std::string>();
    run.began_ms = x.at("began_ms").get<int64_t>();
    run.ended_ms = x.at("ended_ms").get<int64_t>();
    for (const auto& y : x.at("generations"))
      out.generations.push_back(generation_from(y));
    return out;
  } catch (const json::exception& e) {
    return failure{errc::bad_argument, e.what()};
  }
}

std::string log_record_path(const std::string& folder, const log_run& x) {
  constexpr size_t part_max = 96; // The system takes 255 bytes for a name.
  const auto part = [](const std::string& text) {
    return log_job_name({text}).substr(0, part_max);
  };
  return formatted("{}/{}.{}.{}.{}{}", folder, part(x.job.value), part(x.host),
                   x.began_ms, x.pid, record_suffix);
}

std::vector<log_record> find_log_records(const std::string& folder) {
  auto out = std::vector<log_record>{};
  for (const auto& x : list_records(folder)) {
    const auto file = open_regular_file(x.path);
    if (!file || !*file || (*file)->size > record_bytes_max)
      continue;
    auto record = log_record_from(read_part(**file, 0, (*file)->size));
    if (!record)
      continue;
    record->run.changed_ms = x.changed_ms;
    record->run.record_path = x.path;
    out.push_back(std::move(*record));
  }
  return out;
}

class log_recorder::writer {
public:
  writer(std::string folder, log_run run) : folder_(std::move(folder)) {
    record_.run = std::move(run);
  }

  void add(recorded_generation x) {
    auto& all = record_.generations;
    all.push_back(std::move(x));
    if (all.size() > recorded_generation_count_max)
      all.erase(all.begin());
    write();
  }

  void end(int64_t now_ms) {
    if (record_.generations.empty())
      return;
    record_.run.ended_ms = now_ms;
    write();
  }

private:
  void write() {
    if (record_.run.record_path.empty())
      begin();
    auto text = to_json(record_);
    while (text.size() > log_record_size_max
           && record_.generations.size() > 1) {
      record_.generations.erase(record_.generations.begin());
      text = to_json(record_);
    }
    [[maybe_unused]] const auto error
      = replace_file(record_.run.record_path, text, 0600);
  }

  void begin() {
    record_.run.record_path = log_record_path(folder_, record_.run);
    auto error = std::error_code{};
    std::filesystem::create_directories(folder_, error);
    const auto all = list_records(folder_);
    for (auto i = log_record_count_max - 1; i < all.size(); ++i)
      ::unlink(all[i].path.c_str());
  }

  std::string folder_;
  log_record record_{};
};

log_recorder::log_recorder(std::string folder, log_run run,
                           std::shared_ptr<task_thread> files)
  : writer_(std::make_shared<writer>(std::move(folder), std::move(run))),
    files_(std::move(files)) {}

void log_recorder::note(const core::generation_plan& plan,
                        const core::generation_outputs& outputs,
                        int64_t now_ms) {
  if (writes_files(outputs))
    files_->post([to = writer_, plan, outputs, now_ms] {
      to->add({plan, outputs, now_ms});
    });
}

void log_recorder::end(int64_t now_ms) {
  files_->post([to = writer_, now_ms] { to->end(now_ms); });
}

} // namespace actorrun::detail
