#include "actors/core/devices/health.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::health_test {

using namespace actorrun::core;

TEST_CASE("device_health: a fault of the machine marks the GPU", "[core]") {
  const auto lost = read_xid(79);
  CHECK(lost.verdict == gpu_verdict::flagged);
  CHECK(lost.text == "XID 79: has fallen off the bus");
  for (const auto xid : {48u, 63u, 64u, 74u, 92u, 94u, 95u, 119u, 154u}) {
    CAPTURE(xid);
    CHECK(read_xid(xid).verdict == gpu_verdict::flagged);
  }
}

TEST_CASE("device_health: a fault of a program does not", "[core]") {
  for (const auto xid : {13u, 31u, 43u, 68u, 109u}) {
    CAPTURE(xid);
    CHECK(read_xid(xid).verdict == gpu_verdict::logged);
  }
}

TEST_CASE("device_health: the end of a program is not reported", "[core]") {
  CHECK(read_xid(45).verdict == gpu_verdict::nothing);
}

TEST_CASE("device_health: an unknown number marks the GPU", "[core]") {
  CHECK(read_xid(9'999).verdict == gpu_verdict::flagged);
  CHECK(read_xid(9'999).text == "XID 9999");
  CHECK(read_xid(UINT64_MAX).text == "XID 18446744073709551615");
}

TEST_CASE("device_health: so does what the driver cannot name", "[core]") {
  CHECK(read_xid(999).verdict == gpu_verdict::flagged);
  CHECK(read_xid(999).text
        == "XID 999: an error that the driver does not name");
}

} // namespace actorrun::test::health_test
