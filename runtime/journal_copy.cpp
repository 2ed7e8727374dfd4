#include "runtime/journal_copy.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/network/operator_reach.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cerrno>
#include <utility>

#include <sys/mman.h>

namespace actorrun {

using namespace detail;

struct journal_copy::members {
  std::chrono::milliseconds limit;
  unique_fd file;
  operator_client whom;
  std::string name{};    ///< Empty: not heard of yet.
  uint64_t position = 0; ///< In the journal, of the next byte.
  uint64_t size = 0;     ///< In bytes.

  /// @returns whether there is more
  result<bool> add_part(operator_client::time_point due);
  result<void> add_all(operator_client::time_point due);
};

result<bool> journal_copy::members::add_part(operator_client::time_point due) {
  auto request = v1::OperatorRequest{};
  request.set_number(1);
  request.mutable_journal()->set_position(position);
  if (auto ok = whom.send(request); !ok)
    return ok.error();
  const auto x = whom.receive(due);
  if (!x)
    return x.error();
  if (!(*x)->has_journal())
    return refusal_in(**x, "what its journal has");
  const auto& part = (*x)->journal();
  size += part.text().size();
  if (size > size_max)
    return failure{errc::bad_argument,
                   formatted("the journal is longer than {} MiB: read it on the"
                             " host of the coordinator",
                             size_max >> 20)};
  if (name.empty())
    name = part.name();
  if (part.name() != name)
    return failure{errc::connection_failed,
                   "another coordinator leads the job now: it has a journal of"
                   " its own"};
  // What is not kept any more may end in the middle of a line.
  const auto* gap = part.position() != position ? "\n" : "";
  if (const auto error = write_all(file.get(), gap + part.text()); error != 0)
    return core::system_failure("the journal cannot be copied", error);
  position = part.position() + part.text().size();
  return !part.text().empty();
}

result<void> journal_copy::members::add_all(operator_client::time_point due) {
  for (;;) {
    const auto has_more = add_part(due);
    if (!has_more)
      return has_more.error();
    if (!*has_more)
      return {};
    due = operator_client::time_point::clock::now() + limit;
  }
}

journal_copy::journal_copy(std::unique_ptr<members> x)
  : members_(std::move(x)) {}
journal_copy::journal_copy(journal_copy&&) noexcept = default;
journal_copy& journal_copy::operator=(journal_copy&&) noexcept = default;
journal_copy::~journal_copy() = default;

result<journal_copy> journal_copy::fetch(const located_job& job,
                                         std::chrono::milliseconds limit) {
  auto there = reach(job, limit);
  if (!there)
    return there.error();
  auto file = unique_fd{::memfd_create("journal", MFD_CLOEXEC)};
  if (!file)
    return core::system_failure("the journal cannot be copied", errno);
  auto out = journal_copy{std::make_unique<members>(
    members{limit, std::move(file), std::move(there->whom)})};
  if (auto ok = out.members_->add_all(there->due); !ok)
    return ok.error();
  return out;
}

result<void> journal_copy::go_on() {
  return members_->add_all(operator_client::time_point::clock::now()
                           + members_->limit);
}

journal_place journal_copy::place() const {
  auto out = journal_place{
    formatted("/proc/self/fd/{}", members_->file.get()), {}, {}};
  if (auto known = journal_name_of(members_->name)) {
    out.job = std::move(known->job);
    out.host = std::move(known->host);
    out.began_ms = known->wall_ms;
  }
  return out;
}

} // namespace actorrun
