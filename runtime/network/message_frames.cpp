#include "runtime/network/message_frames.hpp"

#include "runtime/network/frames.hpp"

#include <cassert>

namespace actorrun::detail {

std::string frame_header(size_t size) {
  assert(size > 0 && size <= message_frame_max);
  return network_order(size).substr(8 - frame_header_size);
}

std::string message_frame(const google::protobuf::MessageLite& x) {
  auto out = frame_header(x.ByteSizeLong());
  x.AppendToString(&out);
  return out;
}

result<void> read_message(std::string_view content,
                          google::protobuf::MessageLite& to) {
  if (!to.ParseFromArray(content.data(), static_cast<int>(content.size())))
    return failure{errc::not_actorrun, "sends what is no message of ours"};
  return {};
}

} // namespace actorrun::detail
