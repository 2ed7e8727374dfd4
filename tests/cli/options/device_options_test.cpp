#include "cli/options/device_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"

namespace actorrun::test::device_options_test {

using namespace actorrun::cli;

namespace {

/// A node with devices, and the counts of its drivers.
struct node {
  variables environment{};
  std::vector<core::gpu_identity> gpus{};
  std::optional<std::string> broken_driver{};
  uint32_t cuda = 0;
  uint32_t xpus = 0;

  host_facts world() const {
    auto out = world_with(environment);
    out.gpus = [*this]() -> result<std::vector<core::gpu_identity>> {
      if (broken_driver)
        return failure{errc::system_failure, *broken_driver};
      return gpus;
    };
    const auto counter = [](uint32_t count) {
      return [count]() -> result<uint32_t> {
        if (count == 0)
          return no_devices();
        return count;
      };
    };
    out.cuda_count = counter(cuda);
    out.xpu_count = counter(xpus);
    return out;
  }

  result<run_command> parse(words line) const {
    line.push_back("train.py");
    return parse_run(line, world());
  }

  run_arguments accepted(const words& line) const {
    auto x = parse(line);
    INFO((x ? "" : x.error().text));
    REQUIRE(x);
    return std::get<run_arguments>(*x);
  }

  std::string refused(const words& line) const {
    auto x = parse(line);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::bad_argument);
    return x.error().text;
  }

  uint32_t workers(const words& line) const {
    return accepted(line).agent.workers.slot_count;
  }
};

std::vector<core::gpu_identity> whole(size_t count) {
  auto out = std::vector<core::gpu_identity>{};
  for (size_t i = 0; i < count; ++i)
    out.push_back({.uuid = "GPU-" + std::string(1, char('a' + i))});
  return out;
}

std::vector<core::gpu_identity> one_in_three_parts() {
  return {{.uuid = "GPU-a",
           .is_partitioned = true,
           .instance_uuids = {"MIG-1", "MIG-2", "MIG-3"}}};
}

} // namespace

TEST_CASE("arguments: gpu starts a worker for each GPU", "[cli]") {
  CHECK(node{.gpus = whole(8)}.workers({"--nproc-per-node=gpu"}) == 8);
  const auto run = node{.gpus = whole(2)}.accepted({"--nproc_per_node", "gpu"});
  CHECK(run.agent.workers.slot_count == 2);
  CHECK(run.agent.visible_devices.empty());
  CHECK(node{.environment = {{"PET_NPROC_PER_NODE", "gpu"}}, .gpus = whole(3)}
          .workers({})
        == 3);
}

TEST_CASE("arguments: gpu counts the GPUs in CUDA_VISIBLE_DEVICES", "[cli]") {
  const auto with = [](const char* list) {
    return node{.environment = {{"CUDA_VISIBLE_DEVICES", list}},
                .gpus = whole(4)};
  };
  CHECK(with("0,2").workers({"--nproc-per-node=gpu"}) == 2);
  CHECK(with("GPU-d").workers({"--nproc-per-node=gpu"}) == 1);
  const auto cut = with("1,9,2").accepted({"--nproc-per-node=gpu"});
  CHECK(cut.agent.workers.slot_count == 1);
  REQUIRE_FALSE(cut.warnings.empty());
  CHECK(cut.warnings.back()
        == "CUDA_VISIBLE_DEVICES: there is no GPU \"9\"; CUDA leaves it out and"
           " all behind it, so that 1 remain");
}

TEST_CASE("arguments: gpu without a GPU says why there is none", "[cli]") {
  CHECK(node{}.refused({"--nproc-per-node=gpu"})
        == "--nproc-per-node: CUDA is not available: this node has no GPU with"
           " an NVIDIA driver; give a number of workers, or cpu");
  CHECK(has(node{.broken_driver = "Driver/library version mismatch"}.refused(
              {"--nproc-per-node=gpu"}),
            "CUDA is not available: Driver/library version mismatch;"));
  const auto hidden
    = node{.environment = {{"CUDA_VISIBLE_DEVICES", ""}}, .gpus = whole(4)};
  CHECK(has(hidden.refused({"--nproc-per-node=gpu"}),
            "CUDA_VISIBLE_DEVICES=\"\" leaves none of the 4 GPUs;"));
  const auto wrong
    = node{.environment = {{"CUDA_VISIBLE_DEVICES", "7"}}, .gpus = whole(1)};
  CHECK(has(wrong.refused({"--nproc-per-node=gpu"}),
            "leaves none of the 1 GPU; there is no \"7\", or it is named "
            "twice"));
}

TEST_CASE("arguments: without NVML the CUDA driver counts", "[cli]") {
  CHECK(node{.cuda = 2}.workers({"--nproc-per-node=gpu"}) == 2);
  CHECK(node{.broken_driver = "no", .cuda = 1}.workers({"--nproc-per-node=gpu"})
        == 1);
  const auto named
    = node{.environment = {{"CUDA_VISIBLE_DEVICES", "5, 3,1"}}, .cuda = 3};
  CHECK(named.accepted({"--nproc-per-node=gpu:2,0"}).agent.visible_devices
        == words{"1", "5"});
}

TEST_CASE("arguments: chosen GPUs are the only ones that workers see",
          "[cli]") {
  const auto run
    = node{.gpus = whole(8)}.accepted({"--nproc-per-node=gpu:0,2,5"});
  CHECK(run.agent.workers.slot_count == 3);
  CHECK(run.agent.visible_devices == words{"0", "2", "5"});
}

TEST_CASE("arguments: chosen GPUs count within CUDA_VISIBLE_DEVICES", "[cli]") {
  const auto uut = node{.environment = {{"CUDA_VISIBLE_DEVICES", "7,GPU-a,2"}},
                        .gpus = whole(8)};
  CHECK(uut.accepted({"--nproc-per-node=gpu:0"}).agent.visible_devices
        == words{"7"});
  CHECK(has(uut.refused({"--nproc-per-node=gpu:0,1"}),
            "--nproc-per-node: there is no GPU 1: the GPUs are 0..0"));
}

TEST_CASE("arguments: an invalid list of GPUs is refused", "[cli]") {
  const auto uut = node{.gpus = whole(2)};
  CHECK(has(uut.refused({"--nproc-per-node=gpu:0,0"}), "GPU 0 comes twice"));
  CHECK(has(uut.refused({"--nproc-per-node=gpu:"}), "no number of a GPU"));
  CHECK(has(uut.refused({"--nproc-per-node=gpus"}),
            "and not cpu, gpu, gpu:0,2,5, xpu or auto"));
  CHECK(has(uut.refused({"--nproc-per-node=gpu:2"}),
            "there is no GPU 2: the GPUs are 0..1"));
}

TEST_CASE("arguments: the parts of a GPU are one device, unless each worker "
          "sees its own",
          "[cli]") {
  const auto uut
    = node{.environment = {{"CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2"}},
           .gpus = one_in_three_parts()};
  CHECK(uut.workers({"--nproc-per-node=gpu"}) == 1);
  CHECK(uut.workers({"--nproc-per-node=gpu", "--virtual-local-rank"}) == 2);
}

TEST_CASE("arguments: xpu counts the GPUs of Level Zero", "[cli]") {
  CHECK(node{.xpus = 6}.workers({"--nproc-per-node=xpu"}) == 6);
  CHECK(has(node{.gpus = whole(2)}.refused({"--nproc-per-node=xpu"}),
            "XPU is not available: the test has no devices; give a number"));
}

TEST_CASE("arguments: auto takes GPUs, otherwise XPUs, otherwise CPUs",
          "[cli]") {
  CHECK(node{.gpus = whole(2), .xpus = 6}.workers({"--nproc-per-node=auto"})
        == 2);
  CHECK(node{.xpus = 6}.workers({"--nproc-per-node=auto"}) == 6);
  const auto none = node{}.accepted({"--nproc-per-node=auto"});
  CHECK(none.agent.workers.slot_count == 12);
  for (const auto& x : none.warnings)
    CHECK_FALSE(has(x, "auto"));
}

TEST_CASE("arguments: auto warns when an installed driver fails", "[cli]") {
  const auto run
    = node{.broken_driver = "Driver/library version mismatch"}.accepted(
      {"--nproc-per-node=auto"});
  CHECK(run.agent.workers.slot_count == 12);
  REQUIRE_FALSE(run.warnings.empty());
  CHECK(has(run.warnings.back(), "Driver/library version mismatch"));
}

TEST_CASE("arguments: no driver is asked for a number or for CPUs", "[cli]") {
  auto world = world_with({});
  world.gpus = nullptr; // Calling it would throw.
  world.cuda_count = nullptr;
  world.xpu_count = nullptr;
  CHECK(parse_run({"--nproc-per-node=2", "a"}, world));
  CHECK(parse_run({"--nproc-per-node=cpu", "a"}, world));
  CHECK(parse_run({"a"}, world));
}

TEST_CASE("arguments: options that name ranks see the counted workers",
          "[cli]") {
  const auto uut = node{.gpus = whole(4)};
  CHECK(uut.accepted({"--nproc-per-node=gpu", "--tee=3:3"})
          .agent.logs.tees.by_rank.size()
        == 1);
  const auto warnings
    = uut.accepted({"--nproc-per-node=gpu", "--tee=4:3"}).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(has(warnings.front(), "there is no local rank 4"));
}

TEST_CASE("arguments: workers are bound as requested", "[cli]") {
  using enum core::binding_mode;
  const std::pair<const char*, core::binding_mode> all[]
    = {{"node", core::binding_mode::node},
       {"socket", socket},
       {"exclusive", exclusive},
       {"core-complex", core_complex}};
  for (const auto& [name, mode] : all) {
    CHECK(accepted({"--numa-binding", name, "a"}).agent.binding == mode);
    CHECK(accepted({std::string{"--numa_binding="} + name, "a"}).agent.binding
          == mode);
  }
  CHECK(accepted({"a"}).agent.binding == none);
  CHECK(refused({"--numa-binding=core", "a"})
        == "--numa-binding: \"core\" is not a binding; node, socket, exclusive"
           " and core-complex are");
}

TEST_CASE("arguments: bindings are reported on request", "[cli]") {
  CHECK_FALSE(accepted({"a"}).reports_bindings);
  CHECK(accepted({"--report-bindings", "a"}).reports_bindings);
}

} // namespace actorrun::test::device_options_test
