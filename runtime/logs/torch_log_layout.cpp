#include "runtime/logs/torch_log_layout.hpp"

#include "messages/formatted.hpp"
#include "runtime/logs/rotation.hpp"

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

/// Folders that are removed again unless they are kept.
class made_folders {
public:
  made_folders() = default;
  made_folders(const made_folders&) = delete;
  made_folders& operator=(const made_folders&) = delete;

  ~made_folders() {
    for (auto i = paths_.rbegin(); i != paths_.rend(); ++i)
      ::rmdir(i->c_str());
  }

  void add(const std::string& path) { paths_.push_back(path); }
  void keep() { paths_.clear(); }

private:
  std::vector<std::string> paths_;
};

result<void> make_with_parents(const std::string& path, made_folders& made) {
  for (size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const auto part = path.substr(0, end);
    if (::mkdir(part.c_str(), usual_mode) == 0)
      made.add(part);
    else if (errno != EEXIST)
      return cannot_make_folder(path, errno);
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return cannot_make_folder(path, errno);
  if (!S_ISDIR(info.st_mode))
    return cannot_make_folder(path, ENOTDIR);
  return {};
}

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
  auto made = made_folders{};
  auto base = absolute(x->options_.folder);
  if (x->options_.folder.empty()) {
    auto temporary = temporary_folder::make();
    if (!temporary)
      return temporary.error();
    x->temporary_ = std::move(*temporary);
    base = x->temporary_.path();
    made.add(base);
  } else if (auto done = make_with_parents(base, made); !done) {
    return done.error();
  }
  auto path = make_private_folder((base == "/" ? "" : base) + "/"
                                  + log_job_name(job) + "_");
  if (!path)
    return path.error();
  made.add(*path);
  x->folder_ = *path;
  x->folder_fd_.reset(::open(path->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!x->folder_fd_)
    return cannot_make_folder(*path, errno);
  if (path->size() + log_path_rest_max > PATH_MAX)
    return cannot_make_folder(*path, ENAMETOOLONG);
  if (x->options_.rotate_size != 0
      && probe_rotation(*path) == rotation_means::none)
    return failure{errc::log_failed,
                   formatted("the logs in {} cannot be rotated: the file "
                             "system keeps the beginning of files",
                             *path)};
  made.keep();
  return x;
}

result<std::string>
torch_log_layout::make_attempt(const core::epoch_plan& plan) {
  auto name = "attempt_" + std::to_string(plan.restart_count);
  const auto is_new = restart_counts_.insert(plan.restart_count).second;
  if (!is_new)
    name += ".epoch_" + to_string(plan.epoch);
  if (::mkdirat(folder_fd_.get(), name.c_str(), usual_mode) == 0)
    return name;
  // Another coordinator may have counted to the same number.
  if (errno == EEXIST && !is_new) {
    name += "_of_" + std::to_string(plan.epoch.value);
    if (::mkdirat(folder_fd_.get(), name.c_str(), usual_mode) == 0)
      return name;
  }
  return cannot_make_folder(folder_ + "/" + name, errno);
}

// By descriptors: the path to them need not be walked for each of thousands.
result<core::epoch_outputs>
torch_log_layout::prepare(const core::epoch_plan& plan) {
  const auto count = plan.own.slot_count;
  if (folder_.empty())
    return core::plan_outputs(options_, {}, count);
  const auto attempt = make_attempt(plan);
  if (!attempt)
    return attempt.error();
  const auto path = folder_ + "/" + *attempt;
  auto outputs = core::plan_outputs(options_, path, count);
  if (is_flat()) {
    for (uint32_t i = 0; i < count; ++i)
      outputs.workers[i].error_file
        = path + "/error_" + std::to_string(i) + ".json";
    return outputs;
  }
  const auto fd = unique_fd{::openat(folder_fd_.get(), attempt->c_str(),
                                     O_PATH | O_DIRECTORY | O_CLOEXEC)};
  for (uint32_t i = 0; i < count; ++i) {
    const auto name = std::to_string(i);
    if (::mkdirat(fd.get(), name.c_str(), usual_mode) == 0)
      continue;
    const auto error = errno;
    while (i-- > 0)
      ::unlinkat(fd.get(), std::to_string(i).c_str(), AT_REMOVEDIR);
    ::unlinkat(folder_fd_.get(), attempt->c_str(), AT_REMOVEDIR);
    return cannot_make_folder(path + "/" + name, error);
  }
  return outputs;
}

bool torch_log_layout::holds_files() const {
  return !folder_.empty() && detail::holds_files(folder_);
}

void torch_log_layout::remove_if_unused() const {
  if (!temporary_.empty())
    temporary_.remove_if_unused();
}

} // namespace actorrun::detail
