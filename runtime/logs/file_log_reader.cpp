#include "runtime/logs/file_log_reader.hpp"

#include "actors/core/logs/credit_window.hpp"
#include "actors/core/logs/line_splitter.hpp"
#include "actors/core/logs/reading_pace.hpp"
#include "actors/core/logs/tail_search.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/logs/log_history.hpp"
#include "runtime/logs/log_pattern.hpp"
#include "runtime/os/thread.hpp"
#include "runtime/os/thread_times.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

using namespace std::chrono;

/// Bytes read at once.
constexpr auto read_max = size_t{64} * 1024;

/// A file that grows all the time gets no more turns than others.
constexpr auto reads_per_turn = 4;

/// When a job ends before all of a stream was read, so much of its end is shown.
constexpr auto last_part_max = uint64_t{256} * 1024;

/// A file that shows less than it has is looked at so often.
constexpr auto past_pause_count_max = 20;

int64_t unix_ms() {
  return floor<milliseconds>(system_clock::now()).time_since_epoch().count();
}

using generation_files = recorded_generation;

/// One stream of one worker.
struct stream {
  uint32_t rank = 0;
  bool is_err = false;
  std::string path{};
  std::shared_ptr<file_shift> shift{};
  std::optional<log_history> file{}; ///< None: it is not there yet.
  uint64_t offset = 0;               ///< All before was read.
  core::line_splitter lines{};
};

/// Processor time of the agent's other threads and the viewer's for a byte of a
/// line: 0.3 s were measured for 30 MB.
constexpr auto cost_of_byte = std::chrono::nanoseconds{10};

/// So many generations are known; a follower that lags behind misses older ones.
constexpr auto generation_count_max = size_t{16};

/// A pattern may take long for a line; so often it is looked whether it is awaited.
constexpr auto unmatched_per_look = uint64_t{16};

/// A file system that hangs may keep threads of readings that were ended.
constexpr auto thread_count_max = 4 * ports::log_reader::reading_count_max;

using generation_list = std::deque<std::shared_ptr<const generation_files>>;

/// A generation, or else the first one after it; null: there is none yet.
std::shared_ptr<const generation_files> first_from(const generation_list& all,
                                                   generation_id x) {
  const auto i = std::ranges::find_if(
    all, [x](const auto& y) { return y->plan.generation >= x; });
  return i == all.end() ? nullptr : *i;
}

std::shared_ptr<const generation_files> after(const generation_list& all,
                                              generation_id x) {
  return first_from(all, {x.value + 1});
}

} // namespace

// What is asked for is kept here and not with the threads, so that it is gone
// when the port is. Listeners run under the lock: none outlives it.
struct file_log_reader::shared {
  struct reading {
    core::credit_window window;
    listener on_lines;
    bool drains = false; ///< It ends at the end of the files.
  };

  class reader;

  explicit shared(std::shared_ptr<rotation_book> x) : book(std::move(x)) {}

  void forget(uint64_t id) {
    readings.erase(id);
    changed.notify_all();
    if (!readings.empty())
      return;
    for (const auto& fn : std::exchange(on_drained, {}))
      fn();
  }

  const std::shared_ptr<rotation_book> book;
  std::mutex mutex; // Guards what follows.
  std::condition_variable changed;
  generation_list generations; ///< The newest last.
  std::map<uint64_t, reading> readings;
  size_t thread_count = 0; ///< Also of readings that were ended just now.
  std::vector<std::function<void()>> on_drained;
  uint64_t last_reading = 0;
};

// -- one reading --------------------------------------------------------------

/// Runs on the thread of one reading.
class file_log_reader::shared::reader {
public:
  reader(std::shared_ptr<shared> home, uint64_t id, core::log_selection what)
    : home_(std::move(home)), id_(id), what_(std::move(what)) {}

  void run() {
    if (read_all())
      send_end();
  }

private:
  std::string reason_of_nothing() const;

  // All of these return false when the reading was ended.

  bool read_all();
  bool read_past(const generation_files& from);
  bool read_on();
  bool show_new(stream& x, uint64_t to, bool& has_grown);
  bool show_rest(stream& x);
  bool skip_to_last_part(stream& x);
  bool put(const stream& x, core::split_line line, generation_id generation);
  void note(std::string trouble);
  bool say(const std::string& trouble);
  bool flush();

  bool choose_streams(const generation_files& from);
  void open_file(stream& x);
  uint64_t first_offset(const stream& x, const generation_files& from);
  std::shared_ptr<const generation_files> next_generation();
  bool pause();
  bool yield();
  bool is_wanted();
  bool is_draining();
  void send_end();

  std::shared_ptr<shared> home_;
  uint64_t id_;
  core::log_selection what_;
  std::optional<log_pattern> pattern_{};
  std::vector<stream> streams_{};
  generation_id generation_{}; ///< The one that is being read.
  core::log_chunk batch_{};
  size_t batch_cost_ = 0;
  bool is_live_ = false;    ///< What comes now is just being written.
  core::duration caused_{}; ///< By the lines that were put.
  uint64_t unmatched_count_ = 0;
  thread_times times_{};
  core::reading_pace pace_{};
};

bool file_log_reader::shared::reader::read_all() {
  if (!what_.grep.empty()) {
    auto parsed = log_pattern::parse(what_.grep);
    if (!parsed)
      return say(parsed.error().text);
    pattern_ = std::move(*parsed);
  }
  auto is_first = true;
  for (;;) {
    const auto files = next_generation();
    if (!files && is_first && (what_.previous || !what_.follow))
      return say(reason_of_nothing());
    if (!files) {
      if (is_draining())
        return true;
      if (!pause())
        return false;
      is_first = false;
      continue;
    }
    generation_ = files->plan.generation;
    if (is_first && what_.previous && what_.generation == generation_id{})
      note(formatted("this is generation {}, the one before the newest of this "
                     "node",
                     to_string(generation_)));
    if (!choose_streams(*files))
      return flush();
    if (is_first && !read_past(*files))
      return false;
    is_first = false;
    if (!what_.follow)
      return true;
    if (!read_on())
      return false;
  }
}

std::string file_log_reader::shared::reader::reason_of_nothing() const {
  if (what_.generation != generation_id{})
    return formatted("no worker of generation {}{} was started here",
                     to_string(what_.generation),
                     what_.previous ? ", the job's previous one," : "");
  return what_.previous ? "no generation before this one is known"
                        : "no worker was started here yet";
}

// What is there already, one file after the other.
bool file_log_reader::shared::reader::read_past(const generation_files& from) {
  for (auto& x : streams_) {
    open_file(x);
    if (!x.file)
      continue;
    const auto end = x.file->end();
    x.offset = first_offset(x, from);
    for (auto pauses = 0; x.offset < end && pauses < past_pause_count_max;) {
      auto has_grown = false;
      if (!show_new(x, end, has_grown))
        return false;
      if (has_grown)
        continue;
      ++pauses; // It is being rotated, or became shorter.
      if (!pause())
        return false;
    }
    if (!what_.follow && !show_rest(x))
      return false;
  }
  return flush();
}

// Until there is a newer generation: then nothing is added to these files any more.
bool file_log_reader::shared::reader::read_on() {
  is_live_ = true;
  for (auto is_last = false;;) {
    const auto drains = is_draining();
    auto has_grown = false;
    for (auto& x : streams_) {
      open_file(x);
      if (!x.file)
        continue;
      if (drains && !skip_to_last_part(x))
        return false;
      const auto to
        = std::min(x.file->end(), x.offset + reads_per_turn * read_max);
      for (auto goes_on = true; goes_on && x.offset < to;) {
        if (!show_new(x, to, goes_on))
          return false;
        has_grown = has_grown || goes_on;
      }
    }
    if (!flush())
      return false;
    if (has_grown)
      continue;
    if (is_last)
      break;
    // What was written before the answer came is read once more.
    is_last = is_draining() || next_generation() != nullptr;
    if (!is_last && !pause())
      return false;
  }
  for (auto& x : streams_)
    if (!show_rest(x))
      return false;
  return flush();
}

/// Reads once, and shows the lines that have become complete.
/// @param has_grown Whether there was anything.
bool file_log_reader::shared::reader::show_new(stream& x, uint64_t to,
                                               bool& has_grown) {
  if (!yield())
    return false;
  auto part
    = x.file->read(x.offset, std::min<uint64_t>(read_max, to - x.offset));
  // It may be in a file that it was rotated into meanwhile.
  if (part.lost > 0 && x.file->reopen(x.path))
    part = x.file->read(x.offset, read_max);
  if (part.lost > 0) {
    x.lines.break_off();
    if (!say(formatted("{} bytes of rank {} were rotated away before they were "
                       "read",
                       part.lost, x.rank)))
      return false;
  }
  has_grown = !part.bytes.empty();
  x.offset += part.lost + part.bytes.size();
  x.lines.add(std::move(part.bytes));
  while (const auto line = x.lines.next())
    if (!put(x, *line, generation_))
      return false;
  return true;
}

bool file_log_reader::shared::reader::show_rest(stream& x) {
  const auto line = x.lines.rest();
  return !line || put(x, *line, generation_);
}

// There is no time for more, and the last lines tell why a job has ended. With a
// pattern all is read: it may be seldom.
bool file_log_reader::shared::reader::skip_to_last_part(stream& x) {
  const auto end = x.file->end();
  if (pattern_ || x.offset + last_part_max >= end)
    return true;
  auto to = end - last_part_max;
  const auto first_line = x.file->read(to, core::log_line_max).bytes.find('\n');
  if (first_line != std::string::npos)
    to += first_line + 1;
  const auto skipped = to - std::exchange(x.offset, to);
  x.lines.break_off();
  return say(formatted("{} bytes of rank {} were passed over: the job ended "
                       "before they could be shown",
                       skipped, x.rank));
}

// -- streams ------------------------------------------------------------------

/// @returns false: nothing will ever be written to a file that was asked for
bool file_log_reader::shared::reader::choose_streams(
  const generation_files& from) {
  auto last = std::exchange(streams_, {});
  auto missing = std::vector<uint32_t>{};
  auto is_anyone = false;
  for (uint32_t i = 0; i < from.outputs.workers.size(); ++i) {
    const auto rank = from.plan.own.global_rank(i);
    if (!what_.has_rank(rank))
      continue;
    is_anyone = true;
    for (const auto which :
         {core::output_stream::out, core::output_stream::err}) {
      if (!contains(what_.outputs, which))
        continue;
      const auto is_err = which == core::output_stream::err;
      const auto& target
        = is_err ? from.outputs.workers[i].err : from.outputs.workers[i].out;
      // A worker that lives through the change goes on in its file.
      const auto same = std::ranges::find(last, target.path, &stream::path);
      if (target.where != core::stream_target::kind::file) {
        if (missing.empty() || missing.back() != rank)
          missing.push_back(rank);
      } else if (same != last.end()) {
        streams_.push_back(std::move(*same));
        streams_.back().rank = rank;
      } else {
        streams_.push_back({.rank = rank,
                            .is_err = is_err,
                            .path = target.path,
                            .shift = home_->book->of(target.path)});
      }
    }
  }
  if (!missing.empty())
    note(formatted(
      "{} of {}{} goes to the console of actorrun and to no file: start it "
      "with -t 3 (--tee), which fills both, or with -r 3 (--redirects)",
      streams_.empty() ? "the output" : "a part of the output",
      missing.size() == 1 ? "rank " : "ranks ", core::to_ranges(missing)));
  return !is_anyone || !streams_.empty();
}

void file_log_reader::shared::reader::open_file(stream& x) {
  if (x.file || x.path.empty())
    return;
  auto opened = log_history::open(x.path, x.shift);
  if (opened && *opened) {
    x.file = std::move(**opened);
    x.offset = x.file->begin();
  } else if (!opened) {
    note(formatted("the output of rank {}: {}", x.rank,
                   core::printable(opened.error().text)));
    x.path.clear(); // It is not tried again.
  }
}

uint64_t
file_log_reader::shared::reader::first_offset(const stream& x,
                                              const generation_files& from) {
  const auto& file = *x.file;
  const auto end = file.end();
  if (what_.since_ms > 0 && file.changed_ms() < what_.since_ms)
    return end;
  if (what_.since_ms > from.begun_ms && !what_.tail)
    note(
      formatted("log files do not say when a line was written: of those that "
                "have changed since, all lines of generation {} follow; --tail "
                "limits them",
                to_string(generation_)));
  if (!what_.tail)
    return file.begin();
  auto counts = core::tail_search::filter{};
  if (pattern_)
    counts = [this, wanted = true](std::string_view line) mutable {
      if (++unmatched_count_ % unmatched_per_look == 0)
        wanted = wanted && is_wanted();
      return wanted && pattern_->matches(line);
    };
  auto search
    = core::tail_search{file.begin(), end, *what_.tail, std::move(counts)};
  while (const auto block = search.next()) {
    if (!yield())
      return end;
    auto bytes = std::string{};
    while (bytes.size() < block->size) {
      auto part
        = file.read(block->offset + bytes.size(), block->size - bytes.size());
      if (part.lost > 0 || part.bytes.empty())
        break;
      bytes += part.bytes;
    }
    search.take(bytes);
  }
  return search.result();
}

// -- the way out --------------------------------------------------------------

bool file_log_reader::shared::reader::put(const stream& x,
                                          core::split_line line,
                                          generation_id generation) {
  if (pattern_ && !pattern_->matches(line.text))
    return ++unmatched_count_ % unmatched_per_look != 0 || is_wanted();
  const auto cost = core::log_line_cost(line.text.size());
  if (batch_cost_ + cost > core::log_chunk_max && !flush())
    return false;
  auto guard = std::unique_lock{home_->mutex};
  for (;;) {
    const auto i = home_->readings.find(id_);
    if (i == home_->readings.end())
      return false;
    if (i->second.window.take(cost))
      break;
    if (batch_cost_ > 0) { // The operator may wait for these.
      guard.unlock();
      if (!flush())
        return false;
      guard.lock();
      continue;
    }
    home_->changed.wait(guard);
  }
  batch_cost_ += cost;
  caused_ += cost * cost_of_byte;
  batch_.lines.push_back({.rank = x.rank,
                          .generation = generation,
                          .is_err = x.is_err,
                          .text = std::string{line.text},
                          .truncated = line.truncated,
                          .wall_ms = is_live_ ? unix_ms() : 0});
  return true;
}

void file_log_reader::shared::reader::note(std::string trouble) {
  batch_.trouble += (batch_.trouble.empty() ? "" : "; ") + std::move(trouble);
}

bool file_log_reader::shared::reader::say(const std::string& trouble) {
  note(trouble);
  return flush();
}

bool file_log_reader::shared::reader::flush() {
  if (batch_.lines.empty() && batch_.trouble.empty())
    return true;
  auto chunk = std::exchange(batch_, {});
  batch_cost_ = 0;
  const auto guard = std::lock_guard{home_->mutex};
  const auto i = home_->readings.find(id_);
  if (i == home_->readings.end())
    return false;
  i->second.on_lines(std::move(chunk));
  return true;
}

void file_log_reader::shared::reader::send_end() {
  const auto guard = std::lock_guard{home_->mutex};
  const auto i = home_->readings.find(id_);
  if (i == home_->readings.end())
    return;
  batch_.is_end = true;
  i->second.on_lines(std::move(batch_));
  home_->forget(id_);
}

// -- waiting ------------------------------------------------------------------

/// The generation to be read after the present one; null: there is none yet.
std::shared_ptr<const generation_files>
file_log_reader::shared::reader::next_generation() {
  const auto guard = std::lock_guard{home_->mutex};
  const auto& all = home_->generations;
  if (generation_ != generation_id{})
    return after(all, generation_);
  if (what_.generation != generation_id{}) {
    const auto found = first_from(all, what_.generation);
    const auto is_it
      = found && (what_.follow || found->plan.generation == what_.generation);
    return is_it ? found : nullptr;
  }
  const auto age = what_.previous ? size_t{2} : size_t{1};
  return all.size() < age ? nullptr : all[all.size() - age];
}

bool file_log_reader::shared::reader::pause() {
  auto guard = std::unique_lock{home_->mutex};
  home_->changed.wait_for(guard, poll_interval);
  return home_->readings.contains(id_);
}

// Who asks for what is there already waits for it, and it has an end. What is
// followed may grow as fast as workers can write.
//
// The system's priorities do not do that: who has a low one, and the lock, lets
// those of the agent wait that need it.
bool file_log_reader::shared::reader::yield() {
  if (!is_live_)
    return is_wanted();
  auto had = times_.now();
  had.caused = caused_;
  const auto time = pace_.pause_after(core::time_point::clock::now(), had);
  if (time == core::duration{})
    return is_wanted();
  if (!flush()) // The operator may wait for these.
    return false;
  const auto is_pointless = [this] {
    const auto i = home_->readings.find(id_);
    return i == home_->readings.end() || i->second.drains;
  };
  auto guard = std::unique_lock{home_->mutex};
  home_->changed.wait_for(guard, time, is_pointless);
  return home_->readings.contains(id_);
}

bool file_log_reader::shared::reader::is_wanted() {
  const auto guard = std::lock_guard{home_->mutex};
  return home_->readings.contains(id_);
}

bool file_log_reader::shared::reader::is_draining() {
  const auto guard = std::lock_guard{home_->mutex};
  const auto i = home_->readings.find(id_);
  return i == home_->readings.end() || i->second.drains;
}

// -- the port -----------------------------------------------------------------

file_log_reader::file_log_reader(std::shared_ptr<rotation_book> book,
                                 std::shared_ptr<log_recorder> recorder)
  : shared_(std::make_shared<shared>(std::move(book))),
    recorder_(std::move(recorder)) {}

file_log_reader::~file_log_reader() {
  const auto guard = std::lock_guard{shared_->mutex};
  shared_->readings.clear();
  shared_->on_drained.clear();
  shared_->changed.notify_all();
}

void file_log_reader::follow(const core::generation_plan& plan,
                             const core::generation_outputs& outputs) {
  const auto now = unix_ms();
  add(plan, outputs, now);
  if (recorder_)
    recorder_->note(plan, outputs, now);
}

void file_log_reader::recall(const recorded_generation& x) {
  add(x.plan, x.outputs, x.begun_ms);
}

void file_log_reader::add(const core::generation_plan& plan,
                          const core::generation_outputs& outputs,
                          int64_t begun_ms) {
  auto x = std::make_shared<const generation_files>(
    generation_files{plan, outputs, begun_ms});
  const auto guard = std::lock_guard{shared_->mutex};
  shared_->generations.push_back(std::move(x));
  if (shared_->generations.size() > generation_count_max)
    shared_->generations.pop_front();
  shared_->changed.notify_all();
}

uint64_t file_log_reader::begin(core::log_selection what, uint32_t credit,
                                listener on_lines) {
  auto id = uint64_t{0};
  {
    const auto guard = std::lock_guard{shared_->mutex};
    if (shared_->readings.size() == reading_count_max
        || shared_->thread_count == thread_count_max)
      return 0;
    ++shared_->thread_count;
    id = ++shared_->last_reading;
    shared_->readings.emplace(
      id, shared::reading{core::credit_window{credit}, std::move(on_lines)});
  }
  auto task = [home = shared_, id, what = std::move(what)]() mutable {
    shared::reader{home, id, std::move(what)}.run();
    const auto guard = std::lock_guard{home->mutex};
    --home->thread_count;
  };
  if (run_aside(std::move(task)))
    return id;
  end(id);
  const auto guard = std::lock_guard{shared_->mutex};
  --shared_->thread_count;
  return 0;
}

void file_log_reader::add_credit(uint64_t reading, uint32_t size) {
  const auto guard = std::lock_guard{shared_->mutex};
  const auto i = shared_->readings.find(reading);
  if (i == shared_->readings.end())
    return;
  i->second.window.add(size);
  shared_->changed.notify_all();
}

void file_log_reader::end(uint64_t reading) {
  const auto guard = std::lock_guard{shared_->mutex};
  if (shared_->readings.contains(reading))
    shared_->forget(reading);
}

void file_log_reader::drain(std::function<void()> on_done) {
  {
    const auto guard = std::lock_guard{shared_->mutex};
    if (!shared_->readings.empty()) {
      for (auto& [id, x] : shared_->readings)
        x.drains = true;
      shared_->on_drained.push_back(std::move(on_done));
      shared_->changed.notify_all();
      return;
    }
  }
  on_done();
}

} // namespace actorrun::detail
