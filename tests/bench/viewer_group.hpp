// Those who watch a job: `actorctl top` on a screen each.
#pragma once

#include "tests/bench/program.hpp"
#include "tests/bench/setting.hpp"
#include "tests/bench/terminal.hpp"

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace actorrun::bench {

/// Starts `actorctl top` of the job that these options name.
result<program> start_top(setting& s, terminal& screen,
                          const std::vector<std::string>& where);

/// Some viewers, whose screens a thread reads until they are destroyed.
class viewer_group {
public:
  /// Returns when each of them shows the text.
  static result<std::unique_ptr<viewer_group>>
  start(setting& s, size_t count, const std::vector<std::string>& where,
        std::string_view text);

  viewer_group(const viewer_group&) = delete;
  viewer_group& operator=(const viewer_group&) = delete;
  ~viewer_group();

private:
  struct viewer {
    terminal screen;
    program top;
  };

  viewer_group() = default;
  void read(const std::stop_token& ends);

  std::vector<viewer> viewers_;
  std::jthread reader_; ///< Last: it uses the others.
};

} // namespace actorrun::bench
