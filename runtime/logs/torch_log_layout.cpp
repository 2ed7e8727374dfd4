#include "runtime/logs/torch_log_layout.hpp"

#include "messages/formatted.hpp"
#include "runtime/logs/rotation.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/folder_path.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view no_files = "/dev/null";
constexpr mode_t usual_mode = S_IRWXU | S_IRWXG | S_IRWXO; // The umask counts.

std::string absolute(const std::string& path) {
  auto error = std::error_code{};
  auto result = fs::absolute(path, error).string();
  while (result.size() > 1 && result.back() == '/')
    result.pop_back();
  return error ? path : result;
}

bool chooses_any(const core::stream_choice& x) {
  using core::std_streams;
  return x.everywhere != std_streams::none
         || std::any_of(x.by_rank.begin(), x.by_rank.end(), [](const auto& y) {
              return y.second != std_streams::none;
            });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || (c >= '0' && c <= '9')
         || std::string_view{"._-+=@,"}.find(c) != std::string_view::npos;
}

} // namespace

std::string log_job_name(const job_id& job) {
  auto out = job.value.substr(0, log_job_name_max);
  std::replace_if(
    out.begin(), out.end(), [](char c) { return !is_name_character(c); }, '_');
  if (!out.empty() && (out[0] == '.' || out[0] == '-'))
    out[0] = '_';
  return out;
}

bool chooses_files(const core::log_options& options) {
  return chooses_any(options.redirects) || chooses_any(options.tees);
}

result<std::shared_ptr<torch_log_layout>>
torch_log_layout::open(core::log_options options, const job_id& job) {
  auto x = std::shared_ptr<torch_log_layout>{
    new torch_log_layout{std::move(options)}};
  if (x->options_.folder == no_files)
    return x;
  auto made = folder_path{};
  const auto base = x->open_base(made);
  if (!base)
    return base.error();
  auto own = make_private_folder(*base, log_job_name(job) + "_");
  if (!own)
    return own.error();
  const auto& path = own->path();
  made.add(unique_fd{::openat(base->fd(), ".", O_PATH | O_CLOEXEC)},
           path.substr(path.rfind('/') + 1));
  if (path.size() + log_path_rest_max > PATH_MAX)
    return cannot_make_folder(path, ENAMETOOLONG);
  if (x->options_.rotate_size != 0
      && probe_rotation(own->fd()) == rotation_means::none)
    return failure{errc::log_failed,
                   formatted("the logs in {} cannot be rotated: the file "
                             "system keeps the beginning of files",
                             path)};
  x->exposed_ = made.exposed();
  if (auto ok = x->open_error_folder(); !ok)
    return ok.error();
  x->own_ = guard(std::move(*own));
  made.keep();
  return x;
}

result<folder_handle> torch_log_layout::open_base(folder_path& made) {
  if (options_.folder.empty()) {
    auto temporary = temporary_folder::make();
    if (!temporary)
      return temporary.error();
    temporary_ = std::move(*temporary);
    const auto& path = temporary_.path();
    const auto parent = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
    auto above = made.make(parent);
    made.add(std::move(above.fd), path.substr(path.rfind('/') + 1));
    return temporary_.open();
  }
  auto path = absolute(options_.folder);
  auto base = made.make(path);
  if (!base)
    return cannot_make_folder(path, base.error);
  return folder_handle{std::move(base.fd), std::move(path)};
}

// A worker opens its error file by its path, and another user can lead that
// elsewhere: it gets one in a folder that only we can replace.
result<void> torch_log_layout::open_error_folder() {
  if (exposed_.empty() || !temporary_.empty())
    return {};
  auto made = temporary_folder::make();
  if (!made)
    return made.error();
  temporary_ = std::move(*made);
  return {};
}

std::string torch_log_layout::warning() const {
  if (exposed_.empty())
    return {};
  const auto elsewhere
    = options_.folder.empty()
        ? ""
        : formatted("; error files are in {} instead", temporary_.path());
  return formatted("other users can write to {} and replace the log folders in "
                   "it: run chmod +t {}, or choose another --log-dir{}",
                   exposed_, exposed_, elsewhere);
}

// What another user has put in its place gets no worker's error file. If it was
// moved away, there is nothing in its place.
result<void> torch_log_layout::check_place() const {
  struct stat named {};
  struct stat own {};
  if (::lstat(folder().c_str(), &named) != 0 || ::fstat(own_->fd(), &own) != 0
      || (named.st_dev == own.st_dev && named.st_ino == own.st_ino))
    return {};
  return failure{
    errc::log_failed,
    formatted("the log folder {} was replaced by {}: remove that, and choose a "
              "--log-dir that no other user can write to",
              folder(),
              S_ISDIR(named.st_mode) ? "another one"
                                     : kind_of_file(named.st_mode))};
}

const std::string& torch_log_layout::folder() const {
  static const auto none = std::string{};
  return own_ ? own_->path() : none;
}

result<std::string>
torch_log_layout::make_attempt(const core::generation_plan& plan) {
  auto name = "attempt_" + std::to_string(plan.restart_count);
  const auto is_new = restart_counts_.insert(plan.restart_count).second;
  if (!is_new)
    name += ".generation_" + to_string(plan.generation);
  if (::mkdirat(own_->fd(), name.c_str(), usual_mode) == 0)
    return name;
  // Another coordinator may have counted to the same number.
  if (errno == EEXIST && !is_new) {
    name += "_of_" + std::to_string(term_of(plan.generation));
    if (::mkdirat(own_->fd(), name.c_str(), usual_mode) == 0)
      return name;
  }
  return cannot_make_folder(folder() + "/" + name, errno);
}

// By descriptors: the path to them need not be walked for each of thousands.
result<core::generation_outputs>
torch_log_layout::prepare(const core::generation_plan& plan) {
  const auto count = plan.own.slot_count;
  if (!own_)
    return core::plan_outputs(options_, {}, count);
  if (auto ok = check_place(); !ok)
    return ok.error();
  const auto attempt = make_attempt(plan);
  if (!attempt)
    return attempt.error();
  const auto path = folder() + "/" + *attempt;
  auto outputs = core::plan_outputs(options_, path, count);
  if (is_flat()) {
    for (uint32_t i = 0; i < count; ++i)
      outputs.workers[i].error_file
        = path + "/error_" + std::to_string(i) + ".json";
    return outputs;
  }
  const auto opened = own_->open_folder(*attempt);
  if (!opened)
    return cannot_make_folder(path, opened.error);
  const auto& fd = opened.fd;
  for (uint32_t i = 0; i < count; ++i) {
    const auto name = std::to_string(i);
    if (::mkdirat(fd.get(), name.c_str(), usual_mode) == 0)
      continue;
    const auto error = errno;
    while (i-- > 0)
      ::unlinkat(fd.get(), std::to_string(i).c_str(), AT_REMOVEDIR);
    ::unlinkat(own_->fd(), attempt->c_str(), AT_REMOVEDIR);
    return cannot_make_folder(path + "/" + name, error);
  }
  if (has_error_folder())
    for (uint32_t i = 0; i < count; ++i)
      outputs.workers[i].error_file
        = formatted("{}/{}.error_{}.json", temporary_.path(), *attempt, i);
  return outputs;
}

bool torch_log_layout::holds_files() const {
  return own_ && detail::holds_files(own_->fd());
}

void torch_log_layout::remove_if_unused() const {
  if (!temporary_.empty())
    temporary_.remove_if_unused();
}

} // namespace actorrun::detail
