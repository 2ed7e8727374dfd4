#include "runtime/process_group/value_codec.hpp"

#include "runtime/entry_points.hpp"

#include <algorithm>
#include <string>

namespace actorrun::detail {

namespace {

/// Both ways of nlohmann's library call themselves once per level.
bool is_too_deep(const nlohmann::json& x, size_t depth_max) {
  if (!x.is_structured())
    return false;
  if (depth_max == 0)
    return true;
  return std::any_of(x.begin(), x.end(), [&](const auto& y) {
    return is_too_deep(y, depth_max - 1);
  });
}

/// Gives up on what nests deeper than we let anybody write.
struct depth_guard : nlohmann::json_sax<nlohmann::json> {
  size_t depth = 0;

  bool enter() { return ++depth <= value_depth_max + 1; }
  bool leave() {
    --depth;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }
};

} // namespace

result<nlohmann::json> decode(std::span<const uint8_t> data) {
  auto guard = depth_guard{};
  const auto format = nlohmann::json::input_format_t::cbor;
  if (!nlohmann::json::sax_parse(data, &guard, format))
    return bad_argument("the value in it is damaged");
  return nlohmann::json::from_cbor(data, true, false);
}

result<bytes> encode(const nlohmann::json& value, size_t size_max) {
  if (is_too_deep(value, value_depth_max))
    return bad_argument("nested deeper than " + std::to_string(value_depth_max)
                        + " levels");
  auto data = nlohmann::json::to_cbor(value);
  if (data.size() > size_max)
    return bad_argument(std::to_string(data.size()) + " bytes, and at most "
                        + std::to_string(size_max) + " may be sent");
  return data;
}

} // namespace actorrun::detail
