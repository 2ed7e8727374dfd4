#include "actors/core/journal/spent_time.hpp"

#include <chrono>
#include <numeric>

namespace actorrun::core::journal {

std::string to_string(time_cause x) {
  switch (x) {
    case time_cause::training:
      return "training";
    case time_cause::starting:
      return "starting";
    case time_cause::regrouping:
      return "regrouping";
    case time_cause::waiting:
      return "waiting";
    case time_cause::out_of_touch:
      return "out_of_touch";
    case time_cause::finished:
      return "finished";
    case time_cause::standby:
      return "standby";
    case time_cause::hung:
      return "hung";
    case time_cause::checking:
      return "checking";
    case time_cause::saving:
      return "saving";
    case time_cause::lost:
      break;
  }
  return "lost";
}

std::string title_of(time_cause x) {
  switch (x) {
    case time_cause::waiting:
      return "waiting for nodes";
    case time_cause::out_of_touch:
      return "out of touch";
    case time_cause::checking:
      return "checked or unfit";
    case time_cause::lost:
      return "lost since the last save";
    default:
      return to_string(x);
  }
}

int64_t ticks_of(time_point x) {
  return std::chrono::floor<std::chrono::microseconds>(x.time_since_epoch())
    .count();
}

void spent_time::add(time_cause what, uint32_t places, uint64_t us) {
  worker_us[size_t(what)] += us * places;
  node_us[size_t(what)] += us;
}

void spent_time::add(const spent_time& x) {
  for (size_t i = 0; i < time_cause_count; ++i) {
    worker_us[i] += x.worker_us[i];
    node_us[i] += x.node_us[i];
  }
}

void spent_time::move_training(time_cause to, uint64_t worker, uint64_t node) {
  constexpr auto from = size_t(time_cause::training);
  worker_us[from] -= worker;
  worker_us[size_t(to)] += worker;
  node_us[from] -= node;
  node_us[size_t(to)] += node;
}

uint64_t spent_time::all_worker_us() const {
  return std::accumulate(worker_us.begin(), worker_us.end(), uint64_t{0});
}

uint64_t spent_time::all_node_us() const {
  return std::accumulate(node_us.begin(), node_us.end(), uint64_t{0});
}

} // namespace actorrun::core::journal
