#include "runtime/worker/live.hpp"

#include "runtime/worker/detail/control_link.hpp"
#include "runtime/worker/live.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace actorrun::worker {

namespace {

using namespace std::chrono_literals;

/// The agent answers a hello within that time, or refuses it.
constexpr auto hello_timeout = 15s;

/// So long an exception waits for the news that explains it.
constexpr auto word_timeout = 2s;

/// Set where there is no generation yet: the agent has started the worker ahead.
constexpr auto ahead_variable = "ACTORRUN_AHEAD";

/// Without an agent, whether the program has left the generation is looked at so
/// often.
constexpr auto left_interval = 50ms;

bool has_text(const char* x) {
  return x != nullptr && *x != '\0';
}

template <class T>
T number_in_environment(const char* name, T otherwise) {
  const auto* text = std::getenv(name);
  auto out = T{};
  if (text == nullptr)
    return otherwise;
  const auto* end = text + std::strlen(text);
  const auto done = std::from_chars(text, end, out);
  return done.ec == std::errc{} && done.ptr == end ? out : otherwise;
}

std::shared_ptr<told_generation> told_by_environment() {
  auto x = generation_order{};
  x.restarts = number_in_environment<uint64_t>("TORCHELASTIC_RESTART_COUNT", 0);
  x.number
    = number_in_environment<uint64_t>("ACTORRUN_GENERATION", x.restarts + 1);
  return std::make_shared<told_generation>(std::move(x));
}

} // namespace

// -- ranks --------------------------------------------------------------------

uint64_t ranks::size() const {
  auto out = uint64_t{0};
  for (const auto& [first, last] : runs_)
    out += uint64_t{last} - first + 1;
  return out;
}

bool ranks::contains(uint32_t rank) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const auto& x) {
    return x.first <= rank && rank <= x.second;
  });
}

uint32_t ranks::operator[](uint64_t index) const {
  for (const auto& [first, last] : runs_) {
    const auto count = uint64_t{last} - first + 1;
    if (index < count)
      return static_cast<uint32_t>(first + index);
    index -= count;
  }
  assert(!"there is no such rank");
  return 0;
}

// -- generation
// --------------------------------------------------------------------

generation::generation(std::shared_ptr<control_link> link,
                       std::shared_ptr<told_generation> told)
  : link_(std::move(link)), told_(std::move(told)),
    survivors_(told_->order.survivors),
    rank_(number_in_environment<uint32_t>("RANK", 0)),
    world_size_(number_in_environment<uint32_t>("WORLD_SIZE", 1)),
    local_rank_(number_in_environment<uint32_t>("LOCAL_RANK", 0)) {}

uint64_t generation::number() const {
  return told_->order.number;
}

uint64_t generation::restarts() const {
  return told_->order.restarts;
}

const std::string& generation::reason() const {
  return told_->order.reason;
}

bool generation::speaks() const {
  return link_ && link_->speaks();
}

bool generation::is_over() const {
  return told_->how != over::no && speaks();
}

bool generation::wait_over(std::chrono::nanoseconds time) const {
  // The wait may end because the program has left the generation, and destroys it.
  const auto link = link_;
  const auto told = told_;
  if (link)
    return link->speaks() && link->wait_over(*told, time);
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::min<clock::duration>(time, 24h);
  for (auto now = clock::now(); now < end && !told->is_left; now = clock::now())
    std::this_thread::sleep_for(
      std::min<clock::duration>(end - now, left_interval));
  return false;
}

void generation::throw_if_over() const {
  if (!is_over())
    return;
  if (told_->how == over::lost)
    throw agent_lost{link_->reason_of(*told_)};
  throw regroup{link_->reason_of(*told_)};
}

bool generation::pass(uint64_t step, bool saves) const {
  if (!speaks())
    return true;
  const auto where = link_->pass(*told_, step, saves);
  if (where == at_step::past)
    link_->say_soon(step_packet(step));
  else if (where == at_step::over)
    throw_if_over();
  return where != at_step::to_save;
}

bool generation::is_explained(std::string_view trouble) const {
  if (!speaks())
    return false;
  if (told_->how != over::no)
    return told_->how != over::lost;
  link_->say(trouble_packet(trouble));
  link_->wait_over(*told_, word_timeout);
  const auto how = told_->how.load();
  return how == over::regroup || how == over::stop;
}

void generation::leave() {
  if (speaks())
    link_->leave(*told_);
  else
    told_->is_left = true;
}

// -- generation_loop
// ---------------------------------------------------------------

namespace {

std::atomic<bool> has_loop{false};

}

generation_loop::generation_loop() {
  if (has_loop.exchange(true))
    throw std::logic_error{"another loop over generations has not ended"};
}

generation_loop::~generation_loop() {
  if (current_)
    current_->leave();
  if (link_)
    link_->close();
  has_loop = false;
}

generation* generation_loop::next() {
  if (!std::exchange(has_begun_, true)) {
    if (!open()) {
      current_ = std::make_shared<generation>(nullptr, told_by_environment());
      return current_.get();
    }
  } else {
    if (!current_)
      return nullptr;
    current_->leave();
    const auto how = current_->told_->how.load();
    const auto number = current_->number();
    const auto is_over = current_->is_over();
    current_.reset();
    if (!is_over || how == over::stop) {
      if (link_)
        link_->close();
      return nullptr; // The work is done, or this is another process.
    }
    if (how != over::lost)
      link_->say(parked_packet(number));
  }
  auto told = link_->next();
  if (!told && link_->is_lost())
    throw agent_lost{link_->refusal()};
  if (!told)
    return nullptr;
  for (const auto& [name, value] : told->order.environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  ::unsetenv(ahead_variable); // A program that replaces itself is not ahead.
  current_ = std::make_shared<generation>(link_, std::move(told));
  return current_.get();
}

// False: there is no agent, or it does not want to speak with this process. One that
// was started ahead has no generation without it: it is parked from the beginning,
// for as long as it takes.
bool generation_loop::open() {
  const auto is_ahead = has_text(std::getenv(ahead_variable));
  const auto* path = std::getenv("ACTORRUN_CONTROL");
  auto link = has_text(path) ? control_link::open(path) : nullptr;
  if (!link && is_ahead)
    throw agent_lost{"there is no agent that tells this worker its first"
                     " generation"};
  if (!link)
    return false;
  if (is_ahead) {
    link->say(parked_packet(0));
    link_ = std::move(link);
    return true;
  }
  if (link->await_first(hello_timeout)) {
    link_ = std::move(link);
    return true;
  }
  if (link->is_lost())
    std::fprintf(stderr,
                 "actorrun: this worker does not live through changes: %s\n",
                 link->refusal().c_str());
  link->close();
  return false;
}

void on_regroup(std::function<void(std::string_view)> hook) {
  control_link::add_hook(std::move(hook));
}

} // namespace actorrun::worker

// -- C ------------------------------------------------------------------------

namespace {

using namespace actorrun::worker;

/// The loop of a program in C, and its generation.
struct program {
  // Of one thread: that of the loop.
  std::unique_ptr<generation_loop> loop;
  std::shared_ptr<const generation> own;

  std::mutex mutex; ///< For what any thread may ask:
  std::shared_ptr<const generation> shown;
};

// Never destroyed: threads of the program and hooks may use it when it exits, and
// one that exits in a hook must not wait for that.
program& this_program() {
  static auto& x = *[] {
    static auto* out = new program;
    ::pthread_atfork([] { out->mutex.lock(); }, [] { out->mutex.unlock(); },
                     [] { out->mutex.unlock(); });
    return out;
  }();
  return x;
}

/// For any thread: whoever has it keeps it alive.
std::shared_ptr<const generation> shown_generation() {
  auto& x = this_program();
  const auto lock = std::lock_guard{x.mutex};
  return x.shown;
}

void show(std::shared_ptr<const generation> now) {
  auto& x = this_program();
  x.own = now;
  const auto lock = std::lock_guard{x.mutex};
  x.shown.swap(now);
}

// Threads are told of the last generation until there is another, or none.
void end_loop() {
  this_program().loop.reset();
  show(nullptr);
}

const generation* own_generation() {
  return this_program().own.get();
}

/// A program in C could not save.
struct save_failed {};

int lost(const agent_lost&) {
  return ACTORRUN_LIVE_LOST;
}

// @param otherwise  for a generation that is not over
int code_of(const generation& x, int otherwise) {
  try {
    x.throw_if_over();
    return otherwise;
  } catch (const agent_lost& error) {
    return lost(error);
  } catch (const std::exception&) {
    return ACTORRUN_LIVE_OVER;
  }
}

} // namespace

int actorrun_live_next(void) {
  try {
    auto& loop = this_program().loop;
    if (!loop)
      loop = std::make_unique<generation_loop>();
    if (loop->next() != nullptr) {
      show(loop->current());
      return ACTORRUN_LIVE_GENERATION;
    }
    end_loop();
    return ACTORRUN_LIVE_ENDED;
  } catch (const agent_lost& x) {
    end_loop();
    return lost(x);
  } catch (const std::exception&) {
    show(nullptr);
    return ACTORRUN_LIVE_FAILED;
  }
}

void actorrun_live_end(void) {
  end_loop();
}

uint64_t actorrun_live_number(void) {
  const auto* x = own_generation();
  return x == nullptr ? 0 : x->number();
}

uint32_t actorrun_live_rank(void) {
  const auto* x = own_generation();
  return x == nullptr ? 0 : x->rank();
}

uint32_t actorrun_live_world_size(void) {
  const auto* x = own_generation();
  return x == nullptr ? 0 : x->world_size();
}

uint32_t actorrun_live_local_rank(void) {
  const auto* x = own_generation();
  return x == nullptr ? 0 : x->local_rank();
}

uint64_t actorrun_live_restarts(void) {
  const auto* x = own_generation();
  return x == nullptr ? 0 : x->restarts();
}

const char* actorrun_live_reason(void) {
  const auto* x = own_generation();
  return x == nullptr ? "" : x->reason().c_str();
}

size_t actorrun_live_survivors(uint32_t* firsts, uint32_t* lasts, size_t room) {
  const auto* x = own_generation();
  if (x == nullptr)
    return 0;
  const auto& runs = x->survivors().runs();
  if (firsts != nullptr && lasts != nullptr)
    for (size_t i = 0; i < std::min(room, runs.size()); ++i) {
      firsts[i] = runs[i].first;
      lasts[i] = runs[i].second;
    }
  return runs.size();
}

int actorrun_live_is_over(void) {
  const auto x = shown_generation();
  return x ? code_of(*x, ACTORRUN_LIVE_NOT_OVER) : ACTORRUN_LIVE_NOT_OVER;
}

int actorrun_live_wait_over(int64_t time_ns) {
  const auto x = shown_generation();
  return x && x->wait_over(std::chrono::nanoseconds{time_ns})
           ? code_of(*x, ACTORRUN_LIVE_OVER)
           : ACTORRUN_LIVE_NOT_OVER;
}

int actorrun_live_safe_point(uint64_t step) {
  return actorrun_live_safe_point_saving(step, nullptr, nullptr);
}

int actorrun_live_safe_point_saving(uint64_t step, int (*save)(void* context),
                                    void* context) {
  const auto* x = own_generation();
  if (x == nullptr)
    return ACTORRUN_LIVE_NOT_OVER;
  try {
    if (save == nullptr)
      x->safe_point(step);
    else
      x->safe_point(step, [=] {
        if (save(context) != 0)
          throw save_failed{};
      });
    return ACTORRUN_LIVE_NOT_OVER;
  } catch (const save_failed&) {
    return ACTORRUN_LIVE_FAILED;
  } catch (const agent_lost& error) {
    return lost(error);
  } catch (const std::exception&) {
    return ACTORRUN_LIVE_OVER;
  }
}

int actorrun_live_is_explained(const char* trouble) {
  const auto* x = own_generation();
  return x != nullptr && x->is_explained(trouble == nullptr ? "" : trouble) ? 1
                                                                            : 0;
}

void actorrun_live_on_regroup(void (*hook)(const char* reason, void* context),
                              void* context) {
  if (hook != nullptr)
    on_regroup([=](std::string_view reason) {
      hook(std::string{reason}.c_str(), context);
    });
}
