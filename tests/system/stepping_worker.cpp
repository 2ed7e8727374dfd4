// A worker that takes steps together with its peers, as training does: no step ends
// before all have done their part. It writes down what it loses.
//
//   stepping_worker FOLDER [STEP_TIME_US [RANK]]
//
// Who is started with RANK lives through changes, and has no safe points.
//
// FOLDER/lost    a line for each step that an end of the generation has cut off
// FOLDER/saved   a line for each safe point where all have come together
// FOLDER/at.PID  the generation, the rank, the size of the group, and the steps
// done FOLDER/end     made by a test: all end after the same step
#include "runtime/worker/live.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr uint64_t nothing = UINT64_MAX;

void sleep_us(long us) {
  const auto pause = timespec{us / 1'000'000, us % 1'000'000 * 1'000};
  ::nanosleep(&pause, nullptr);
}

void append(const std::string& path, const std::string& line) {
  const auto fd
    = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (::write(fd, line.data(), line.size()) != ssize_t(line.size()))
    std::abort();
  ::close(fd);
}

/// What the workers of one generation share: zeroes at first, so all numbers are
/// one larger than what they stand for.
class shared_steps {
public:
  using slot = std::atomic<uint64_t>;

  shared_steps(const std::string& folder,
               const actorrun::worker::generation& generation)
    : size_((generation.world_size() + 2) * sizeof(slot)) {
    const auto path = folder + "/steps." + std::to_string(generation.number());
    const auto fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (::ftruncate(fd, off_t(size_)) != 0)
      std::abort();
    auto* at
      = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at == MAP_FAILED)
      std::abort();
    slots_ = static_cast<slot*>(at);
  }

  ~shared_steps() { ::munmap(slots_, size_); }

  shared_steps(const shared_steps&) = delete;
  shared_steps& operator=(const shared_steps&) = delete;

  slot& first_step() { return slots_[0]; }
  slot& last_step() { return slots_[1]; }
  slot& done_by(uint32_t rank) { return slots_[2 + rank]; }

private:
  size_t size_;
  slot* slots_;
};

class training {
public:
  training(std::string folder, long step_us, bool has_safe_points)
    : folder_(std::move(folder)), step_us_(step_us),
      has_safe_points_(has_safe_points) {}

  int run() {
    for (auto& generation : actorrun::worker::generations())
      if (generation.run([&] { train(generation); }))
        return 0;
    return 0;
  }

private:
  // Who has the state tells the others how far it is.
  void train(const actorrun::worker::generation& generation) {
    auto shared = shared_steps{folder_, generation};
    const auto& survivors = generation.survivors();
    const auto source = survivors.empty() ? 0 : survivors[0];
    if (generation.rank() == source)
      shared.first_step() = step_ + 1;
    wait(generation, [&] { return shared.first_step() != 0; });
    step_ = shared.first_step() - 1;
    tell(generation);
    for (auto last = nothing; step_ != last;) {
      take_step(generation, shared);
      if (const auto x = shared.last_step().load(); x != 0)
        last = x - 1;
      tell(generation);
      if (!has_safe_points_)
        continue;
      generation.safe_point(step_, [&] {
        append(folder_ + "/saved", std::to_string(generation.rank()) + " "
                                     + std::to_string(step_) + "\n");
      });
    }
  }

  void take_step(const actorrun::worker::generation& generation,
                 shared_steps& shared) {
    sleep_us(step_us_);
    try {
      if (generation.rank() == 0 && shared.last_step() == 0
          && ::access((folder_ + "/end").c_str(), F_OK) == 0)
        shared.last_step() = step_ + 2;
      shared.done_by(generation.rank()) = step_ + 1;
      wait(generation, [&] {
        for (uint32_t i = 0; i < generation.world_size(); ++i)
          if (shared.done_by(i) < step_ + 1)
            return false;
        return true;
      });
    } catch (const std::exception&) {
      append(folder_ + "/lost", std::to_string(generation.number()) + " "
                                  + std::to_string(generation.rank()) + " "
                                  + std::to_string(step_) + "\n");
      throw;
    }
    ++step_;
  }

  template <class Condition>
  static void wait(const actorrun::worker::generation& generation,
                   Condition is_met) {
    while (!is_met()) {
      generation.throw_if_over();
      sleep_us(100);
    }
  }

  void tell(const actorrun::worker::generation& generation) const {
    const auto path = folder_ + "/at." + std::to_string(::getpid());
    const auto draft = path + "~";
    if (auto* file = std::fopen(draft.c_str(), "w")) {
      std::fprintf(file, "%llu %u %u %llu\n",
                   static_cast<unsigned long long>(generation.number()),
                   generation.rank(), generation.world_size(),
                   static_cast<unsigned long long>(step_));
      std::fclose(file);
    }
    std::rename(draft.c_str(), path.c_str());
  }

  std::string folder_;
  long step_us_;
  bool has_safe_points_;
  uint64_t step_ = 0; ///< Those that are done: the state of the model.
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return 2;
  const auto* rank = std::getenv("RANK");
  const auto is_without
    = argc > 3 && rank != nullptr && argv[3] == std::string{rank};
  return training{argv[1], argc > 2 ? std::atol(argv[2]) : 2'000, !is_without}
    .run();
}
