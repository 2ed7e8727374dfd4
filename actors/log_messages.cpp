#include "actors/log_messages.hpp"

#include "messages/type_ids.hpp"

#include <algorithm>
#include <utility>

namespace actorrun {

namespace {

/// In bytes, for agent, request and the tag and length of each worker.
constexpr auto report_reserve = size_t{1024};
constexpr auto stack_overhead = size_t{8};

core::std_streams outputs_from_wire(v1::LogOutputs x) {
  switch (x) {
    case v1::LOG_OUTPUTS_OUT:
      return core::std_streams::out;
    case v1::LOG_OUTPUTS_ERR:
      return core::std_streams::err;
    default:
      return core::std_streams::all;
  }
}

v1::WorkerStack stack_to_wire(const core::worker_stack& x) {
  auto out = v1::WorkerStack{};
  out.set_rank(x.global_rank);
  out.set_local_rank(x.local_rank);
  out.set_pid(x.pid);
  out.set_source(x.source);
  for (const auto& frame : x.frames)
    out.add_frames(frame);
  out.set_trouble(x.trouble);
  out.set_behind(x.behind);
  return out;
}

} // namespace

core::log_selection from_wire(const v1::LogSelection& x) {
  auto out = core::log_selection{};
  const auto count = std::min<size_t>(x.ranks_size(), core::selected_ranks_max);
  out.ranks.assign(x.ranks().begin(), x.ranks().begin() + int(count));
  out.outputs = outputs_from_wire(x.outputs());
  out.previous = x.previous();
  out.generation = {x.generation()};
  out.follow = x.follow();
  out.since_ms = x.since_ms();
  if (x.has_tail())
    out.tail = x.tail();
  out.grep = x.grep();
  return out;
}

v1::LogChunk to_wire(core::log_chunk x) {
  auto out = v1::LogChunk{};
  for (auto& line : x.lines) {
    auto& to = *out.add_lines();
    to.set_rank(line.rank);
    to.set_generation(line.generation.value);
    to.set_is_err(line.is_err);
    to.set_text(std::move(line.text));
    to.set_truncated(line.truncated);
    to.set_wall_ms(line.wall_ms);
  }
  out.set_trouble(std::move(x.trouble));
  out.set_is_end(x.is_end);
  return out;
}

size_t cost_of(const google::protobuf::RepeatedPtrField<v1::LogLine>& lines) {
  auto out = size_t{0};
  for (const auto& x : lines)
    out += core::log_line_cost(x.text().size());
  return out;
}

v1::OperatorReply to_reply(v1::LogChunk x, const std::string& host) {
  auto out = v1::OperatorReply{};
  auto& to = *out.mutable_logs();
  to.mutable_lines()->Swap(x.mutable_lines());
  for (auto& line : *to.mutable_lines())
    line.set_host(host);
  to.set_trouble(std::move(*x.mutable_trouble()));
  to.set_is_end(x.is_end());
  return out;
}

v1::StacksReport to_wire(const std::vector<core::worker_stack>& workers) {
  auto out = v1::StacksReport{};
  auto size = report_reserve;
  for (const auto& x : workers) {
    auto worker = stack_to_wire(x);
    size += worker.ByteSizeLong() + stack_overhead;
    if (size > v1::message_size_max) {
      out.set_truncated(true);
      break;
    }
    *out.add_workers() = std::move(worker);
  }
  return out;
}

} // namespace actorrun
