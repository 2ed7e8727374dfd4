// Tests the built-in checks of GPUs, with a stand-in for the drivers.
#include "runtime/checks/built_in_checks.hpp"
#include "runtime/devices/cuda.hpp"
#include "runtime/devices/gpu_memory_test.hpp"
#include "tests/runtime/devices/gpu_fixture.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace actorrun::test::gpu_checks_test {

using namespace actorrun::detail;
using namespace actorrun::detail::gpu_test;

namespace {

/// In bytes, of what is tested here at once.
constexpr size_t small_block = 4'096;

constexpr auto sound_link = " gen=5 genmax=5 width=16 widthmax=16";

struct gpu_checks_fixture : standin {
  std::vector<std::string> said;

  gpu_checks_fixture() { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
  ~gpu_checks_fixture() { ::unsetenv("CUDA_VISIBLE_DEVICES"); }

  /// GPUs 0 and 1; the second as `more` says.
  void write_gpus(const std::string& more) {
    write(std::string{"gpu uuid=GPU-aa name=NVIDIA_H200 pci=00000000:65:00.0 "}
          + "used=0 total=150000" + sound_link + "\n"
          + "gpu uuid=GPU-bb name=NVIDIA_H200 pci=00000000:E5:00.0 used=0 "
          + "total=150000 " + more + "\ncuda 2\n");
  }

  /// What is wrong; empty: nothing.
  std::string quickly() {
    said.clear();
    const auto x
      = check_gpus_quickly([this](const auto& line) { said.push_back(line); });
    return x ? "" : x.error().text;
  }

  std::string thoroughly() {
    said.clear();
    const auto x
      = check_gpus([this](const auto& line) { said.push_back(line); });
    return x ? "" : x.error().text;
  }
};

} // namespace

TEST_CASE_METHOD(gpu_checks_fixture,
                 "gpu-quick: sound GPUs are named, idle links are no fault",
                 "[gpu]") {
  write_gpus("gen=1 genmax=5 width=16 widthmax=16 ecc=0 retire=0 remap=0");
  CHECK(quickly().empty());
  REQUIRE(said.size() == 2);
  CHECK(said[0]
        == "GPU 0 (NVIDIA H200): answers, without trouble, its link has PCIe "
           "5.0 x16 of PCIe 5.0 x16");
  CHECK(said[1].find("PCIe 1.0 x16 of PCIe 5.0 x16") != std::string::npos);
}

TEST_CASE_METHOD(gpu_checks_fixture,
                 "gpu-quick: what the driver says of a GPU is a fault",
                 "[gpu]") {
  write_gpus("lost=1");
  CHECK(quickly() == "GPU 1: GPU is lost");
  CHECK(said.size() == 1); // The other one.
  write_gpus("remap=1");
  CHECK(quickly().starts_with("GPU 1 (NVIDIA H200): a faulty row"));
  write_gpus("lostrow=1");
  CHECK(quickly().find("could not be remapped") != std::string::npos);
  write_gpus("retire=1");
  CHECK(quickly().find("waits to be retired") != std::string::npos);
  write_gpus("ecc=2");
  CHECK(quickly().find("2 memory errors") != std::string::npos);
}

TEST_CASE_METHOD(gpu_checks_fixture, "gpu-quick: only visible GPUs count",
                 "[gpu]") {
  write_gpus("lost=1");
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  CHECK(quickly().empty());
  CHECK(said.size() == 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "0,7", 1);
  CHECK(quickly()
        == "CUDA_VISIBLE_DEVICES=0,7 names a GPU that is not there, or twice: "
           "7");
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  CHECK(quickly() == "CUDA_VISIBLE_DEVICES= leaves no GPU");
}

TEST_CASE_METHOD(gpu_checks_fixture, "gpu-quick: a node without a GPU fails",
                 "[gpu]") {
  CHECK(quickly() == "the NVIDIA driver shows no GPU to this process");
}

TEST_CASE_METHOD(gpu_checks_fixture,
                 "gpu: memory that keeps what is written is sound, and copies "
                 "are measured",
                 "[gpu]") {
  write_gpus("");
  const auto library = open_cuda();
  REQUIRE(library);
  const auto found = test_gpu_memory(*library, 0, small_block);
  REQUIRE(found);
  CHECK(found->free == 150'000);
  CHECK(found->tested == 32 * small_block); // Nine tenths, in whole blocks.
  CHECK(found->rates.to_gpu > 0);
  CHECK(found->rates.from_gpu > 0);
  CHECK(found->rates.within > 0);
  CHECK(to_string(*found).find(" keep what is written") != std::string::npos);
  // All of it was given back.
  CHECK(test_gpu_memory(*library, 0, small_block)->free == 150'000);
}

TEST_CASE_METHOD(gpu_checks_fixture,
                 "gpu: memory that does not keep what is written is a fault",
                 "[gpu]") {
  write_gpus("breaks=1");
  const auto library = open_cuda();
  REQUIRE(library);
  CHECK(test_gpu_memory(*library, 0, small_block));
  const auto found = test_gpu_memory(*library, 1, small_block);
  REQUIRE_FALSE(found);
  CHECK(found.error().text.starts_with(
    "memory does not keep what is written: byte 2048 of 131072 that were "
    "tested reads 0x"));
}

TEST_CASE_METHOD(gpu_checks_fixture, "gpu: too little memory cannot be tested",
                 "[gpu]") {
  write_gpus("");
  CHECK(thoroughly().find("too little to test") != std::string::npos);
}

TEST_CASE_METHOD(gpu_checks_fixture,
                 "gpu: a link that is narrow while it copies is a fault",
                 "[gpu]") {
  const auto write_one = [this](const std::string& link) {
    write("gpu uuid=GPU-aa name=NVIDIA_H200 pci=00000000:65:00.0 used=0 "
          "total=160000000 "
          + link + "\ncuda 1\n");
  };
  SECTION("it is wide") {
    write_one(sound_link);
    CHECK(thoroughly().empty());
    CHECK(said.back().starts_with("GPU 0 (NVIDIA H200): 0.1 of 0.1 GiB of free "
                                  "memory keep what is written"));
  }
  SECTION("it is narrow") {
    write_one("gen=5 genmax=5 width=8 widthmax=16");
    CHECK(
      thoroughly()
      == "GPU 0 (NVIDIA H200): its link had PCIe 5.0 x8 at best while it was "
         "copying, PCIe 5.0 x16 is possible: see how the GPU sits in its "
         "slot");
  }
}

} // namespace actorrun::test::gpu_checks_test
