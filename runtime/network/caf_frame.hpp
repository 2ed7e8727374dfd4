// Reads the frames of CAF's protocol between actor systems, as CAF 0.17.6 writes
// them: 32 bytes of header in network order and as much content as it says. They go
// over the wire with every CAF; see frame_dialect.
#pragma once

#include "runtime/network/frame_splitter.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

enum class frame_kind : uint8_t {
  server_handshake = 0,
  client_handshake = 1,
  direct_message = 2,
  routed_message = 3,
  monitor_message = 4,
  down_message = 5,
  sign_of_life = 6,
};

/// A receiver is named by a word instead of a number.
inline constexpr uint8_t named_receiver_flag = 1;
/// A client says that it goes on with this connection.
inline constexpr uint8_t select_connection_flag = 2;

inline constexpr size_t frame_header_size = 32; // bytes

/// Of one content, in bytes: some times the largest message of ours.
inline constexpr size_t frame_content_max = 1 << 20;

/// Of the name of an actor system in a content.
inline constexpr size_t node_name_size = 32; // bytes

struct caf_frame {
  uint8_t kind = 0; ///< A `frame_kind`, or none.
  uint8_t flags = 0;
  uint64_t operation_data = 0;
  uint64_t source = 0;      ///< An actor of the sender's system; 0: none.
  uint64_t destination = 0; ///< An actor of the receiver's system; 0: none.
  std::string_view content;
};

inline constexpr auto caf_frame_layout
  = frame_layout{.header_size = frame_header_size,
                 .size_offset = 4,
                 .content_min = 0,
                 .content_max = frame_content_max};

/// @pre `bytes` is what `frame_splitter::next` has returned
caf_frame parse_frame(std::string_view bytes);

/// The other way round; the size is that of the content.
std::string encode_frame(const caf_frame& x);

/// Takes a text from the front: its size, seven bits per byte with the lowest
/// first, and its bytes. None: there is not so much.
std::optional<std::string_view> take_text(std::string_view& from);

/// The other way round.
void append_text(std::string& out, std::string_view text);

/// In network order.
void append_number(std::string& out, uint64_t x, size_t size);

/// One message in the content of a direct message.
struct frame_message {
  std::string_view type;  ///< `actorrun::v1::KeepAlive`.
  std::string_view bytes; ///< Protobuf.
};

/// The content of a direct message.
/// @param type `actorrun::v1::LeaseGranted`.
/// @param bytes Protobuf.
std::string message_content(std::string_view type, std::string_view bytes);

/// Writes a frame with one message, which wants no answer.
/// @param type `actorrun::v1::LeaseGranted`.
/// @param bytes Protobuf.
std::string write_message(uint64_t source, uint64_t destination,
                          std::string_view type, std::string_view bytes);

/// The message in such a content; none unless it is exactly one of Protobuf's and
/// nothing else.
std::optional<frame_message> parse_message(std::string_view content);

/// The actor that a server's handshake offers; none if the content is not what
/// CAF writes for a server of ours.
std::optional<uint64_t> offered_actor(std::string_view content);

/// What follows the names of the two systems in the content of an end, with no
/// reason.
std::string plain_end();

/// Whether a content says that an actor has ended, with a reason that holds no
/// message.
bool is_plain_end(std::string_view content);

} // namespace actorrun::detail
