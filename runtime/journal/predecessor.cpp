#include "runtime/journal/predecessor.hpp"

#include "messages/formatted.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/journal_reader.hpp"
#include "runtime/os/thread.hpp"

#include <algorithm>
#include <future>
#include <memory>

namespace actorrun::detail {

namespace {

std::vector<core::excluded_host> find_exclusions(const std::string& folder,
                                                 const job_id& job,
                                                 const std::string& host) {
  const auto all = find_journals(folder);
  const auto last = std::ranges::find_if(all, [&](const auto& x) {
    return x.name.job == job && x.name.host == host;
  });
  if (last == all.end())
    return {};
  auto known = read_snapshot(last->path);
  if (!known || known->result)
    return {};
  return std::move(known->excluded);
}

} // namespace

result<std::vector<core::excluded_host>>
exclusions_of_predecessor(const std::string& folder, const job_id& job,
                          const std::string& host) {
  using answer = std::vector<core::excluded_host>;
  const auto promise = std::make_shared<std::promise<answer>>();
  auto found = promise->get_future();
  const auto is_started = run_aside([promise, folder, job, host] {
    promise->set_value(find_exclusions(folder, job, host));
  });
  if (!is_started
      || found.wait_for(predecessor_timeout) != std::future_status::ready)
    return failure{
      errc::system_failure,
      formatted(
        "{} could not be read within {} ms, so this coordinator does not"
        " know which hosts an earlier one had excluded",
        folder, predecessor_timeout.count())};
  return found.get();
}

} // namespace actorrun::detail
