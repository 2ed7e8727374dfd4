#include "runtime/os/control_group.hpp"

#include "runtime/os/file.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <mutex>
#include <string_view>
#include <utility>

namespace actorrun::detail {

namespace {

constexpr auto kernel_proc = std::string_view{"/proc"};

/// This process may be moved, by systemd for example.
constexpr auto kept_for = std::chrono::seconds{1};

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
struct own_groups {
  std::string unified; ///< Version 2.
  std::string memory;  ///< Version 1.
};

// Lines are `number:controllers:path`; the unified hierarchy has no controllers.
own_groups find_own_groups(const std::string& text) {
  auto out = own_groups{};
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
  std::string type, options;
};

std::optional<mount> parse_mount(std::string_view line) {
  constexpr auto fixed_fields = size_t{6};
  // Most lines are irrelevant and need not be parsed.
  if (line.find(" - cgroup") == line.npos)
    return {};
  const auto words = parts_of(line, ' ');
  for (auto i = fixed_fields; i + 3 < words.size(); ++i)
    if (words[i] == "-")
      return mount{unescaped(words[3]), unescaped(words[4]),
                   std::string{words[i + 1]}, std::string{words[i + 3]}};
  return {};
}

/// What the kernel says of control groups: where we are, and where they are
/// mounted, in the order of the table of mounts.
struct group_table {
  own_groups own;
  std::vector<mount> mounts;
};

group_table read_groups(const std::string& proc) {
  auto out = group_table{
    .own = find_own_groups(read_kernel_file(proc + "/self/cgroup")),
    .mounts = {}};
  const auto mounts = read_kernel_file(proc + "/self/mountinfo");
  for (const auto line : parts_of(mounts, '\n'))
    if (auto x = parse_mount(line))
      out.mounts.push_back(std::move(*x));
  return out;
}

/// A launch asks several times, and a table of mounts can be long.
group_table find_groups(const std::string& proc) {
  if (proc != kernel_proc)
    return read_groups(proc);
  using clock = std::chrono::steady_clock;
  static auto guard = std::mutex{};
  static auto kept = group_table{};
  static auto kept_at = std::optional<clock::time_point>{};
  const auto lock = std::scoped_lock{guard};
  if (const auto now = clock::now(); !kept_at || now - *kept_at > kept_for) {
    kept = read_groups(proc);
    kept_at = now;
  }
  return kept;
}

bool is_below(const std::string& group, const mount& where) {
  return where.root == "/" || group == where.root
         || group.starts_with(where.root + "/");
}

/// The folder of a group below a mount. In a container the path may be that of
/// the host, which is not to be seen here; then the mount is all there is.
std::string folder_of(const mount& where, const std::string& group) {
  if (where.root == "/")
    return where.point + group;
  if (is_below(group, where))
    return where.point + group.substr(where.root.size());
  return where.point;
}

/// The number at the front of a file; none if it says `max`, or there is none.
std::optional<uint64_t> read_number(const std::string& path) {
  const auto text = read_kernel_file(path);
  auto value = uint64_t{0};
  const auto end
    = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc{} ? std::optional{value} : std::nullopt;
}

/// The machine's memory in bytes: `MemTotal:  24684068 kB`.
std::optional<uint64_t> machine_memory(const std::string& proc) {
  constexpr auto name = std::string_view{"MemTotal:"};
  constexpr auto unit = uint64_t{1'024};
  const auto text = read_kernel_file(proc + "/meminfo");
  for (const auto line : parts_of(text, '\n')) {
    const auto words = parts_of(line, ' ');
    auto value = uint64_t{0};
    if (words.size() > 1 && words[0] == name
        && std::from_chars(words[1].data(), words[1].data() + words[1].size(),
                           value)
               .ec
             == std::errc{})
      return value * unit;
  }
  return {};
}

/// The least limit of a group and of those above it. Where there is none, the
/// kernel says `max`, or a number larger than every machine.
std::optional<uint64_t> least_limit(const control_group& x) {
  const auto* name = x.is_unified ? "/memory.max" : "/memory.limit_in_bytes";
  auto out = std::optional<uint64_t>{};
  auto folder = x.folder;
  for (;;) {
    if (const auto limit = read_number(folder + name); limit && *limit > 0)
      out = std::min(*limit, out.value_or(*limit));
    const auto end = folder.rfind('/');
    if (folder.size() <= x.mount.size() || end == folder.npos)
      return out;
    folder.resize(end);
  }
}

} // namespace

std::vector<control_group> memory_groups(const std::string& proc) {
  const auto [own, mounts] = find_groups(proc);
  auto out = std::vector<control_group>{};
  for (const auto& x : mounts)
    if (x.type == "cgroup2" && !own.unified.empty())
      out.push_back({folder_of(x, own.unified), x.point, true});
    else if (x.type == "cgroup" && lists(x.options, "memory")
             && !own.memory.empty())
      out.push_back({folder_of(x, own.memory), x.point, false});
  return out;
}

std::string unified_folder(const std::string& proc) {
  const auto [own, mounts] = find_groups(proc);
  const auto& group = own.unified;
  if (!group.starts_with('/') || group.find("/..") != group.npos)
    return {};
  for (const auto& x : mounts)
    if (x.type == "cgroup2" && is_below(group, x))
      return folder_of(x, group == "/" ? "" : group);
  return {};
}

std::optional<uint64_t> group_memory_limit(const std::string& proc) {
  auto out = std::optional<uint64_t>{};
  for (const auto& x : memory_groups(proc))
    if (const auto limit = least_limit(x))
      out = std::min(*limit, out.value_or(*limit));
  return out;
}

std::optional<uint64_t> memory_limit(const std::string& proc) {
  const auto machine = machine_memory(proc);
  const auto groups = group_memory_limit(proc);
  return machine && groups ? std::min(*machine, *groups)
                           : (machine ? machine : groups);
}

} // namespace actorrun::detail
