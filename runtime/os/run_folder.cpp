#include "runtime/os/run_folder.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/private_name.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr size_t label_text_max = 15; // characters
constexpr size_t label_digits = 8;
// At most this many sockets of a folder are read; no host has more jobs.
constexpr size_t sockets_max = 65'536;
// So short that names of sockets fit behind it.
constexpr size_t random_size = 6; // characters, of mkdtemp(3)

failure unusable(const std::string& path, const std::string& why) {
  return {errc::system_failure,
          formatted(
            "the folder {} for sockets {}; set ACTORRUN_RUN_DIR to another one",
            path, why)};
}

std::string variable(const char* name) {
  const auto* value = std::getenv(name);
  return value ? value : "";
}

// After su, the variable may still name the first user's folder.
bool is_our_folder(const std::string& path) {
  struct stat info {};
  return path.starts_with('/') && ::stat(path.c_str(), &info) == 0
         && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

result<void> check(const std::string& path) {
  const auto fd = unique_fd{
    ::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!fd && (errno == ENOTDIR || errno == ELOOP))
    return unusable(path, "is a symbolic link or no folder");
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0)
    return unusable(
      path, formatted("cannot be opened ({})", system_error_text(errno)));
  if (info.st_uid != ::geteuid())
    return unusable(path, "belongs to another user");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return unusable(path, "can be written to by others");
  return {};
}

// A socket is dead only if the system refuses the connection. A full backlog
// means a listener too, so the call does not wait.
bool is_dead(const std::string& path) {
  const auto address = unix_address(path);
  const auto fd = unique_fd{
    ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  return address && fd
         && ::connect(fd.get(), address->get(), address->size) != 0
         && errno == ECONNREFUSED;
}

/// A place where the folder may be. @see run_folder::open_at
struct place {
  std::string path;
  bool shared = false;
};

// The names that all processes try first.
std::vector<place> usual_places(const run_folder::folders& temporary) {
  auto out = std::vector<place>{};
  if (const auto path = variable("XDG_RUNTIME_DIR"); is_our_folder(path))
    out.push_back({path + "/actorrun", false});
  for (const auto& x : temporary)
    out.push_back({x + "/actorrun-" + std::to_string(::geteuid()), true});
  return out;
}

std::string substitute_prefix(const std::string& temporary) {
  return temporary + "/actorrun-" + std::to_string(::geteuid()) + "-";
}

// Those that are there, by name. Other users may have made any number of such
// names, so only ours count.
void find_substitutes(const std::string& temporary, std::vector<place>& out) {
  const auto prefix = substitute_prefix(temporary);
  auto error = std::error_code{};
  auto i = std::filesystem::directory_iterator{temporary, error};
  for (; !error && i != std::filesystem::directory_iterator{};
       i.increment(error))
    if (auto path = i->path().string();
        path.starts_with(prefix) && path.size() == prefix.size() + random_size
        && check(path))
      out.push_back({std::move(path), true});
}

std::vector<place> substitutes(const run_folder::folders& temporary) {
  auto out = std::vector<place>{};
  for (const auto& x : temporary) {
    const auto count = out.size();
    find_substitutes(x, out);
    std::sort(out.begin() + ptrdiff_t(count), out.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
  }
  return out;
}

std::vector<live_socket> sockets_in(const std::string& folder) {
  auto out = std::vector<live_socket>{};
  auto error = std::error_code{};
  auto i = std::filesystem::directory_iterator{folder, error};
  for (; !error && i != std::filesystem::directory_iterator{}
         && out.size() < sockets_max;
       i.increment(error))
    if (auto name = parse_socket_name(i->path().filename().string()))
      out.push_back({std::move(*name), i->path().string()});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// FNV-1a distinguishes similar ids; nothing depends on its strength. SHA-256
// would load OpenSSL, which takes longer than to start a worker.
uint64_t hash_of(std::string_view text) {
  auto hash = uint64_t{14'695'981'039'346'656'037u};
  for (const auto c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211u;
  return hash;
}

} // namespace

std::string_view to_string(socket_role x) {
  return x == socket_role::agent ? "agent" : "coordinator";
}

std::string job_label(const job_id& job) {
  auto out = job.value.substr(0, label_text_max);
  std::replace_if(
    out.begin(), out.end(), [](char c) { return !is_label_character(c); }, '_');
  out += '-';
  const auto hash = hash_of(job.value);
  for (size_t i = 0; i < label_digits; ++i)
    out += "0123456789abcdef"[hash >> (4 * i) & 0xf];
  return out;
}

std::optional<socket_name> parse_socket_name(std::string_view file_name) {
  const auto first = file_name.find('.');
  const auto second = file_name.find('.', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    return std::nullopt;
  auto out = socket_name{std::string{file_name.substr(0, first)}, 0, {}};
  const auto pid = pid_of(file_name.substr(first + 1, second - first - 1));
  const auto rest = file_name.substr(second);
  if (rest == ".coordinator.sock")
    out.role = socket_role::coordinator;
  else if (rest != ".agent.sock")
    return std::nullopt;
  if (!pid || out.job.empty()
      || !std::all_of(out.job.begin(), out.job.end(), is_label_character))
    return std::nullopt;
  out.pid = *pid;
  return out;
}

result<run_folder> run_folder::open(const folders& temporary) {
  if (const auto path = variable("ACTORRUN_RUN_DIR"); !path.empty())
    return open_at(path, false);
  auto trouble = std::optional<failure>{};
  for (const auto& x : usual_places(temporary)) {
    auto out = open_at(x.path, x.shared);
    if (out)
      return out;
    if (!trouble)
      trouble = out.error();
  }
  for (const auto& x : substitutes(temporary))
    if (auto out = open_at(x.path, x.shared))
      return out;
  for (const auto& x : temporary) {
    auto path = substitute_prefix(x) + std::string(random_size, 'X');
    if (::mkdtemp(path.data()) != nullptr)
      return run_folder{path, true};
  }
  return *trouble;
}

result<std::vector<run_folder>> run_folder::find_all(const folders& temporary) {
  if (const auto path = variable("ACTORRUN_RUN_DIR"); !path.empty()) {
    auto only = open_at(path, false);
    if (!only)
      return only.error();
    return std::vector{std::move(*only)};
  }
  auto places = usual_places(temporary);
  std::erase_if(places, [](const auto& x) { return !check(x.path); });
  for (auto& x : substitutes(temporary))
    places.push_back(std::move(x));
  auto out = std::vector<run_folder>{};
  for (auto& x : places)
    out.push_back(run_folder{std::move(x.path), x.shared});
  return out;
}

result<run_folder> run_folder::open_at(const std::string& path, bool shared) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return unusable(path,
                    formatted("cannot be made ({})", system_error_text(errno)));
  if (auto ok = check(path); !ok)
    return ok.error();
  return run_folder{path, shared};
}

result<std::string> run_folder::socket_path(const job_id& job, pid_t pid,
                                            socket_role role) const {
  auto out = formatted("{}/{}.{}.{}.sock", path_, job_label(job),
                       process_name(pid), to_string(role));
  // A socket is bound under a name one longer and then takes its own.
  if (const auto address = unix_address(out + "~"); !address)
    return address.error();
  return out;
}

std::vector<live_socket> run_folder::list() const {
  auto out = sockets_in(path_);
  std::erase_if(out, [](const live_socket& x) {
    const auto dead = is_dead(x.path);
    if (dead)
      ::unlink(x.path.c_str());
    return dead;
  });
  return out;
}

void run_folder::remove_if_empty() const {
  if (shared_)
    ::rmdir(path_.c_str());
}

} // namespace actorrun::detail
