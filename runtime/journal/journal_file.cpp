#include "runtime/journal/journal_file.hpp"

#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr auto suffix = std::string_view{".jsonl"};

/// In bytes; the system takes 255 for a whole name.
constexpr size_t part_size_max = 96;

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'
         || c == '_';
}

std::string escaped(std::string_view text) {
  auto out = std::string{};
  for (const auto c : text) {
    const auto next = is_plain(c)
                        ? std::string(1, c)
                        : formatted("%{:02X}", static_cast<unsigned char>(c));
    if (out.size() + next.size() > part_size_max)
      break;
    out += next;
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  auto out = std::string{};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    auto value = 0U;
    const auto* const from = text.data() + i + 1;
    if (i + 2 >= text.size()
        || std::from_chars(from, from + 2, value, 16).ptr != from + 2)
      return {};
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  auto out = std::vector<std::string_view>{};
  for (;;) {
    const auto dot = text.find('.');
    out.push_back(text.substr(0, dot));
    if (dot == text.npos)
      return out;
    text.remove_prefix(dot + 1);
  }
}

bool read_number(std::string_view text, int64_t& out) {
  const auto* const end = text.data() + text.size();
  return !text.empty() && std::from_chars(text.data(), end, out).ptr == end
         && out >= 0;
}

} // namespace

size_t count_journals(const std::string& folder) {
  auto error = std::error_code{};
  auto out = size_t{0};
  auto all = std::filesystem::directory_iterator{folder, error};
  for (; !error && all != std::filesystem::end(all); all.increment(error))
    out += all->path().native().ends_with(suffix) ? 1 : 0;
  return out;
}

std::string file_name_of(const journal_name& x) {
  return formatted("{}.{}.{}.{}{}", escaped(x.job.value), escaped(x.host),
                   x.wall_ms, x.pid, suffix);
}

std::optional<journal_name> journal_name_of(const std::string& file_name) {
  if (!file_name.ends_with(suffix))
    return {};
  const auto parts = parts_of(
    std::string_view{file_name}.substr(0, file_name.size() - suffix.size()));
  if (parts.size() != 4)
    return {};
  const auto job = unescaped(parts[0]);
  const auto host = unescaped(parts[1]);
  auto out = journal_name{};
  if (!job || !host || !read_number(parts[2], out.wall_ms)
      || !read_number(parts[3], out.pid))
    return {};
  out.job.value = *job;
  out.host = *host;
  return out;
}

std::string journal_folder(
  const std::function<std::optional<std::string>(const std::string& name)>&
    variable) {
  constexpr auto name = "/actorrun/journal";
  if (const auto state = variable("XDG_STATE_HOME");
      state && state->starts_with('/'))
    return *state + name;
  if (const auto home = variable("HOME"); home && home->starts_with('/'))
    return *home + "/.local/state" + name;
  return {};
}

std::vector<journal_file> find_journals(const std::string& folder) {
  auto out = std::vector<journal_file>{};
  auto error = std::error_code{};
  auto all = std::filesystem::directory_iterator{folder, error};
  for (; !error && all != std::filesystem::end(all); all.increment(error)) {
    struct stat facts {};
    auto name = journal_name_of(all->path().filename().string());
    if (name && ::lstat(all->path().c_str(), &facts) == 0
        && S_ISREG(facts.st_mode))
      out.push_back({all->path().string(), std::move(*name),
                     int64_t{facts.st_mtim.tv_sec} * 1'000
                       + facts.st_mtim.tv_nsec / 1'000'000});
  }
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return a.changed_ms > b.changed_ms;
  });
  return out;
}

void remove_old_journals(const std::string& folder, size_t count_max) {
  if (count_journals(folder) <= count_max)
    return;
  const auto all = find_journals(folder);
  for (auto i = count_max; i < all.size(); ++i) {
    ::unlink(all[i].path.c_str());
    ::unlink((all[i].path + ".1").c_str());
  }
}

} // namespace actorrun::detail
