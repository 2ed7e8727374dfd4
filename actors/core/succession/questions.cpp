#include "actors/core/succession/questions.hpp"

#include <cassert>
#include <functional>
#include <string>

namespace actorrun::core {

questions::questions(const agent_id& self)
  : first_(std::hash<std::string>{}(self.value)) {}

size_t questions::next(size_t known, uint32_t unanswered) {
  assert(known > 0 && unanswered > 0);
  if (silent_ >= unanswered || asked_ >= unknowing_max) {
    ++turn_;
    silent_ = asked_ = 0;
  }
  ++silent_;
  ++asked_;
  return (first_ % known + turn_) % known;
}

answer_worth weigh(const search_state& mine, bool is_of_leader,
                   const std::string& coordinator) {
  if (coordinator.empty())
    return answer_worth::ask_leader;
  if (coordinator == mine.trying)
    return answer_worth::nothing_new;
  const auto is_new = coordinator != mine.lost;
  if (is_of_leader || (is_new && mine.trying.empty() && !mine.has_link))
    return answer_worth::believed;
  return answer_worth::ask_leader;
}

} // namespace actorrun::core
