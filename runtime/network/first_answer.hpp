// Passes on the first of several answers to one question.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace actorrun::detail {

/// Thread-safe; copies share the question.
template <class Answer>
class first_answer {
public:
  explicit first_answer(std::function<void(Answer)> fn)
    : question_(std::make_shared<question>(std::move(fn))) {}

  void operator()(Answer x) const {
    if (!question_->is_answered.exchange(true))
      question_->fn(std::move(x));
  }

private:
  struct question {
    explicit question(std::function<void(Answer)> x) : fn(std::move(x)) {}

    std::function<void(Answer)> fn;
    std::atomic<bool> is_answered{false};
  };

  std::shared_ptr<question> question_;
};

} // namespace actorrun::detail
