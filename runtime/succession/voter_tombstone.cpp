#include "runtime/succession/voter_tombstone.hpp"

#include "actors/voter_messages.hpp"
#include "messages/version.hpp"
#include "runtime/network/frames.hpp"
#include "runtime/os/socket_keeper.hpp"

namespace actorrun::detail {

namespace {

constexpr std::string_view voter_label = "actorrun voter is gone v1:";
constexpr size_t size_bytes = 2;
constexpr size_t head_size = server_hello_size + size_bytes;

std::string label_of(const agent_id& who) {
  return std::string{voter_label} + std::string{who.value};
}

} // namespace

std::string voter_statement(const job_key& key, const agent_id& who,
                            const core::tombstone& left) {
  const auto sealed
    = seal(key, label_of(who), to_wire(left).SerializeAsString());
  auto out = encode(server_hello{protocol_version, verdict::gone, {}});
  out += char(sealed.size() >> 8U);
  out += char(sealed.size() & 0xFFU);
  out += sealed;
  return out.size() <= socket_keeper::statement_size_max ? out : std::string{};
}

std::optional<size_t> statement_size(std::string_view begin) {
  if (begin.size() < head_size)
    return std::nullopt;
  const auto hello = decode_server_hello(begin.substr(0, server_hello_size));
  if (!hello || hello->status != verdict::gone)
    return 0;
  const auto high = uint8_t(begin[server_hello_size]);
  const auto low = uint8_t(begin[server_hello_size + 1]);
  const auto out = head_size + (size_t{high} << 8U) + low;
  return out <= socket_keeper::statement_size_max ? out : 0;
}

std::optional<core::tombstone> read_voter_statement(const job_key& key,
                                                    const agent_id& who,
                                                    std::string_view said) {
  const auto content = unseal(key, label_of(who), said.substr(head_size));
  auto out = v1::Tombstone{};
  if (!content || !out.ParseFromString(*content))
    return std::nullopt;
  auto left = from_wire(out);
  return left ? std::optional{std::move(*left)} : std::nullopt;
}

} // namespace actorrun::detail
