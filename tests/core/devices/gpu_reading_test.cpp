// Tests which readings of a GPU are a fault.
#include "actors/core/devices/gpu_reading.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::gpu_reading_test {

using namespace actorrun::core;

TEST_CASE("gpu_reading: what a driver cannot tell is no fault", "[core]") {
  CHECK(fault_of(gpu_reading{}).empty());
  auto x = gpu_reading{.retires_page = false,
                       .remaps_row = false,
                       .has_lost_row = false,
                       .uncorrected = 0};
  x.link = {1, 4}; // It is idle.
  x.best_link = {5, 16};
  CHECK(fault_of(x).empty());
}

TEST_CASE("gpu_reading: each fault is named", "[core]") {
  CHECK(fault_of({.trouble = "GPU is lost", .uncorrected = 3})
        == "GPU is lost");
  CHECK(fault_of({.retires_page = true}).find("retired") != std::string::npos);
  CHECK(fault_of({.remaps_row = true}).find("waits to be remapped")
        != std::string::npos);
  CHECK(fault_of({.remaps_row = true, .has_lost_row = true})
          .find("could not be remapped")
        != std::string::npos);
  CHECK(fault_of({.uncorrected = 1}).starts_with("1 memory error could not"));
  CHECK(fault_of({.uncorrected = 2}).starts_with("2 memory errors could not"));
}

TEST_CASE("gpu_reading: a link that stays slow under load is a fault",
          "[core]") {
  const auto best = pcie_link{5, 16};
  CHECK(fault_under_load(best, best).empty());
  CHECK(fault_under_load({4, 16}, best)
        == "its link had PCIe 4.0 x16 at best while it was copying, PCIe 5.0"
           " x16 is possible: see how the GPU sits in its slot");
  CHECK_FALSE(fault_under_load({5, 8}, best).empty());
  CHECK(fault_under_load({0, 0}, best).empty()); // It is not known.
  CHECK(fault_under_load({5, 8}, {5, 0}).empty());
  CHECK(better({4, 16}, {5, 8}) == best);
  CHECK(to_string(pcie_link{}).empty());
  CHECK(to_string(pcie_link{0, 8}) == "PCIe x8");
}

} // namespace actorrun::test::gpu_reading_test
