#include "runtime/journal.hpp"

#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/journal_reader.hpp"
#include "runtime/program_support.hpp"

#include <cerrno>
#include <csignal>

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
  return journal_reading{
    std::make_unique<members>(members{std::move(*reader)})};
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

bool may_run(const core::journal::snapshot& x) {
  const auto& where = x.coordinator;
  if (x.result)
    return false;
  return where.host != own_host_name()
         || ::kill(static_cast<pid_t>(where.pid), 0) == 0 || errno == EPERM;
}

core::time_point journal_now() {
  return core::time_point::clock::now();
}

} // namespace actorrun
