#include "runtime/processes/output_files.hpp"

#include "actors/core/shortage.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/folder.hpp"
#include "runtime/os/resource_limits.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

using kind = core::stream_target::kind;

constexpr mode_t file_mode = 0666;

// In a program whose standard streams are closed, a file gets their numbers.
unique_fd above_standard(unique_fd file) {
  if (!file || file.get() > STDERR_FILENO)
    return file;
  return unique_fd{::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
}

} // namespace

open_outputs output_files::open(const core::stream_target& out,
                                const core::stream_target& err) {
  auto result = open_outputs{};
  shortage_ = 0;
  result.out = open_target(out, result.out_file);
  const auto shared = out.where == kind::file && err.where == kind::file
                      && out.path == err.path;
  result.err = shared ? result.out : open_target(err, result.err_file);
  const auto lost = [](const core::stream_target& target, int fd) {
    return target.where != kind::inherited && fd < 0;
  };
  if (lost(out, result.out) || lost(err, result.err))
    result.error = null_error_;
  if (shortage_ != 0) {
    result.error = shortage_;
    result.subject = short_path_;
  }
  return result;
}

int output_files::open_target(const core::stream_target& target,
                              unique_fd& file) {
  switch (target.where) {
    case kind::inherited:
      return -1;
    case kind::discarded:
      return discard();
    case kind::file:
      return open_file(target.path, file);
  }
  return -1;
}

// O_NONBLOCK is for the open alone: that of a pipe without reader fails.
int output_files::open_file(const std::string& path, unique_fd& file) {
  constexpr auto flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK;
  const auto truncate = emptied_.contains(path) ? 0 : O_TRUNC;
  auto opened = open_at(path, flags | truncate, file_mode);
  const auto is_open = bool(opened);
  file = above_standard(std::move(opened.fd));
  if (file && ::fcntl(file.get(), F_SETFL, O_APPEND) == 0) {
    emptied_.insert(path);
    return file.get();
  }
  if (const auto why = is_open ? 0 : core::shortage_in(opened.why)) {
    shortage_ = why;
    short_path_ = path;
    return -1;
  }
  if (failure_count_++ == 0) {
    first_path_ = path;
    first_reason_ = is_open ? system_error_text(errno) : opened.why;
  }
  file.reset();
  return discard();
}

int output_files::discard() {
  if (!*null_)
    *null_
      = above_standard(unique_fd{::open(null_device, O_WRONLY | O_CLOEXEC)});
  null_error_ = *null_ ? 0 : errno;
  return null_->get();
}

std::string output_files::complaint() const {
  if (failure_count_ == 0)
    return {};
  auto text = formatted("output is lost: cannot open {}: {}", first_path_,
                        first_reason_);
  if (failure_count_ > 1)
    text += formatted("; and {} more files of this start", failure_count_ - 1);
  return text;
}

} // namespace actorrun::detail
