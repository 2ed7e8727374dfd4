#include "actors/core/devices/health.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace actorrun::core {

namespace {

struct known_xid {
  uint64_t number;
  gpu_verdict verdict;
  std::string_view text;
};

using enum gpu_verdict;

constexpr auto known_xids = std::array{
  known_xid{13, logged, "exception in a program's kernel"},
  known_xid{31, logged, "page fault of a program"},
  known_xid{43, logged, "a program's work was stopped"},
  known_xid{45, nothing, "a program's work was cleaned up"},
  known_xid{48, flagged, "memory error that cannot be corrected"},
  known_xid{61, flagged, "breakpoint of an internal controller"},
  known_xid{62, flagged, "an internal controller has halted"},
  known_xid{63, flagged, "faulty memory is put out of use"},
  known_xid{64, flagged, "faulty memory could not be put out of use"},
  known_xid{68, logged, "exception of the video decoder"},
  known_xid{74, flagged, "error of an NVLink"},
  known_xid{79, flagged, "has fallen off the bus"},
  known_xid{92, flagged, "many memory errors that were corrected"},
  known_xid{94, flagged, "memory error, contained to one program"},
  known_xid{95, flagged, "memory error, not contained to one program"},
  known_xid{109, logged, "a program's context was not switched in time"},
  known_xid{119, flagged, "its system processor does not answer"},
  known_xid{120, flagged, "error of its system processor"},
  known_xid{121, flagged, "error of the link to the CPU"},
  known_xid{140, flagged, "memory errors that were not recovered from"},
  known_xid{143, flagged, "could not be initialised"},
  known_xid{154, flagged, "needs to be recovered: reset it, or the node"},
  known_xid{999, flagged, "an error that the driver does not name"},
};

} // namespace

gpu_finding read_xid(uint64_t xid) {
  const auto number = "XID " + std::to_string(xid);
  const auto i = std::find_if(known_xids.begin(), known_xids.end(),
                              [xid](const auto& x) { return x.number == xid; });
  if (i == known_xids.end())
    return {flagged, number};
  return {i->verdict, number + ": " + std::string{i->text}};
}

} // namespace actorrun::core
