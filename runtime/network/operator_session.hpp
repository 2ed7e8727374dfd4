// Serves one operator: reads its requests, has actors answer them, and sends the
// replies.
#pragma once

#include "actors/core/time.hpp"
#include "actors/interfaces.hpp"
#include "actors/status_pages.hpp"
#include "messages/result.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/link_socket.hpp"
#include "runtime/network/operator_frames.hpp"
#include "runtime/network/reply_path.hpp"
#include "runtime/network/tls_session.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Passes on a question; must not block. On the reactor's thread.
using question_sink = std::function<void(operator_question)>;

/// Lets an actor answer.
template <class Actor>
question_sink questions_to(const Actor& whom) {
  return [whom](operator_question x) { tell_anonymously(whom, std::move(x)); };
}

/// At most this many sessions of one owner. Beyond that, the one that has nothing to
/// do and has asked for nothing for the longest time goes.
inline constexpr size_t operator_count_max = 64;

struct operator_limits {
  size_t session_count = operator_count_max; ///< Of one owner, ≥ 1.
  /// A session without a request for so long, and without a watch, ends.
  core::duration idle = std::chrono::seconds{60};
  /// Timeout of one answer; longer than the timeouts of what an actor may have to
  /// ask others. Without an answer the actor is gone.
  core::duration answer = std::chrono::seconds{5};
  /// So long the pages of one status are kept for an operator that does not read
  /// them. Then a watch goes on with a newer one, and another request ends the
  /// session.
  core::duration pages = std::chrono::seconds{10};
};

/// At most this many requests of one session wait for their answers; the next ones
/// are not read.
inline constexpr size_t open_question_count_max = 8;

/// At most this many readings of logs of one session.
inline constexpr size_t open_stream_count_max = 4;

/// While a session has some, requests are read although so many bytes of replies
/// wait: what is asked for them may let more come.
inline constexpr size_t stream_unsent_max = 256 * 1024;

/// A watch gets replies in such intervals.
inline constexpr auto watch_interval_min = std::chrono::milliseconds{100};
inline constexpr auto watch_interval_max = std::chrono::milliseconds{60'000};

/// Names a link of an operator in this process; never the same again.
uint64_t next_session();

/// Who the operator is, and what it may do.
struct operator_rights {
  std::string by;         ///< For the journal and the log.
  bool may_steer = false; ///< Change what the job does; all may look.
};

/// A watch whose job does not change gets a reply so often, or as often as there is a
/// picture of a large job: it lives.
inline constexpr auto watch_silence_max = std::chrono::milliseconds{1'000};

struct operator_setup {
  /// From the handshake. None: a Unix socket, which no other process can read.
  std::optional<link_key> key{};
  tls_trust trust{};
  question_sink ask;
  operator_rights rights{};
  /// Called once, when the session has ended by itself, on the reactor's thread;
  /// may destroy it.
  /// @param how A failure: the operator has done what the text says, as a verb
  ///            and its object. Otherwise it has left, or was idle.
  std::function<void(const result<void>& how)> on_closed{};
  operator_limits limits{};
};

/// Everything but the constructor runs on the reactor's thread.
///
/// Nothing more is read from an operator that does not read its replies, and no
/// status asked for it: so a session holds at most one request that is not whole,
/// one read, and the replies to those that wait for their answers. Of the logs that
/// it reads it gets no more than its window; of a status, which all sessions share, one
/// page after the other.
class operator_session : public reactor_part,
                         public std::enable_shared_from_this<operator_session> {
public:
  /// @param connection Non-blocking; nothing beyond the handshake has been read.
  operator_session(reactor& home, unique_fd connection, operator_setup setup);

  void start() override;
  void stop() override;

  /// Whether it has nothing to do.
  bool is_idle() const {
    return !watch_ && questions_.empty() && streams_.empty()
           && transfers_.empty();
  }

  /// Or when it began.
  core::time_point last_request() const { return last_request_; }

private:
  using question_id = uint64_t; ///< Never used again.

  struct question {
    uint64_t number = 0; ///< The operator's.
    bool is_of_watch = false;
    reactor::timer deadline = 0;
  };

  struct status_watch {
    uint64_t number = 0; ///< The operator's.
    core::duration interval{};
    reactor::timer timer = 0;
    question_id asked = 0; ///< 0: no answer is missing.
    std::string last_news{};
    shared_status last{};    ///< Null: there was none.
    core::time_point told{}; ///< When a reply was sent; none: there was none.
  };

  /// A status whose pages are being sent.
  struct transfer {
    question_id id = 0;
    uint64_t number = 0; ///< The operator's.
    bool is_of_watch = false;
    std::shared_ptr<const std::vector<std::string>> pages{};
    size_t next = 0;
    reactor::timer deadline = 0;
  };

  /// A reading of logs.
  struct stream {
    uint64_t number = 0;         ///< The operator's.
    reactor::timer deadline = 0; ///< For the first reply; 0: it has come.
    uint32_t credit = 0;         ///< Not passed on yet.
    bool is_unwanted = false;    ///< The operator wants no more.
  };

  void go_on();
  result<link_socket::progress> serve();
  result<link_socket::progress> read();
  result<void> take_requests();
  void handle(const v1::OperatorRequest& x);
  void begin_stream(const v1::OperatorRequest& x);
  void on_streamed(question_id id, v1::OperatorReply x);
  void add_credit(const v1::AddLogCredit& x);
  void pass_credit();
  void stop_stream(uint64_t number);
  void end_streams();
  void pass_on(question_id id, const v1::OperatorRequest& x);
  void begin_watch(const v1::OperatorRequest& x);
  void look();
  question_id ask(const v1::OperatorRequest& x, bool is_of_watch = false);
  void on_answer(question_id id, v1::OperatorReply x);
  void on_status(question_id id, const shared_status& x);
  void on_watched(const v1::OperatorReply& x);
  void on_watched(question_id id, const shared_status& x);
  bool is_news(std::string news);
  void begin_transfer(question_id id, const question& of,
                      const shared_status& x);
  bool send_pages();
  void on_late_pages(question_id id);
  void drop_transfers(bool of_watch_only);
  void send(const v1::OperatorReply& x);
  void end_watch();
  void end_if_idle();
  bool takes_requests() const;
  void finish(const result<void>& how);

  reactor& home_;
  link_socket socket_;
  socket_watch watch_socket_;
  operator_setup setup_;
  frame_splitter requests_{request_size_max};
  std::shared_ptr<reply_path> path_; ///< Null before the start.
  std::map<question_id, question> questions_;
  std::map<question_id, stream> streams_;
  std::deque<transfer> transfers_; ///< The first one's pages are being sent.
  uint64_t number_;                ///< Names the session in this process.
  question_id last_question_ = 0;
  std::optional<status_watch> watch_;
  core::time_point last_request_;
  reactor::timer encryption_timer_ = 0;
  reactor::timer idle_timer_ = 0;
};

} // namespace actorrun::detail
