#include "cli/top/rows.hpp"

#include "actors/core/text.hpp"
#include "actors/job_status.hpp"
#include "cli/report/status_view.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace actorrun::cli::top {

namespace {

using figure = std::optional<uint64_t>;

const v1::WorkerVitals* vitals_of(const v1::AgentStatus& node,
                                  uint32_t local_rank) {
  for (const auto& x : node.vitals().workers())
    if (x.local_rank() == local_rank
        && x.pid() == node.pids(static_cast<int>(local_rank)))
      return &x;
  return nullptr;
}

/// Combines a figure of all workers of a node.
template <class Of, class Combine>
figure combined(const v1::AgentStatus& node, Of of, Combine combine) {
  auto out = figure{};
  for (const auto& x : node.vitals().workers())
    if (const auto value = of(x))
      out = out ? combine(*out, *value) : *value;
  return out;
}

template <class Of, class Combine>
figure figure_of(const row& x, Of of, Combine combine) {
  if (x.is_worker())
    return x.vitals != nullptr ? of(*x.vitals) : figure{};
  return x.node != nullptr ? combined(*x.node, of, combine) : figure{};
}

constexpr auto larger = [](uint64_t a, uint64_t b) { return std::max(a, b); };
constexpr auto smaller = [](uint64_t a, uint64_t b) { return std::min(a, b); };

/// The larger, the further in front; what is not known comes last.
uint64_t urgency(const row& x, order by) {
  const auto of = [](figure y) { return y ? *y + 1 : 0; };
  switch (by) {
    case order::rank:
      return 0;
    case order::cpu:
      return of(cpu_of(x));
    case order::memory:
      return of(memory_of(x));
    case order::silence:
      return of(silence_of(x));
    case order::compute:
      return of(compute_of(x));
    case order::age:
      break;
  }
  const auto age = age_of(x);
  return age ? UINT64_MAX - *age : 0;
}

void sort(std::vector<row>& rows, order by) {
  std::stable_sort(rows.begin(), rows.end(),
                   [by](const auto& a, const auto& b) {
                     return urgency(a, by) > urgency(b, by);
                   });
}

std::vector<row> workers_of(const row& above, order by) {
  const auto& node = *above.node;
  const auto is_placed = in_generation(*above.job->status, node);
  auto out = std::vector<row>{};
  for (uint32_t i = 0; i < static_cast<uint32_t>(node.pids_size()); ++i) {
    auto x = above;
    x.id.local_rank = i;
    if (is_placed)
      x.rank = global_rank(node, i);
    x.pid = node.pids(static_cast<int>(i));
    x.vitals = vitals_of(node, i);
    x.depth = above.depth + 1;
    x.is_folded = false;
    out.push_back(std::move(x));
  }
  sort(out, by);
  return out;
}

std::vector<row> nodes_of(const row& above, order by) {
  auto out = std::vector<row>{};
  const auto& job = *above.job->status;
  for (const auto& node : job.agents()) {
    auto x = above;
    x.id.agent = node.agent_id();
    x.node = &node;
    x.is_folded = false;
    out.push_back(std::move(x));
  }
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    const auto key = [&](const row& x) {
      return in_generation(job, *x.node) ? uint64_t{x.node->node_rank()}
                                         : UINT64_MAX;
    };
    return key(a) < key(b);
  });
  sort(out, by);
  return out;
}

/// Puts together the rows below one, as far as they are shown.
class tree_builder {
public:
  explicit tree_builder(const tree_options& how)
    : how_(how), filter_(core::lowered(how.filter)) {}

  void add_job(row x, bool has_row) {
    const auto is_in = is_match(x);
    x.is_folded = has_row && how_.folded.contains(x.id);
    auto below = std::vector<row>{};
    if (x.job->status)
      for (auto& node : nodes_of(x, how_.by)) {
        node.depth = has_row ? 1 : 0;
        add_node(std::move(node), is_in && has_row, below);
      }
    put(std::move(x), is_in, has_row, std::move(below), out_);
  }

  std::vector<row> take() { return std::move(out_); }

private:
  void add_node(row x, bool is_job_in, std::vector<row>& out) {
    const auto is_in = is_job_in || is_match(x);
    x.is_folded = how_.folded.contains(x.id);
    auto below = std::vector<row>{};
    for (auto& worker : workers_of(x, how_.by))
      if (is_in || is_match(worker))
        below.push_back(std::move(worker));
    put(std::move(x), is_in, true, std::move(below), out);
  }

  static void put(row x, bool is_in, bool has_row, std::vector<row> below,
                  std::vector<row>& out) {
    if (!is_in && below.empty())
      return;
    const auto is_folded = x.is_folded;
    if (has_row)
      out.push_back(std::move(x));
    if (!is_folded)
      out.insert(out.end(), std::move_iterator{below.begin()},
                 std::move_iterator{below.end()});
  }

  bool is_match(const row& x) const {
    return filter_.empty() || text_of(x).find(filter_) != std::string::npos;
  }

  const tree_options& how_;
  std::string filter_;
  std::vector<row> out_{};
};

} // namespace

std::string to_string(order x) {
  switch (x) {
    case order::rank:
      return "rank";
    case order::cpu:
      return "CPU";
    case order::memory:
      return "memory";
    case order::silence:
      return "silence";
    case order::compute:
      return "time that is computed per step";
    case order::age:
      break;
  }
  return "age, the youngest first";
}

std::vector<row> rows_of(const pictures& jobs, const tree_options& how) {
  auto builder = tree_builder{how};
  for (const auto& [key, picture] : jobs)
    builder.add_job({.id = {key}, .job = &picture}, jobs.size() > 1);
  return builder.take();
}

std::string text_of(const row& x) {
  if (x.node == nullptr)
    return core::lowered(x.job->status ? x.job->status->job_id() : x.id.job);
  if (x.is_worker())
    return core::lowered(formatted(
      "rank {} local {} pid {} {} {}", x.rank ? std::to_string(*x.rank) : "-",
      *x.id.local_rank, x.pid, x.node->host(), state_of(x)));
  return core::lowered(formatted("{} {} {} {} {}", x.node->host(),
                                 x.node->agent_id(), x.node->address(),
                                 x.node->state(), x.node->reason()));
}

std::string phase_of(const job_picture& x) {
  if (x.end)
    return "ended"; // Its last status may be older.
  return x.status ? x.status->phase() : "unknown";
}

std::string state_of(const row& x) {
  if (x.node == nullptr)
    return phase_of(*x.job);
  if (x.job->end) // What it said last is over.
    return x.is_worker() ? "ended" : "gone";
  if (!x.is_worker())
    return x.node->state();
  const auto letter
    = x.vitals != nullptr && x.vitals->has_state() ? x.vitals->state() : 0;
  switch (letter) {
    case 'R':
      return "runs";
    case 'S':
      return "sleeps";
    case 'D':
      return "blocked";
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
    case 'X':
      return "ended";
    default:
      return "-";
  }
}

std::optional<uint64_t> cpu_of(const row& x) {
  return figure_of(
    x,
    [](const auto& y) {
      return y.has_cpu_percent() ? figure{y.cpu_percent()} : figure{};
    },
    std::plus<uint64_t>{});
}

std::optional<uint64_t> memory_of(const row& x) {
  return figure_of(
    x,
    [](const auto& y) {
      return y.has_memory() ? figure{y.memory()} : figure{};
    },
    std::plus<uint64_t>{});
}

std::optional<uint64_t> silence_of(const row& x) {
  return figure_of(
    x,
    [](const auto& y) {
      return y.has_output_age_ms() ? figure{y.output_age_ms()} : figure{};
    },
    larger);
}

std::optional<uint64_t> compute_of(const row& x) {
  return figure_of(
    x,
    [](const auto& y) {
      return y.has_compute_us() ? figure{y.compute_us()} : figure{};
    },
    larger);
}

std::optional<uint64_t> age_of(const row& x) {
  return figure_of(
    x,
    [](const auto& y) {
      return y.has_age_ms() ? figure{y.age_ms()} : figure{};
    },
    smaller);
}

} // namespace actorrun::cli::top
