#include "runtime/network/operator_frames.hpp"

#include <google/protobuf/io/coded_stream.h>

namespace actorrun::detail {

// Fields of a message stand one after the other.
std::string status_frame(uint64_t number, const std::string& status) {
  using google::protobuf::io::CodedOutputStream;
  constexpr uint32_t tag = v1::OperatorReply::kStatusFieldNumber << 3 | 2;
  auto head = v1::OperatorReply{};
  head.set_number(number);
  auto content = head.SerializeAsString();
  uint8_t begin[16];
  auto* end = CodedOutputStream::WriteVarint32ToArray(tag, begin);
  end = CodedOutputStream::WriteVarint32ToArray(uint32_t(status.size()), end);
  content.append(begin, end);
  return frame_header(content.size() + status.size()) + content + status;
}

} // namespace actorrun::detail
