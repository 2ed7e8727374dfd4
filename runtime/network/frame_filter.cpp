#include "runtime/network/frame_filter.hpp"

#include "messages/formatted.hpp"

#include "messages/job.pb.h"
#include "messages/node.pb.h"
#include "messages/rendezvous.pb.h"
#include "messages/worker.pb.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

using std::string_view;

/// One kind of message that a role sends.
struct known_message {
  string_view type; ///< `actorrun::v1::KeepAlive`.
  /// Whether CAF can read it, and whether it is of this agent if it names one.
  bool (*is_sound)(string_view bytes, const std::string& agent);
};

template <class T>
bool is_sound(string_view bytes, const std::string& agent) {
  auto x = T{};
  if (!x.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return false;
  if constexpr (requires { x.agent_id(); })
    return x.agent_id() == agent;
  else
    return true;
}

// What each role sends, with answers (actors/interfaces.hpp).
constexpr auto join_request = string_view{"actorrun::v1::JoinRequest"};
constexpr auto keep_alive = string_view{"actorrun::v1::KeepAlive"};
constexpr auto lease_granted = string_view{"actorrun::v1::LeaseGranted"};
constexpr auto status_request = string_view{"actorrun::v1::StatusRequest"};
constexpr auto job_status = string_view{"actorrun::v1::JobStatus"};
constexpr auto of_agent = std::array{
  known_message{join_request, is_sound<v1::JoinRequest>},
  known_message{keep_alive, is_sound<v1::KeepAlive>},
  known_message{"actorrun::v1::WorkersStarted", is_sound<v1::WorkersStarted>},
  known_message{"actorrun::v1::WorkerFailed", is_sound<v1::WorkerFailed>},
  known_message{"actorrun::v1::WorkersStopped", is_sound<v1::WorkersStopped>},
  known_message{"actorrun::v1::WorkersSucceeded",
                is_sound<v1::WorkersSucceeded>},
  known_message{"actorrun::v1::LeaveNotice", is_sound<v1::LeaveNotice>},
  known_message{"actorrun::v1::NodeStatus", is_sound<v1::NodeStatus>},
  known_message{status_request, is_sound<v1::StatusRequest>},
  known_message{"actorrun::v1::LogChunk", is_sound<v1::LogChunk>},
  known_message{"actorrun::v1::StacksReport", is_sound<v1::StacksReport>},
  known_message{"actorrun::v1::SafePointReport", is_sound<v1::SafePointReport>},
};
constexpr auto of_coordinator = std::array{
  known_message{"actorrun::v1::JoinAccepted", is_sound<v1::JoinAccepted>},
  known_message{"actorrun::v1::JoinRejected", is_sound<v1::JoinRejected>},
  known_message{lease_granted, is_sound<v1::LeaseGranted>},
  known_message{"actorrun::v1::GenerationFormed",
                is_sound<v1::GenerationFormed>},
  known_message{"actorrun::v1::GenerationRevoked",
                is_sound<v1::GenerationRevoked>},
  known_message{"actorrun::v1::JobEnded", is_sound<v1::JobEnded>},
  known_message{job_status, is_sound<v1::JobStatus>},
  known_message{"actorrun::v1::NodeStatusRequest",
                is_sound<v1::NodeStatusRequest>},
  known_message{"actorrun::v1::DrainNotice", is_sound<v1::DrainNotice>},
  known_message{"actorrun::v1::LogLevelOrder", is_sound<v1::LogLevelOrder>},
  known_message{"actorrun::v1::LogReading", is_sound<v1::LogReading>},
  known_message{"actorrun::v1::LogCredit", is_sound<v1::LogCredit>},
  known_message{"actorrun::v1::StacksRequest", is_sound<v1::StacksRequest>},
  known_message{"actorrun::v1::SafePointOrder", is_sound<v1::SafePointOrder>},
  known_message{"actorrun::v1::CharterChanged", is_sound<v1::CharterChanged>},
  known_message{"actorrun::v1::StartAhead", is_sound<v1::StartAhead>},
};
using role = std::span<const known_message>;

role sent_by(link_side side) {
  return side == link_side::client ? role{of_agent} : role{of_coordinator};
}

const known_message* find(role messages, string_view type) {
  const auto i = std::ranges::find(messages, type, &known_message::type);
  return i == messages.end() ? nullptr : &*i;
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

/// An agent asks for one status at a time; after a timeout it asks again.
constexpr size_t question_count_max = 8;

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

/// Likewise: it answers another one.
bool is_answer(const caf_frame& x) {
  return (x.operation_data & 0x8000'0000'0000'0000) != 0;
}

/// A message in the form of ours; its type may be any.
std::optional<frame_message> message_in(const caf_frame& x) {
  if (!is(x, frame_kind::direct_message) || x.flags != 0 || x.destination == 0
      || !is_normal(x))
    return std::nullopt;
  return parse_message(x.content);
}

/// An IPv4 address as a socket of both families has it is the same one.
string_view plain(string_view address) {
  constexpr auto mapped = string_view{"::ffff:"};
  const auto is_mapped
    = address.starts_with(mapped) && address.find('.') != address.npos;
  return is_mapped ? address.substr(mapped.size()) : address;
}

} // namespace

frame_filter::frame_filter(link_ends ends, host_check may_speak_for,
                           lease_check has_lease, member_check is_member,
                           std::string peer_host)
  : ends_(std::move(ends)), may_speak_for_(std::move(may_speak_for)),
    has_lease_(std::move(has_lease)), is_member_(std::move(is_member)),
    peer_host_(std::move(peer_host)) {
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
                     fault_.empty()
                       ? formatted("sends what no member of a job sends (a "
                                   "frame of kind {} with {} bytes)",
                                   x.kind, x.content.size())
                       : fault_};
    if (is_answered(x) || is_of_outsider(x))
      continue;
    const auto join = marked(x);
    out += join.empty() ? string_view{**frame} : string_view{join};
    ++passed_count_;
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
  note_answer(x);
  const auto message = message_in(x);
  if (!message || find(sent_by(ends_.mine), message->type) == nullptr)
    return false;
  return note(ours_, x.source);
}

// An error answers, too, although it does not leave.
void frame_filter::note_answer(const caf_frame& x) {
  if (question_count_ == 0)
    return;
  const auto message = message_in(x);
  if (is_answer(x) || (message && message->type == job_status))
    --question_count_;
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
  fault_.clear();
  if (!contains(ours_, x.destination) || x.source == 0)
    return false;
  const auto message = message_in(x);
  const auto* known
    = message ? find(sent_by(opposite(ends_.mine)), message->type) : nullptr;
  if (known == nullptr || !note(theirs_, x.source))
    return false;
  if (!known->is_sound(message->bytes, ends_.client_id.get())) {
    fault_ = formatted("sends a message of another agent, or one that cannot "
                       "be read ({} with {} bytes)",
                       message->type, message->bytes.size());
    return false;
  }
  return ends_.mine == link_side::client || is_of_client(*message);
}

bool frame_filter::is_of_client(const frame_message& x) {
  if (x.type == join_request)
    return may_join(x.bytes);
  if (join_count_ == 0)
    fault_ = "speaks before it has asked to join";
  return join_count_ > 0 && (x.type != status_request || may_ask());
}

// They cost the coordinator more than they cost their sender, and its mailbox has
// no limit.
bool frame_filter::may_ask() {
  if (++question_count_ <= question_count_max)
    return true;
  fault_
    = formatted("asks for the status again and again: {} questions have no "
                "answer yet",
                question_count_max);
  return false;
}

// It gets no answer, so it is cut after a few.
bool frame_filter::is_of_outsider(const caf_frame& x) const {
  if (!is_member_ || !is(x, frame_kind::direct_message))
    return false;
  return parse_message(x.content)->type == status_request && !is_member_();
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
  request.ParseFromArray(message->bytes.data(),
                         static_cast<int>(message->bytes.size()));
  if (!has_lease_(request.sent_ns()))
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

// A request to join, with what is known of its address here. Empty: it is none.
std::string frame_filter::marked(const caf_frame& x) const {
  const auto message
    = ends_.mine == link_side::server && is(x, frame_kind::direct_message)
        ? parse_message(x.content)
        : std::nullopt;
  auto request = v1::JoinRequest{};
  if (!message || message->type != join_request
      || !request.ParseFromArray(message->bytes.data(),
                                 static_cast<int>(message->bytes.size())))
    return {};
  request.set_is_address_unproved(!peer_host_.empty()
                                  && plain(request.offer().address())
                                       != plain(peer_host_));
  const auto content
    = message_content(message->type, request.SerializeAsString());
  auto out = x;
  out.content = content;
  return encode_frame(out);
}

bool frame_filter::is_from_peer(const caf_frame& x) const {
  return x.content.size() >= 2 * node_name_size
         && x.content.substr(0, node_name_size) == peer_node_
         && x.content.substr(node_name_size, node_name_size)
              == ends_.own_node.get();
}

} // namespace actorrun::detail
