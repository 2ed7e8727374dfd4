// Translates between the frames of the CAF that this program is built with and those
// of the wire, which are the same for every CAF.
#pragma once

#include "messages/caf.hpp"
#include "messages/result.hpp"
#include "runtime/network/caf_frame.hpp"

#include <string>
#include <string_view>

namespace actorrun::detail {

/// One link's translation. The wire has the frames of CAF 0.17, so that programs with
/// different ones can take part in a job. CAF 1 writes the same headers; it names
/// systems shorter, numbers the types of messages, and has another kind of reason.
class frame_dialect {
public:
  /// What CAF has written; keeps back an incomplete frame. What no member of a job
  /// sends may be left out.
  /// @returns a view that is valid until the next call; a failure if that is no frame
  result<std::string_view> to_wire(std::string_view bytes);

  /// The other way round. @pre `frames` are whole, and have passed a `frame_filter`
  /// @returns a view that is valid until the next call
  std::string_view from_wire(std::string_view frames);

private:
#if ACTORRUN_CAF_1
  frame_splitter leaving_{caf_frame_layout};
  frame_splitter arriving_{caf_frame_layout};
  std::string to_wire_;
  std::string from_wire_;
#endif
};

/// The name of an actor system on the wire.
std::string wire_name(const caf::node_id& x);

} // namespace actorrun::detail
