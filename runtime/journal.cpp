#include "runtime/journal.hpp"

#include "actors/core/process_stat.hpp"
#include "messages/formatted.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/journal_reader.hpp"
#include "runtime/os/file.hpp"
#include "runtime/program_support.hpp"

#include <chrono>
#include <ctime>

#include <unistd.h>

namespace actorrun {

using namespace detail;

std::string own_journal_folder(
  const std::function<std::optional<std::string>(const std::string& name)>&
    variable) {
  return journal_folder(variable);
}

std::vector<journal_place> list_journals(const std::string& folder) {
  auto out = std::vector<journal_place>{};
  for (auto& x : find_journals(folder))
    out.push_back({std::move(x.path), std::move(x.name.job),
                   std::move(x.name.host), x.name.wall_ms, x.changed_ms});
  return out;
}

struct journal_reading::members {
  explicit members(journal_reader x) : reader(std::move(x)) {}

  journal_reader reader;
  core::journal::snapshot known{};
  core::journal::record last{};
};

journal_reading::journal_reading(std::unique_ptr<members> x)
  : members_(std::move(x)) {}
journal_reading::journal_reading(journal_reading&&) noexcept = default;
journal_reading&
journal_reading::operator=(journal_reading&&) noexcept = default;
journal_reading::~journal_reading() = default;

result<journal_reading> journal_reading::open(const std::string& path) {
  auto reader = journal_reader::open(path);
  if (!reader)
    return reader.error();
  return journal_reading{std::make_unique<members>(std::move(*reader))};
}

std::optional<core::journal::record> journal_reading::next() {
  auto& [reader, known, last] = *members_;
  while (auto line = reader.next()) {
    if (auto* all = std::get_if<core::journal::snapshot>(&*line)) {
      if (all->number > known.number)
        known = std::move(*all);
    } else if (auto* x = std::get_if<core::journal::record>(&*line);
               x != nullptr && x->number > known.number) {
      known.apply(*x);
      last = *x;
      return std::move(*x);
    }
  }
  return {};
}

const core::journal::snapshot& journal_reading::known() const {
  return members_->known;
}

std::string journal_reading::json() const {
  return to_line(members_->last);
}

uint64_t journal_reading::bad_line_count() const {
  return members_->reader.bad_line_count();
}

const std::string& journal_reading::last_trouble() const {
  return members_->reader.last_trouble();
}

namespace {

/// How far two clocks, or a clock and its ticks, may be apart.
constexpr auto clock_slack = std::chrono::seconds{2};

/// Since when the process runs; none: it has ended, or is a zombie, or the kernel
/// does not say. Includes the time in which the machine slept.
std::optional<core::duration> age_of(int64_t pid) {
  const auto stat
    = core::parse_stat(read_kernel_file(formatted("/proc/{}/stat", pid)));
  auto now = timespec{};
  if (!stat || stat->state == 'Z' || stat->state == 'X' || !stat->birth
      || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return {};
  const auto ticks_per_second = uint64_t(::sysconf(_SC_CLK_TCK));
  const auto born = std::chrono::milliseconds{
    int64_t(*stat->birth * 1'000 / ticks_per_second)};
  return std::chrono::seconds{now.tv_sec}
         + std::chrono::nanoseconds{now.tv_nsec} - born;
}

} // namespace

// Another process may have its number by now, also after a restart of the machine.
bool is_of_this_host(const core::journal::snapshot& x) {
  return x.coordinator.host == own_host_name();
}

bool may_run(const core::journal::snapshot& x) {
  const auto& where = x.coordinator;
  if (x.result || x.left)
    return false;
  if (!is_of_this_host(x))
    return true;
  const auto age = age_of(where.pid);
  const auto since = journal_now() - x.began.when;
  return age && since >= -clock_slack && *age + clock_slack >= since;
}

core::time_point journal_now() {
  return core::time_point::clock::now();
}

} // namespace actorrun
