#include "cli/options/secret_file.hpp"

#include "actors/core/text.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"
#include "runtime/options.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

constexpr auto folder_mode = mode_t{0700};

struct close_descriptor {
  int fd;
  ~close_descriptor() { ::close(fd); }
};

failure because_of_errno(const char* action, const std::string& path) {
  return bad_argument(formatted("cannot {} {}: {}", action, in_quotes(path),
                                core::error_text(errno)));
}

/// Up to one byte more than a secret and its line end may have.
result<std::string> read_some(int fd, const std::string& path) {
  constexpr auto size_max = secret_length_max + 3;
  auto content = std::string(size_max, '\0');
  size_t size = 0;
  while (size < size_max) {
    const auto n = ::read(fd, content.data() + size, size_max - size);
    if (n == 0)
      break;
    if (n < 0 && errno != EINTR)
      return because_of_errno("read", path);
    size += n > 0 ? static_cast<size_t>(n) : 0;
  }
  content.resize(size);
  return content;
}

std::string new_secret() {
  auto bytes = std::array<unsigned char, 32>{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != ssize_t{bytes.size()}) {
  }
  auto out = std::string{};
  for (const auto x : bytes)
    out += formatted("{:02x}", x);
  return out + "\n";
}

result<void> make_folders(const std::filesystem::path& path) {
  if (path.empty() || ::access(path.c_str(), F_OK) == 0)
    return {};
  if (auto ok = make_folders(path.parent_path()); !ok)
    return ok;
  if (::mkdir(path.c_str(), folder_mode) != 0 && errno != EEXIST)
    return because_of_errno("make the folder", path);
  return {};
}

result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR)
      return because_of_errno("write", path);
    text.remove_prefix(n > 0 ? static_cast<size_t>(n) : 0);
  }
  if (::fsync(fd) != 0)
    return because_of_errno("write", path);
  return {};
}

/// Gives a complete file its name.
result<void> publish(const std::string& from, const std::string& to,
                     bool replaces) {
  if (replaces)
    return ::rename(from.c_str(), to.c_str()) == 0
             ? result<void>{}
             : because_of_errno("replace", to);
  if (::link(from.c_str(), to.c_str()) == 0)
    return {};
  if (errno == EEXIST)
    return bad_argument(formatted(
      "{} exists; --force replaces it, and then all nodes need the new one",
      in_quotes(to)));
  return because_of_errno("make", to);
}

// Root hands a file to another user by its group: Kubernetes and Docker mount
// secrets so. A user's own file is not meant for its group.
bool is_open_to_others(const struct stat& facts) {
  const auto is_handed_to_us = facts.st_uid == 0 && ::geteuid() != 0;
  return (facts.st_mode & S_IROTH) != 0
         || ((facts.st_mode & S_IRGRP) != 0 && !is_handed_to_us);
}

} // namespace

result<std::string> read_secret(const std::string& path) {
  const auto fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    return because_of_errno("read", path);
  const auto closer = close_descriptor{fd};
  // Checks the open file, so that it cannot be replaced between check and use.
  struct stat facts {};
  if (::fstat(fd, &facts) != 0)
    return because_of_errno("read", path);
  if (S_ISDIR(facts.st_mode)) {
    errno = EISDIR;
    return because_of_errno("read", path);
  }
  // Its owner could change it at any time.
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid())
    return bad_argument(formatted(
      "{} belongs to another user (uid {}), who is neither this one nor "
      "root; make a copy with: install -m 600",
      in_quotes(path), facts.st_uid));
  if (is_open_to_others(facts))
    return bad_argument(
      formatted("{} can be read by other users; protect it with chmod 600",
                in_quotes(path)));
  auto secret = read_some(fd, path);
  if (!secret)
    return secret;
  if (secret->ends_with('\n'))
    secret->pop_back();
  if (secret->ends_with('\r'))
    secret->pop_back();
  if (secret->find_first_not_of("\r\n") == secret->npos)
    return bad_argument(in_quotes(path) + " is empty");
  if (secret->size() > secret_length_max)
    return bad_argument(formatted("{} is longer than {} bytes", in_quotes(path),
                                  secret_length_max));
  return secret;
}

result<std::string> read_secret_if_any(const std::string& path) {
  struct stat facts {};
  if (path.empty()
      || (::stat(path.c_str(), &facts) != 0
          && (errno == ENOENT || errno == ENOTDIR)))
    return std::string{};
  return read_secret(path);
}

std::string own_secret_path(
  const std::function<std::optional<std::string>(const std::string& name)>&
    variable) {
  constexpr auto name = "/actorrun/secret";
  if (const auto config = variable("XDG_CONFIG_HOME");
      config && config->starts_with('/'))
    return *config + name;
  if (const auto home = variable("HOME"); home && home->starts_with('/'))
    return *home + "/.config" + name;
  return {};
}

result<void> create_secret(const std::string& path, bool replaces) {
  if (auto ok = make_folders(std::filesystem::path{path}.parent_path()); !ok)
    return ok;
  auto draft = path + ".XXXXXX";
  const auto fd = ::mkostemp(draft.data(), O_CLOEXEC);
  if (fd < 0)
    return because_of_errno("make", draft);
  const auto closer = close_descriptor{fd};
  auto done = write_all(fd, new_secret(), path);
  if (done)
    done = publish(draft, path, replaces);
  ::unlink(draft.c_str()); // After a rename there is none.
  return done;
}

} // namespace actorrun::cli
