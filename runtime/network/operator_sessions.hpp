// Owns the sessions of all operators that one listener has accepted.
#pragma once

#include "runtime/network/operator_session.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace actorrun::detail {

/// Everything but the constructor, and the destructor of an empty one, runs on the
/// reactor's thread.
class operator_sessions {
public:
  /// Called when an operator's session is cut; may be empty.
  using cut_callback = std::function<void(const failure& why)>;

  /// @pre `home` outlives this
  operator_sessions(reactor& home, question_sink ask,
                    operator_limits limits = {})
    : home_(home), ask_(std::move(ask)), limits_(limits) {}

  /// Serves an operator whose handshake was accepted.
  /// @param key, trust, rights  As in `operator_setup`.
  void add(unique_fd connection, const std::optional<link_key>& key,
           const tls_trust& trust, operator_rights rights, cut_callback on_cut);

  void clear() { sessions_.clear(); }

private:
  struct entry {
    std::shared_ptr<const operator_session> session;
    reactor_handle handle;
  };

  void make_room();

  reactor& home_;
  question_sink ask_;
  operator_limits limits_;
  std::map<uint64_t, entry> sessions_;
  uint64_t last_session_ = 0;
};

} // namespace actorrun::detail
