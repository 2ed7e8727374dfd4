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
  for (const auto& x : find_journals(folder)) {
    if (x.name.job != job || x.name.host != host)
      continue;
    auto known = read_snapshot(x.path, {}, journal_owner::trusted);
    if (!known)
      continue; // Another user's, perhaps: the folder may be shared.
    return known->result ? std::vector<core::excluded_host>{}
                         : std::move(known->excluded);
  }
  return {};
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
