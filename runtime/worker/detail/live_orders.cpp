#include "runtime/worker/detail/live_orders.hpp"

#include "actors/core/utf8.hpp"
#include "runtime/worker/detail/json_reader.hpp"

#include <limits>
#include <utility>

namespace actorrun::worker {

namespace {

constexpr size_t text_size_max = 256;

using kind = json_value::kind;

// Each returns false if the member is there and is none of that kind.

bool get(const json_value& order, std::string_view name, std::string& out) {
  const auto* x = order.find(name);
  if (x == nullptr)
    return true;
  out = plain_line(x->text);
  return x->is == kind::text;
}

bool get_number(const json_value& order, std::string_view name, uint64_t& out) {
  const auto* x = order.find(name);
  const auto number = x == nullptr ? std::nullopt : x->as_number();
  out = number.value_or(out);
  return number.has_value();
}

bool get_environment(const json_value& order, generation_order& out) {
  const auto* x = order.find("environment");
  if (x == nullptr)
    return true;
  for (const auto& [name, value] : x->members) {
    constexpr auto bad = std::string_view{"=\0", 2};
    if (value.is != kind::text || name.empty()
        || name.find_first_of(bad) != name.npos
        || value.text.find('\0') != value.text.npos)
      return false;
    out.environment.emplace_back(name, value.text);
  }
  return x->is == kind::object;
}

bool get_survivors(const json_value& order, generation_order& out) {
  const auto* x = order.find("survivors");
  if (x == nullptr)
    return true;
  auto next = uint64_t{0};
  for (const auto& run : x->items) {
    if (run.items.size() != 2)
      return false;
    const auto first = run.items[0].as_number();
    const auto last = run.items[1].as_number();
    if (!first || !last || *first < next || *last < *first
        || *last > std::numeric_limits<uint32_t>::max())
      return false;
    next = *last + 1;
    out.survivors.emplace_back(uint32_t(*first), uint32_t(*last));
  }
  return x->is == kind::array;
}

template <class Order>
std::optional<live_order> made(bool is_good, Order x) {
  if (!is_good)
    return std::nullopt;
  auto out = std::optional<live_order>{std::in_place};
  out->emplace<Order>(std::move(x));
  return out;
}

std::optional<live_order> parse_generation(const json_value& order) {
  auto x = generation_order{};
  const auto is_good = get_number(order, "generation", x.number)
                       && get(order, "reason", x.reason)
                       && get_environment(order, x) && get_survivors(order, x)
                       && (order.find("restarts") == nullptr
                           || get_number(order, "restarts", x.restarts));
  return made(is_good, std::move(x));
}

// An order with one member.
template <class Order, class Get, class Member>
std::optional<live_order> parse_with(const json_value& order, Get get_member,
                                     std::string_view name, Member member) {
  auto x = Order{};
  const auto is_good = get_member(order, name, x.*member);
  return made(is_good, std::move(x));
}

std::string packet_of(std::string_view type, std::string_view name,
                      uint64_t value) {
  auto out = std::string{R"({"type":")"};
  out.append(type).append(R"(",")").append(name).append(R"(":)");
  return out + std::to_string(value) + "}";
}

std::string packet_of(std::string_view type, uint64_t generation,
                      uint64_t step) {
  auto out = packet_of(type, "generation", generation);
  out.pop_back();
  return out + R"(,"step":)" + std::to_string(step) + "}";
}

} // namespace

std::optional<live_order> parse_order(std::string_view packet) {
  if (packet.size() > live_packet_size_max)
    return std::nullopt;
  const auto order = parse_json(packet);
  if (!order || order->is != kind::object)
    return std::nullopt;
  const auto* type = order->find("type");
  if (type == nullptr || type->is != kind::text)
    return std::nullopt;
  if (type->text == "generation")
    return parse_generation(*order);
  if (type->text == "regroup")
    return parse_with<regroup_order>(*order, get, "reason",
                                     &regroup_order::reason);
  if (type->text == "hold")
    return made(true, hold_order{});
  if (type->text == "stop_at")
    return parse_with<stop_at_order>(*order, get_number, "step",
                                     &stop_at_order::step);
  if (type->text == "go_on")
    return made(true, go_on_order{});
  if (type->text == "stop")
    return parse_with<stop_order>(*order, get, "reason", &stop_order::reason);
  if (type->text == "error")
    return parse_with<refusal_order>(*order, get, "text", &refusal_order::text);
  return made(true, unknown_order{});
}

std::string hello_packet() {
  return packet_of("hello", "version", live_version);
}

std::string parked_packet(uint64_t generation) {
  return packet_of("parked", "generation", generation);
}

std::string trouble_packet(std::string_view text) {
  auto out = std::string{R"({"type":"trouble","text":)"};
  append_json(out, plain_line(text));
  return out + "}";
}

std::string step_packet(uint64_t step) {
  return packet_of("at", "step", step);
}

std::string held_packet(uint64_t generation, uint64_t step) {
  return packet_of("held", generation, step);
}

std::string reached_packet(uint64_t generation, uint64_t step) {
  return packet_of("reached", generation, step);
}

std::string plain_line(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  text.remove_prefix(begin == text.npos ? text.size() : begin);
  text = text.substr(0, text.find('\n'));
  text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
  if (text.size() > text_size_max) {
    text = text.substr(0, text_size_max);
    while (!text.empty() && !core::is_utf8(text)
           && text_size_max - text.size() < 4)
      text.remove_suffix(1);
  }
  auto out = std::string{text};
  for (auto& x : out)
    if ((x >= 0 && x < ' ') || x == '\x7f')
      x = '?';
  return out;
}

} // namespace actorrun::worker
