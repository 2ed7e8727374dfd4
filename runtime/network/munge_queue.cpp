#include "runtime/network/munge_queue.hpp"

#include <atomic>
#include <utility>

namespace actorrun::detail {

struct munge_call::question {
  callback on_done; // The reactor thread's.
  std::mutex mutex;
  reactor* home = nullptr; // Guarded by mutex; null: abandoned.

  bool is_waited_for() {
    const auto lock = std::lock_guard{mutex};
    return home != nullptr;
  }
};

namespace {

void deliver(const std::shared_ptr<munge_call::question>& x,
             result<std::string> answer) {
  const auto lock = std::lock_guard{x->mutex};
  if (!x->home)
    return;
  x->home->post([x, found = std::move(answer)] {
    if (const auto on_done = std::exchange(x->on_done, nullptr))
      on_done(found);
  });
}

} // namespace

failure munge_hangs() {
  return {errc::connection_failed, "munge does not answer: it may hang"};
}

munge_call& munge_call::operator=(munge_call&& other) noexcept {
  abandon();
  question_ = std::move(other.question_);
  return *this;
}

void munge_call::abandon() {
  if (!question_)
    return;
  const auto lock = std::lock_guard{question_->mutex};
  question_->home = nullptr;
  question_->on_done = nullptr;
}

/// The thread's side.
struct munge_queue::desk {
  std::shared_ptr<munge_service> munge;
  std::atomic<size_t> waiting = 0;
  std::optional<uid_t> own_user; // The thread's.

  result<std::string> run(const munge_task& task) {
    const auto user = own();
    if (!user)
      return user.error();
    if (task.what == munge_task::kind::seal)
      return munge->seal(task.text, *user);
    auto opened = munge->open(task.text);
    if (!opened)
      return opened.error();
    if (opened->user != *user)
      return failure{errc::user_mismatch,
                     "munge says that the credential is another user's"};
    return std::move(opened->text);
  }

  /// Ourselves as the daemon numbers us: in a container, geteuid(2) may say
  /// something else.
  result<uid_t> own() {
    if (own_user)
      return *own_user;
    const auto sealed = munge->seal("actorrun", munge_service::any_user);
    if (!sealed)
      return sealed.error();
    const auto opened = munge->open(*sealed);
    if (!opened)
      return opened.error();
    own_user = opened->user;
    return *own_user;
  }
};

munge_queue::munge_queue(std::shared_ptr<munge_service> munge)
  : desk_(std::make_shared<desk>()) {
  desk_->munge = std::move(munge);
}

task_thread& munge_queue::thread() {
  const auto lock = std::lock_guard{mutex_};
  if (!thread_)
    thread_.emplace("actorrun-munge");
  return *thread_;
}

munge_call munge_queue::ask(reactor& home, munge_task task,
                            munge_call::callback on_done) {
  auto x = std::make_shared<munge_call::question>();
  x->home = &home;
  x->on_done = std::move(on_done);
  if (desk_->waiting >= munge_queue_max) {
    deliver(x, failure{errc::connection_failed,
                       "munge does not answer, and too many wait for it"});
    return munge_call{std::move(x)};
  }
  ++desk_->waiting;
  thread().post([x, at = desk_, task = std::move(task)] {
    --at->waiting;
    if (x->is_waited_for())
      deliver(x, at->run(task));
  });
  return munge_call{std::move(x)};
}

result<std::string> munge_queue::wait_for(munge_task task,
                                          core::duration timeout) {
  return thread()
    .ask(timeout,
         [at = desk_, task = std::move(task)] { return at->run(task); })
    .value_or(munge_hangs());
}

result<void> munge_queue::check(core::duration timeout) {
  const auto sealed = wait_for({munge_task::kind::seal, "actorrun"}, timeout);
  return sealed ? result<void>{} : sealed.error();
}

} // namespace actorrun::detail
