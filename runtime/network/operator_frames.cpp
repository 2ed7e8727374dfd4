#include "runtime/network/operator_frames.hpp"

#include "runtime/network/frames.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <cassert>

namespace actorrun::detail {

namespace {

template <class Message>
result<std::optional<Message>> next_message(frame_splitter& from) {
  const auto frame = from.next();
  if (!frame)
    return frame.error();
  if (!*frame)
    return std::optional<Message>{};
  const auto content = (*frame)->substr(operator_frame_layout(0).header_size);
  auto out = std::optional<Message>{Message{}};
  if (!out->ParseFromArray(content.data(), static_cast<int>(content.size())))
    return failure{errc::not_actorrun, "sends what is no message of ours"};
  return out;
}

} // namespace

std::string operator_frame(const google::protobuf::MessageLite& x) {
  const auto size = x.ByteSizeLong();
  assert(size > 0 && size <= reply_size_max);
  auto out = network_order(size).substr(4);
  x.AppendToString(&out);
  return out;
}

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
  const auto size = content.size() + status.size();
  assert(size <= reply_size_max);
  return network_order(size).substr(4) + content + status;
}

result<std::optional<v1::OperatorRequest>> next_request(frame_splitter& from) {
  return next_message<v1::OperatorRequest>(from);
}

result<std::optional<v1::OperatorReply>> next_reply(frame_splitter& from) {
  return next_message<v1::OperatorReply>(from);
}

} // namespace actorrun::detail
