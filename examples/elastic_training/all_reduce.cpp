#include "all_reduce.hpp"

#include "fail.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace training {

namespace {

using namespace std::chrono_literals;

// From the start until all workers are connected. Generous: the workers of a
// generation start within milliseconds, but a busy machine may take longer.
constexpr auto meeting_time = 30s;
// Limit for a peer's hello; the others wait meanwhile.
constexpr auto hello_timeout = 2s;
// A peer that is silent for that long within a step has gone.
constexpr auto step_timeout = 30s;

constexpr auto magic = uint64_t{0x3152414554534c45};

// The first message of a worker. Fixed width, no padding, byte order of the
// machine: as for the numbers themselves, all machines are of one kind.
struct hello {
  uint64_t magic = 0;
  uint64_t job = 0;   ///< Fingerprint of the job id.
  uint64_t token = 0; ///< Of the generation.
  uint64_t step = 0;
  uint32_t rank = 0;
  uint32_t world_size = 0;
};

enum class answer : uint32_t { welcome, other_job, other_generation };

// Instead of a rank, if none is ahead of the others.
constexpr auto no_rank = UINT32_MAX;

std::string to_string(answer x) {
  switch (x) {
    case answer::welcome:
      return "welcome";
    case answer::other_job:
      return "it serves another job or already has a worker of this rank";
    case answer::other_generation:
      return "it is of another generation";
  }
  return "it gave an unknown answer";
}

hello hello_of(const environment& self, uint64_t step) {
  const auto job = fingerprint_of(std::as_bytes(std::span{self.job}));
  return {magic, job, self.token, step, self.rank, self.world_size};
}

template <class T>
std::span<std::byte> bytes_of(T& x) {
  return std::as_writable_bytes(std::span{&x, 1});
}

answer answer_to(const hello& peer, const hello& own) {
  if (peer.magic != own.magic || peer.job != own.job)
    return answer::other_job;
  if (peer.token != own.token || peer.world_size != own.world_size)
    return answer::other_generation;
  if (peer.rank == 0 || peer.rank >= own.world_size)
    return answer::other_job;
  return answer::welcome;
}

} // namespace

all_reduce::all_reduce(const environment& self, uint64_t step,
                       std::function<bool()> is_off)
  : is_off_(std::move(is_off)), rank_(self.rank), ahead_(no_rank) {
  if (self.world_size == 1)
    return; // Without peers no port is opened.
  if (rank_ == 0)
    gather(self, step);
  else
    join(self, step);
}

std::optional<uint32_t> all_reduce::ahead() const {
  return ahead_ == no_rank ? std::nullopt : std::optional{ahead_};
}

limit all_reduce::within(std::chrono::milliseconds time) const {
  return {std::chrono::steady_clock::now() + time, is_off_};
}

void all_reduce::gather(const environment& self, uint64_t step) {
  const auto meeting = within(meeting_time);
  const auto own = hello_of(self, step);
  const auto listener = listen_at(self.master_address, self.master_port,
                                  static_cast<int>(self.world_size));
  auto seats = std::vector<std::optional<socket_handle>>(self.world_size - 1);
  auto steps = std::vector<uint64_t>(self.world_size, step);
  for (auto missing = seats.size(); missing > 0;) {
    auto peer = accept_within(meeting, listener);
    if (!peer)
      throw peer_lost{std::to_string(missing) + " of "
                      + std::to_string(self.world_size)
                      + " workers did not come"};
    const auto greeting = within(hello_timeout);
    auto said = hello{};
    if (!receive_all(greeting, *peer, bytes_of(said)))
      continue;
    auto verdict = answer_to(said, own);
    if (verdict == answer::welcome && seats[said.rank - 1])
      verdict = answer::other_job;
    // A refused peer gets the answer; a peer that has left is not a member.
    if (!send_all(greeting, *peer, bytes_of(verdict))
        || verdict != answer::welcome)
      continue;
    seats[said.rank - 1] = std::move(*peer);
    steps[said.rank] = said.step;
    --missing;
  }
  for (auto& seat : seats)
    peers_.push_back(std::move(*seat));
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  if (*least != *most)
    ahead_ = static_cast<uint32_t>(std::find(steps.begin(), steps.end(), *most)
                                   - steps.begin());
  for (auto i = size_t{0}; i < peers_.size(); ++i)
    send_to(i, bytes_of(ahead_));
}

void all_reduce::join(const environment& self, uint64_t step) {
  const auto meeting = within(meeting_time);
  auto own = hello_of(self, step);
  auto zero = connect_within(meeting, self.master_address, self.master_port);
  if (!zero)
    throw peer_lost{"rank 0 does not listen at " + self.master_address
                    + " port " + std::to_string(self.master_port)};
  auto verdict = answer::other_job;
  if (!send_all(meeting, *zero, bytes_of(own))
      || !receive_all(meeting, *zero, bytes_of(verdict)))
    throw peer_lost{"rank 0 closed the connection"};
  if (verdict != answer::welcome)
    throw peer_lost{"rank 0 refused me: " + to_string(verdict)};
  if (!receive_all(meeting, *zero, bytes_of(ahead_)))
    throw peer_lost{"rank 0 closed the connection"};
  peers_.push_back(std::move(*zero));
}

void all_reduce::send_to(size_t peer, std::span<const std::byte> bytes) {
  if (!send_all(within(step_timeout), peers_[peer], bytes))
    throw peer_lost{"rank " + std::to_string(rank_ == 0 ? peer + 1 : 0)
                    + " has gone"};
}

void all_reduce::receive_from(size_t peer, std::span<std::byte> bytes) {
  if (!receive_all(within(step_timeout), peers_[peer], bytes))
    throw peer_lost{"rank " + std::to_string(rank_ == 0 ? peer + 1 : 0)
                    + " has gone"};
}

void all_reduce::sum(std::span<float> values) {
  if (rank_ != 0) {
    send_to(0, std::as_bytes(values));
    receive_from(0, std::as_writable_bytes(values));
    return;
  }
  received_.resize(values.size());
  for (auto i = size_t{0}; i < peers_.size(); ++i) {
    receive_from(i, std::as_writable_bytes(std::span{received_}));
    for (auto k = size_t{0}; k < values.size(); ++k)
      values[k] += received_[k];
  }
  for (auto i = size_t{0}; i < peers_.size(); ++i)
    send_to(i, std::as_bytes(values));
}

void all_reduce::broadcast(std::span<std::byte> bytes, uint32_t source) {
  if (rank_ != 0) {
    if (rank_ == source)
      send_to(0, bytes);
    receive_from(0, bytes);
    return;
  }
  if (source != 0)
    receive_from(source - 1, bytes);
  for (auto i = size_t{0}; i < peers_.size(); ++i)
    send_to(i, bytes);
}

void all_reduce::wait_for_all() {
  auto nothing = 0.0F;
  sum({&nothing, 1});
}

} // namespace training
