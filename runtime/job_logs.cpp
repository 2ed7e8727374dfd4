#include "runtime/job_logs.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/logs/log_selection.hpp"
#include "messages/formatted.hpp"
#include "runtime/logs/log_pattern.hpp"
#include "runtime/network/operator_reach.hpp"
#include "runtime/os/run_folder.hpp"

#include <utility>

namespace actorrun {

using namespace detail;

namespace {

using line_callback = std::function<bool(const v1::LogLines&)>;

/// In bytes.
constexpr auto usual_window = uint32_t{512} * 1024;

uint32_t cost_of(const v1::LogLines& x) {
  auto out = size_t{0};
  for (const auto& line : x.lines())
    out += core::log_line_cost(line.text().size());
  return static_cast<uint32_t>(out);
}

v1::LogLines cleaned(v1::LogLines x) {
  clean(*x.mutable_trouble());
  for (auto& line : *x.mutable_lines())
    clean(*line.mutable_host());
  return x;
}

result<void> read(result<reached> there, const log_reading_options& how,
                  const line_callback& on_lines) {
  if (!there)
    return there.error();
  auto& [whom, due] = *there;
  auto request = v1::OperatorRequest{};
  request.set_number(1);
  *request.mutable_logs() = how.what;
  if (how.what.window() == 0)
    request.mutable_logs()->set_window(usual_window);
  if (auto ok = whom.send(request); !ok)
    return ok;
  auto credit = v1::OperatorRequest{};
  credit.mutable_log_credit()->set_number(request.number());
  for (;;) {
    auto x = whom.receive(due, how.stop);
    if (!x)
      return x.error();
    if (!*x)
      return {};
    if (!(*x)->has_logs())
      return refusal_in(**x, "what its workers have written");
    const auto lines = cleaned(std::move(*(*x)->mutable_logs()));
    if (!on_lines(lines) || lines.is_end())
      return {};
    due = operator_client::
      never; // From now on, silence says: nothing was written.
    if (lines.lines().empty())
      continue;
    credit.mutable_log_credit()->set_size(cost_of(lines));
    if (auto ok = whom.send(credit); !ok)
      return ok;
  }
}

result<v1::Stacks> ask_for_stacks(result<reached> there,
                                  const std::vector<uint32_t>& ranks) {
  auto request = v1::OperatorRequest{};
  request.mutable_stacks()->mutable_ranks()->Assign(ranks.begin(), ranks.end());
  auto x = ask(std::move(there), std::move(request));
  if (!x)
    return x.error();
  if (!x->has_stacks())
    return refusal_in(*x, "where its workers are");
  auto out = std::move(*x->mutable_stacks());
  clean(*out.mutable_trouble());
  for (auto& worker : *out.mutable_workers()) {
    for (auto* text : {worker.mutable_host(), worker.mutable_source(),
                       worker.mutable_trouble()})
      clean(*text);
    for (auto& frame : *worker.mutable_frames())
      clean(frame);
  }
  return out;
}

} // namespace

result<void> read_logs(const located_job& job, const log_reading_options& how,
                       const line_callback& on_lines) {
  return read(reach(job, how.limit), how, on_lines);
}

result<v1::Stacks> read_stacks(const located_job& job,
                               const std::vector<uint32_t>& ranks,
                               std::chrono::milliseconds limit) {
  return ask_for_stacks(reach(job, limit), ranks);
}

result<void> check_log_pattern(const std::string& text) {
  const auto x = log_pattern::parse(text);
  return x ? result<void>{} : x.error();
}

} // namespace actorrun
