#include "actors/core/succession/succession_events.hpp"

namespace actorrun::core {

namespace {

std::string text_of(const charter_key& x) {
  return std::to_string(x.term) + '.' + std::to_string(x.version);
}

std::string millis(duration x) {
  using std::chrono::milliseconds;
  return std::to_string(std::chrono::duration_cast<milliseconds>(x).count());
}

struct message_writer {
  std::string operator()(const beat& x) const {
    return "beat " + std::to_string(x.term)
           + (x.charter ? " with " + text_of(x.charter->key) : "");
  }
  std::string operator()(const beat_heard& x) const {
    return "beat_heard " + std::to_string(x.term) + " has " + text_of(x.stored);
  }
  std::string operator()(const ask& x) const {
    return "ask " + std::to_string(x.term);
  }
  std::string operator()(const would& x) const {
    return "would " + std::to_string(x.term);
  }
  std::string operator()(const would_not& x) const {
    return "would_not " + std::to_string(x.term);
  }
  std::string operator()(const vote_request& x) const {
    return "vote_request " + std::to_string(x.term);
  }
  std::string operator()(const vote& x) const {
    return "vote " + std::to_string(x.term) + " with "
           + (x.charter ? text_of(x.charter->key) : "nothing");
  }
  std::string operator()(const resigned& x) const {
    return "resigned " + std::to_string(x.term) + " for "
           + to_string(x.successor);
  }
};

struct effect_writer {
  std::string operator()(const send_message& x) const {
    return to_string(x.what) + " to " + to_string(x.to);
  }
  std::string operator()(const keep_tombstone& x) const {
    return "keep_tombstone " + std::to_string(x.left.term) + " with "
           + (x.left.charter ? text_of(x.left.charter->key) : "nothing");
  }
  std::string operator()(const examine& x) const {
    return "examine " + to_string(x.who);
  }
  std::string operator()(const open_coordinator& x) const {
    return std::string{"open_coordinator"}
           + (x.successor ? " as successor" : "") + ", silence "
           + millis(x.silence);
  }
  std::string operator()(const set_leadership_end& x) const {
    return x.due == time_point{}
             ? "set_leadership_end now"
             : "set_leadership_end " + millis(x.due.time_since_epoch());
  }
  std::string operator()(const close_coordinator& x) const {
    return "close_coordinator: " + x.reason;
  }
  std::string operator()(const ask_decider&) const { return "ask_decider"; }
  std::string operator()(const report_charter_written& x) const {
    return "report_charter_written " + std::to_string(x.change);
  }
  std::string operator()(const move_agents& x) const {
    return "move_agents to " + to_string(x.to);
  }
  std::string operator()(const report_no_successor&) const {
    return "report_no_successor";
  }
  std::string operator()(const account_for& x) const {
    return "account_for " + to_string(x.who) + ", 1 of "
           + std::to_string(x.node_count);
  }
  std::string operator()(const report_election& x) const {
    using verdict = report_election::verdict;
    auto out = std::string{"report_election: "};
    switch (x.what) {
      case verdict::leads:
        out += "leads";
        break;
      case verdict::has_no_charter:
        out += "has no charter";
        break;
      case verdict::leader_known:
        out += "leader known";
        break;
      case verdict::lost_answers:
        out += "lost answers";
        break;
      case verdict::others_silent:
        out += "others silent";
        break;
      case verdict::is_under_way:
        out += "is under way";
        break;
      case verdict::terms_spent:
        out += "terms spent";
        break;
    }
    for (const auto& who : x.who)
      out += ' ' + to_string(who);
    return out;
  }
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + std::to_string(x.timer.value);
  }
};

} // namespace

std::string to_string(const succession_message& x) {
  return std::visit(message_writer{}, x);
}

std::string to_string(const succession_effect& x) {
  return std::visit(effect_writer{}, x);
}

} // namespace actorrun::core
