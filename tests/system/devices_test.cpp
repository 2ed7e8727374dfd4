// GPUs and CPUs of the nodes of a job: counted, shown, awaited, bound to. A
// stand-in library replaces the drivers.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

namespace actorrun::test::devices_test {

namespace {

/// A scene with GPUs that the test describes; see gpu_standin_world.hpp.
struct gpu_scene : scene {
  std::map<std::string, std::string> drivers{
    {"ACTORRUN_NVML_LIBRARY", GPU_STANDIN},
    {"ACTORRUN_CUDA_LIBRARY", GPU_STANDIN},
    {"ACTORRUN_ZE_LIBRARY", GPU_STANDIN},
    {"ACTORRUN_GPU_STANDIN", folder() + "/world"}};

  gpu_scene() { set_world(""); }

  /// Replaces the answers of the drivers from now on.
  void set_world(const std::string& text) {
    std::filesystem::rename(write("next", text), folder() + "/world");
  }

  static std::string gpu(const std::string& uuid,
                         const std::string& pids = "") {
    return "gpu uuid=" + uuid + " name=NVIDIA_H200 pci=00000000:65:00.0"
           + " used=1073741824 total=150323855360 util=87 temp=54 pids=" + pids
           + "\n";
  }

  /// The output of a job of this node alone.
  std::string read_job(words options, const std::string& script,
                       int expected = 0) {
    options.insert(options.begin(), "--standalone");
    options.insert(options.end(), {"--no-python", "sh", "-c", script});
    auto& job = run(options, drivers);
    CHECK(job.wait() == expected);
    return job.output();
  }

  /// A running job of one node with a worker on each of two GPUs.
  std::pair<program*, worker_records> run_one_node() {
    set_world(gpu("GPU-a") + gpu("GPU-b"));
    auto& a = agent({.nodes = "1",
                     .restart_count_max = 1,
                     .more = {"--nproc-per-node=gpu"},
                     .environment = drivers});
    return {&a, await_world(2)};
  }
};

std::string allowed_cpus(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/status"};
  constexpr auto name = std::string_view{"Cpus_allowed_list:\t"};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.starts_with(name))
      return line.substr(name.size());
  return "?";
}

/// The CPUs that the report names for a local rank.
std::string reported_cpus(const std::string& output, uint32_t local_rank) {
  const auto head
    = "actorrun: local rank " + std::to_string(local_rank) + ": CPU";
  const auto at = output.find(head);
  if (at == output.npos)
    return "none";
  const auto first = output.find(' ', at + head.size()) + 1;
  return output.substr(first, output.find_first_of(" ,\n", first) - first);
}

} // namespace

TEST_CASE_METHOD(gpu_scene, "devices: one worker starts for each GPU",
                 "[devices]") {
  set_world(gpu("GPU-a") + gpu("GPU-b") + gpu("GPU-c"));
  const auto all = read_job({"--nproc-per-node=gpu"}, "echo worker");
  CHECK(count_of(all, "worker\n") == 3);
  const auto chosen
    = read_job({"--nproc-per-node=gpu:0,2"}, "echo sees $CUDA_VISIBLE_DEVICES");
  CHECK(count_of(chosen, "sees 0,2\n") == 2);
}

TEST_CASE_METHOD(gpu_scene, "devices: each worker may see only its GPU",
                 "[devices]") {
  set_world(gpu("GPU-a") + gpu("GPU-b") + gpu("GPU-c"));
  const auto text
    = read_job({"--nproc-per-node=gpu:2,0", "--virtual-local-rank"},
               "echo $LOCAL_RANK sees $CUDA_VISIBLE_DEVICES");
  CHECK(count_of(text, "0 sees 2\n") == 1);
  CHECK(count_of(text, "0 sees 0\n") == 1);
}

TEST_CASE_METHOD(gpu_scene, "devices: without GPUs the other drivers are asked",
                 "[devices]") {
  set_world("cuda 2\nxpu 3\n");
  CHECK(count_of(read_job({"--nproc-per-node=gpu"}, "echo worker"), "worker\n")
        == 2);
  CHECK(count_of(read_job({"--nproc-per-node=xpu"}, "echo worker"), "worker\n")
        == 3);
}

TEST_CASE_METHOD(gpu_scene,
                 "devices: a driver that fails is an error with its "
                 "text",
                 "[devices]") {
  set_world("init 9\n");
  const auto text = read_job({"--nproc-per-node=gpu"}, "true", 2);
  CHECK(count_of(text, "the NVIDIA driver does not answer: Stand-in Error")
        == 1);
}

TEST_CASE_METHOD(gpu_scene, "devices: the status shows the GPUs of every node",
                 "[devices]") {
  set_world(gpu("GPU-a") + gpu("GPU-b"));
  agent({.slots = 1});
  agent({.slots = 1, .environment = drivers});
  await_world(2);
  const auto seen = await_status([](const json& x) {
    return x["agents"].size() == 2
           && x["agents"][0]["gpus"].size() + x["agents"][1]["gpus"].size()
                == 2;
  });
  const auto& with = seen["agents"][seen["agents"][0]["gpus"].empty() ? 1 : 0];
  const auto& first = with["gpus"][0];
  CHECK(first["name"] == "NVIDIA H200");
  CHECK(first["uuid"] == "GPU-a");
  CHECK(first["memory_used"] == 1'073'741'824);
  CHECK(first["memory_total"] == 150'323'855'360);
  CHECK(first["utilisation_percent"] == 87);
  CHECK(first["temperature_celsius"] == 54);
  CHECK(first["trouble"] == nullptr);
  const auto text = read({ACTORCTL_PROGRAM, "status"});
  CHECK(count_of(text, "NVIDIA H200  1.0 of 140.0 GiB  87 %  54 C  good") == 2);
  order_end();
}

TEST_CASE_METHOD(gpu_scene, "devices: a GPU that fails marks its node",
                 "[devices]") {
  set_world(gpu("GPU-a") + gpu("GPU-b"));
  auto& host = agent({.slots = 1});
  auto& other = agent({.slots = 1, .environment = drivers});
  await_world(2);
  await_status([](const json& x) {
    return !x["agents"][0]["gpus"].empty() || !x["agents"][1]["gpus"].empty();
  });
  set_world(gpu("GPU-a") + gpu("GPU-b") + "xid 1 79\n");
  CHECK(other.says("GPU 1: XID 79: has fallen off the bus"));
  CHECK(host.says("coordinator flags node"));
  CHECK(host.says("GPU 1: XID 79: has fallen off the bus"));
  await_status([](const json& x) {
    const auto& with = x["agents"][x["agents"][0]["gpus"].empty() ? 1 : 0];
    return with["gpus"][0]["trouble"] == nullptr
           && with["gpus"][1]["trouble"] == "XID 79: has fallen off the bus";
  });
  order_end();
}

TEST_CASE_METHOD(
  gpu_scene, "devices: a node with a GPU fault leaves for one that stands by",
  "[devices]") {
  set_world(gpu("GPU-a") + gpu("GPU-b"));
  auto& host = agent({.slots = 1});
  auto& faulty = agent({.slots = 1, .environment = drivers});
  const auto before = await_world(2);
  auto& spare = agent({.slots = 1});
  await_status([](const json& x) { return x["agents"].size() == 3; });
  set_world(gpu("GPU-a") + gpu("GPU-b") + "xid 1 79\n");
  const auto after = await_world(2, before[0].generation);
  CHECK(host.says("--on-gpu-fault: agent "));
  CHECK(after[0].restart_count == 0);
  CHECK(faulty.says("XID 79: has fallen off the bus"));
  CHECK(faulty.wait() == 0);
  order_end();
  CHECK(host.wait() == 0);
  CHECK(spare.wait() == 0);
}

TEST_CASE_METHOD(gpu_scene,
                 "devices: workers start again when the memory of the last "
                 "ones is free",
                 "[devices]") {
  const auto [a, first] = run_one_node();
  set_world(gpu("GPU-a", std::to_string(first[0].pid)) + gpu("GPU-b"));
  order_exit(first[1].pid, 7);
  await_status([](const json& x) {
    return x["generation"] == 2 && x["phase"] == "starting";
  });
  const auto freed = now_ns();
  set_world(gpu("GPU-a") + gpu("GPU-b"));
  const auto second = await_world(2, first[0].generation);
  CHECK(first_of(second) > freed);
  order_end();
  CHECK(a->wait() == 0);
}

TEST_CASE_METHOD(gpu_scene,
                 "devices: workers start again although the driver hangs",
                 "[devices]") {
  const auto [a, first] = run_one_node();
  set_world("hang\n" + gpu("GPU-a") + gpu("GPU-b"));
  order_exit(first[1].pid, 7);
  await_world(2, first[0].generation);
  CHECK(a->says("the NVIDIA driver has not reported for 5000 ms"));
  order_end();
  CHECK(a->wait() == 0);
}

TEST_CASE_METHOD(gpu_scene,
                 "devices: a job that waits for memory ends at once on request",
                 "[devices]") {
  const auto [a, first] = run_one_node();
  set_world(gpu("GPU-a", std::to_string(first[0].pid)));
  order_exit(first[1].pid, 7);
  await_status([](const json& x) {
    return x["generation"] == 2 && x["phase"] == "starting";
  });
  a->signal(SIGTERM);
  CHECK(a->wait() == 128 + SIGTERM);
  CHECK(workers_of(first[0].generation + 1).empty());
}

TEST_CASE_METHOD(gpu_scene,
                 "devices: workers run on the CPUs that the report names",
                 "[devices]") {
  const auto cpu_count = std::thread::hardware_concurrency();
  for (const auto* mode : {"node", "socket", "core-complex", "exclusive"}) {
    CAPTURE(mode);
    const auto slots = cpu_count > 1 ? 2u : 1u;
    auto one = scene{};
    auto& a = one.agent(
      {.nodes = "1",
       .slots = slots,
       .more = {std::string{"--numa-binding="} + mode, "--report-bindings"}});
    const auto workers = one.await_world(slots);
    REQUIRE(a.says("actorrun: local rank " + std::to_string(slots - 1)));
    for (const auto& x : workers) {
      CHECK(allowed_cpus(x.pid) == reported_cpus(a.output(), x.local_rank));
      CHECK(allowed_cpus(x.pid) != "?");
    }
    if (std::string_view{mode} == "exclusive" && slots == 2)
      CHECK(allowed_cpus(workers[0].pid) != allowed_cpus(workers[1].pid));
    CHECK(allowed_cpus(a.pid()) == allowed_cpus(::getpid()));
    one.order_end();
    CHECK(a.wait() == 0);
  }
}

TEST_CASE_METHOD(gpu_scene,
                 "devices: more exclusive workers than cores are "
                 "refused before any starts",
                 "[devices]") {
  const auto text = read_job(
    {"--nproc-per-node=4096", "--numa-binding=exclusive"}, "echo worker", 2);
  CHECK(count_of(text, "worker\n") == 0);
  CHECK(count_of(text, "usable cores for") == 1);
}

} // namespace actorrun::test::devices_test
