#include "actors/followed_files.hpp"

#include "messages/formatted.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

ports::log_file_id id_of(const tail_stream& x) {
  return {x.file};
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

} // namespace

followed_files::followed_files(std::shared_ptr<ports::log_files> files,
                               log_options options, log lines)
  : files_(std::move(files)), options_(std::move(options)),
    lines_(std::move(lines)) {}

followed_files::~followed_files() {
  for (const auto& id : open_)
    files_->close(id);
}

std::string followed_files::open(tail_stream& x) {
  auto id = files_->open(x.path);
  if (!id)
    return id.error().text;
  x.file = id->value;
  open_.insert(*id);
  return {};
}

void followed_files::close(tail_stream& x) {
  if (open_.erase(id_of(x)) > 0)
    files_->close(id_of(x));
}

uint64_t followed_files::end_of(const tail_stream& x) const {
  return files_->size(id_of(x)) + x.moved;
}

std::string_view followed_files::read(const tail_stream& x,
                                      const line_cursor::request& wanted) {
  // Enlarged for a long line, and not for longer than it takes.
  const auto size = std::max(wanted.size, read_size);
  if (buffer_size_ != size) {
    buffer_.reset();
    buffer_ = std::make_unique_for_overwrite<char[]>(size);
    buffer_size_ = size;
  }
  const auto count = files_->read(id_of(x), wanted.offset - x.moved,
                                  std::span{buffer_.get(), wanted.size});
  return {buffer_.get(), count};
}

void followed_files::arm(tail_stream& x, std::function<void()> on_growth) {
  if (!std::exchange(x.is_armed, true))
    files_->call_when_grown(id_of(x), std::move(on_growth));
}

void followed_files::find_cut(tail_stream& x) {
  const auto reached = x.cursor.reached();
  const auto is_cut = end_of(x) < reached;
  if (!is_cut && x.goal <= reached)
    return;
  const auto is_last = x.cursor.owes_flush();
  x.cursor.break_off();
  if (is_cut)
    x.moved = x.base = reached;
  x.goal = is_cut ? std::min(x.goal, end_of(x)) : reached;
  if (is_last)
    x.cursor.flush_at(x.goal);
}

// -- rotation -----------------------------------------------------------------

void followed_files::rotate_if_due(tail_stream& x, time_point now) {
  if (now < x.rotate_from
      || !is_due_for_rotation(x.extent(x.cursor.begin()), options_.rotate_size))
    return;
  const auto limit = x.kind == tail_kind::watched
                       ? line_begin_before(x, x.cursor.begin())
                       : x.cursor.begin();
  const auto moved
    = files_->rotate(id_of(x), limit - x.moved, options_.rotate_keep);
  if (moved) {
    x.moved += *moved;
    x.base = limit;
    return;
  }
  x.rotate_from = now + rotation_pause;
  if (!std::exchange(x.is_rotation_refused, true))
    lines_.warn(formatted("log tailer cannot rotate {}: {}; the file grows on",
                          x.path, moved.error().text));
}

// A file that is not shown has not been split into lines.
uint64_t followed_files::line_begin_before(const tail_stream& x,
                                           uint64_t limit) {
  const auto from = std::max(x.base, limit - std::min(limit, reread_max));
  const auto bytes = read(x, {from, size_t(limit - from)});
  const auto end = bytes.rfind('\n');
  return end == std::string_view::npos ? limit : from + end + 1;
}

void followed_files::append(const std::string& path, std::string_view lines) {
  if (files_->append(path, lines))
    return;
  unfiltered_.gave_up(lines.size());
  unfiltered_path_ = path;
  if (unfiltered_.is_news())
    lines_.warn(formatted(
      "log tailer cannot write to {}: its lines are lost from here on", path));
}

// -- full disks ---------------------------------------------------------------

bool followed_files::is_short(const tail_stream& x) const {
  return files_->is_short_of_space(id_of(x));
}

void followed_files::check_space(bool is_flowing,
                                 const std::vector<tail_stream*>& all,
                                 time_point now) {
  if (!space_.may_ask(now))
    return;
  space_.asked(now, is_flowing);
  // Nearly always all files are on one disk.
  const auto last = std::find_if(all.rbegin(), all.rend(),
                                 [](const auto* x) { return x->file != 0; });
  if (last == all.rend() || !is_short(**last))
    return;
  give_up(**last, all);
  if (space_.is_news())
    lines_.warn(formatted(
      "disk of {} is almost full: {} bytes of logs were given up so far",
      full_folder_, space_.byte_count()));
}

void followed_files::give_up(const tail_stream& at,
                             const std::vector<tail_stream*>& all) {
  auto candidates = std::vector<tail_stream*>{};
  auto extents = std::vector<log_extent>{};
  for (auto* x : all) {
    if (x->file == 0 || !is_short(*x))
      continue;
    candidates.push_back(x);
    extents.push_back(x->extent(end_of(*x)));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto choice = choose_discard(extents);
    if (!choice)
      return;
    auto& x = *candidates[choice->index];
    discard(x, *choice);
    extents[choice->index] = x.extent(extents[choice->index].end);
    if (!is_short(at))
      return;
  }
}

void followed_files::discard(tail_stream& x, const discard_choice& choice) {
  const auto limit
    = choice.is_unseen
        ? std::max(line_begin_before(x, choice.limit), x.cursor.begin())
        : choice.limit;
  x.moved += files_->discard(id_of(x), limit - x.moved);
  space_.gave_up(limit - x.base);
  x.base = limit;
  if (choice.is_unseen)
    x.cursor.skip_to(limit);
  full_folder_ = folder_of(x.path);
}

void followed_files::report_losses() {
  if (space_.is_more_than_reported())
    lines_.warn(
      formatted("disk of {} was almost full: {} bytes of logs were given up",
                full_folder_, space_.byte_count()));
  if (unfiltered_.is_more_than_reported())
    lines_.warn(formatted("log tailer could not write {} bytes of filtered "
                          "lines, the last ones to {}",
                          unfiltered_.byte_count(), unfiltered_path_));
}

} // namespace actorrun
