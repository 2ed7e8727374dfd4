#include "all_reduce.hpp"

#include "fail.hpp"
#include "text.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace training {

namespace {

using namespace std::chrono_literals;

// From the start until all workers are connected. Generous: the workers of an
// epoch start within milliseconds, but a busy machine may take longer.
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
  uint64_t job = 0; ///< Fingerprint of the job id.
  uint64_t epoch = 0;
  uint64_t step = 0;
  uint32_t rank = 0;
  uint32_t world_size = 0;
};

enum class answer : uint32_t { welcome, other_job, other_epoch, other_step };

std::string to_string(answer x) {
  switch (x) {
    case answer::welcome:
      return "welcome";
    case answer::other_job:
      return "it serves another job or already has a worker of this rank";
    case answer::other_epoch:
      return "it is of another epoch";
    case answer::other_step:
      return "it resumes at another step; is the checkpoint on a shared "
             "folder?";
  }
  return "it gave an unknown answer";
}

hello hello_of(const environment& self, uint64_t step) {
  const auto job = fingerprint_of(std::as_bytes(std::span{self.job}));
  return {magic, job, self.epoch, step, self.rank, self.world_size};
}

template <class T>
std::span<std::byte> bytes_of(T& x) {
  return std::as_writable_bytes(std::span{&x, 1});
}

answer answer_to(const hello& peer, const hello& own) {
  if (peer.magic != own.magic || peer.job != own.job)
    return answer::other_job;
  if (peer.epoch != own.epoch || peer.world_size != own.world_size)
    return answer::other_epoch;
  if (peer.rank == 0 || peer.rank >= own.world_size)
    return answer::other_job;
  return peer.step == own.step ? answer::welcome : answer::other_step;
}

} // namespace

all_reduce::all_reduce(const environment& self, uint64_t step)
  : adds_up_(self.rank == 0) {
  if (self.world_size == 1)
    return; // Without peers no port is opened.
  if (adds_up_)
    gather(self, step);
  else
    join(self, step);
  for (const auto& peer : peers_)
    set_timeout(peer, step_timeout);
}

void all_reduce::gather(const environment& self, uint64_t step) {
  const auto until = std::chrono::steady_clock::now() + meeting_time;
  const auto own = hello_of(self, step);
  const auto listener = listen_at(self.master_address, self.master_port,
                                  static_cast<int>(self.world_size));
  auto seats = std::vector<std::optional<socket_handle>>(self.world_size - 1);
  for (auto missing = seats.size(); missing > 0;) {
    auto peer = accept_until(listener, until);
    if (!peer)
      fail(std::to_string(missing) + " of " + std::to_string(self.world_size)
           + " workers did not come");
    set_timeout(*peer, hello_timeout);
    auto said = hello{};
    if (!receive_all(*peer, bytes_of(said)))
      continue;
    auto verdict = answer_to(said, own);
    if (verdict == answer::welcome && seats[said.rank - 1])
      verdict = answer::other_job;
    // A refused peer gets the answer; a peer that has left is not a member.
    if (!send_all(*peer, bytes_of(verdict)) || verdict != answer::welcome)
      continue;
    seats[said.rank - 1] = std::move(*peer);
    --missing;
  }
  for (auto& seat : seats)
    peers_.push_back(std::move(*seat));
}

void all_reduce::join(const environment& self, uint64_t step) {
  const auto until = std::chrono::steady_clock::now() + meeting_time;
  auto own = hello_of(self, step);
  auto zero = connect_until(self.master_address, self.master_port, until);
  if (!zero)
    fail("rank 0 does not listen at " + self.master_address + " port "
         + std::to_string(self.master_port));
  set_timeout(*zero, meeting_time);
  auto verdict = answer::other_job;
  if (!send_all(*zero, bytes_of(own)) || !receive_all(*zero, bytes_of(verdict)))
    fail("rank 0 closed the connection");
  if (verdict != answer::welcome)
    fail("rank 0 refused me: " + to_string(verdict));
  peers_.push_back(std::move(*zero));
}

void all_reduce::sum(std::span<float> values) {
  if (!adds_up_) {
    const auto& zero = peers_.front();
    if (!send_all(zero, std::as_bytes(values))
        || !receive_all(zero, std::as_writable_bytes(values)))
      fail("rank 0 has gone");
    return;
  }
  received_.resize(values.size());
  for (auto i = size_t{0}; i < peers_.size(); ++i) {
    if (!receive_all(peers_[i], std::as_writable_bytes(std::span{received_})))
      fail("rank " + std::to_string(i + 1) + " has gone");
    for (auto k = size_t{0}; k < values.size(); ++k)
      values[k] += received_[k];
  }
  for (auto i = size_t{0}; i < peers_.size(); ++i)
    if (!send_all(peers_[i], std::as_bytes(values)))
      fail("rank " + std::to_string(i + 1) + " has gone");
}

void all_reduce::wait_for_all() {
  auto nothing = 0.0F;
  sum({&nothing, 1});
}

} // namespace training
