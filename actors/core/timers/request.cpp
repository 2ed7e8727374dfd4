#include "actors/core/timers/request.hpp"

#include "actors/core/timers/json.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace actorrun::core {

namespace {

using kind = timer_fault::kind;

constexpr auto nanoseconds_per_second = 1e9;

// The text of an integer of JSON, that is without fraction and exponent.
std::optional<int64_t> integer_in(std::string_view text) {
  auto value = int64_t{0};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return value;
}

// Seconds; what a double cannot hold is none, as is what is not a number.
std::optional<double> seconds_in(std::string_view text) {
  auto value = 0.0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || std::isnan(value))
    return std::nullopt;
  return value;
}

class line_parser {
public:
  line_parser(std::string_view line, timer_request& out)
    : json_(line), out_(out) {}

  std::optional<timer_fault> parse() {
    if (!json_.take('{'))
      return broken();
    if (json_.sees('}'))
      return missing();
    do {
      if (auto fault = field())
        return fault;
    } while (json_.sees(',') && json_.take(','));
    if (!json_.take('}') || !json_.at_end())
      return broken();
    return missing();
  }

private:
  std::optional<timer_fault> field() {
    key_.clear();
    if (!json_.read_string(&key_) || !json_.take(':'))
      return broken();
    // As a view: then texts of different lengths are not looked at.
    const auto key = std::string_view{key_};
    if (key == "pid")
      return pid();
    if (key == "scope_id")
      return scope();
    if (key == "expiration_time")
      return expiration();
    if (key == "signal")
      return signal();
    if (!json_.skip_value())
      return broken();
    return std::nullopt;
  }

  std::optional<timer_fault> pid() {
    const auto start = json_.offset();
    const auto value = integer();
    if (!value || *value < 1 || *value > timer_pid_max)
      return timer_fault{kind::bad_pid, start};
    out_.pid = *value;
    has_pid_ = true;
    return std::nullopt;
  }

  std::optional<timer_fault> scope() {
    if (!json_.sees('"'))
      return timer_fault{kind::bad_scope, json_.offset()};
    out_.scope.clear();
    if (!json_.read_string(&out_.scope))
      return broken();
    has_scope_ = true;
    return std::nullopt;
  }

  std::optional<timer_fault> expiration() {
    const auto start = json_.offset();
    const auto text = json_.read_number();
    const auto seconds = text ? seconds_in(*text) : std::nullopt;
    if (!seconds)
      return timer_fault{kind::bad_expiration, start};
    out_.is_release = *seconds < 0;
    const auto count = *seconds * nanoseconds_per_second;
    if (out_.is_release)
      out_.expiration = duration::zero();
    else if (count >= static_cast<double>(duration::max().count()))
      out_.expiration = duration::max();
    else
      out_.expiration = duration{static_cast<int64_t>(count)};
    has_expiration_ = true;
    return std::nullopt;
  }

  std::optional<timer_fault> signal() {
    const auto start = json_.offset();
    const auto value = integer();
    if (!value || *value < std::numeric_limits<int>::min()
        || *value > timer_signal_max)
      return timer_fault{kind::bad_signal, start};
    out_.signal = static_cast<int>(*value);
    has_signal_ = true;
    return std::nullopt;
  }

  std::optional<int64_t> integer() {
    const auto text = json_.read_number();
    return text ? integer_in(*text) : std::nullopt;
  }

  std::optional<timer_fault> missing() const {
    const auto at = json_.offset();
    if (!has_pid_)
      return timer_fault{kind::no_pid, at};
    if (!has_scope_)
      return timer_fault{kind::no_scope, at};
    if (!has_expiration_)
      return timer_fault{kind::no_expiration, at};
    if (!has_signal_)
      return timer_fault{kind::no_signal, at};
    return std::nullopt;
  }

  timer_fault broken() const {
    switch (json_.wrong()) {
      case json_cursor::error::not_text:
        return {kind::not_text, json_.offset()};
      case json_cursor::error::too_deep:
        return {kind::too_deep, json_.offset()};
      default:
        return {kind::not_json, json_.offset()};
    }
  }

  json_cursor json_;
  timer_request& out_;
  std::string key_; ///< As long as a string's own room lasts: no allocation.
  bool has_pid_ = false;
  bool has_scope_ = false;
  bool has_expiration_ = false;
  bool has_signal_ = false;
};

std::string text_of(kind what) {
  switch (what) {
    case kind::not_text:
      return "this is not text";
    case kind::not_json:
      return "this is no JSON object";
    case kind::too_deep:
      return "objects and arrays are nested more than "
             + std::to_string(json_cursor::depth_max) + " deep";
    case kind::too_long:
      return "the line is longer than " + std::to_string(timer_line_max)
             + " bytes";
    case kind::bad_pid:
      return "\"pid\" is no integer from 1 to " + std::to_string(timer_pid_max);
    case kind::bad_scope:
      return "\"scope_id\" is no string";
    case kind::bad_expiration:
      return "\"expiration_time\" is no number of seconds";
    case kind::bad_signal:
      return "\"signal\" is no integer up to "
             + std::to_string(timer_signal_max);
    case kind::no_pid:
      return "\"pid\" is missing";
    case kind::no_scope:
      return "\"scope_id\" is missing";
    case kind::no_expiration:
      return "\"expiration_time\" is missing";
    case kind::no_signal:
      return "\"signal\" is missing";
  }
  return {};
}

} // namespace

std::string to_string(const timer_fault& x) {
  return text_of(x.what) + " (byte " + std::to_string(x.offset) + ")";
}

std::optional<timer_fault> parse_timer_request(std::string_view line,
                                               timer_request& out) {
  return line_parser{line, out}.parse();
}

} // namespace actorrun::core
