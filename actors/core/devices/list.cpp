#include "actors/core/devices/list.hpp"

#include <algorithm>
#include <charconv>

namespace actorrun::core {

namespace {

constexpr auto gpu_prefix = std::string_view{"GPU-"};
constexpr auto instance_prefix = std::string_view{"MIG-"};
constexpr auto old_instance_prefix = std::string_view{"MIG-GPU-"};

/// In digits; more than any GPU's number has.
constexpr size_t number_length_max = 9;

std::string in_quotes(std::string_view text) {
  return "\"" + std::string{text} + "\"";
}

std::string_view trimmed(std::string_view text) {
  constexpr auto white = std::string_view{" \t\r\n\f\v"};
  const auto first = text.find_first_not_of(white);
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::vector<std::string_view> split(std::string_view text) {
  auto out = std::vector<std::string_view>{};
  for (;;) {
    const auto comma = text.find(',');
    out.push_back(text.substr(0, comma));
    if (comma == text.npos)
      return out;
    text.remove_prefix(comma + 1);
  }
}

/// The digits that a text begins with, as C's strtoul sees them; what stands
/// behind them does not count.
std::optional<size_t> leading_number(std::string_view text) {
  const auto is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+'))
    text.remove_prefix(1);
  const auto digits
    = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > number_length_max)
    return std::nullopt;
  auto number = size_t{0};
  std::from_chars(text.data(), text.data() + digits, number);
  if (is_negative && number != 0)
    return std::nullopt;
  return number;
}

enum class kind { number, gpu, instance };

kind kind_of(std::string_view name) {
  if (name.starts_with(gpu_prefix))
    return kind::gpu;
  return name.starts_with(instance_prefix) ? kind::instance : kind::number;
}

/// A device together with its unique names.
struct candidate {
  std::string key{};
  size_t gpu = 0;
  bool is_instance = false;
};

/// The only one whose key begins with `name`.
std::optional<candidate> only(const std::vector<candidate>& among,
                              std::string_view name) {
  const auto fits
    = [name](const candidate& x) { return x.key.starts_with(name); };
  const auto i = std::find_if(among.begin(), among.end(), fits);
  if (i == among.end() || std::find_if(i + 1, among.end(), fits) != among.end())
    return std::nullopt;
  return *i;
}

class resolver {
public:
  explicit resolver(std::span<const gpu_identity> gpus) : gpus_(gpus) {
    for (size_t i = 0; i < gpus.size(); ++i) {
      whole_.push_back({gpus[i].uuid, i, false});
      for (const auto& uuid : gpus[i].instance_uuids)
        instances_.push_back({uuid, i, true});
    }
  }

  std::optional<candidate> find(std::string_view name) const {
    switch (kind_of(name)) {
      case kind::gpu:
        return usable(only(whole_, name));
      case kind::instance:
        return name.starts_with(old_instance_prefix) ? old_instance(name)
                                                     : only(instances_, name);
      case kind::number:
        break;
    }
    const auto number = leading_number(name);
    if (!number || *number >= gpus_.size())
      return std::nullopt;
    return usable(whole_[*number]);
  }

private:
  // The number of a partitioned GPU stands for its first instance.
  std::optional<candidate> usable(std::optional<candidate> x) const {
    if (!x || !gpus_[x->gpu].is_partitioned)
      return x;
    const auto& parts = gpus_[x->gpu].instance_uuids;
    if (parts.empty())
      return std::nullopt;
    return candidate{parts.front(), x->gpu, true};
  }

  // Drivers before 470 named an instance by its GPU and two numbers, which
  // cannot be checked: they are no UUIDs.
  std::optional<candidate> old_instance(std::string_view name) const {
    const auto slash = name.find('/');
    if (slash == name.npos)
      return std::nullopt;
    auto uuid = name.substr(instance_prefix.size());
    uuid = uuid.substr(0, slash - instance_prefix.size());
    for (size_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i].uuid == uuid && gpus_[i].is_partitioned)
        return candidate{std::string{name}, i, true};
    return std::nullopt;
  }

  std::span<const gpu_identity> gpus_;
  std::vector<candidate> whole_{};
  std::vector<candidate> instances_{};
};

visible_gpus all_of(std::span<const gpu_identity> gpus) {
  auto out = visible_gpus{};
  const auto devices = resolver{gpus};
  for (size_t i = 0; i < gpus.size(); ++i) {
    const auto name = std::to_string(i);
    if (const auto found = devices.find(name))
      out.listed.push_back({name, i, found->is_instance});
  }
  return out;
}

/// `2` or `0-3`; from the first to the last.
std::optional<std::pair<uint32_t, uint32_t>> parse_span(std::string_view text) {
  const auto number = [](std::string_view x) -> std::optional<uint32_t> {
    auto out = uint32_t{0};
    const auto* end = x.data() + x.size();
    const auto [stop, error] = std::from_chars(x.data(), end, out);
    if (error != std::errc{} || stop != end)
      return std::nullopt;
    return out;
  };
  const auto dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == text.npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *first > *last)
    return std::nullopt;
  return std::pair{*first, *last};
}

} // namespace

visible_gpus find_visible(std::optional<std::string_view> list,
                          std::span<const gpu_identity> gpus) {
  if (!list)
    return all_of(gpus);
  auto out = visible_gpus{};
  if (trimmed(*list).empty())
    return out;
  const auto devices = resolver{gpus};
  const auto names = split(*list);
  auto seen = std::vector<std::string>{};
  for (const auto x : names) {
    const auto name = trimmed(x);
    const auto found = kind_of(name) == kind_of(trimmed(names.front()))
                         ? devices.find(name)
                         : std::nullopt;
    const auto is_double
      = found && std::find(seen.begin(), seen.end(), found->key) != seen.end();
    if (is_double)
      out.listed.clear();
    if (!found || is_double) {
      out.bad_name = name;
      return out;
    }
    seen.push_back(found->key);
    out.listed.push_back({std::string{name}, found->gpu, found->is_instance});
  }
  return out;
}

size_t usable_count(std::span<const visible_gpu> visible) {
  if (!visible.empty() && visible.front().is_instance)
    return 1;
  return size_t(std::count_if(visible.begin(), visible.end(),
                              [](const auto& x) { return !x.is_instance; }));
}

result<std::vector<uint32_t>> parse_gpu_list(std::string_view text) {
  auto out = std::vector<uint32_t>{};
  for (const auto part : split(text)) {
    const auto span = parse_span(trimmed(part));
    if (!span)
      return bad_argument(in_quotes(part)
                          + " is no number of a GPU; 0,2,5 and 0-3,6"
                          + " are lists of them");
    if (span->second >= gpus_per_node_max)
      return bad_argument("GPU " + std::to_string(span->second)
                          + " is not in 0.."
                          + std::to_string(gpus_per_node_max - 1));
    for (auto x = span->first; x <= span->second; ++x) {
      if (std::find(out.begin(), out.end(), x) != out.end())
        return bad_argument("GPU " + std::to_string(x) + " comes twice");
      out.push_back(x);
    }
  }
  return out;
}

result<std::vector<std::string>>
choose_gpus(std::span<const uint32_t> chosen,
            std::span<const visible_gpu> visible) {
  auto out = std::vector<std::string>{};
  if (visible.empty())
    return bad_argument("no GPU is visible");
  for (const auto x : chosen) {
    if (x >= visible.size())
      return bad_argument("there is no GPU " + std::to_string(x)
                          + ": the GPUs are 0.."
                          + std::to_string(visible.size() - 1));
    out.push_back(visible[x].name);
  }
  return out;
}

} // namespace actorrun::core
