#include "runtime/succession/memo.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/succession/beginning.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/private_name.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/run_folder.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr std::string_view first_line = "actorrun memo 1";
constexpr std::string_view last_line = "end";
constexpr std::string_view suffix = ".memo";

// In bytes, as in what voters say to each other.
constexpr size_t id_size_max = 320;
constexpr size_t endpoint_size_max = 80;
constexpr size_t host_name_size_max = 1'024;

constexpr auto end_max = std::chrono::seconds{1};

std::string cut_to(std::string_view& text, char end) {
  const auto size = std::min(text.find(end), text.size());
  auto out = std::string{text.substr(0, size)};
  text.remove_prefix(std::min(size + 1, text.size()));
  return out;
}

bool is_line(const std::string& x, size_t size_max) {
  return core::one_line(x, size_max) == x && x.find('\t') == x.npos;
}

bool is_id(const std::string& x) {
  return !x.empty() && is_line(x, id_size_max);
}

/// @returns whether this line can be one
bool read_line(std::string_view line, memo& out) {
  const auto what = cut_to(line, '\t');
  auto first = cut_to(line, '\t');
  auto second = std::string{line};
  if (what == "voter") {
    if (!is_id(first) || !is_line(second, endpoint_size_max)
        || out.voters.size() == core::remembered_voters_max)
      return false;
    return out.voters.emplace(agent_id{first}, second).second;
  }
  if (what == "agent") {
    out.agent = {first};
    out.address = second;
    return is_id(first) && is_line(second, host_name_size_max);
  }
  if (what == "job")
    out.job = {first};
  else if (what == "host")
    out.host = first;
  else if (what == "boot")
    out.boot = first;
  else
    return false;
  return second.empty() && is_line(first, host_name_size_max);
}

/// Newest last.
std::vector<std::filesystem::path> files_in(const std::string& folder,
                                            const std::string& prefix,
                                            size_t size_max) {
  using file
    = std::pair<std::filesystem::file_time_type, std::filesystem::path>;
  auto found = std::vector<file>{};
  auto error = std::error_code{};
  auto i = std::filesystem::directory_iterator{folder, error};
  for (; !error && i != std::filesystem::directory_iterator{}
         && found.size() < size_max;
       i.increment(error)) {
    const auto name = i->path().filename().string();
    auto ignored = std::error_code{};
    if (name.starts_with(prefix) && name.ends_with(suffix))
      found.emplace_back(i->last_write_time(ignored), i->path());
  }
  std::ranges::sort(found);
  auto out = std::vector<std::filesystem::path>{};
  for (auto& x : found)
    out.push_back(std::move(x.second));
  return out;
}

// Jobs that were killed and never begun again leave theirs for ever.
void remove_oldest(const std::string& folder) {
  auto all = files_in(folder, {}, 2 * memos_kept_max);
  for (size_t i = 0; i + memos_kept_max < all.size(); ++i)
    ::unlink(all[i].c_str());
}

} // namespace

std::string to_text(const memo& x) {
  auto out
    = formatted("{}\njob\t{}\nhost\t{}\nboot\t{}\nagent\t{}\t{}\n", first_line,
                x.job.value, x.host, x.boot, x.agent.value, x.address);
  for (const auto& [who, where] : x.voters)
    out += formatted("voter\t{}\t{}\n", who.value, where);
  return out + std::string{last_line} + "\n";
}

std::optional<memo> read_memo(std::string_view text, const job_id& job) {
  auto out = memo{};
  if (text.size() > memo_size_max || cut_to(text, '\n') != first_line)
    return std::nullopt;
  auto line = cut_to(text, '\n');
  for (; line != last_line; line = cut_to(text, '\n'))
    if (!read_line(line, out))
      return std::nullopt;
  if (!text.empty() || out.job != job || out.agent.value.empty())
    return std::nullopt;
  return out;
}

std::string boot_id() {
  auto out = read_kernel_file("/proc/sys/kernel/random/boot_id", 64);
  while (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

found_memos find_memos(const job_id& job) {
  auto out = found_memos{};
  const auto folders = run_folder::find_all();
  if (!folders)
    return out; // Whoever opens it warns.
  for (const auto& folder : *folders)
    for (const auto& path :
         files_in(folder.path(), job_label(job) + ".", memos_read_max)) {
      const auto file = open_regular_file(path);
      if (file && !*file)
        continue; // It has just gone.
      auto read = file ? read_memo(read_part(**file, 0, memo_size_max + 1), job)
                       : std::nullopt;
      if (read)
        out.memos.push_back({path, std::move(*read)});
      else
        out.unreadable.push_back(path);
    }
  return out;
}

// -- the memo of this process ---------------------------------------------------

struct memo_keeper::shared {
  log lines;
  std::atomic<bool> is_forgotten = false;
  // Of the thread.
  std::string path;
  bool has_warned = false;
  // Guarded by the mutex.
  std::mutex mutex;
  std::vector<std::string> settled;

  void warn(const std::string& why) {
    if (std::exchange(has_warned, true))
      return;
    lines.warn("this host keeps no memo of the job: if its agent is lost with"
               " its wardens and started again while this host is cut off, a"
               " second job may begin: "
               + why);
  }

  void write(const memo& x) {
    if (is_forgotten)
      return;
    const auto folder = run_folder::open();
    if (!folder)
      return warn(folder.error().text);
    const auto is_first = path.empty();
    path = formatted("{}/{}.{}{}", folder->path(), job_label(x.job),
                     process_name(::getpid()), suffix);
    if (const auto error = replace_file(path, to_text(x), S_IRUSR | S_IWUSR);
        error != 0)
      return warn(
        formatted("{} cannot be written ({})", path, system_error_text(error)));
    if (is_first)
      remove_oldest(folder->path());
    const auto guard = std::lock_guard{mutex};
    for (const auto& old : std::exchange(settled, {}))
      ::unlink(old.c_str());
  }

  void remove() {
    if (path.empty())
      return;
    ::unlink(path.c_str());
    if (const auto folder = run_folder::open())
      folder->remove_if_empty();
  }
};

memo_keeper::memo_keeper(memo own, log lines)
  : last_(std::move(own)), shared_(std::make_shared<shared>()),
    files_("actorrun-memo", false) {
  shared_->lines = std::move(lines);
}

memo_keeper::~memo_keeper() {
  if (shared_->is_forgotten)
    files_.ask(end_max, [shared = shared_] {
      shared->remove();
      return true;
    });
}

void memo_keeper::keep(const std::string& address,
                       const core::endpoint_list& voters) {
  auto next = last_;
  next.address = address;
  next.voters = voters;
  if (next == last_)
    return;
  last_ = next;
  files_.post(
    [shared = shared_, next = std::move(next)] { shared->write(next); });
}

void memo_keeper::settle(std::vector<std::string> paths) {
  const auto guard = std::lock_guard{shared_->mutex};
  std::ranges::move(paths, std::back_inserter(shared_->settled));
}

void memo_keeper::forget() {
  shared_->is_forgotten = true;
}

} // namespace actorrun::detail
