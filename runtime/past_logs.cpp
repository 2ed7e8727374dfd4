#include "runtime/past_logs.hpp"

#include "actors/core/text.hpp"
#include "actors/log_messages.hpp"
#include "messages/formatted.hpp"
#include "runtime/logs/file_log_reader.hpp"
#include "runtime/logs/log_record.hpp"
#include "runtime/program_support.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <poll.h>

namespace actorrun {

using namespace detail;

namespace {

/// How often a reading looks whether it is to stop.
constexpr auto look_interval = std::chrono::milliseconds{50};

/// Ranks of larger jobs are not told one by one.
constexpr uint32_t named_world_max = 1'000'000;

/// In bytes of lines that wait for the caller.
constexpr auto past_window = uint32_t{512} * 1024;

bool is_readable(const log_run& x) {
  if (x.host == own_host_name())
    return true;
  auto error = std::error_code{}; // Hosts may share a file system.
  return !x.folder.empty() && std::filesystem::is_directory(x.folder, error);
}

int64_t end_of(const log_run& x) {
  return x.ended_ms != 0 ? x.ended_ms : x.changed_ms;
}

std::string place_text(const log_run& x) {
  return x.folder.empty() ? core::printable(x.host)
                          : core::printable(x.host + ":" + x.folder);
}

/// Those of the job that was last noted, if several had its id one after the other.
std::vector<log_record> records_of(const past_log_options& which) {
  auto all = find_log_records(which.folder);
  std::erase_if(all,
                [&](const auto& x) { return x.run.job.value != which.job; });
  if (all.empty())
    return all;
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return end_of(a.run) > end_of(b.run);
  });
  auto from = all.front().run.began_ms;
  auto out = std::vector<log_record>{};
  for (auto& x : all) {
    if (!out.empty() && end_of(x.run) < from)
      break;
    from = std::min(from, x.run.began_ms);
    out.push_back(std::move(x));
  }
  return out;
}

/// The files of one agent in the generation that is read.
struct chosen_files {
  const log_record* record = nullptr;
  const recorded_generation* files = nullptr;
};

const recorded_generation* find(const log_record& in, generation_id which) {
  const auto i = std::ranges::find_if(in.generations, [which](const auto& x) {
    return x.plan.generation == which;
  });
  return i == in.generations.end() ? nullptr : &*i;
}

/// The newest one that is known, or the one before that; 0: there is none.
generation_id generation_in(const std::vector<log_record>& all,
                            generation_id newest, bool previous) {
  auto known = std::set<generation_id>{};
  for (const auto& x : all)
    for (const auto& y : x.generations)
      known.insert(y.plan.generation);
  if (newest != generation_id{})
    known.insert(newest);
  auto i = known.rbegin();
  if (previous && i != known.rend())
    ++i;
  return i == known.rend() ? generation_id{} : *i;
}

bool is_of_node(const chosen_files& x, const std::string& node) {
  const auto& run = x.record->run;
  return node.empty() || node == run.host || node == run.agent.value.get()
         || node == std::to_string(x.files->plan.own.node_rank);
}

/// Says where files are that are not read.
std::string elsewhere_text(const std::vector<chosen_files>& elsewhere) {
  auto out = std::string{};
  for (const auto& x : elsewhere)
    out += formatted("; those of ranks {}-{} are in {}: actorctl logs reads "
                     "them on that host",
                     x.files->plan.own.first_global_rank,
                     x.files->plan.own.first_global_rank
                       + x.files->plan.own.slot_count - 1,
                     place_text(x.record->run));
  return out;
}

/// Those that are asked for and are in none of these.
std::vector<uint32_t> ranks_elsewhere(uint32_t world_size,
                                      const std::vector<uint32_t>& asked,
                                      const std::vector<chosen_files>& here,
                                      const std::vector<chosen_files>& known) {
  auto out = std::vector<uint32_t>{};
  if (world_size > named_world_max)
    return out;
  const auto has = [](const std::vector<chosen_files>& all, uint32_t rank) {
    return std::ranges::any_of(all, [rank](const auto& x) {
      const auto& own = x.files->plan.own;
      return rank >= own.first_global_rank
             && rank - own.first_global_rank < own.slot_count;
    });
  };
  for (uint32_t rank = 0; rank < world_size; ++rank)
    if (!has(here, rank) && !has(known, rank)
        && (asked.empty() || std::ranges::count(asked, rank) > 0))
      out.push_back(rank);
  return out;
}

/// Passes on what a reader of files finds, on the caller's thread.
class past_reading {
public:
  past_reading(const log_record& x, const log_reading_options& how)
    : host_(x.run.host), how_(how), reader_(std::make_unique<file_log_reader>(
                                      std::make_shared<rotation_book>())) {
    for (const auto& y : x.generations)
      reader_->recall(y);
  }

  /// @returns whether the caller wants more
  result<bool> run(const core::log_selection& what,
                   const std::function<bool(const v1::LogLines&)>& on_lines) {
    const auto reading
      = reader_->begin(what, past_window, [this](core::log_chunk x) {
          const auto guard = std::lock_guard{mutex_};
          chunks_.push_back(std::move(x));
          changed_.notify_one();
        });
    if (reading == 0)
      return failure{errc::system_failure, "there is no thread to read files"};
    for (;;) {
      auto x = next();
      if (!x)
        return false;
      const auto is_end = x->is_end;
      auto cost = size_t{0};
      for (const auto& line : x->lines)
        cost += core::log_line_cost(line.text.size());
      auto reply = to_reply(to_wire(std::move(*x)), host_);
      auto& lines = *reply.mutable_logs();
      lines.set_is_end(false); // Of one agent, and others may follow.
      if ((!lines.lines().empty() || !lines.trouble().empty())
          && !on_lines(lines))
        return false;
      if (is_end)
        return true;
      reader_->add_credit(reading, static_cast<uint32_t>(cost));
    }
  }

private:
  /// None: it is to stop.
  std::optional<core::log_chunk> next() {
    for (;;) {
      auto guard = std::unique_lock{mutex_};
      changed_.wait_for(guard, look_interval, [&] { return !chunks_.empty(); });
      if (is_stopped())
        return {};
      if (chunks_.empty())
        continue;
      auto out = std::move(chunks_.front());
      chunks_.erase(chunks_.begin());
      return out;
    }
  }

  bool is_stopped() const {
    auto stop = pollfd{.fd = how_.stop, .events = POLLIN, .revents = 0};
    return ::poll(&stop, 1, 0) > 0;
  }

  std::string host_;
  const log_reading_options& how_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<core::log_chunk> chunks_;
  std::unique_ptr<file_log_reader> reader_; ///< The first to go: it calls us.
};

} // namespace

std::vector<log_place> list_log_places(const std::string& folder) {
  auto out = std::vector<log_place>{};
  if (folder.empty())
    return out;
  for (const auto& [run, _] : find_log_records(folder))
    out.push_back({.job = run.job,
                   .host = run.host,
                   .agent = run.agent.value.get(),
                   .folder = run.folder,
                   .began_ms = run.began_ms,
                   .changed_ms = run.changed_ms,
                   .is_here = is_readable(run)});
  return out;
}

result<void>
read_past_logs(const past_log_options& which, const log_reading_options& how,
               const std::function<bool(const v1::LogLines&)>& on_lines) {
  const auto all = records_of(which);
  if (all.empty())
    return failure{errc::connection_refused,
                   formatted("no log file of job \"{}\" is known on this host",
                             core::printable(which.job))};
  auto what = from_wire(how.what.what());
  what.generation = generation_in(all, which.newest, what.previous);
  what.follow = false;
  if (what.generation == generation_id{})
    return failure{errc::bad_argument,
                   formatted("job {} is known to have had one generation only:"
                             " there is no previous one",
                             core::printable(which.job))};
  auto here = std::vector<chosen_files>{};
  auto elsewhere = std::vector<chosen_files>{};
  auto world_size = std::optional<uint32_t>{};
  for (const auto& x : all) {
    const auto* files = find(x, what.generation);
    if (files == nullptr)
      continue;
    world_size = files->plan.world_size;
    const auto chosen = chosen_files{&x, files};
    if (is_of_node(chosen, how.what.node()))
      (is_readable(x.run) ? here : elsewhere).push_back(chosen);
  }
  const auto is_unknown = [&](uint32_t x) { return x >= *world_size; };
  if (world_size && std::ranges::any_of(what.ranks, is_unknown))
    return failure{
      errc::bad_argument,
      formatted("generation {} of the job had no rank {}: its ranks were 0-{}",
                to_string(what.generation),
                *std::ranges::find_if(what.ranks, is_unknown),
                *world_size - 1)};
  if (here.empty() && elsewhere.empty() && !how.what.node().empty())
    return failure{
      errc::bad_argument,
      formatted("no node \"{}\" with log files is known on this host",
                core::printable(how.what.node()))};
  std::ranges::sort(here, {}, [](const auto& x) {
    return x.files->plan.own.first_global_rank;
  });
  auto places = std::string{};
  for (const auto& x : here)
    places += (places.empty() ? "" : ", ") + place_text(x.record->run);
  auto note = v1::LogLines{};
  note.set_trouble(
    places.empty()
      ? formatted("job {} does not run on this host, and no "
                  "worker of generation {} has left files here{}",
                  core::printable(which.job), to_string(what.generation),
                  elsewhere_text(elsewhere))
      : formatted("job {} does not run on this host any more: "
                  "this is its generation {} from the files in {}{}",
                  core::printable(which.job), to_string(what.generation),
                  places, elsewhere_text(elsewhere)));
  if (const auto others
      = world_size ? ranks_elsewhere(*world_size, what.ranks, here, elsewhere)
                   : std::vector<uint32_t>{};
      !others.empty() && how.what.node().empty())
    *note.mutable_trouble()
      += formatted("; rank{} {} wrote on other hosts, and actorctl logs reads "
                   "that there",
                   others.size() == 1 ? "" : "s", core::to_ranges(others));
  if (!on_lines(note))
    return {};
  for (const auto& x : here) {
    const auto& own = x.files->plan.own;
    const auto is_asked = [&](uint32_t rank) {
      return rank >= own.first_global_rank
             && rank - own.first_global_rank < own.slot_count;
    };
    if (!what.ranks.empty() && std::ranges::none_of(what.ranks, is_asked))
      continue;
    const auto& folder = x.record->run.folder;
    auto error = std::error_code{};
    if (!folder.empty() && !std::filesystem::exists(folder, error)) {
      auto gone = v1::LogLines{};
      gone.set_trouble(
        formatted("{} is not there any more", core::printable(folder)));
      if (!on_lines(gone))
        return {};
      continue;
    }
    const auto more = past_reading{*x.record, how}.run(what, on_lines);
    if (!more)
      return more.error();
    if (!*more)
      return {};
  }
  auto end = v1::LogLines{};
  end.set_is_end(true);
  on_lines(end);
  return {};
}

} // namespace actorrun
