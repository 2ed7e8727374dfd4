#include "runtime/network/frame_filter.hpp"

#include "messages/formatted.hpp"

#include "messages/rendezvous.pb.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

using std::string_view;

// What each role sends, with answers (actors/interfaces.hpp).
constexpr auto keep_alive = string_view{"actorrun::v1::KeepAlive"};
constexpr auto lease_granted = string_view{"actorrun::v1::LeaseGranted"};
constexpr auto of_agent = std::array<string_view, 12>{
  "actorrun::v1::JoinRequest",    keep_alive,
  "actorrun::v1::WorkersStarted", "actorrun::v1::WorkerFailed",
  "actorrun::v1::WorkersStopped", "actorrun::v1::WorkersSucceeded",
  "actorrun::v1::LeaveNotice",    "actorrun::v1::NodeStatus",
  "actorrun::v1::StatusRequest",  "actorrun::v1::LogChunk",
  "actorrun::v1::StacksReport",   "actorrun::v1::SafePointReport",
};
constexpr auto of_coordinator = std::array<string_view, 15>{
  "actorrun::v1::JoinAccepted",
  "actorrun::v1::JoinRejected",
  lease_granted,
  "actorrun::v1::EpochFormed",
  "actorrun::v1::EpochRevoked",
  "actorrun::v1::JobEnded",
  "actorrun::v1::JobStatus",
  "actorrun::v1::NodeStatusRequest",
  "actorrun::v1::DrainNotice",
  "actorrun::v1::LogLevelOrder",
  "actorrun::v1::LogReading",
  "actorrun::v1::LogCredit",
  "actorrun::v1::StacksRequest",
  "actorrun::v1::SafePointOrder",
  "actorrun::v1::CharterChanged",
};
std::span<const string_view> sent_by(link_side side) {
  return side == link_side::client ? std::span<const string_view>{of_agent}
                                   : of_coordinator;
}

constexpr link_side opposite(link_side x) {
  return x == link_side::client ? link_side::server : link_side::client;
}

/// An agent, and its helpers that ask: CAF holds some memory for each actor.
constexpr size_t actor_count_max = 64;

bool contains(const std::vector<uint64_t>& actors, uint64_t x) {
  return std::find(actors.begin(), actors.end(), x) != actors.end();
}

/// @returns whether the actor is among them now: there may be too many others
bool note(std::vector<uint64_t>& actors, uint64_t x) {
  if (contains(actors, x))
    return true;
  if (actors.size() == actor_count_max)
    return false;
  actors.push_back(x);
  return true;
}

/// An agent joins once on a link; after some refusals it makes a new one.
constexpr size_t join_count_max = 64;

/// A client repeats its greeting once.
constexpr size_t greeting_count_max = 2;

bool is(const caf_frame& x, frame_kind kind) {
  return x.kind == static_cast<uint8_t>(kind);
}

/// Its number says what a message is. Ours are normal ones, and answers to such;
/// in a message that says it is part of a stream, CAF would look for that part.
bool is_normal(const caf_frame& x) {
  constexpr auto kind_bits = uint64_t{0x7000'0000'0000'0000};
  constexpr auto normal = uint64_t{0x1000'0000'0000'0000};
  return (x.operation_data & kind_bits) == normal;
}

bool is_message_for(const caf_frame& x, std::span<const string_view> types) {
  if (!is(x, frame_kind::direct_message) || x.flags != 0 || x.destination == 0
      || !is_normal(x))
    return false;
  const auto message = parse_message(x.content);
  return message
         && std::find(types.begin(), types.end(), message->type) != types.end();
}

} // namespace

frame_filter::frame_filter(link_ends ends, host_check may_speak_for,
                           lease_check has_lease)
  : ends_(std::move(ends)), may_speak_for_(std::move(may_speak_for)),
    has_lease_(std::move(has_lease)) {
  assert(ends_.own_node.size() == node_name_size);
  if (ends_.served != 0)
    ours_.push_back(ends_.served);
}

result<void> frame_filter::arriving(string_view bytes, std::string& out) {
  arriving_.add(bytes);
  for (;;) {
    const auto frame = arriving_.next();
    if (!frame)
      return frame.error();
    if (!*frame)
      return {};
    const auto x = parse_frame(**frame);
    if (!is_allowed(x))
      return failure{errc::not_actorrun,
                     formatted("sends what no member of a job sends (a frame "
                               "of kind {} with {} bytes)",
                               x.kind, x.content.size())};
    if (!is_answered(x))
      out += **frame;
  }
}

result<void> frame_filter::leaving(string_view bytes, std::string& out) {
  leaving_.add(bytes);
  for (;;) {
    const auto frame = leaving_.next();
    if (!frame)
      return frame.error();
    if (!*frame)
      return {};
    if (may_leave(parse_frame(**frame)))
      out += **frame;
  }
}

bool frame_filter::may_leave(const caf_frame& x) {
  if (is(x, frame_kind::routed_message))
    return false;
  if (!is(x, frame_kind::direct_message))
    return true;
  if (!is_message_for(x, sent_by(ends_.mine)))
    return false;
  return note(ours_, x.source);
}

bool frame_filter::is_allowed(const caf_frame& x) {
  if (is_greeting(x))
    return true;
  if (peer_node_.empty() || x.flags != 0)
    return false;
  if (is(x, frame_kind::direct_message))
    return is_allowed_message(x);
  if (x.operation_data != 0)
    return false;
  if (is(x, frame_kind::monitor_message))
    return x.source == 0 && contains(ours_, x.destination) && is_from_peer(x)
           && x.content.size() == 2 * node_name_size;
  if (is(x, frame_kind::down_message))
    return x.source != 0 && x.destination == 0 && is_from_peer(x)
           && is_plain_end(x.content);
  return is(x, frame_kind::sign_of_life) && x.source == 0 && x.destination == 0
         && x.content.empty();
}

bool frame_filter::is_greeting(const caf_frame& x) {
  const auto is_server = ends_.mine == link_side::client;
  if (!is(x, is_server ? frame_kind::server_handshake
                       : frame_kind::client_handshake)
      || x.source != 0 || x.destination != 0
      || x.content.size() < node_name_size)
    return false;
  const auto is_repeated = !peer_node_.empty();
  const auto node = x.content.substr(0, node_name_size);
  // The name begins with the kind of name, which is the same for all.
  const auto own = string_view{ends_.own_node};
  if (node == own || node.substr(0, 8) != own.substr(0, 8)
      || (is_repeated && (is_server || node != peer_node_))
      || ++greeting_count_ > greeting_count_max)
    return false;
  const auto is_whole
    = is_server
        ? x.flags == 0 && x.operation_data != 0
            && offered_actor(x.content).value_or(0) != 0
        : x.flags == (is_repeated ? select_connection_flag : 0)
            && x.operation_data == 0 && x.content.size() == node_name_size;
  if (is_whole)
    peer_node_ = node;
  return is_whole;
}

bool frame_filter::is_allowed_message(const caf_frame& x) {
  if (!contains(ours_, x.destination) || x.source == 0
      || !is_message_for(x, sent_by(opposite(ends_.mine))))
    return false;
  if (!note(theirs_, x.source))
    return false;
  const auto message = parse_message(x.content);
  return message->type != of_agent.front() || may_join(message->bytes);
}

// Here and not by the coordinator, which then wakes up for decisions only.
bool frame_filter::is_answered(const caf_frame& x) {
  if (!has_lease_ || join_count_ == 0 || !is(x, frame_kind::direct_message)
      || x.destination != ends_.served)
    return false;
  const auto message = parse_message(x.content);
  if (message->type != keep_alive)
    return false;
  auto request = v1::KeepAlive{};
  if (!request.ParseFromArray(message->bytes.data(),
                              static_cast<int>(message->bytes.size()))
      || request.agent_id() != ends_.client_id.get()
      || !has_lease_(request.sent_ns()))
    return true; // It gets no answer.
  auto grant = v1::LeaseGranted{};
  grant.set_sent_ns(request.sent_ns());
  answers_ += write_message(ends_.served, x.source, lease_granted,
                            grant.SerializeAsString());
  return true;
}

bool frame_filter::may_join(string_view bytes) {
  auto x = v1::JoinRequest{};
  return ++join_count_ <= join_count_max
         && x.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))
         && x.offer().agent_id() == ends_.client_id.get()
         && (!may_speak_for_ || may_speak_for_(x.offer().address()));
}

bool frame_filter::is_from_peer(const caf_frame& x) const {
  return x.content.size() >= 2 * node_name_size
         && x.content.substr(0, node_name_size) == peer_node_
         && x.content.substr(node_name_size, node_name_size)
              == ends_.own_node.get();
}

} // namespace actorrun::detail
