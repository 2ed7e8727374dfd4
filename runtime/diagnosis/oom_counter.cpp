#include "runtime/diagnosis/oom_counter.hpp"

#include "runtime/os/file.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Splits a text at a separator, without empty parts.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  auto out = std::vector<std::string_view>{};
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0)
      out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// A path of a mount table: blanks and the like are written `\040`.
std::string unescaped(std::string_view text) {
  constexpr auto escape_length = size_t{4};
  auto out = std::string{};
  for (size_t i = 0; i < text.size(); ++i) {
    auto value = 0u;
    if (text[i] == '\\' && i + escape_length <= text.size()
        && std::from_chars(&text[i + 1], &text[i] + escape_length, value, 8).ptr
             == &text[i] + escape_length) {
      out += static_cast<char>(value);
      i += escape_length - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Whether `name` is one of the words between commas.
bool lists(std::string_view commas, std::string_view name) {
  const auto all = parts_of(commas, ',');
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Where this process is in the hierarchies of control groups; empty: in none.
struct control_group {
  std::string unified; ///< Version 2.
  std::string memory;  ///< Version 1.
};

// Lines are `number:controllers:path`; the unified hierarchy has no controllers.
control_group own_group(const std::string& proc) {
  const auto text = read_kernel_file(proc + "/self/cgroup");
  auto out = control_group{};
  for (const auto line : parts_of(text, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos)
      continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty())
      out.unified = line.substr(second + 1);
    else if (lists(controllers, "memory"))
      out.memory = line.substr(second + 1);
  }
  return out;
}

/// One line of the table of mounts:
/// `id parent device root point options [tags…] - type source super-options`.
struct mount {
  std::string root, point;
  std::string_view type, options;
};

std::optional<mount> parse_mount(std::string_view line) {
  constexpr auto fixed_fields = size_t{6};
  // Most lines are irrelevant and need not be parsed.
  if (line.find(" - cgroup") == line.npos)
    return {};
  const auto words = parts_of(line, ' ');
  for (auto i = fixed_fields; i + 3 < words.size(); ++i)
    if (words[i] == "-")
      return mount{unescaped(words[3]), unescaped(words[4]), words[i + 1],
                   words[i + 3]};
  return {};
}

/// The folder of a group below a mount. In a container the path may be that of
/// the host, which is not to be seen here; then the mount is all there is.
std::string folder_of(const mount& where, const std::string& group) {
  if (where.root == "/")
    return where.point + group;
  if (group.starts_with(where.root))
    return where.point + group.substr(where.root.size());
  return where.point;
}

constexpr auto counter = std::string_view{"oom_kill "};

/// The number of `name` in a file of lines `name number`.
std::optional<uint64_t> read_counter(const std::string& path) {
  const auto text = read_kernel_file(path);
  for (const auto line : parts_of(text, '\n')) {
    auto value = uint64_t{0};
    if (line.starts_with(counter)
        && std::from_chars(line.data() + counter.size(),
                           line.data() + line.size(), value)
               .ec
             == std::errc{})
      return value;
  }
  return {};
}

std::string find_source(const std::string& proc) {
  const auto group = own_group(proc);
  const auto mounts = read_kernel_file(proc + "/self/mountinfo");
  for (const auto line : parts_of(mounts, '\n')) {
    const auto x = parse_mount(line);
    if (!x)
      continue;
    auto path = std::string{};
    if (x->type == "cgroup2" && !group.unified.empty())
      path = folder_of(*x, group.unified) + "/memory.events";
    else if (x->type == "cgroup" && lists(x->options, "memory")
             && !group.memory.empty())
      path = folder_of(*x, group.memory) + "/memory.oom_control";
    if (!path.empty() && read_counter(path))
      return path;
  }
  const auto whole_machine = proc + "/vmstat";
  return read_counter(whole_machine) ? whole_machine : "";
}

} // namespace

oom_counter::oom_counter(const std::string& proc)
  : source_(find_source(proc)) {}

void oom_counter::begin() {
  const auto now = count();
  counts_ = now.has_value();
  claimed_ = now.value_or(0);
}

bool oom_counter::claim() {
  const auto now = counts_ ? count() : std::nullopt;
  if (!now || *now <= claimed_)
    return false;
  ++claimed_;
  return true;
}

std::optional<uint64_t> oom_counter::count() const {
  return source_.empty() ? std::nullopt : read_counter(source_);
}

} // namespace actorrun::detail
