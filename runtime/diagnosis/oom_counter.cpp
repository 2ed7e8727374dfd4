#include "runtime/diagnosis/oom_counter.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/control_group.hpp"
#include "runtime/os/file.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace actorrun::detail {

namespace {

constexpr auto counter = std::string_view{"oom_kill "};

/// The number of `name` in a file of lines `name number`.
std::optional<uint64_t> read_counter(const std::string& path) {
  const auto text = read_kernel_file(path);
  for (auto line = std::string_view{text}; !line.empty();) {
    auto value = uint64_t{0};
    if (line.starts_with(counter)
        && std::from_chars(line.data() + counter.size(),
                           line.data() + line.size(), value)
               .ec
             == std::errc{})
      return value;
    line.remove_prefix(std::min(line.find('\n'), line.size() - 1) + 1);
  }
  return {};
}

std::string find_source(const std::string& proc) {
  for (const auto& x : memory_groups(proc)) {
    const auto path
      = x.folder + (x.is_unified ? "/memory.events" : "/memory.oom_control");
    if (read_counter(path))
      return path;
  }
  const auto whole_machine = proc + "/vmstat";
  return read_counter(whole_machine) ? whole_machine : "";
}

} // namespace

oom_counter::oom_counter(const std::string& proc)
  : proc_(proc), source_(find_source(proc)) {}

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

// Groups without a limit have one that is larger than every machine.
std::string oom_counter::limit() const {
  constexpr auto mebibyte = uint64_t{1} << 20;
  constexpr auto no_limit = uint64_t{1} << 60;
  const auto bytes = group_memory_limit(proc_);
  if (!bytes || *bytes >= no_limit)
    return {};
  return *bytes % mebibyte == 0 || *bytes >= 100 * mebibyte
           ? formatted("cgroup limit {} MiB", *bytes / mebibyte)
           : formatted("cgroup limit {:.1f} MiB",
                       double(*bytes) / double(mebibyte));
}

std::optional<uint64_t> oom_counter::count() const {
  return source_.empty() ? std::nullopt : read_counter(source_);
}

} // namespace actorrun::detail
