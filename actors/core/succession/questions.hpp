// Decides whom an agent asks where the coordinator is, and what it makes of answers.
#pragma once

#include "messages/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace actorrun::core {

/// Of one that has not answered so many questions, the next one is asked: its host may be
/// lost.
inline constexpr uint32_t unanswered_max = 3;
/// Likewise of one that has answered, and does not know: it may be cut off.
inline constexpr uint32_t unknowing_max = 20;

/// All agents of a job may look for the coordinator at once, and each link costs as much
/// as a hundred questions. So each asks one of those that may know at a time, and begins
/// with another one, by its id.
class questions {
public:
  explicit questions(const agent_id& self);

  /// Which one to ask now, 0..known-1.
  /// @param known So many may know, at least one.
  /// @param unanswered So many questions to one that is silent, at least 1.
  size_t next(size_t known, uint32_t unanswered = unanswered_max);

  /// One has answered, whatever it knows.
  void note_answer() { silent_ = 0; }

  /// The search is over.
  void end() { turn_ = silent_ = asked_ = 0; }

private:
  size_t first_;
  uint32_t turn_ = 0;
  uint32_t silent_ = 0; ///< Questions since the last answer, and …
  uint32_t asked_ = 0;  ///< … since its turn began.
};

/// Of an answer.
enum class answer_worth { nothing_new, ask_leader, believed };

/// What an agent knows when it hears where the coordinator is.
struct search_state {
  std::string trying{}; ///< Where it connects to; empty: nowhere.
  std::string lost{};   ///< Where its last link was, which has ended.
  /// It has a link to a coordinator that is silent, and asks whether there is another.
  bool has_link = false;
};

/// Another one than the leader may not have heard that this leader is lost: what it says
/// counts where nothing better is known.
/// @param is_of_leader The leader itself has answered.
/// @param coordinator The leader's, `host:port`; empty: who answers does not know.
answer_worth weigh(const search_state& mine, bool is_of_leader,
                   const std::string& coordinator);

} // namespace actorrun::core
