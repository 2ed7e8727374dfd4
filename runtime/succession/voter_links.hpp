// Carries what the agents that elect a coordinator say to each other.
//
// Each of them listens at its endpoint, and connects to those that it speaks to. A link
// has one direction: who connected speaks, and who accepted listens. So two that
// connect at once need not agree on one of two links. Only who asks where the
// coordinator is has the answer on the same link: that may be all agents of a job at
// once, and a second link to each would cost as much again.
#pragma once

#include "actors/core/succession/succession_messages.hpp"
#include "actors/log.hpp"
#include "actors/voter_messages.hpp"
#include "messages/result.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/link_outbox.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/rejected_peers.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/socket_keeper.hpp"
#include "runtime/succession/recent_keys.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::detail {

/// What is remembered of links while this process lives. Of the reactor's thread.
struct voter_keys {
  /// Of so many others the key is asked for, and of so many it is shown.
  static constexpr size_t heard_max = 1'024;
  static constexpr size_t shown_max = 4 * heard_max;

  recent_keys heard{heard_max}; ///< Of links from others.
  recent_keys shown{shown_max}; ///< Of links to others.
  /// Those that are known by their endpoints only, of which two may be of one process,
  /// are numbered.
  std::map<std::string, size_t> endpoints{};
};

struct voter_links_config {
  credentials mine;
  agent_id self;
  socket_address
    where{}; ///< Where this process listens; port 0: the system chooses.
  /// How the others find this host; empty: that is not known yet, and it does not
  /// listen but at `listen_at_endpoint`.
  std::string host{};
  /// Timeout for one attempt to reach another, > 0. What was to be said is lost then:
  /// whoever elects says it again.
  core::duration limit = std::chrono::milliseconds{500};
  /// Speaks to the others when this process has ended; null: nothing does.
  std::shared_ptr<socket_keeper> keeper{};
  /// Whoever opens links of this process again, at another address, gives them the keys
  /// of the last ones: else others take it for another one with its name.
  std::shared_ptr<voter_keys> keys = std::make_shared<voter_keys>();
  log lines;
};

/// Answers on the link of a question. On any thread; lost when that link has ended, or
/// while the last answer waits there.
using voter_reply = std::function<void(const voter_message&)>;

/// Called on the reactor's thread; must not block.
struct voter_callbacks {
  std::function<void(const agent_id& from, voter_message, voter_reply)>
    on_message;
  /// A link to this one is up.
  std::function<void(const agent_id& to)> on_reached;
  /// The other side has ended the link, or cannot be reached. Proves nothing.
  std::function<void(const agent_id& to)> on_broken;
  /// Its machine has proved that this one has ended, with its workers.
  std::function<void(const agent_id& who, const core::tombstone& left)>
    on_proof{};
};

/// All functions can be called on any thread.
class voter_links {
public:
  /// @pre `home` outlives it
  /// @retval errc::cannot_listen  as `listener`
  static result<std::unique_ptr<voter_links>>
  open(reactor& home, voter_links_config config, voter_callbacks callbacks);

  ~voter_links();

  voter_links(const voter_links&) = delete;
  voter_links& operator=(const voter_links&) = delete;

  /// Where the others reach this process: `10.0.0.2:41000`; empty: nowhere.
  const std::string& endpoint() const { return endpoint_; }
  uint16_t port() const { return listener_ ? listener_->port() : uint16_t{0}; }

  /// Listens where nodes look for the job, too, while no coordinator does: for whoever
  /// knows of one. Agents that join are not answered.
  /// @retval as `listener`
  result<void> listen_at_endpoint(const socket_address& where);
  void leave_endpoint() { at_endpoint_.reset(); }

  /// Says it over the link to this one, which is made if there is none.
  /// @param where Where that one listens. Another one than before: it has moved, and
  ///             the last link ends.
  void send(const agent_id& to, const std::string& where,
            const voter_message& what);

  /// Says it once to whoever listens there, which may be a coordinator's port.
  /// @param what A beat, a survey, a question who leads, or what seeds say to each other.
  void notify(const std::string& where, const voter_message& what);

  /// Asks whoever listens there, and hears the answer from `to`. The link stays, for the
  /// same question again, until `end_questions`.
  /// @param what One question that takes its answer.
  void ask(const agent_id& to, const std::string& where,
           const find_leader& what);
  void end_questions();

  /// Makes that link, and says nothing.
  void reach(const agent_id& to, const std::string& where);

  /// Finds out whether this one has ended: makes a link to it if there is none, and if
  /// the last one has failed, has its machine asked. Without a proof nothing is reported.
  void examine(const agent_id& who, const std::string& where);

  /// What the machine of this process is to say in its place. It counts when this
  /// returns.
  void leave_behind(const core::tombstone& left);

  /// Takes the link of one that has come through another port of this process. On the
  /// reactor's thread.
  void adopt(unique_fd connection, const peer& who) {
    receive(std::move(connection), who);
  }

private:
  /// To one that we speak to.
  struct way_out {
    std::string endpoint;
    reactor_handle attempt{};
    reactor_handle link{};
    std::shared_ptr<link_outbox> outbox{}; ///< Null: there is no link yet.
    std::vector<std::string> frames{};     ///< Wait for it.
    core::time_point used{};
    agent_id answers{};      ///< To a question, are heard from this one.
    bool has_failed = false; ///< The last attempt, or the last link.
    job_key key_of_job{};    ///< By which it writes what it leaves behind.
    /// Where it was reached last.
    std::optional<socket_address> seen_at{};
  };

  /// From one that speaks to us.
  struct way_in {
    std::string id; ///< As the other side has named itself.
    std::string address;
    reactor_handle link{};
    std::optional<resumption_key> shown{}; ///< The key of its last link, then.
    bool is_question = false;              ///< Nothing else is heard.
    core::time_point heard{};              ///< The last time.
  };

  voter_links(reactor& home, voter_links_config config,
              voter_callbacks callbacks);

  result<void> listen();
  void receive(unique_fd connection, const peer& who);
  void make_room_for_one(bool is_question);
  bool admit(uint64_t number, const resumption_key& key);
  void end_way_in(uint64_t number, const result<void>& how);
  void put(const agent_id& to, const std::string& where, std::string frame);
  void make_room(bool is_question);
  std::string id_for(const agent_id& to) const;
  void dial(const agent_id& to, way_out& x);
  std::function<void(leader_at)> answer_handler(const agent_id& to) const;
  void on_connected(const agent_id& to, result<connected> x);
  void on_begun(const agent_id& to, std::shared_ptr<link_outbox> outbox);
  void break_way_out(const agent_id& to, const std::string& why);
  void end_way_out(const agent_id& to);
  void probe_process(const agent_id& who, const std::string& where);

  reactor& home_;
  voter_links_config config_;
  voter_callbacks callbacks_;
  std::string endpoint_;
  std::optional<listener> listener_;
  std::optional<listener> at_endpoint_;
  // Of the reactor's thread.
  rejected_peers cut_;
  std::map<agent_id, way_out> out_;
  std::map<uint64_t, way_in> in_;
  std::map<agent_id, reactor_handle> probes_;
  uint64_t last_number_ = 0;
  size_t question_max_; ///< Links of those that ask, and handshakes.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace actorrun::detail
