#include "runtime/network/frames.hpp"

#include <algorithm>
#include <cassert>

namespace actorrun::detail {

namespace {

constexpr size_t version_end = 6;
constexpr size_t head_size = 8;
constexpr uint8_t secret_flag = 1;
constexpr uint8_t certificates_flag = 2;
constexpr uint8_t munge_flag = 4;
constexpr uint8_t demands_munge_flag = 8;
constexpr uint8_t all_flags
  = secret_flag | certificates_flag | munge_flag | demands_munge_flag;

std::string head(uint16_t version, uint8_t value) {
  auto out = std::string{frame_magic};
  out += static_cast<char>(version >> 8);
  out += static_cast<char>(version & 0xff);
  out += static_cast<char>(value);
  out += '\0';
  return out;
}

template <size_t N>
void append(std::string& out, const std::array<uint8_t, N>& x) {
  out.append(x.begin(), x.end());
}

template <size_t N>
void take(std::array<uint8_t, N>& out, std::string_view& in) {
  std::copy_n(in.begin(), N, out.begin());
  in.remove_prefix(N);
}

uint8_t byte_at(std::string_view bytes, size_t index) {
  return static_cast<uint8_t>(bytes[index]);
}

bool has_head(std::string_view bytes, uint8_t last_max) {
  return bytes.starts_with(frame_magic)
         && byte_at(bytes, head_size - 1) <= last_max;
}

std::optional<verdict> verdict_of(uint8_t value) {
  const auto known = value >= static_cast<uint8_t>(verdict::ok)
                     && value <= static_cast<uint8_t>(verdict::munge_unwanted);
  return known ? std::optional{static_cast<verdict>(value)} : std::nullopt;
}

} // namespace

bool is_peer_id(std::string_view text) {
  return !text.empty() && text.size() <= peer_id_size_max
         && std::all_of(text.begin(), text.end(),
                        [](char c) { return c > ' ' && c < '\x7f'; });
}

bool begins_like_ours(std::string_view bytes) {
  return bytes.substr(0, frame_magic.size())
         == frame_magic.substr(0, std::min(bytes.size(), frame_magic.size()));
}

bool begins_like_etcd(std::string_view bytes) {
  return bytes.starts_with("POST /v3/");
}

std::optional<uint16_t> version_in(std::string_view bytes) {
  if (bytes.size() < version_end)
    return std::nullopt;
  return static_cast<uint16_t>(byte_at(bytes, 4) << 8 | byte_at(bytes, 5));
}

std::string encode(const client_hello& x) {
  assert(is_peer_id(x.peer_id));
  auto out = head(x.version, static_cast<uint8_t>(x.intent));
  out.back() = static_cast<char>((x.has_secret ? secret_flag : 0)
                                 | (x.has_certificates ? certificates_flag : 0)
                                 | (x.has_munge ? munge_flag : 0)
                                 | (x.demands_munge ? demands_munge_flag : 0));
  append(out, x.fingerprint);
  append(out, x.nonce);
  out += x.peer_id;
  out.resize(client_hello_size, '\0');
  return out;
}

std::string encode(const server_hello& x) {
  auto out = head(x.version, static_cast<uint8_t>(x.status));
  append(out, x.nonce);
  return out;
}

std::string encode(const server_verdict& x) {
  auto out = std::string(1, static_cast<char>(x.status));
  append(out, x.incarnation);
  append(out, x.proof);
  return out;
}

std::string encode(const coordinator_tombstone& x) {
  auto out = std::string{};
  append(out, x.incarnation);
  out += encode_charter(x.job);
  append(out, x.proof);
  return out;
}

std::string encode_charter(const core::charter& x) {
  const auto half = [](uint64_t y) { return network_order(y).substr(4); };
  const auto& job = x.settings;
  return network_order(x.newest.value)
         + network_order(x.revision << 2U | uint64_t{x.is_resized} << 1U
                         | uint64_t{job.ranked})
         + half(static_cast<uint64_t>(x.lease.count()))
         + half(job.agent_count_min) + half(job.agent_count_max)
         + half(job.restart_count_max) + half(x.restart_count);
}

std::string encode_credential(std::string_view credential) {
  assert(credential.size() <= credential_size_max);
  auto out = std::string{};
  out += static_cast<char>(credential.size() >> 8);
  out += static_cast<char>(credential.size() & 0xff);
  return out += credential;
}

std::optional<client_hello> decode_client_hello(std::string_view bytes) {
  assert(bytes.size() == client_hello_size);
  const auto intent = byte_at(bytes, 6);
  if (!has_head(bytes, all_flags) || intent < 1 || intent > 3)
    return std::nullopt;
  auto out = client_hello{};
  out.version = *version_in(bytes);
  out.intent = static_cast<purpose>(intent);
  const auto flags = byte_at(bytes, head_size - 1);
  out.has_secret = (flags & secret_flag) != 0;
  out.has_certificates = (flags & certificates_flag) != 0;
  out.has_munge = (flags & munge_flag) != 0;
  out.demands_munge = (flags & demands_munge_flag) != 0;
  bytes.remove_prefix(head_size);
  take(out.fingerprint, bytes);
  take(out.nonce, bytes);
  out.peer_id = bytes.substr(0, bytes.find('\0'));
  const auto padding = bytes.substr(out.peer_id.size());
  if (!is_peer_id(out.peer_id) || (out.demands_munge && !out.has_munge)
      || padding.find_first_not_of('\0') != std::string_view::npos)
    return std::nullopt;
  return out;
}

std::optional<server_hello> decode_server_hello(std::string_view bytes) {
  assert(bytes.size() == server_hello_size);
  const auto status = verdict_of(byte_at(bytes, 6));
  if (!has_head(bytes, 0) || !status)
    return std::nullopt;
  auto out = server_hello{*version_in(bytes), *status, {}};
  bytes.remove_prefix(head_size);
  take(out.nonce, bytes);
  return out;
}

std::optional<server_verdict> decode_server_verdict(std::string_view bytes) {
  assert(bytes.size() == server_verdict_size);
  const auto status = verdict_of(byte_at(bytes, 0));
  if (!status)
    return std::nullopt;
  auto out = server_verdict{*status, {}, {}};
  bytes.remove_prefix(1);
  take(out.incarnation, bytes);
  take(out.proof, bytes);
  return out;
}

coordinator_tombstone decode_tombstone(std::string_view bytes) {
  assert(bytes.size() == tombstone_size);
  auto out = coordinator_tombstone{};
  take(out.incarnation, bytes);
  const auto number = [&bytes](size_t size) {
    auto x = uint64_t{0};
    for (size_t i = 0; i < size; ++i)
      x = x << 8U | byte_at(bytes, i);
    bytes.remove_prefix(size);
    return x;
  };
  const auto half = [&] { return static_cast<uint32_t>(number(4)); };
  auto& job = out.job;
  job.newest = {number(8)};
  const auto revision = number(8);
  job.revision = revision >> 2U;
  job.is_resized = (revision >> 1U & 1U) != 0;
  job.settings.ranked = (revision & 1U) != 0;
  job.lease = std::chrono::milliseconds{half()};
  job.settings.agent_count_min = half();
  job.settings.agent_count_max = half();
  job.settings.restart_count_max = half();
  job.restart_count = half();
  take(out.proof, bytes);
  return out;
}

size_t decode_credential_size(std::string_view bytes) {
  assert(bytes.size() == credential_head_size);
  return static_cast<size_t>(byte_at(bytes, 0) << 8 | byte_at(bytes, 1));
}

std::string network_order(uint64_t x) {
  auto out = std::string{};
  for (auto shift = 56; shift >= 0; shift -= 8)
    out += static_cast<char>(x >> shift & 0xff);
  return out;
}

} // namespace actorrun::detail
