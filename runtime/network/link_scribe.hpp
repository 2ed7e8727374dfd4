// A connection of a broker of CAF whose bytes come from a link.
#pragma once

#include "messages/caf.hpp"
#include "runtime/network/link_pipe.hpp"

#include <caf/io/receive_policy.hpp>
#include <caf/io/scribe.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#if ACTORRUN_CAF_1
#include <caf/byte_buffer.hpp>
#endif

namespace caf::io::network {
class multiplexer;
}

namespace actorrun::detail {

class scribe_calls;

/// A connection of a broker whose bytes come from a pipe instead of a socket. Used on
/// the network thread of its actor system only, except for its constructor, until it
/// is destroyed.
class link_scribe final : public caf::io::scribe {
public:
#if ACTORRUN_CAF_1
  using buffer = caf::byte_buffer;
#else
  using buffer = std::vector<char>;
#endif

  link_scribe(caf::io::network::multiplexer& home, pipe_end link);
  ~link_scribe() override;

  void configure_read(caf::io::receive_policy::config how) override;

  /// CAF's protocol asks for none.
  void ack_writes(bool) override {}

  buffer& wr_buf() override {
    return written_;
  }
  buffer& rd_buf() override {
    return piece_;
  }
  void flush() override;
  void graceful_shutdown() override;
  void add_to_loop() override;
  void remove_from_loop() override {
    reads_ = false;
  }

  std::string addr() const override {
    return {};
  }
  uint16_t port() const override {
    return 0;
  }

private:
  friend class scribe_calls;

  void read();
  size_t next_size() const;
  bool forget_spawn_server();

  caf::io::network::multiplexer& home_;
  std::shared_ptr<scribe_calls> calls_;
  std::shared_ptr<link_scribe*> self_; ///< For calls that are under way.
  pipe_end link_;
  std::optional<caf::io::receive_policy::config> how_{};
  bool reads_ = false;
  bool is_reading_ = false; ///< Right now.
  bool is_known_ = false;   ///< CAF has heard of the other side's system.
  std::string unread_{};
  size_t read_to_ = 0; ///< Of `unread_`.
  buffer piece_{};
  buffer written_{};
};

} // namespace actorrun::detail
