#include "runtime/control/messages.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

using json = nlohmann::ordered_json;

// What is not UTF-8 becomes U+FFFD: dump would throw otherwise.
std::string text_of(const json& x) {
  return x.dump(-1, ' ', false, json::error_handler_t::replace);
}

// One line for people, of whatever was said.
std::string plain(std::string_view text, size_t size_max) {
  const auto line = core::first_line_of(text.substr(0, 8 * size_max));
  return std::string{core::beginning_of(line, size_max)};
}

double seconds_of(core::duration x) {
  return std::max(std::chrono::duration<double>{x}.count(), 0.0);
}

// -- orders -------------------------------------------------------------------

json environment_of(const core::tell_generation& x) {
  auto out = json::object();
  for (const auto& entry : x.environment)
    if (const auto end = entry.find('='); end != entry.npos && end > 0)
      out[entry.substr(0, end)] = entry.substr(end + 1);
  return out;
}

json generation_head(const core::tell_generation& x, json environment) {
  return {{"type", "generation"},
          {"generation", number_of(x.generation)},
          {"environment", std::move(environment)},
          {"restarts", x.restart_count}};
}

size_t size_of(const json& x) {
  return text_of(x).size();
}

// As many of them as there is room for.
json survivors_within(const core::tell_generation& x, size_t room) {
  auto out = json::array();
  auto size = size_t{2};
  for (const auto& [first, last] : x.survivors) {
    auto run = json::array({first, last});
    size += size_of(run) + 1; // And a comma.
    if (size > room)
      break;
    out.push_back(std::move(run));
  }
  return out;
}

struct order_writer {
  std::optional<std::string> operator()(const core::tell_generation& x) const {
    auto out = generation_head(x, environment_of(x));
    out["reason"] = "";
    out["survivors"] = json::array();
    out["survivors_cut"] = true;
    const auto fixed = size_of(out);
    if (fixed > control_packet_size_max)
      return std::nullopt;
    auto room = control_packet_size_max - fixed;
    out["survivors"] = survivors_within(x, room + 2);
    if (out["survivors"].size() == x.survivors.size())
      out.erase("survivors_cut");
    room = control_packet_size_max - size_of(out);
    out["reason"] = fitting(x.reason, room);
    return text_of(out);
  }

  std::optional<std::string> operator()(const core::tell_regroup& x) const {
    return text_of({{"type", "regroup"},
                    {"reason", plain(x.reason, control_text_size_max)},
                    {"seconds", seconds_of(x.time)}});
  }

  std::optional<std::string> operator()(const core::tell_hold&) const {
    return text_of({{"type", "hold"}});
  }

  std::optional<std::string> operator()(const core::tell_stop_at& x) const {
    return text_of({{"type", "stop_at"}, {"step", x.step}});
  }

  std::optional<std::string> operator()(const core::tell_go_on&) const {
    return text_of({{"type", "go_on"}});
  }

  std::optional<std::string> operator()(const core::tell_stop& x) const {
    return text_of({{"type", "stop"},
                    {"reason", plain(x.reason, control_text_size_max)},
                    {"seconds", seconds_of(x.time)}});
  }

private:
  // In JSON a character may take more bytes.
  static std::string fitting(std::string_view reason, size_t room) {
    auto out = plain(reason, control_text_size_max);
    while (!out.empty() && size_of(out) - 2 > room)
      out = core::beginning_of(out, out.size() - 1);
    return out;
  }
};

// -- words --------------------------------------------------------------------

failure malformed(std::string why) {
  return {errc::not_actorrun, std::move(why)};
}

/// A member that is a number from 0 on.
result<uint64_t> number_in(const json& packet, const char* name,
                           uint64_t value_max = UINT64_MAX) {
  const auto found = packet.find(name);
  if (found == packet.end() || !found->is_number_unsigned()
      || found->get<uint64_t>() > value_max)
    return malformed(formatted("\"{}\" is no number that can be one", name));
  return found->get<uint64_t>();
}

using parsed = result<std::optional<core::worker_word>>;

parsed parse_hello(const json& packet) {
  const auto version = number_in(packet, "version");
  if (!version)
    return version.error();
  if (*version != control_version)
    return failure{errc::protocol_mismatch,
                   formatted("version {} is not spoken here, but version {}",
                             *version, control_version)};
  return std::optional<core::worker_word>{core::said_hello{}};
}

result<uint64_t> generation_in(const json& packet) {
  return number_in(packet, "generation", generation_number_max);
}

parsed parse_parked(const json& packet) {
  const auto generation = generation_in(packet);
  if (!generation)
    return generation.error();
  return std::optional<core::worker_word>{core::said_parked{*generation}};
}

parsed parse_trouble(const json& packet) {
  const auto found = packet.find("text");
  if (found == packet.end() || !found->is_string())
    return malformed("\"text\" is no text");
  return std::optional<core::worker_word>{core::said_trouble{
    plain(found->get_ref<const std::string&>(), control_text_size_max)}};
}

parsed parse_at(const json& packet) {
  const auto step = number_in(packet, "step");
  if (!step)
    return step.error();
  return std::optional<core::worker_word>{core::said_step{*step}};
}

/// A word of a step of a generation.
template <class Word>
parsed parse_step(const json& packet) {
  const auto generation = generation_in(packet);
  if (!generation)
    return generation.error();
  const auto step = number_in(packet, "step");
  if (!step)
    return step.error();
  return std::optional<core::worker_word>{Word{*generation, *step}};
}

constexpr std::pair<std::string_view, parsed (*)(const json&)> words[] = {
  {"hello", parse_hello},
  {"parked", parse_parked},
  {"trouble", parse_trouble},
  {"at", parse_at},
  {"held", parse_step<core::said_held>},
  {"reached", parse_step<core::said_reached>},
};

} // namespace

std::optional<std::string> control_packet(const core::worker_order& order) {
  return std::visit(order_writer{}, order);
}

std::string control_error_packet(std::string_view text) {
  return text_of(
    {{"type", "error"}, {"text", plain(text, control_text_size_max)}});
}

parsed parse_control_packet(std::string_view packet) {
  if (packet.size() > control_packet_size_max)
    return malformed(
      formatted("a packet has more than {} bytes", control_packet_size_max));
  const auto x = json::parse(packet, nullptr, false);
  if (!x.is_object())
    return malformed("a packet is no JSON object");
  const auto type = x.find("type");
  if (type == x.end() || !type->is_string())
    return malformed("a packet has no \"type\"");
  for (const auto& [name, parse] : words)
    if (name == type->get_ref<const std::string&>())
      return parse(x);
  return std::optional<core::worker_word>{};
}

} // namespace actorrun::detail
