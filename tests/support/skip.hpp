// Leaves out what this machine cannot do, in a way that is counted.
#pragma once

#include <string>
#include <string_view>

namespace actorrun::test {

/// A program whose cases were all skipped ends with this code, which CTest shows
/// as skipped. It cannot hide a failure.
inline constexpr int skipped_code = 77;

/// Says that the rest of the running test case is not tried here; its caller
/// returns. Fails the test case if `ACTORRUN_NO_SKIP` forbids that.
///
/// `ACTORRUN_NO_SKIP` has the names of what must be there, with commas; `all`
/// stands for every name. `.ci/run` sets it.
/// @param lack Names what the machine lacks: `root`, `python3`, …
/// @param why  A sentence for people.
void skip(std::string_view lack, const std::string& why);

} // namespace actorrun::test
