#include "cli/journal_commands.hpp"

#include "actors/core/journal/story.hpp"
#include "actors/job_status.hpp"
#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/journal_view.hpp"
#include "cli/report/status_view.hpp"
#include "messages/formatted.hpp"
#include "runtime/journal.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <thread>

namespace actorrun::cli {

namespace {

using namespace core::journal;

constexpr auto program = "actorctl";

/// How often a journal that is followed is looked at.
constexpr auto follow_interval = std::chrono::milliseconds{100};

/// Timeout for an explanation by a coordinator.
constexpr auto answer_limit = std::chrono::seconds{3};

constexpr int unhealthy = 1;

/// In bytes, of a name that is shown.
constexpr size_t host_size_max = 255;

/// At most so many coordinators of a job before the last one are told of.
constexpr size_t predecessor_count_max = 100;

/// What a journal argument means; of a file nothing but its path is known.
result<journal_place> find_journal(const journal_subject& x) {
  if (x.name.find('/') != std::string::npos)
    return journal_place{.path = x.name, .job = {}, .host = {}};
  const auto all = list_journals(x.folder);
  const auto i = std::ranges::find_if(all, [&](const auto& y) {
    return x.name.empty() || y.job.value == x.name;
  });
  if (i != all.end())
    return *i;
  return failure{
    errc::connection_refused,
    x.name.empty()
      ? formatted("there is no journal in {}; jobs write theirs on the host of"
                  " their coordinator",
                  x.folder)
      : formatted(
        "there is no journal of job {} in {}; jobs write theirs on the"
        " host of their coordinator",
        in_quotes(x.name), x.folder)};
}

result<journal_reading> open(const journal_subject& x) {
  const auto place = find_journal(x);
  if (!place)
    return place.error();
  return journal_reading::open(place->path);
}

/// All of it.
result<journal_reading> read(const std::string& path) {
  auto out = journal_reading::open(path);
  if (!out)
    return out;
  while (out->next()) {
  }
  if (out->known().number == 0)
    return failure{errc::bad_argument,
                   formatted("the journal holds no record{}{}",
                             out->last_trouble().empty() ? "" : ": ",
                             out->last_trouble())};
  return out;
}

result<journal_reading> read(const journal_subject& x) {
  const auto place = find_journal(x);
  if (!place)
    return place.error();
  return read(place->path);
}

/// The journals of the coordinators that the last one has succeeded, the oldest in
/// front. A job that has ended is another one, even if it has the same id.
std::vector<journal_reading> read_predecessors(const std::string& folder,
                                               const journal_place& last) {
  auto places = list_journals(folder);
  std::erase_if(places, [&](const auto& x) {
    return x.job != last.job || x.began_ms >= last.began_ms;
  });
  std::ranges::sort(places, std::greater{}, &journal_place::began_ms);
  auto out = std::vector<journal_reading>{};
  for (const auto& x : places) {
    auto one = read(x.path);
    if (!one || one->known().result || may_run(one->known())
        || out.size() == predecessor_count_max)
      break;
    out.push_back(std::move(*one));
  }
  std::ranges::reverse(out);
  return out;
}

void warn_of_damage(const journal_reading& x) {
  if (x.bad_line_count() > 0)
    std::cerr << formatted("{}: warning: {} damaged {} of the journal left out"
                           " ({})\n",
                           program, x.bad_line_count(),
                           x.bad_line_count() == 1 ? "line is" : "lines are",
                           x.last_trouble());
}

core::time_point now_of(const snapshot& x) {
  return may_run(x) ? std::max(journal_now(), x.latest.when) : x.latest.when;
}

void print(const explanation& x, const std::string& state, bool json) {
  std::cout << (json ? to_json(x, state) : to_text(x));
}

/// That of a job whose coordinator has ended without an outcome.
explanation of_lost_coordinator(const snapshot& x) {
  auto out = why(x, x.latest.when);
  out.sentence = formatted(
    "The coordinator (pid {} on {}) has ended without an outcome;"
    " its journal ends at {}. Until then: {}",
    x.coordinator.pid, core::one_line(x.coordinator.host, host_size_max),
    clock_text(x.latest.wall_ms), out.sentence);
  return out;
}

/// So much after the beginning, or before the end.
core::time_point moment_in(const snapshot& all,
                           const std::optional<journal_offset>& at) {
  if (!at)
    return all.latest.when;
  return at->from_end ? all.latest.when - at->by : all.began.when + at->by;
}

/// The later of the two, by both clocks.
moment moment_after(const moment& known, core::time_point when) {
  const auto by = std::max(when - known.when, core::duration{0});
  return {
    known.when + by,
    known.wall_ms
      + std::chrono::duration_cast<std::chrono::milliseconds>(by).count()};
}

} // namespace

int show_journal(const journal_arguments& arguments) {
  auto journal = open(arguments.what);
  if (!journal)
    return fail(journal.error(), program);
  for (;;) {
    while (const auto x = journal->next()) {
      if (arguments.json)
        std::cout << journal->json();
      else if (const auto line = line_of(*x, journal->known()))
        std::cout << *line;
    }
    std::cout.flush();
    if (!arguments.follow || !std::cout || !may_run(journal->known()))
      break;
    std::this_thread::sleep_for(follow_interval);
  }
  warn_of_damage(*journal);
  return 0;
}

namespace {

void explain_epochs(const snapshot& known, size_t count,
                    const std::string& state, bool json) {
  for (size_t i = 0; i < count; ++i)
    print(why_epoch(known, i), state, json);
}

int explain_remote_job(const why_arguments& arguments) {
  const auto told = ask_why(*arguments.remote, arguments.all, answer_limit);
  if (!told)
    return fail_to_find(told.error(), *arguments.remote);
  for (const auto& x : told->parts)
    print(x, told->state, arguments.json);
  return told->is_healthy ? 0 : unhealthy;
}

} // namespace

int explain_job(const why_arguments& arguments) {
  if (arguments.remote)
    return explain_remote_job(arguments);
  const auto place = find_journal(arguments.what);
  if (!place)
    return fail(place.error(), program);
  const auto journal = read(place->path);
  if (!journal)
    return fail(journal.error(), program);
  if (arguments.all)
    for (const auto& x : read_predecessors(arguments.what.folder, *place)) {
      explain_epochs(x.known(), x.known().epochs.size(), "lost",
                     arguments.json);
      print(of_lost_coordinator(x.known()), "lost", arguments.json);
      warn_of_damage(x);
    }
  const auto& known = journal->known();
  const auto is_lost = !known.result && !may_run(known);
  const auto state = is_lost ? "lost" : state_of(known);
  // What ends a failed job is the end of its last epoch.
  const auto ends_with_last
    = known.result && known.result->kind == core::outcome::verdict::failed;
  if (arguments.all)
    explain_epochs(known,
                   known.epochs.size()
                     - (ends_with_last && !known.epochs.empty() ? 1 : 0),
                   state, arguments.json);
  print(is_lost ? of_lost_coordinator(known) : why(known, now_of(known)), state,
        arguments.json);
  warn_of_damage(*journal);
  return is_lost || !is_healthy(known) ? unhealthy : 0;
}

int replay(const replay_arguments& arguments) {
  const auto all = read(arguments.what);
  if (!all)
    return fail(all.error(), program);
  const auto until = moment_in(all->known(), arguments.at);
  auto journal = open(arguments.what);
  if (!journal)
    return fail(journal.error(), program);
  auto shown = snapshot{};
  while (const auto x = journal->next()) {
    if (x->at.when > until)
      break;
    shown = journal->known();
  }
  if (shown.number == 0)
    return fail({errc::bad_argument, "--at: the journal begins later"},
                program);
  const auto now = moment_after(shown.latest, until);
  std::cout << formatted("at {}, record {}: {}\n", clock_text(now.wall_ms),
                         shown.number, why(shown, now.when).sentence)
            << to_text({status_of(shown, now)}, false);
  warn_of_damage(*all);
  return 0;
}

} // namespace actorrun::cli
