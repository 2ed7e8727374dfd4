// Lets those frames of CAF's protocol pass that a member of a job sends, and no
// others: CAF trusts every byte that it gets, forwards what is for others, and
// holds something for every actor that it hears of.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/caf_frame.hpp"
#include "runtime/network/link_ends.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::detail {

/// Checks both directions of one link.
///
/// What arrives is a handshake, then messages of the types that the other side's
/// role sends, for an actor that it can know. The first of an agent is a request to
/// join, with an address that it may speak for; and all of them bear the id that
/// the client has proved to be. What leaves is stopped without a word where
/// the other side would not take it: CAF asks every new system for servers that
/// we do not have.
class frame_filter {
public:
  using host_check = std::function<bool(const std::string& host)>;
  using lease_check = std::function<bool(int64_t sent_ns)>;
  using member_check = std::function<bool()>;

  /// @param may_speak_for Whether the other side may announce this host as its
  ///                      address. May be empty: any.
  /// @param has_lease     Whether a keep-alive of the other side's agent, with
  ///                      this stamp, is answered. CAF gets those that come
  ///                      before the agent has asked to join over this link,
  ///                      and all if this is empty.
  /// @param is_member     Whether the other side's agent was accepted: the questions
  ///                      of others are not passed on. May be empty: always.
  /// @param peer_host     Where the link comes from: a request to join is marked if
  ///                      it brings another address. Empty: none is marked.
  explicit frame_filter(link_ends ends, host_check may_speak_for = {},
                        lease_check has_lease = {}, member_check is_member = {},
                        std::string peer_host = {});

  /// Appends what may pass to `out`; keeps back an incomplete frame, and
  /// keep-alives, whose answers `take_answers` returns.
  /// @returns what is wrong with the other side, as a verb and its object: cut the
  ///          link, nothing after it may pass
  result<void> arriving(std::string_view bytes, std::string& out);

  /// How many frames have passed since the last call.
  size_t take_passed_count() { return std::exchange(passed_count_, 0); }

  /// Frames that are to be sent back. Leaves nothing.
  std::string take_answers() { return std::exchange(answers_, {}); }

  /// The same for what CAF sends here.
  /// @returns a failure if that is no frame
  result<void> leaving(std::string_view bytes, std::string& out);

private:
  bool is_allowed(const caf_frame& x);
  bool is_greeting(const caf_frame& x);
  bool is_allowed_message(const caf_frame& x);
  bool is_from_peer(const caf_frame& x) const;
  bool is_of_client(const frame_message& x);
  bool may_join(std::string_view bytes);
  bool may_ask();
  std::string marked(const caf_frame& x) const;
  bool may_leave(const caf_frame& x);
  bool is_answered(const caf_frame& x);
  bool is_of_outsider(const caf_frame& x) const;
  void note_answer(const caf_frame& x);

  link_ends ends_;
  host_check may_speak_for_;
  lease_check has_lease_;
  member_check is_member_;
  std::string peer_host_;
  std::string answers_;
  std::string fault_; ///< Of the last frame that was refused; empty: any.
  frame_splitter arriving_{caf_frame_layout};
  frame_splitter leaving_{caf_frame_layout};
  std::string peer_node_; ///< From its handshake; empty: none has come.
  // Few, mostly one.
  std::vector<uint64_t> ours_;   ///< Actors here that the other side can know.
  std::vector<uint64_t> theirs_; ///< Actors there that have written.
  size_t greeting_count_ = 0;
  size_t join_count_ = 0;
  size_t passed_count_ = 0;
  size_t question_count_ = 0; ///< Without an answer.
};

} // namespace actorrun::detail
