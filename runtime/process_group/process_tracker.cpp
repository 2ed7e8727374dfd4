#include "runtime/process_group/process_tracker.hpp"

#include <utility>
#include <variant>

namespace actorrun::detail {

namespace {

struct recorder {
  std::map<uint32_t, process_tracker::record>& records;

  void operator()(const ports::process_started& x) const {
    records[x.local_rank].pid = x.pid;
  }
  void operator()(const ports::process_not_started& x) const {
    records[x.local_rank] = {.error = x.error, .subject = x.subject};
  }
  void operator()(const ports::process_exited& x) const {
    records[x.local_rank].has_succeeded = x.exit_code == 0 && x.signal == 0;
  }
};

} // namespace

void process_tracker::note(const ports::process_event& event) {
  const auto guard = std::lock_guard{mutex_};
  std::visit(recorder{records_}, event);
  changed_.notify_all();
}

void process_tracker::note(group_ending ending) {
  const auto guard = std::lock_guard{mutex_};
  ending_ = std::move(ending);
  changed_.notify_all();
}

std::map<uint32_t, process_tracker::record> process_tracker::records() const {
  const auto guard = std::lock_guard{mutex_};
  return records_;
}

std::optional<group_ending> process_tracker::ending() const {
  const auto guard = std::lock_guard{mutex_};
  return ending_;
}

void noting_process_host::start(generation_id generation,
                                ports::fence_token decided,
                                std::vector<ports::process_spec> processes,
                                listener on_event) {
  host_->start(generation, decided, std::move(processes),
               [tracker = tracker_, on_event = std::move(on_event)](
                 std::vector<ports::process_event> events) {
                 for (const auto& x : events)
                   tracker->note(x);
                 on_event(std::move(events));
               });
}

} // namespace actorrun::detail
