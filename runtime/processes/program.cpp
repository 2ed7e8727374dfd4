#include "runtime/processes/program.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

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

namespace {

/// The kernel reads at most this much of a script's first line.
/// @see linux/binfmts.h, BINPRM_BUF_SIZE
constexpr size_t first_line_max = 256;

/// At most this many interpreters may be scripts themselves.
/// @see fs/exec.c, exec_binprm
constexpr int interpreter_depth_max = 5;

constexpr auto blanks = std::string_view{" \t"};

std::string read_at(int fd, off_t offset, size_t size) {
  auto bytes = std::string(size, '\0');
  const auto count = ::pread(fd, bytes.data(), size, offset);
  bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return bytes;
}

std::string interpreter_of_script(std::string_view text) {
  text.remove_prefix(2);
  text = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return std::string{text.substr(0, text.find_first_of(blanks))};
}

template <class T>
bool read_as(int fd, off_t offset, T& x) {
  const auto bytes = read_at(fd, offset, sizeof x);
  if (bytes.size() < sizeof x)
    return false;
  std::memcpy(&x, bytes.data(), sizeof x);
  return true;
}

// The loader that a dynamically linked program of this machine's kind asks for.
std::string interpreter_of_binary(int fd) {
  ElfW(Ehdr) header = {};
  if (!read_as(fd, 0, header) || header.e_phentsize != sizeof(ElfW(Phdr)))
    return {};
  for (auto i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part = {};
    const auto offset = header.e_phoff + i * sizeof part;
    if (!read_as(fd, static_cast<off_t>(offset), part))
      return {};
    if (part.p_type == PT_INTERP && part.p_filesz <= PATH_MAX)
      return read_at(fd, static_cast<off_t>(part.p_offset), part.p_filesz)
        .c_str(); // Up to its NUL.
  }
  return {};
}

// Empty if there is none, or if it cannot be read.
std::string interpreter_of(const std::string& path) {
  const auto fd
    = unique_fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd)
    return {};
  const auto start = read_at(fd.get(), 0, first_line_max);
  if (start.starts_with("#!"))
    return interpreter_of_script(start);
  return start.starts_with(ELFMAG) ? interpreter_of_binary(fd.get()) : "";
}

// The interpreter may have one itself. Empty if all can be executed.
std::string bad_interpreter_of(const std::string& path) {
  auto current = path;
  for (auto depth = 0; depth < interpreter_depth_max; ++depth) {
    current = interpreter_of(current);
    if (current.empty())
      return {};
    if (check_executable(current) != 0)
      return current;
  }
  return current;
}

std::string visible(const std::string& text) {
  constexpr auto del = 0x7f;
  auto result = std::string{};
  for (const auto x : text) {
    const auto byte = static_cast<unsigned char>(x);
    if (byte >= ' ' && byte != del) {
      result += x;
      continue;
    }
    char escape[sizeof "\\xff"];
    std::snprintf(escape, sizeof escape, "\\x%02x", byte);
    result += escape;
  }
  return result;
}

} // namespace

int check_executable(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0)
    return errno;
  if (!S_ISREG(status.st_mode))
    return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::string subject_of(const std::string& name, const std::string& path,
                       int error) {
  const auto depends = error == ENOENT || error == EACCES || error == ENOTDIR
                       || error == ELOOP || error == ENAMETOOLONG;
  if (!depends || check_executable(path) != 0)
    return visible(name);
  const auto interpreter = bad_interpreter_of(path);
  return visible(interpreter.empty()
                   ? name
                   : formatted("{} (its interpreter {})", name, interpreter));
}

} // namespace actorrun::detail
