// Gives the readers of command lines what they need to know of the host, as
// functions: tests have their own, programs take `this_process()`.
#pragma once

#include "actors/core/devices/list.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// What is known of a descriptor that this process has inherited.
struct descriptor_facts {
  bool is_open = false;
  bool is_pipe
    = false; ///< Or a socket: it tells when the other side has closed it.
  bool is_readable = false;
  bool is_writable = false;
};

struct host_facts {
  /// The value of an environment variable; nothing if it is not set.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  /// How many CPUs this process may run on, ≥ 1.
  std::function<uint32_t()> cpu_count;
  /// The secret in a file; see `read_secret` in secret_file.hpp.
  std::function<result<std::string>(const std::string& path)> secret;
  /// A new job id that is unique.
  std::function<std::string()> random_id;
  /// Whether this process was started with a signal ignored, as by nohup.
  std::function<bool(int signal)> is_ignored;
  /// The GPUs that NVIDIA's driver reports, none if there is no driver; fails if the
  /// driver fails.
  std::function<result<std::vector<core::gpu_identity>>()> gpus = {};
  /// How many devices CUDA and Level Zero count, ≥ 1; fail if there are none.
  std::function<result<uint32_t>()> cuda_count = {};
  std::function<result<uint32_t>()> xpu_count = {};
  /// The names of all environment variables that are set.
  std::function<std::vector<std::string>()> variables = {};
  /// The secret in `own_secret_path`, empty if there is no such file.
  std::function<result<std::string>()> own_secret = {};
  /// The content of a file of at most `size_max` bytes.
  std::function<result<std::string>(const std::string& path, size_t size_max)>
    file = {};
  /// The name of this host.
  std::function<std::string()> own_name = {};
  /// Whether this process may write in the folder at a path, or make it.
  std::function<bool(const std::string& path)> may_write_in
    = [](const std::string&) { return true; };
  std::function<descriptor_facts(int)> descriptor
    = [](int) { return descriptor_facts{}; };
  /// The file of this program.
  std::function<result<std::string>()> own_file
    = [] { return result<std::string>{"actorrun"}; };
};

/// The facts of this process and its host.
host_facts this_process();

/// The secret in the file at `path`, or if that is empty in ACTORRUN_SECRET, or
/// else this user's own.
/// @returns an empty text if there is none
/// @retval errc::bad_argument  the file or the variable holds no secret
result<std::string> secret_of(const std::string& path, const host_facts& world);

} // namespace actorrun::cli
