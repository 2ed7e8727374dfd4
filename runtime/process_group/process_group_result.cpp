#include "runtime/process_group/call_channel.hpp"
#include "runtime/process_group/process_group.hpp"

#include <string>
#include <utility>

namespace actorrun::detail {

processes_result process_group::result_of(group_ending ending) const {
  auto result = processes_result{};
  result.was_closed = ending.was_closed;
  result.unlisted_failure_count = ending.unlisted_failure_count;
  if (!ending.failures.empty())
    result.first_failed = ending.failures.front().local_rank;
  for (auto& x : ending.failures)
    result.failures.emplace(x.local_rank, std::move(x));
  for (uint32_t rank = 0; rank < outputs_.workers.size(); ++rank) {
    result.stdouts[rank] = outputs_.workers[rank].out.path;
    result.stderrs[rank] = outputs_.workers[rank].err.path;
  }
  add_returns(result);
  return result;
}

void process_group::add_returns(processes_result& result) const {
  for (const auto& [rank, record] : tracker_->records()) {
    if (!files_.empty())
      add_return(result, rank, record);
    else if (record.has_succeeded)
      result.return_values.emplace(rank, nullptr);
  }
}

void process_group::add_return(processes_result& result, uint32_t rank,
                               const process_tracker::record& record) const {
  using stage = function_return::stage;
  auto returned = read_return(files_[rank].returned.get());
  if (!returned)
    add_problem(result, rank, record,
                "what the function returned is lost: " + returned.error().text);
  else if (returned->reached == stage::not_begun)
    add_problem(result, rank, record,
                "the function was never called: the program ended before main "
                "called actorrun::run_as_worker(argc, argv), or could not call "
                "it");
  else if (returned->reached == stage::returned && record.has_succeeded)
    result.return_values.emplace(rank, std::move(returned->value));
}

// A worker that has exited with 0 without doing what it was made for has
// failed. Of one that has failed anyway it may be the reason; of one that was
// killed it is none.
void process_group::add_problem(processes_result& result, uint32_t rank,
                                const process_tracker::record& record,
                                std::string problem) const {
  if (const auto i = result.failures.find(rank); i != result.failures.end()) {
    auto& [key, failed] = *i;
    if (failed.kind == core::failure_kind::exited
        && failed.details.message.empty())
      failed.details.message = std::move(problem);
  } else if (record.has_succeeded) {
    result.failures.emplace(
      rank, core::worker_failure{.agent = plan_.own.agent,
                                 .host = host_,
                                 .global_rank = rank,
                                 .local_rank = rank,
                                 .pid = record.pid,
                                 .kind = core::failure_kind::exited,
                                 .code = 0,
                                 .details = {.message = std::move(problem)}});
    result.first_failed = result.first_failed.value_or(rank);
  }
}

} // namespace actorrun::detail
