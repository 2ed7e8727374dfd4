#include "runtime/devices.hpp"
#include "runtime/devices/gpu_inventory.hpp"
#include "tests/runtime/devices/gpu_fixture.hpp"

#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::test::gpu_inventory_test {

using namespace actorrun::detail;
using namespace actorrun::detail::gpu_test;

namespace {

const nvml::functions& library() {
  const auto loaded = load_nvml();
  INFO((loaded ? "" : loaded.error().text));
  REQUIRE(loaded);
  return **loaded;
}

} // namespace

TEST_CASE("gpu_inventory: every GPU has a UUID and a place of its own",
          "[gpu][anygpu]") {
  const auto gpus = any_gpus{};
  if (!gpus.are_there())
    return;
  const auto listed = list_gpus();
  INFO((listed ? "" : listed.error().text));
  REQUIRE(listed);
  REQUIRE_FALSE(listed->empty());
  auto uuids = std::set<std::string>{};
  auto places = std::set<std::string>{};
  for (const auto& x : *listed) {
    CHECK(x.uuid.starts_with("GPU-"));
    uuids.insert(x.uuid);
    places.insert(x.pci_address);
    // As in /sys/bus/pci/devices: 0000:65:00.0
    CHECK(x.pci_address.size() == 12);
    CHECK(x.pci_address[4] == ':');
  }
  CHECK(uuids.size() == listed->size());
  CHECK(places.size() == listed->size());
}

TEST_CASE("gpu_inventory: every GPU has a name, memory and a temperature",
          "[gpu][anygpu]") {
  const auto gpus = any_gpus{};
  if (!gpus.are_there())
    return;
  const auto seen = inspect_gpus(library());
  CHECK(seen.trouble.empty());
  REQUIRE_FALSE(seen.gpus.empty());
  for (const auto& x : seen.gpus) {
    CAPTURE(x.index, x.name, x.memory_used, x.memory_total, x.trouble);
    CHECK_FALSE(x.name.empty());
    CHECK(x.memory_total > 0);
    CHECK(x.memory_used <= x.memory_total);
    CHECK(x.utilisation.value_or(0) <= 100);
    CHECK(x.temperature.value_or(0) < 150);
    CHECK(x.trouble.empty());
  }
}

TEST_CASE("gpu_inventory: CUDA and NVML count the same number",
          "[gpu][anygpu]") {
  const auto gpus = any_gpus{};
  if (!gpus.are_there())
    return;
  const auto listed = list_gpus();
  REQUIRE(listed);
  const auto* list = std::getenv("CUDA_VISIBLE_DEVICES");
  const auto visible = core::find_visible(
    list ? std::optional<std::string_view>{list} : std::nullopt, *listed);
  const auto counted = count_cuda_devices();
  INFO((counted ? "" : counted.error().text));
  CHECK((counted ? *counted : 0) == core::usable_count(visible.listed));
}

TEST_CASE("gpu_inventory: addresses are written as the kernel writes them",
          "[gpu]") {
  const auto world = standin{};
  world.write(two_gpus);
  const auto listed = list_gpus();
  REQUIRE(listed);
  REQUIRE(listed->size() == 2);
  CHECK(listed->at(0).pci_address == "0000:65:00.0");
  CHECK(listed->at(1).pci_address == "0000:e5:00.0");
}

TEST_CASE("gpu_inventory: the parts of a GPU have names of their own",
          "[gpu]") {
  const auto world = standin{};
  world.write("gpu uuid=GPU-a pci=0 mig=1 parts=MIG-1,MIG-2\n"
              "gpu uuid=GPU-b pci=1 mig=1\n"
              "gpu uuid=GPU-c pci=2\n");
  const auto listed = list_gpus();
  REQUIRE(listed);
  REQUIRE(listed->size() == 3);
  CHECK(listed->at(0).is_partitioned);
  CHECK(listed->at(0).instance_uuids
        == std::vector<std::string>{"MIG-1", "MIG-2"});
  CHECK(listed->at(1).is_partitioned);
  CHECK(listed->at(1).instance_uuids.empty());
  CHECK_FALSE(listed->at(2).is_partitioned);
}

TEST_CASE("gpu_inventory: a driver without GPUs has none", "[gpu]") {
  const auto world = standin{};
  const auto listed = list_gpus();
  REQUIRE(listed);
  CHECK(listed->empty());
  CHECK(inspect_gpus(library()) == core::devices_status{});
}

TEST_CASE("gpu_inventory: a lost GPU is reported as lost", "[gpu]") {
  const auto world = standin{};
  world.write("gpu uuid=GPU-a name=N pci=0 used=1 total=2\n"
              "gpu uuid=GPU-b name=N pci=1 lost=1\n");
  const auto listed = list_gpus();
  REQUIRE_FALSE(listed);
  CHECK(listed.error().text == "GPU 1 cannot be used: GPU is lost");
  const auto seen = inspect_gpus(library());
  REQUIRE(seen.gpus.size() == 2);
  CHECK(seen.gpus[0].trouble.empty());
  CHECK(seen.gpus[1].index == 1);
  CHECK(seen.gpus[1].trouble == "GPU is lost");
}

TEST_CASE("gpu_inventory: facts that a GPU does not report stay empty",
          "[gpu]") {
  const auto world = standin{};
  world.write("gpu uuid=GPU-a name=a_b used=1 total=2\n");
  const auto seen = inspect_gpus(library());
  REQUIRE(seen.gpus.size() == 1);
  CHECK(seen.gpus[0].name == "a b");
  CHECK_FALSE(seen.gpus[0].utilisation);
  CHECK_FALSE(seen.gpus[0].temperature);
  CHECK(seen.gpus[0].trouble.empty());
}

TEST_CASE("gpu_inventory: more GPUs than a node can have are left out",
          "[gpu]") {
  const auto world = standin{};
  auto text = std::string{};
  for (auto i = 0; i < 65; ++i)
    text += "gpu uuid=GPU-" + std::to_string(i) + "\n";
  world.write(text);
  CHECK(inspect_gpus(library()).gpus.size() == core::gpus_per_node_max);
}

TEST_CASE("gpu_inventory: processes on several GPUs are listed once", "[gpu]") {
  const auto world = standin{};
  world.write("gpu uuid=GPU-a pids=7,3\ngpu uuid=GPU-b pids=3,9\n"
              "gpu uuid=GPU-c lost=1 pids=11\n");
  CHECK(gpu_processes(library()) == std::vector<int64_t>{3, 7, 9});
}

TEST_CASE("gpu_inventory: GPUs assigned to others are left out", "[gpu]") {
  const auto world = standin{};
  world.write("gpu uuid=GPU-a pci=0 denied=1 pids=5\n"
              "gpu uuid=GPU-b name=N pci=1 total=2 pids=6\n");
  const auto listed = list_gpus();
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  CHECK(listed->at(0).uuid == "GPU-b");
  const auto seen = inspect_gpus(library());
  REQUIRE(seen.gpus.size() == 1);
  CHECK(seen.gpus[0].index == 1);
  CHECK(seen.gpus[0].trouble.empty());
  CHECK(gpu_processes(library()) == std::vector<int64_t>{6});
}

TEST_CASE("gpu_inventory: parts report what the whole GPU does not", "[gpu]") {
  const auto world = standin{};
  world.write("gpu uuid=GPU-a name=N pci=0 mig=1 private=1 parts=MIG-1,MIG-2"
              " used=3 total=5 pids=7,8\n");
  const auto seen = inspect_gpus(library());
  REQUIRE(seen.gpus.size() == 1);
  CHECK(seen.gpus[0].memory_used == 6);
  CHECK(seen.gpus[0].memory_total == 10);
  CHECK(seen.gpus[0].trouble.empty());
  CHECK(gpu_processes(library()) == std::vector<int64_t>{7, 8});
}

} // namespace actorrun::test::gpu_inventory_test
