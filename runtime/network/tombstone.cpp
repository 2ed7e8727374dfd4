#include "runtime/network/tombstone.hpp"

#include "messages/version.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/munge_queue.hpp"
#include "runtime/os/peer_user.hpp"
#include "runtime/os/socket.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace actorrun::detail {

namespace {

constexpr std::string_view agent_label = "actorrun agent is gone v1:";
constexpr std::string_view coordinator_label
  = "actorrun coordinator is gone v2:";
constexpr std::string_view release_label = "actorrun free the port v1:";

constexpr auto take_over_limit = std::chrono::seconds{1};

using clock_type = std::chrono::steady_clock;

proof_bytes proof_of(const job_key& key, const nonce_bytes& incarnation,
                     const core::charter& job) {
  const auto bytes = encode_charter(job);
  return prove(key, coordinator_label,
               std::array{view(incarnation), std::string_view{bytes}});
}

/// Waits until there is something to read. False: too late.
bool is_readable(int fd, clock_type::time_point due) {
  using ms = std::chrono::milliseconds;
  for (;;) {
    const auto left = std::chrono::ceil<ms>(due - clock_type::now()).count();
    auto x = pollfd{.fd = fd, .events = POLLIN, .revents = 0};
    const auto count = left > 0 ? ::poll(&x, 1, static_cast<int>(left)) : 0;
    if (count >= 0 || errno != EINTR)
      return count == 1;
  }
}

} // namespace

std::string agent_tombstone(const job_key& key, std::string_view agent) {
  assert(is_peer_id(agent));
  auto id = std::string{agent};
  id.resize(peer_id_size_max, '\0');
  const auto proof = prove(key, agent_label, std::array{std::string_view{id}});
  return std::string{frame_magic} + std::string{view(proof)};
}

std::string coordinator_answer(const job_key& key,
                               const nonce_bytes& incarnation,
                               const core::charter& job) {
  return encode(server_hello{protocol_version, verdict::gone, {}})
         + encode(coordinator_tombstone{incarnation, job,
                                        proof_of(key, incarnation, job)});
}

bool is_genuine(const job_key& key, const coordinator_tombstone& x) {
  return same_proof(proof_of(key, x.incarnation, x.job), view(x.proof));
}

std::string release_request(const job_key& key,
                            const nonce_bytes& incarnation) {
  const auto proof = prove(key, release_label, std::array{view(incarnation)});
  return std::string{view(proof)};
}

taken_port take_over(const socket_address& where, const credentials& mine) {
  const auto due = clock_type::now() + take_over_limit;
  const auto fd
    = unique_fd{::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  // A listener whose queue is full drops packets. `connect` keeps this limit.
  const auto limit = timeval{.tv_sec = take_over_limit.count(), .tv_usec = 0};
  if (!fd
      || ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit)
           != 0)
    return {};
  if (::connect(fd.get(), where.get(), where.size) != 0)
    return {.has_hung_up = errno == ECONNREFUSED};
  auto talk = client_handshake{mine, purpose::operate, successor_id,
                               random_nonce(), trust::secret};
  send_whole(fd.get(), talk.opening());
  auto is_anyones = false; // It has closed, so whose it was cannot be known.
  while (talk.wanted() > 0 || talk.task()) {
    if (const auto& task = talk.task()) {
      const auto done = mine.munge->wait_for(*task, take_over_limit);
      send_whole(fd.get(), talk.take_from_munge(done));
      continue;
    }
    auto buffer = std::array<char, client_hello_size>{};
    if (!is_readable(fd.get(), due))
      return {};
    // What a peer announces may be larger than the buffer.
    const auto room = std::min(talk.wanted(), buffer.size());
    const auto got = ::recv(fd.get(), buffer.data(), room, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return {.has_hung_up = true};
    // By now it has accepted us.
    const auto user = user_of_peer(fd.get());
    if (user && *user != no_user && !is_trusted(*user))
      return {};
    is_anyones = is_anyones || user == no_user;
    send_whole(fd.get(), talk.feed({buffer.data(), static_cast<size_t>(got)}));
  }
  const auto& dead = talk.tombstone();
  if (!dead)
    return {.is_another_job = talk.has_strange_tombstone()};
  if (is_anyones)
    return {.has_hung_up = true};
  send_whole(fd.get(), release_request(mine.key, dead->incarnation));
  // It closes the connection after the port.
  auto end = char{};
  while (is_readable(fd.get(), due) && ::recv(fd.get(), &end, 1, 0) > 0) {
  }
  return {.dead = dead};
}

} // namespace actorrun::detail
