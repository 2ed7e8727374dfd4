#include "runtime/journal/journal_reader.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/peer_user.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr size_t read_size = 64 * 1024; // bytes

bool is_trusted_file(const struct stat& facts) {
  return is_trusted(facts.st_uid) && (facts.st_mode & S_IWOTH) == 0;
}

unique_fd open_for_reading(const std::string& path, journal_owner whose) {
  auto fd = unique_fd{
    ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat facts {};
  if (fd && (::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode))) {
    errno = EINVAL;
    return {};
  }
  if (fd && whose == journal_owner::trusted && !is_trusted_file(facts)) {
    errno = EPERM;
    return {};
  }
  return fd;
}

bool is_same_file(int fd, const std::string& path) {
  struct stat a {
  }, b{};
  return ::fstat(fd, &a) == 0 && ::stat(path.c_str(), &b) == 0
         && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

} // namespace

result<journal_reader> journal_reader::open(const std::string& path,
                                            journal_owner whose) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode))
    return failure{errc::bad_argument,
                   path + " is a folder; name a file in it"};
  auto out = journal_reader{path, whose};
  if (!out.open_older() && !out.open_newer())
    return failure{errc::bad_argument, formatted("cannot read {}: {}", path,
                                                 system_error_text(errno))};
  return out;
}

bool journal_reader::open_older() {
  fd_ = open_for_reading(path_ + ".1", whose_);
  is_older_ = bool(fd_);
  return is_older_;
}

bool journal_reader::open_newer() {
  auto fd = open_for_reading(path_, whose_);
  if (!fd)
    return false;
  fd_ = std::move(fd);
  is_older_ = false;
  return true;
}

std::optional<journal_line> journal_reader::next() {
  for (;;) {
    const auto end = buffer_.find('\n', std::max(begin_, searched_));
    if (end == buffer_.npos) {
      searched_ = buffer_.size();
      if (!fill())
        return {};
      continue;
    }
    const auto line = std::string_view{buffer_}.substr(begin_, end - begin_);
    auto read
      = std::exchange(is_skipping_, false)
          ? result<journal_line>{failure{errc::bad_argument, "it is too long"}}
          : parse_journal_line(line);
    const auto is_empty = line.empty();
    begin_ = end + 1;
    searched_ = begin_;
    if (read)
      return std::move(*read);
    if (is_empty)
      continue;
    ++bad_line_count_;
    last_trouble_ = read.error().text;
  }
}

/// @returns false if there is nothing more
bool journal_reader::fill() {
  buffer_.erase(0, begin_);
  searched_ -= std::min(searched_, begin_);
  begin_ = 0;
  if (is_skipping_ || buffer_.size() > journal_line_max) {
    buffer_.clear();
    searched_ = 0;
    is_skipping_ = true;
  }
  auto chunk = std::array<char, read_size>{};
  const auto got = ::read(fd_.get(), chunk.data(), chunk.size());
  if (got > 0) {
    buffer_.append(chunk.data(), size_t(got));
    return true;
  }
  // What is left of the older file was cut off; a rotated one is the older one.
  if ((is_older_ || !is_same_file(fd_.get(), path_)) && open_newer()) {
    if (!buffer_.empty()) {
      ++bad_line_count_;
      last_trouble_ = "it is cut off";
      buffer_.clear();
      searched_ = 0;
    }
    return true;
  }
  return false;
}

result<core::journal::snapshot>
read_snapshot(const std::string& path, std::optional<core::time_point> until,
              journal_owner whose) {
  auto reader = journal_reader::open(path, whose);
  if (!reader)
    return reader.error();
  auto out = core::journal::snapshot{};
  const auto is_later
    = [&](const core::journal::moment& x) { return until && x.when > *until; };
  while (auto line = reader->next()) {
    if (const auto* x = std::get_if<core::journal::record>(&*line)) {
      if (is_later(x->at))
        break;
      if (x->number > out.number) // Some may be damaged.
        out.apply(*x);
    } else if (auto* all = std::get_if<core::journal::snapshot>(&*line)) {
      if (is_later(all->latest))
        break;
      out = std::move(*all);
    } else {
      ++out.number; // Of a newer version, which says more.
    }
  }
  if (out.number == 0)
    return failure{errc::bad_argument,
                   formatted("{} holds no record of a journal{}{}", path,
                             reader->last_trouble().empty() ? "" : ": ",
                             reader->last_trouble())};
  return out;
}

} // namespace actorrun::detail
