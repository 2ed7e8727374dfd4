#include "runtime/processes/program_finder.hpp"

#include "runtime/processes/program_check.hpp"

#include <cerrno>
#include <climits>
#include <string_view>

namespace actorrun::detail {

namespace {

constexpr std::string_view default_path = "/bin:/usr/bin";

std::string_view path_of(const std::vector<std::string>& environment) {
  constexpr auto name = std::string_view{"PATH="};
  for (const auto& x : environment)
    if (x.starts_with(name))
      return std::string_view{x}.substr(name.size());
  return default_path;
}

// A file that may not be run is remembered, but the search goes on.
program_path search(const std::string& name, std::string_view directories) {
  if (name.size() > NAME_MAX)
    return {{}, ENAMETOOLONG};
  auto error = ENOENT;
  for (auto more = !name.empty(); more;) {
    const auto colon = directories.find(':');
    const auto directory = directories.substr(0, colon);
    auto path = directory.empty() ? name : std::string{directory} + '/' + name;
    const auto why = check_executable(path);
    if (why == 0)
      return {std::move(path), 0};
    if (why == EACCES)
      error = EACCES;
    more = colon != std::string_view::npos;
    directories.remove_prefix(more ? colon + 1 : 0);
  }
  return {{}, error};
}

} // namespace

const program_path&
program_finder::find(const std::string& name,
                     const std::vector<std::string>& environment) {
  const auto directories = path_of(environment);
  auto key = std::pair{name, std::string{directories}};
  const auto i = found_.find(key);
  if (i != found_.end())
    return i->second;
  auto found = name.find('/') == std::string::npos ? search(name, directories)
                                                   : program_path{name, 0};
  return found_.emplace(std::move(key), std::move(found)).first->second;
}

} // namespace actorrun::detail
