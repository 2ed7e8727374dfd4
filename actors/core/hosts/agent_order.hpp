// Defines what an actorrun and an agent that it has started on a host say to each
// other over the agent's standard input and output.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::core {

/// The version of what stands here. Both sides must have the same.
inline constexpr uint32_t order_version = 2;

/// Each side says so often that it is alive …
inline constexpr duration life_sign_interval = std::chrono::seconds{5};
/// … and is taken for lost after so long without a sign. A connection that breaks
/// without a word would be noticed in hours, or never.
inline constexpr duration life_sign_wait = std::chrono::seconds{15};

/// What an agent puts into its standard output as a sign of life, which workers write
/// to, too: it may stand in the middle of their lines, and is taken out again.
inline constexpr std::string_view life_sign{"\0actorrun-alive\0", 16};

/// In bytes: the longest order, and the longest line before and after it.
inline constexpr size_t order_size_max = 1024 * 1024;
inline constexpr size_t order_line_max = 512;

/// Everything the agent needs to know. It comes by standard input: a command line
/// can be read by other users, and each shell has rules of its own for it.
struct agent_order {
  std::vector<std::string> words; ///< The command line, without the program.
  /// Set in the agent, and so in its workers.
  std::vector<std::pair<std::string, std::string>> variables;
  std::string directory; ///< Absolute: where the agent and its workers run.
  std::string secret;    ///< Empty: none.
  /// The job's id was made up for this start: no coordinator has had it before.
  bool is_new_job = false;
  /// The agent of another host reports why the job has failed.
  bool is_quiet = false;
  /// The same in all orders of one launch, and in no other; empty: it is not said.
  std::string launch{};

  friend bool operator==(const agent_order&, const agent_order&) = default;
};

/// @retval errc::bad_argument  it is longer than `order_size_max`
result<std::string> encoded(const agent_order& order);

struct decoded_order {
  agent_order order;
  size_t size = 0; ///< In bytes; what follows are notices.
};

/// @param bytes All that has come so far.
/// @returns nothing if more has to come
/// @retval errc::bad_argument  it is no order
result<std::optional<decoded_order>> decode_order(std::string_view bytes);

/// The first line of an agent: it can be reached.
struct agent_greeting {
  uint32_t version = order_version; ///< The agent's `order_version`.
  std::string program;              ///< The version of its actorrun.
  uint16_t port = 0;                ///< Was free on its host just now.
  /// The address at which it was reached, numeric; empty if it does not know.
  std::string address;

  friend bool operator==(const agent_greeting&, const agent_greeting&)
    = default;
};

/// One line, with its end.
std::string to_line(const agent_greeting& greeting);

/// @param line Without its end; anything.
/// @returns nothing if it is another line
std::optional<agent_greeting> parse_greeting(std::string_view line);

/// What comes after the order.
struct agent_notice {
  enum class kind : uint8_t {
    end,     ///< Leave the job, as if the agent had got this signal.
    forward, ///< Pass this signal on to the workers.
    alive,   ///< The side that has given the order is.
  };
  kind what = kind::end;
  int signal = 0; ///< 1..64; 0: `alive`

  friend bool operator==(const agent_notice&, const agent_notice&) = default;
};

/// One line, with its end.
std::string to_line(const agent_notice& notice);

/// @param line Without its end; anything.
std::optional<agent_notice> parse_notice(std::string_view line);

} // namespace actorrun::core
