#include "runtime/os/resolver.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/thread.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace actorrun::detail {

using address_result = result<std::vector<socket_address>>;

struct resolution::question {
  std::string host;
  uint16_t port = 0;
  callback on_done; // The reactor thread's.
  std::mutex mutex;
  reactor* home = nullptr; // Guarded by mutex; null: abandoned.
};

namespace {

using question_ptr = std::shared_ptr<resolution::question>;

void deliver(const question_ptr& x, address_result answer) {
  const auto lock = std::lock_guard{x->mutex};
  if (!x->home)
    return;
  x->home->post([x, found = std::move(answer)] {
    if (const auto on_done = std::exchange(x->on_done, nullptr))
      on_done(found);
  });
}

bool is_waited_for(const question_ptr& x) {
  const auto lock = std::lock_guard{x->mutex};
  return x->home != nullptr;
}

// The few threads that may block, and the names that wait for them. A thread
// ends when none is left.
class thread_pool {
public:
  // Never destroyed: a thread may still be inside the resolver at exit.
  static thread_pool& instance() {
    static auto& pool = *new thread_pool;
    return pool;
  }

  result<void> ask(const question_ptr& x) {
    const auto lock = std::lock_guard{mutex_};
    if (waiting_.size() >= resolver_queue_max)
      return failure{errc::connection_failed,
                     formatted("too many host names wait for the resolver; "
                               "host \"{}\" was not asked for",
                               x->host)};
    waiting_.push_back(x);
    if (thread_count_ < resolver_threads_max && !start_thread()
        && thread_count_ == 0) {
      waiting_.pop_back();
      return failure{
        errc::system_failure,
        formatted("no thread to resolve host \"{}\" with", x->host)};
    }
    return {};
  }

private:
  bool start_thread() {
    if (!run_aside([this] { run(); }))
      return false;
    ++thread_count_;
    return true;
  }

  void run() {
    while (const auto next = take())
      if (is_waited_for(next))
        deliver(next, resolve(next->host, next->port));
  }

  question_ptr take() {
    const auto lock = std::lock_guard{mutex_};
    if (waiting_.empty()) {
      --thread_count_;
      return nullptr;
    }
    auto out = std::move(waiting_.front());
    waiting_.pop_front();
    return out;
  }

  std::mutex mutex_;
  std::deque<question_ptr> waiting_; // Guarded by mutex_.
  size_t thread_count_ = 0;          // Guarded by mutex_.
};

} // namespace

resolution::resolution(reactor& home, const std::string& host, uint16_t port,
                       callback on_done)
  : question_(std::make_shared<question>()) {
  question_->host = host;
  question_->port = port;
  question_->on_done = std::move(on_done);
  question_->home = &home;
  if (const auto number = numeric_address(host, port))
    deliver(question_, std::vector{*number});
  else if (const auto ok = thread_pool::instance().ask(question_); !ok)
    deliver(question_, ok.error());
}

resolution::~resolution() {
  const auto lock = std::lock_guard{question_->mutex};
  question_->home = nullptr;
  question_->on_done = nullptr;
}

} // namespace actorrun::detail
