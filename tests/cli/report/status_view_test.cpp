#include "cli/report/status_view.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

/// A node with a GPU that reports everything and one that reports little.
v1::JobStatus job_with_gpus() {
  auto job = v1::JobStatus{};
  job.set_job_id("job-1");
  job.set_phase("running");
  auto& agent = *job.add_agents();
  agent.set_agent_id("a");
  agent.set_host("node-a");
  auto& good = *agent.add_gpus();
  good.set_name("NVIDIA H200");
  good.set_uuid("GPU-a");
  good.set_memory_used(uint64_t{3} << 29);
  good.set_memory_total(uint64_t{140} << 30);
  good.set_utilisation(87);
  good.set_temperature(54);
  auto& lost = *agent.add_gpus();
  lost.set_index(1);
  lost.set_trouble("GPU is lost");
  return job;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("status_gpus: each GPU has a row", "[cli]") {
  const auto rows = gpu_rows(job_with_gpus());
  REQUIRE(rows.size() == 3);
  CHECK(rows[1]
        == std::vector<std::string>{"node-a", "0", "NVIDIA H200",
                                    "1.5 of 140.0 GiB", "87 %", "54 C",
                                    "good"});
  CHECK(rows[2]
        == std::vector<std::string>{"node-a", "1", "", "-", "-", "-",
                                    "GPU is lost"});
}

TEST_CASE("status_gpus: a driver that fails has a row, too", "[cli]") {
  auto job = v1::JobStatus{};
  auto& agent = *job.add_agents();
  agent.set_host("node-a");
  agent.set_gpu_trouble("Driver/library version mismatch");
  const auto rows = gpu_rows(job);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].back() == "Driver/library version mismatch");
  CHECK(actorrun::to_json(job)["agents"][0]["gpus"].empty());
}

TEST_CASE("status_gpus: a job without GPUs has no table of them", "[cli]") {
  auto job = v1::JobStatus{};
  job.add_agents()->set_host("node-a");
  CHECK(gpu_rows(job).empty());
  CHECK_FALSE(has(to_text({job}), "MEMORY"));
}

TEST_CASE("status_gpus: the tables are printed one below the other", "[cli]") {
  auto job = job_with_gpus();
  const auto text = to_text({job});
  CHECK(has(text, "NODE  HOST"));
  CHECK(has(text, "\n\n  HOST    GPU  NAME"));
  CHECK_FALSE(has(text, "more GPUs"));
  job.set_gpus_truncated(true);
  CHECK(has(to_text({job}), "there are more GPUs than one answer can hold"));
}

TEST_CASE("status_gpus: text of drivers cannot control the terminal", "[cli]") {
  auto job = job_with_gpus();
  job.mutable_agents(0)->mutable_gpus(0)->set_name("N\x1b[31m");
  CHECK_FALSE(has(to_text({job}), "\x1b"));
}

TEST_CASE("status_gpus: JSON has every number, and null for unknown ones",
          "[cli]") {
  const auto all = nlohmann::json::parse(to_json({job_with_gpus()}))["jobs"][0];
  CHECK(all["gpus_truncated"] == false);
  const auto& agent = all["agents"][0];
  CHECK(agent["gpu_trouble"] == nullptr);
  const auto& good = agent["gpus"][0];
  CHECK(good["index"] == 0);
  CHECK(good["name"] == "NVIDIA H200");
  CHECK(good["uuid"] == "GPU-a");
  CHECK(good["memory_used"] == 1'610'612'736);
  CHECK(good["memory_total"] == 150'323'855'360);
  CHECK(good["utilisation_percent"] == 87);
  CHECK(good["temperature_celsius"] == 54);
  CHECK(good["trouble"] == nullptr);
  const auto& lost = agent["gpus"][1];
  CHECK(lost["utilisation_percent"] == nullptr);
  CHECK(lost["temperature_celsius"] == nullptr);
  CHECK(lost["trouble"] == "GPU is lost");
}
