// Answers what can be read of one worker: its newest lines, and where it is.
#pragma once

#include "actors/core/time.hpp"
#include "actors/interfaces.hpp"
#include "runtime/http/connection.hpp"
#include "runtime/network/reply_path.hpp"
#include "runtime/os/reactor.hpp"

#include "messages/operator.pb.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

namespace actorrun::detail {

struct worker_view_limits {
  /// Without an answer for so long, there is none. Longer than actors wait for each
  /// other.
  core::duration answer = std::chrono::seconds{5};
  size_t question_count = 8; ///< At most this many wait for their answers.
  /// Of these a worker's newest are shown, …
  uint32_t line_count = 200;
  /// … in so many bytes.
  size_t size = size_t{256} * 1024;
};

/// Everything runs on the reactor's thread.
class worker_views {
public:
  /// @param ask Passes on a question about the job; must not block.
  worker_views(reactor& home, std::function<void(operator_question)> ask,
               const worker_view_limits& limits = {});

  /// Nothing is called any more.
  ~worker_views();

  /// @param query `rank=N`, of the newest generation, and if one output only is
  /// meant
  ///              `&output=out` or `&output=err`: files have no times by which lines
  ///              of both could be put in order.
  void log(std::string_view query, http_callback done);

  /// @param query `rank=N`
  void stacks(std::string_view query, http_callback done);

private:
  /// What waits for its answer. Of lines the newest are kept.
  struct question {
    http_callback done;
    bool is_of_log = false;
    reactor::timer deadline = 0;
    std::deque<v1::LogLine> lines{};
    size_t size = 0;
    std::string trouble{};
  };

  void ask(v1::OperatorRequest what, http_callback done);
  void on_reply(uint64_t number, v1::OperatorReply x);
  void on_lines(uint64_t number, v1::LogLines x);
  void on_late(uint64_t number);
  void grant(uint64_t number, uint32_t size);
  void finish(uint64_t number, const http_reply& x);

  reactor& home_;
  std::function<void(operator_question)> ask_;
  const worker_view_limits limits_;
  std::shared_ptr<reply_path> path_;
  std::map<uint64_t, question> questions_;
  uint64_t session_;
  uint64_t last_ = 0;
};

} // namespace actorrun::detail
