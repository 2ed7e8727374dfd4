#include "actors/core/devices/list.hpp"
#include "tests/support/catch.hpp"

#include <optional>
#include <string>
#include <vector>

namespace actorrun::test::list_test {

using namespace actorrun::core;

namespace {

const auto four = std::vector<gpu_identity>{{.uuid = "GPU-aa11-1"},
                                            {.uuid = "GPU-aa22-2"},
                                            {.uuid = "GPU-bb33-3"},
                                            {.uuid = "GPU-cc44-4"}};

/// One whole GPU, one in two parts, one that is partitioned into nothing.
const auto parted = std::vector<gpu_identity>{
  {.uuid = "GPU-a1"},
  {.uuid = "GPU-b2",
   .is_partitioned = true,
   .instance_uuids = {"MIG-x1", "MIG-y2"}},
  {.uuid = "GPU-c3", .is_partitioned = true},
};

/// `0=0 1=2`: the names and their devices; a part has a `p` behind it, and the
/// name that ends the list follows a `!`.
std::string text(const visible_gpus& x) {
  auto out = std::string{};
  for (const auto& gpu : x.listed)
    out += (out.empty() ? "" : " ") + gpu.name + "=" + std::to_string(gpu.gpu)
           + (gpu.is_instance ? "p" : "");
  if (!x.bad_name.empty())
    out += "!" + x.bad_name;
  return out;
}

std::string seen(const char* list,
                 const std::vector<gpu_identity>& gpus = four) {
  return text(find_visible(list, gpus));
}

std::string join(const std::vector<uint32_t>& xs) {
  auto out = std::string{};
  for (const auto x : xs)
    out += (out.empty() ? "" : " ") + std::to_string(x);
  return out;
}

std::string parsed(const std::string& list) {
  const auto x = parse_gpu_list(list);
  return x ? join(*x) : "error: " + x.error().text;
}

} // namespace

TEST_CASE("device_list: without CUDA_VISIBLE_DEVICES all devices are visible",
          "[core]") {
  CHECK(text(find_visible(std::nullopt, four)) == "0=0 1=1 2=2 3=3");
  CHECK(text(find_visible(std::nullopt, {})).empty());
}

TEST_CASE("device_list: an empty value hides all devices", "[core]") {
  CHECK(seen("").empty());
  CHECK(seen(" \t").empty());
}

TEST_CASE("device_list: numbers choose and order devices", "[core]") {
  CHECK(seen("2,0") == "2=2 0=0");
  CHECK(seen(" 1 , 3 ") == "1=1 3=3");
  CHECK(seen("+1,-0") == "+1=1 -0=0");
}

TEST_CASE("device_list: text after a number does not count", "[core]") {
  CHECK(seen("1x,2") == "1x=1 2=2");
}

TEST_CASE("device_list: the first name without a device ends the list",
          "[core]") {
  CHECK(seen("0,4,1") == "0=0!4");
  CHECK(seen("0,-1,1") == "0=0!-1");
  CHECK(seen("-1") == "!-1");
  CHECK(seen("0,,1") == "0=0");
  CHECK(seen("NoDevFiles") == "!NoDevFiles");
  CHECK(seen("0,99999999999999999999") == "0=0!99999999999999999999");
}

TEST_CASE("device_list: a device named twice hides all devices", "[core]") {
  CHECK(seen("0,1,0") == "!0");
  CHECK(seen("GPU-aa11,GPU-aa11-1") == "!GPU-aa11-1");
}

TEST_CASE("device_list: a UUID may be cut short while it is unique", "[core]") {
  CHECK(seen("GPU-bb33-3,GPU-aa2") == "GPU-bb33-3=2 GPU-aa2=1");
  CHECK(seen("GPU-c") == "GPU-c=3");
  CHECK(seen("GPU-b,GPU-aa,GPU-c") == "GPU-b=2!GPU-aa"); // Ambiguous.
  CHECK(seen("GPU-") == "!GPU-");
  CHECK(seen("GPU-dd") == "!GPU-dd");
  CHECK(seen("gpu-bb33-3") == "!gpu-bb33-3");
}

TEST_CASE("device_list: names of two kinds do not go together", "[core]") {
  CHECK(seen("0,GPU-bb") == "0=0!GPU-bb");
  CHECK(seen("GPU-bb,0") == "GPU-bb=2!0");
}

TEST_CASE("device_list: parts of a GPU are devices of their own", "[core]") {
  CHECK(seen("MIG-x1,MIG-y2", parted) == "MIG-x1=1p MIG-y2=1p");
  CHECK(seen("MIG-y", parted) == "MIG-y=1p");
  CHECK(seen("MIG-z", parted) == "!MIG-z");
  CHECK(seen("MIG-", parted) == "!MIG-");
  CHECK(seen("MIG-GPU-b2/3/0", parted) == "MIG-GPU-b2/3/0=1p");
  CHECK(seen("MIG-GPU-a1/3/0", parted) == "!MIG-GPU-a1/3/0");
  CHECK(seen("MIG-GPU-b2", parted) == "!MIG-GPU-b2");
}

TEST_CASE("device_list: a partitioned GPU stands for its first part, if it has "
          "one",
          "[core]") {
  CHECK(seen("1", parted) == "1=1p");
  CHECK(seen("GPU-b2", parted) == "GPU-b2=1p");
  CHECK(seen("2", parted) == "!2");
  CHECK(text(find_visible(std::nullopt, parted)) == "0=0 1=1p");
}

TEST_CASE("device_list: a process uses one part of a GPU, or whole ones",
          "[core]") {
  const auto count = [](const char* list) {
    return usable_count(find_visible(list, parted).listed);
  };
  CHECK(count("MIG-x1,MIG-y2") == 1);
  CHECK(count("1,0") == 1);
  CHECK(count("0,1") == 1);
  CHECK(count("") == 0);
  CHECK(usable_count(find_visible(std::nullopt, four).listed) == 4);
}

TEST_CASE("device_list: a list of GPUs has numbers and ranges", "[core]") {
  CHECK(parsed("0,2,5") == "0 2 5");
  CHECK(parsed("5, 0") == "5 0");
  CHECK(parsed("0-3,6") == "0 1 2 3 6");
  CHECK(parsed("7-7") == "7");
  CHECK(parsed("63") == "63");
}

TEST_CASE("device_list: other texts are refused as lists of GPUs", "[core]") {
  for (const auto* text : {"", ",", "0,", "a", "1x", "-1", "3-1", "1-", "-",
                           "0x1", "1.5", "99999999999999999999"}) {
    CAPTURE(text);
    REQUIRE_FALSE(parse_gpu_list(text));
    CHECK(parse_gpu_list(text).error().code == errc::bad_argument);
  }
  CHECK(parsed("0,2-4,3") == "error: GPU 3 comes twice");
  CHECK(parsed("64") == "error: GPU 64 is not in 0..63");
  CHECK(parsed("0-4294967295") == "error: GPU 4294967295 is not in 0..63");
}

TEST_CASE("device_list: chosen numbers count visible devices", "[core]") {
  const auto visible = find_visible("GPU-c,GPU-b", four).listed;
  const auto one = choose_gpus(std::vector{1u}, visible);
  REQUIRE(one);
  CHECK(*one == std::vector<std::string>{"GPU-b"});
  const auto both = choose_gpus(std::vector{1u, 0u}, visible);
  REQUIRE(both);
  CHECK(*both == std::vector<std::string>{"GPU-b", "GPU-c"});
  const auto third = choose_gpus(std::vector{0u, 2u}, visible);
  REQUIRE_FALSE(third);
  CHECK(third.error().text == "there is no GPU 2: the GPUs are 0..1");
  CHECK(choose_gpus(std::vector{0u}, {}).error().text == "no GPU is visible");
}

} // namespace actorrun::test::list_test
