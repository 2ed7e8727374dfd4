// Serves the store of one generation, from the first client on with a thread of its
// own.
#pragma once

#include "actors/core/store/store.hpp"
#include "actors/core/time.hpp"
#include "actors/log.hpp"
#include "messages/result.hpp"
#include "runtime/os/peer_user.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/store/link.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/epoll.h>

namespace actorrun::detail {

/// At most this many connections. Torch 2.0 and before open two per worker.
inline constexpr size_t store_clients_max = 65'536;

/// Room for so many costs next to nothing; workers may open more than they must.
inline constexpr size_t store_clients_expected = 512;

/// At most this many adopted clients wait for the thread; more are cut off.
inline constexpr size_t store_adopted_max = 4'096;

/// Torch 2.1 sends the second half of an APPEND at once; a client that has not
/// done so for this long is older and meant DELETE_KEY.
inline constexpr auto store_decision_delay = std::chrono::milliseconds{250};

struct store_server_config {
  core::store_limits limits{};
  /// Further connections are accepted and closed at once. Below, half of the
  /// descriptors that this process may have beyond a reserve (`descriptor_shares`).
  size_t client_count_max = store_clients_max;
  /// So many are expected; room for them is made before.
  size_t client_count_expected = store_clients_expected;
  std::string name{}; ///< Of the store, for the log: `store of generation 2`.
  log lines{};
  /// Finds the user behind a client of this host.
  std::optional<uid_t> (*user_of)(int fd) = user_of_peer;
};

class store_server {
public:
  /// Listens, and serves until it is destroyed. Many jobs never use it: `home`
  /// waits for the first client, and starts the thread that serves all.
  /// @pre `home` outlives the server
  /// @param socket Bound, of TCP. Listens no more afterwards; whoever has
  ///               another descriptor of it keeps the port.
  /// @retval errc::cannot_listen   the system refuses
  static result<std::unique_ptr<store_server>>
  start(reactor& home, unique_fd socket, store_server_config config);

  /// Cuts all connections; waits for `home` and for the thread.
  ~store_server();

  /// Serves a client that has connected elsewhere, and of which nothing has been
  /// read; not when the server has been stopped. Any thread may call.
  /// @param socket Of TCP, non-blocking.
  void adopt(unique_fd socket);

  store_server(const store_server&) = delete;
  store_server& operator=(const store_server&) = delete;

  /// Cuts all connections and listens no more, soon; does not wait.
  void stop();

  /// Waits until that has happened; memory may still be freed, which then goes
  /// back to the system.
  /// @pre `stop()` has been called
  void await_stopped() const { has_stopped_.wait(false); }

private:
  using client = core::store_client;
  using clock = std::chrono::steady_clock;

  /// Of epoll; those of clients are their numbers, from 2 on.
  static constexpr uint64_t wake_up_token = 0;
  static constexpr uint64_t listener_token = 1;

  store_server(reactor& home, unique_fd socket, store_server_config config);

  void on_home(reactor::task fn);
  void await_first();
  void begin();
  result<void> open();
  result<void> start_thread();
  void run();
  void close_up();
  void make_room();
  void round();
  int await_events(std::span<epoll_event> events);
  int round_timeout() const;
  void accept_all();
  void admit(unique_fd socket);
  void admit_adopted();
  bool has_adopted();
  bool has_place_for(const unique_fd& socket);
  bool is_of_job(const unique_fd& socket);
  void pause_accepting();
  void watch_listener(bool is_accepting);
  void on_event(client who, uint32_t events);
  bool read(client who, store_link& link);
  void serve(client who, std::string_view input);
  void run_effects(core::store_effects effects);
  void serve_again();
  void decide_late();
  void touch(client who, store_link& link);
  void flush();
  void watch(client who, store_link& link);
  void drop(client who, std::string_view why);
  std::string reason(std::string_view why) const;
  void tell(std::string text);

  reactor& home_;
  store_server_config config_;
  unique_fd listener_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> has_stopped_{false};
  std::mutex adopted_mutex_;
  std::vector<unique_fd> adopted_; ///< Guarded by it; not admitted yet.

  // Of `home_`, until there is a thread.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  reactor::timer retry_ = 0;
  unique_fd epoll_;
  unique_fd wake_up_;
  std::thread thread_;

  // Of the thread.
  std::unique_ptr<core::store> store_;
  std::unordered_map<client, store_link> links_;
  std::vector<client> touched_; ///< Have output or may be read again.
  std::vector<client> again_;   ///< Have had their turn, and want more.
  /// With the time at which it is decided; each client is here once at most.
  std::deque<std::pair<clock::time_point, client>> undecided_;
  std::vector<char> room_; ///< For what is read.
  client last_{};
  clock::time_point accepts_again_ = clock::time_point::min();
  bool is_accepting_ = true;
  bool is_busy_ = false; ///< Something has happened in this round.
  size_t told_count_ = 0;
};

} // namespace actorrun::detail
