#include "runtime/notices/node_notices.hpp"

#include "runtime/notices/command_runner.hpp"

#include <utility>

namespace actorrun::detail {

result<std::unique_ptr<node_notices>>
node_notices::open(const notice_options& options, log lines) {
  if (!options.is_any_set())
    return std::unique_ptr<node_notices>{};
  auto out = std::unique_ptr<node_notices>{
    new node_notices{options, std::move(lines)}};
  if (options.file.empty())
    return out;
  auto opened = file_watcher::open(options.file);
  if (!opened)
    return opened.error();
  out->file_ = std::move(*opened);
  return out;
}

result<void> node_notices::start(std::shared_ptr<reactor> loop,
                                 std::vector<std::string> environment,
                                 std::shared_ptr<warden> guardian,
                                 listener fn) {
  if (file_)
    if (auto ok = file_->start(fn); !ok)
      return ok;
  if (!has_command())
    return {};
  loop_ = std::move(loop);
  runner_ = reactor_handle{
    *loop_, std::make_shared<command_runner>(
              *loop_, command_runner_config{command_, std::move(environment),
                                            std::move(guardian), std::move(fn),
                                            lines_})};
  return {};
}

} // namespace actorrun::detail
