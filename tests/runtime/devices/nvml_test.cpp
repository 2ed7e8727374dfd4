// Compares the declarations of NVML's binary interface with NVIDIA's header,
// where it is installed.
#if __has_include(<nvml.h>)

#include "runtime/devices/nvml.hpp"
#include "tests/support/catch.hpp"

#include <cstddef>
#include <type_traits>

// Its macros rename functions; only types and numbers are compared.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

namespace actorrun::test::nvml_test {

namespace ours = actorrun::detail::nvml;

namespace {

/// Whether two functions take the same number of arguments of the same sizes.
template <class Ours, class Theirs>
struct alike : std::false_type {};

template <class R1, class... Xs, class R2, class... Ys>
requires(sizeof...(Xs)
         == sizeof...(Ys)) struct alike<R1 (*)(Xs...), R2 (*)(Ys...)>
  : std::bool_constant<sizeof(R1) == sizeof(R2)
                       && ((sizeof(Xs) == sizeof(Ys)) && ...)> {
};

template <auto Member>
using pointer_to = std::remove_reference_t<decltype(ours::functions{}.*Member)>;

template <auto Member, class Theirs>
constexpr bool is_like(Theirs*) {
  return alike<pointer_to<Member>, Theirs*>::value;
}

} // namespace

TEST_CASE("nvml_api: structs are as in NVIDIA's header", "[gpu]") {
  STATIC_REQUIRE(sizeof(ours::memory) == sizeof(nvmlMemory_t));
  STATIC_REQUIRE(offsetof(ours::memory, used) == offsetof(nvmlMemory_t, used));
  STATIC_REQUIRE(sizeof(ours::utilization) == sizeof(nvmlUtilization_t));
  STATIC_REQUIRE(sizeof(ours::pci_info) == sizeof(nvmlPciInfo_t));
  STATIC_REQUIRE(offsetof(ours::pci_info, bus_id)
                 == offsetof(nvmlPciInfo_t, busId));
  STATIC_REQUIRE(sizeof(ours::process_info) == sizeof(nvmlProcessInfo_v2_t));
  STATIC_REQUIRE(offsetof(ours::process_info, pid)
                 == offsetof(nvmlProcessInfo_v2_t, pid));
  STATIC_REQUIRE(sizeof(ours::event_data) == sizeof(nvmlEventData_t));
  STATIC_REQUIRE(offsetof(ours::event_data, data)
                 == offsetof(nvmlEventData_t, eventData));
}

TEST_CASE("nvml_api: numbers are as in NVIDIA's header", "[gpu]") {
  STATIC_REQUIRE(int(ours::success) == NVML_SUCCESS);
  STATIC_REQUIRE(int(ours::not_supported) == NVML_ERROR_NOT_SUPPORTED);
  STATIC_REQUIRE(int(ours::no_permission) == NVML_ERROR_NO_PERMISSION);
  STATIC_REQUIRE(int(ours::timeout) == NVML_ERROR_TIMEOUT);
  STATIC_REQUIRE(int(ours::function_not_found)
                 == NVML_ERROR_FUNCTION_NOT_FOUND);
  STATIC_REQUIRE(ours::xid_event == nvmlEventTypeXidCriticalError);
  STATIC_REQUIRE(ours::core_temperature == NVML_TEMPERATURE_GPU);
  STATIC_REQUIRE(ours::text_size_max >= NVML_DEVICE_UUID_V2_BUFFER_SIZE);
  STATIC_REQUIRE(ours::text_size_max >= NVML_DEVICE_NAME_V2_BUFFER_SIZE);
}

TEST_CASE("nvml_api: functions take the arguments of NVIDIA's header",
          "[gpu]") {
  using f = ours::functions;
  STATIC_REQUIRE(is_like<&f::init>(&nvmlInit_v2));
  STATIC_REQUIRE(is_like<&f::error_string>(&nvmlErrorString));
  STATIC_REQUIRE(is_like<&f::device_count>(&nvmlDeviceGetCount_v2));
  STATIC_REQUIRE(is_like<&f::device_at>(&nvmlDeviceGetHandleByIndex_v2));
  STATIC_REQUIRE(is_like<&f::uuid>(&nvmlDeviceGetUUID));
  STATIC_REQUIRE(is_like<&f::name>(&nvmlDeviceGetName));
  STATIC_REQUIRE(is_like<&f::pci>(&nvmlDeviceGetPciInfo_v3));
  STATIC_REQUIRE(is_like<&f::memory_info>(&nvmlDeviceGetMemoryInfo));
  STATIC_REQUIRE(
    is_like<&f::utilization_rates>(&nvmlDeviceGetUtilizationRates));
  STATIC_REQUIRE(is_like<&f::temperature>(&nvmlDeviceGetTemperature));
  STATIC_REQUIRE(
    is_like<&f::processes>(&nvmlDeviceGetComputeRunningProcesses_v3));
  STATIC_REQUIRE(is_like<&f::mig_mode>(&nvmlDeviceGetMigMode));
  STATIC_REQUIRE(is_like<&f::mig_count_max>(&nvmlDeviceGetMaxMigDeviceCount));
  STATIC_REQUIRE(
    is_like<&f::mig_device_at>(&nvmlDeviceGetMigDeviceHandleByIndex));
  STATIC_REQUIRE(is_like<&f::event_set_create>(&nvmlEventSetCreate));
  STATIC_REQUIRE(is_like<&f::event_register>(&nvmlDeviceRegisterEvents));
  STATIC_REQUIRE(is_like<&f::event_wait>(&nvmlEventSetWait_v2));
  STATIC_REQUIRE(is_like<&f::event_set_free>(&nvmlEventSetFree));
}

} // namespace actorrun::test::nvml_test

#endif
