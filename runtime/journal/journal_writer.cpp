#include "runtime/journal/journal_writer.hpp"

#include "actors/job_status.hpp"
#include "messages/formatted.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/journal_lines.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr auto thread_name = "journal";

/// Above the priority of the program. A change of a large group is thousands of
/// lines, and where there are few cores, its plans go first.
constexpr auto niceness = 5;

/// A file begins with all that is known. It is at least so many times as large, or
/// a job of thousands of nodes would write little else.
constexpr auto size_per_summary = uint64_t{4};

/// Lines are written in blocks of about so many bytes.
constexpr size_t block_size = 64 * 1024;

/// What a launch consists of, up to the moment at which all workers run.
bool is_of_launch(const core::journal::record& x) {
  using namespace core::journal;
  return std::holds_alternative<coordinator_began>(*x.what)
         || std::holds_alternative<phase_changed>(*x.what)
         || std::holds_alternative<wait_changed>(*x.what)
         || std::holds_alternative<node_changed>(*x.what)
         || std::holds_alternative<node_joined>(*x.what)
         || std::holds_alternative<core::journal::generation_formed>(*x.what);
}

} // namespace

/// Used by the writer's thread only.
class journal_writer::file {
public:
  file(std::string path, std::function<void(const std::string&)> on_trouble,
       uint64_t size_max)
    : path_(std::move(path)), on_trouble_(std::move(on_trouble)),
      size_max_(size_max) {}

  /// What could not be taken is known all the same.
  void skip(const std::vector<core::journal::record>& records) {
    for (const auto& x : records)
      known_.apply(x);
    has_gap_ = true;
    complain("is written too slowly; records are missing");
  }

  void write(const std::vector<core::journal::record>& records) {
    const auto had_gap = has_gap_;
    for (const auto& x : records) {
      known_.apply(x);
      if (has_gap_) // What follows is written with all that is known then.
        continue;
      block_ += to_line(x);
      if (block_.size() >= block_size)
        append_block();
    }
    if (had_gap)
      append(to_line(known_));
    else if (!has_gap_)
      append_block();
  }

  void leave(const std::string& reason) {
    if (known_.number != 0 && !known_.result && !known_.left)
      write({{known_.number + 1, moment_of(std::chrono::steady_clock::now()),
              core::journal::leadership_given_up{reason}}});
  }

  void end() {
    if (known_.result)
      write({{known_.number + 1, moment_of(std::chrono::steady_clock::now()),
              core::journal::coordinator_ended{}}});
  }

  journal_part read(uint64_t position) const {
    if (position >= begin_)
      return {position, read(path_, position - begin_, size_)};
    const auto from = std::max(position, old_begin_);
    auto text = read(old_path(), from - old_begin_, begin_ - old_begin_);
    // It was removed, or cut off.
    return text.empty() ? read(begin_) : journal_part{from, std::move(text)};
  }

private:
  std::string old_path() const { return path_ + ".1"; }

  static std::string read(const std::string& path, uint64_t from,
                          uint64_t size) {
    const auto in = unique_fd{::open(
      path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)};
    if (!in || from >= size)
      return {};
    auto out
      = std::string(std::min<uint64_t>(size - from, journal_part_max), 0);
    const auto count = ::pread(in.get(), out.data(), out.size(), off_t(from));
    out.resize(count > 0 ? size_t(count) : 0);
    return out;
  }

  void append_block() {
    append(block_);
    block_.clear();
  }

  void append(std::string_view text) {
    if (!open())
      return;
    const auto before = size_;
    auto error = write_all(fd_.get(), rest_); // Ends a line that was cut off.
    if (error == 0)
      error = write_all(fd_.get(), text);
    if (error != 0)
      return give_up(before, error);
    size_ += rest_.size() + text.size();
    rest_.clear();
    has_gap_ = false;
    has_complained_ = false;
    if (size_ - tried_size_
        > std::max(size_max_, size_per_summary * summary_size_))
      rotate();
  }

  bool open() {
    if (fd_)
      return true;
    auto error = std::error_code{};
    const auto folder = std::filesystem::path{path_}.parent_path();
    if (!folder.empty()) {
      std::filesystem::create_directories(folder, error);
      if (count_journals(folder.string())
          > journal_file_count_max + journal_file_slack)
        remove_old_journals(folder.string(), journal_file_count_max);
    }
    fd_ = unique_fd{::open(path_.c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC
                             | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                           0600)};
    struct stat facts {};
    if (!fd_ || ::fstat(fd_.get(), &facts) != 0)
      return refuse(system_error_text(errno));
    if (!S_ISREG(facts.st_mode))
      return refuse("it is " + kind_of_file(facts.st_mode));
    size_ = uint64_t(facts.st_size);
    tried_size_ = 0;
    return true;
  }

  bool refuse(const std::string& why) {
    fd_.reset();
    has_gap_ = true;
    complain("cannot be opened: " + why);
    return false;
  }

  void give_up(uint64_t before, int error) {
    has_gap_ = true;
    // So much of a line as there was room for.
    rest_ = ::ftruncate(fd_.get(), off_t(before)) == 0 ? "" : "\n";
    complain("cannot be written: " + system_error_text(error));
  }

  // A file that must stay where it is goes on: longer, but without a gap.
  void rotate() {
    if (::rename(path_.c_str(), old_path().c_str()) != 0) {
      tried_size_ = size_;
      return complain("cannot be rotated: " + system_error_text(errno));
    }
    fd_.reset();
    old_begin_ = std::exchange(begin_, begin_ + size_);
    size_ = 0;
    const auto summary = to_line(known_);
    summary_size_ = summary.size();
    append(summary);
  }

  void complain(const std::string& what) {
    if (!std::exchange(has_complained_, true) && on_trouble_)
      on_trouble_(formatted("the journal {} {}", path_, what));
  }

  std::string path_;
  std::function<void(const std::string&)> on_trouble_;
  uint64_t size_max_;
  unique_fd fd_;
  uint64_t size_ = 0;
  uint64_t begin_ = 0;      ///< The position of its first byte.
  uint64_t old_begin_ = 0;  ///< Likewise, of the file whose place it has taken.
  uint64_t tried_size_ = 0; ///< At which it could not be rotated.
  /// Of the file's first line, when it was rotated.
  uint64_t summary_size_ = 0;
  core::journal::snapshot known_;
  std::string block_; ///< Lines to be written.
  std::string rest_;
  bool has_gap_ = false;
  bool has_complained_ = false;
};

journal_writer::journal_writer(
  std::string path, std::function<void(const std::string& what)> on_trouble,
  const journal_limits& limits)
  : file_(std::make_shared<file>(std::move(path), std::move(on_trouble),
                                 limits.file_size_max)),
    is_held_(limits.after_launch), waiting_max_(limits.waiting_max) {
  if (!is_held_)
    start_thread();
}

journal_writer::~journal_writer() {
  if (thread_)
    thread_->post([to = file_] { to->end(); });
  const auto is_done = flush(task_thread::end_max);
  if (thread_ && !is_done)
    thread_->end(core::duration::zero());
}

void journal_writer::write(std::vector<core::journal::record> records) {
  if (records.empty())
    return;
  const auto lock = std::lock_guard{mutex_};
  if (!is_held_)
    return post(std::move(records));
  held_.insert(held_.end(), std::make_move_iterator(records.begin()),
               std::make_move_iterator(records.end()));
  if (held_.size() <= launch_records_max
      && std::ranges::all_of(held_, is_of_launch))
    return;
  start_thread();
  post(std::exchange(held_, {}));
}

void journal_writer::leave(const std::string& reason) {
  const auto lock = std::lock_guard{mutex_};
  if (thread_)
    thread_->post([to = file_, reason] { to->leave(reason); });
}

void journal_writer::post(std::vector<core::journal::record> records) {
  const auto count = records.size();
  const auto is_full = waiting_->load() + count > waiting_max_;
  if (is_full) // Only small ones are kept in memory then.
    for (auto& x : records)
      if (const auto* died = std::get_if<core::journal::worker_died>(&*x.what))
        x.what = core::journal::worker_died{died->generation,
                                            core::brief(died->failure)};
  waiting_->fetch_add(count);
  thread_->post([records = std::move(records), to = file_, waiting = waiting_,
                 count, is_full] {
    if (is_full)
      to->skip(records);
    else
      to->write(records);
    waiting->fetch_sub(count);
  });
}

void journal_writer::read(uint64_t position,
                          std::function<void(journal_part)> take) {
  const auto lock = std::lock_guard{mutex_};
  if (!thread_) {
    start_thread();
    post(std::exchange(held_, {}));
  }
  thread_->post([from = file_, position, take = std::move(take)] {
    take(from->read(position));
  });
}

// With the lock held, or before anyone else knows the object.
void journal_writer::start_thread() {
  is_held_ = false;
  thread_.emplace(thread_name, false); // A job can do without its journal.
  thread_->post([] {
    [[maybe_unused]] const auto now = ::nice(niceness); // Linux: this thread's.
  });
}

bool journal_writer::flush(core::duration timeout) {
  {
    const auto lock = std::lock_guard{mutex_};
    if (!held_.empty()) {
      start_thread();
      post(std::exchange(held_, {}));
    }
    if (!thread_)
      return true;
  }
  return thread_->ask(timeout, [] { return true; }).value_or(false);
}

} // namespace actorrun::detail
