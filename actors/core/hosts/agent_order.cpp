#include "actors/core/hosts/agent_order.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace actorrun::core {

namespace {

constexpr std::string_view order_word = "actorrun-order";
constexpr std::string_view greeting_word = "actorrun-agent";
constexpr std::string_view end_word = "end";
constexpr std::string_view forward_word = "forward";
constexpr std::string_view alive_word = "alive";
constexpr int signal_max = 64;

/// What a field of an order is.
enum class tag : char {
  word = 'w',
  name = 'n', ///< Of a variable; its value follows.
  value = 'v',
  directory = 'd',
  secret = 's',
  new_job = 'j', ///< Empty, as the next.
  quiet = 'q',
  launch = 'l',
};

void put(tag what, std::string_view text, std::string& out) {
  out += static_cast<char>(what);
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

template <class T>
std::optional<T> number(std::string_view text, T min, T max) {
  auto x = T{};
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, x);
  if (error != std::errc{} || at != end || x < min || x > max)
    return std::nullopt;
  return x;
}

/// The words of a line; nothing if there are not as many.
template <size_t N>
std::optional<std::array<std::string_view, N>> words_of(std::string_view line) {
  auto out = std::array<std::string_view, N>{};
  for (size_t i = 0; i < N; ++i) {
    const auto end = i + 1 < N ? line.find(' ') : line.size();
    if (end == line.npos || end == 0)
      return std::nullopt;
    out[i] = line.substr(0, end);
    line.remove_prefix(end + (i + 1 < N ? 1 : 0));
  }
  if (out[N - 1].find(' ') != line.npos)
    return std::nullopt;
  return out;
}

failure no_order() {
  return bad_argument(
    "what has come by standard input is no order of actorrun");
}

/// Cuts the next field off `rest`.
struct field {
  char what = 0;
  std::string_view text;
};

std::optional<field> next_field(std::string_view& rest) {
  const auto colon = rest.substr(0, 16).find(':');
  if (colon == rest.npos || colon < 2)
    return std::nullopt;
  const auto size
    = number<size_t>(rest.substr(1, colon - 1), 0, order_size_max);
  if (!size || *size > rest.size() - colon - 1)
    return std::nullopt;
  const auto out = field{rest.front(), rest.substr(colon + 1, *size)};
  rest.remove_prefix(colon + 1 + *size);
  return out;
}

bool take(const field& x, bool& awaits_value, agent_order& out) {
  if (awaits_value != (x.what == static_cast<char>(tag::value)))
    return false;
  awaits_value = false;
  switch (tag{x.what}) {
    case tag::word:
      out.words.emplace_back(x.text);
      return true;
    case tag::name:
      out.variables.emplace_back(x.text, "");
      awaits_value = true;
      return !x.text.empty() && x.text.find('=') == x.text.npos;
    case tag::value:
      out.variables.back().second = x.text;
      return true;
    case tag::directory:
      out.directory = x.text;
      return true;
    case tag::secret:
      out.secret = x.text;
      return true;
    case tag::new_job:
      out.is_new_job = true;
      return x.text.empty();
    case tag::quiet:
      out.is_quiet = true;
      return x.text.empty();
    case tag::launch:
      out.launch = x.text;
      return x.text.find('/') == x.text.npos;
  }
  return false;
}

/// Words, variables and the folder become strings of C.
bool has_zero(const agent_order& x) {
  const auto is_bad
    = [](const std::string& text) { return text.find('\0') != text.npos; };
  for (const auto& text : x.words)
    if (is_bad(text))
      return true;
  for (const auto& [name, value] : x.variables)
    if (is_bad(name) || is_bad(value))
      return true;
  return is_bad(x.directory) || is_bad(x.launch);
}

} // namespace

result<std::string> encoded(const agent_order& order) {
  auto body = std::string{};
  for (const auto& x : order.words)
    put(tag::word, x, body);
  for (const auto& [name, value] : order.variables) {
    put(tag::name, name, body);
    put(tag::value, value, body);
  }
  put(tag::directory, order.directory, body);
  put(tag::secret, order.secret, body);
  if (order.is_new_job)
    put(tag::new_job, "", body);
  if (order.is_quiet)
    put(tag::quiet, "", body);
  if (!order.launch.empty())
    put(tag::launch, order.launch, body);
  if (body.size() > order_size_max)
    return bad_argument("the command line and the variables to export have "
                        + std::to_string(body.size())
                        + " bytes, and agents on other hosts take "
                        + std::to_string(order_size_max));
  return std::string{order_word} + ' ' + std::to_string(order_version) + ' '
         + std::to_string(body.size()) + '\n' + body;
}

result<std::optional<decoded_order>> decode_order(std::string_view bytes) {
  const auto end = bytes.substr(0, order_line_max).find('\n');
  if (end == bytes.npos)
    return bytes.size() < order_line_max
             ? result<std::optional<decoded_order>>{std::nullopt}
             : no_order();
  const auto head = words_of<3>(bytes.substr(0, end));
  if (!head || (*head)[0] != order_word
      || number<uint32_t>((*head)[1], order_version, order_version)
           != order_version)
    return no_order();
  const auto size = number<size_t>((*head)[2], 0, order_size_max);
  if (!size)
    return no_order();
  if (bytes.size() - end - 1 < *size)
    return std::optional<decoded_order>{};
  auto out = decoded_order{.order = {}, .size = end + 1 + *size};
  auto awaits_value = false;
  for (auto rest = bytes.substr(end + 1, *size); !rest.empty();) {
    const auto x = next_field(rest);
    if (!x || !take(*x, awaits_value, out.order))
      return no_order();
  }
  if (awaits_value || has_zero(out.order))
    return no_order();
  return std::optional{std::move(out)};
}

std::string to_line(const agent_greeting& x) {
  return std::string{greeting_word} + ' ' + std::to_string(x.version) + ' '
         + x.program + ' ' + std::to_string(x.port) + ' '
         + (x.address.empty() ? "-" : x.address) + '\n';
}

std::optional<agent_greeting> parse_greeting(std::string_view line) {
  constexpr auto version_max = std::numeric_limits<uint32_t>::max();
  constexpr auto port_max = std::numeric_limits<uint16_t>::max();
  if (line.ends_with('\r')) // A terminal in between.
    line.remove_suffix(1);
  if (line.size() > order_line_max)
    return std::nullopt;
  const auto words = words_of<5>(line);
  if (!words || (*words)[0] != greeting_word)
    return std::nullopt;
  const auto version = number<uint32_t>((*words)[1], 1, version_max);
  const auto port = number<uint16_t>((*words)[3], 0, port_max);
  if (!version || !port)
    return std::nullopt;
  return agent_greeting{
    .version = *version,
    .program = std::string{(*words)[2]},
    .port = *port,
    .address = (*words)[4] == "-" ? std::string{} : std::string{(*words)[4]}};
}

std::string to_line(const agent_notice& x) {
  if (x.what == agent_notice::kind::alive)
    return std::string{alive_word} + '\n';
  const auto word = x.what == agent_notice::kind::end ? end_word : forward_word;
  return std::string{word} + ' ' + std::to_string(x.signal) + '\n';
}

std::optional<agent_notice> parse_notice(std::string_view line) {
  if (line == alive_word)
    return agent_notice{agent_notice::kind::alive, 0};
  const auto words = words_of<2>(line);
  if (!words || ((*words)[0] != end_word && (*words)[0] != forward_word))
    return std::nullopt;
  const auto signal = number<int>((*words)[1], 1, signal_max);
  if (!signal)
    return std::nullopt;
  return agent_notice{(*words)[0] == end_word ? agent_notice::kind::end
                                              : agent_notice::kind::forward,
                      *signal};
}

} // namespace actorrun::core
