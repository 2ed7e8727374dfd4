// Keeps memos: files in the run-time folder that say who votes in a job that this host
// takes part in. An agent that ends without leaving the job leaves its own behind.
//
//   actorrun memo 1
//   job     <id>
//   host    <name>
//   boot    <the kernel's boot id>
//   agent   <id>    <address>
//   voter   <id>    <endpoint>
//   …
//   end
//
// Fields are divided by tabs. The first and the last line show that all is there.
#pragma once

#include "actors/core/succession/voter_set.hpp"
#include "actors/log.hpp"
#include "messages/ids.hpp"
#include "runtime/os/task_thread.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::detail {

/// In bytes; a longer file is none.
inline constexpr size_t memo_size_max = size_t{64} * 1'024;

/// At most this many of a job are read, and this many of all jobs kept in a folder: the
/// oldest go.
inline constexpr size_t memos_read_max = 64;
inline constexpr size_t memos_kept_max = 256;

struct memo {
  job_id job;
  std::string host; ///< Its name.
  std::string boot; ///< Of this host's kernel; differs after each start of it.
  agent_id agent;   ///< Whose memo it is.
  std::string address{}; ///< Where others reach it; empty: unknown.
  core::endpoint_list voters{};

  friend bool operator==(const memo&, const memo&) = default;
};

std::string to_text(const memo& x);

/// None: it is no memo of this job, or not a whole one.
std::optional<memo> read_memo(std::string_view text, const job_id& job);

struct found_memo {
  std::string path;
  memo what;
};

struct found_memos {
  std::vector<found_memo> memos{};
  /// Files with the name of one that are none, or cannot be read.
  std::vector<std::string> unreadable{};
};

/// Those of a job in all run-time folders of this user. Blocks on the file system.
found_memos find_memos(const job_id& job);

/// Of the running kernel; empty: it is not shown.
std::string boot_id();

/// The memo of this process. Files are written on a thread of its own.
class memo_keeper {
public:
  /// @param own Without address and voters.
  memo_keeper(memo own, log lines);

  /// Removes the memo if `forget` was called. Waits for the file system for a second.
  ~memo_keeper();

  memo_keeper(const memo_keeper&) = delete;
  memo_keeper& operator=(const memo_keeper&) = delete;

  /// Writes it if it is another one than the last. Returns at once. As the next, on one
  /// thread at a time.
  /// @param address Of the agent.
  void keep(const std::string& address, const core::endpoint_list& voters);

  /// The agents of these former memos have ended: the files go, after the next `keep`.
  void settle(std::vector<std::string> paths);

  /// The job is over, or the agent has left it in order. On any thread.
  void forget();

private:
  struct shared;

  memo last_;
  std::shared_ptr<shared> shared_; ///< With the tasks.
  task_thread files_;
};

} // namespace actorrun::detail
