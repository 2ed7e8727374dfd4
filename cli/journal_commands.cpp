#include "cli/journal_commands.hpp"

#include "actors/core/journal/story.hpp"
#include "actors/core/text.hpp"
#include "actors/job_status.hpp"
#include "cli/commands.hpp"
#include "cli/options/moments.hpp"
#include "cli/options/values.hpp"
#include "cli/program.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/journal_view.hpp"
#include "cli/report/log_places_view.hpp"
#include "cli/report/status_view.hpp"
#include "cli/report/time_view.hpp"
#include "messages/formatted.hpp"
#include "runtime/journal.hpp"
#include "runtime/journal_copy.hpp"
#include "runtime/past_logs.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>

namespace actorrun::cli {

namespace {

using namespace core::journal;

/// How often a journal that is followed is looked at.
constexpr auto follow_interval = std::chrono::milliseconds{100};

/// Timeout for an explanation by a coordinator.
constexpr auto answer_limit = std::chrono::seconds{3};

/// The same of one on another host.
constexpr auto remote_follow_interval = std::chrono::milliseconds{300};

constexpr int unhealthy = 1;

/// In bytes, of a name that is shown.
constexpr size_t host_size_max = 255;

/// At most this many coordinators of a job before the last one are told of.
constexpr size_t predecessor_count_max = 100;

bool names_file(const journal_subject& x) {
  return x.name.find('/') != std::string::npos;
}

/// What a journal argument means on this host; of a file nothing but its path is known.
result<journal_place> find_here(const journal_subject& x) {
  if (names_file(x))
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

/// Where the coordinator of a job is that has an agent on this host; empty: there is
/// no such agent, or it does not know.
std::string host_of_coordinator(const std::string& job) {
  const auto here = find_local_job(job, answer_limit);
  if (!here || here->is_coordinator)
    return {};
  const auto status = ask_status(*here, answer_limit);
  return status ? core::one_line(status->coordinator_host(), host_size_max)
                : std::string{};
}

/// A file of this host, or a copy of one elsewhere.
struct found_journal {
  journal_place place;
  std::optional<journal_copy> copy{};
};

/// How the coordinator of the job is asked for its journal; none: it writes it here.
std::optional<located_job> way_to(const journal_subject& x) {
  if (x.remote)
    return *x.remote;
  if (names_file(x))
    return {};
  auto here = find_local_job(x.name, answer_limit);
  if (!here || here->is_coordinator)
    return {};
  return std::move(*here);
}

// What an earlier coordinator has written here is better than nothing.
result<found_journal> find_journal(const journal_subject& x) {
  auto why = failure{};
  if (const auto way = way_to(x)) {
    auto copy = journal_copy::fetch(*way, answer_limit);
    if (copy)
      return found_journal{copy->place(), std::move(*copy)};
    why = copy.error();
    if (x.remote)
      return why;
  }
  auto here = find_here(x);
  const auto is_told
    = why.code != errc{} && why.code != errc::protocol_mismatch;
  if (here && is_told)
    std::cerr << warn("this host's journal is read: " + why.text,
                      operator_program);
  if (!here)
    return is_told ? why : here.error();
  return found_journal{std::move(*here)};
}

/// Prints why there is no journal to be read. @returns the exit code
int fail_to_open(const failure& why, const journal_subject& x) {
  if (x.remote)
    return fail_to_find(why, *x.remote);
  if (why.code != errc::connection_refused)
    return fail(why, operator_program);
  std::cerr << error_line(why.text, operator_program);
  if (const auto host = host_of_coordinator(x.name); !host.empty())
    std::cerr << formatted("  try: the same on {}, where its coordinator is\n",
                           host);
  else
    std::cerr << "  try: actorctl status, which lists jobs, or --rdzv-endpoint"
                 " and --rdzv-id for one elsewhere\n";
  return static_cast<int>(exit_code_of(why.code));
}

failure no_record(const journal_reading& x) {
  return {errc::bad_argument,
          formatted("the journal holds no record{}{}",
                    x.last_trouble().empty() ? "" : ": ", x.last_trouble())};
}

/// All of it.
result<journal_reading> read(const std::string& path) {
  auto out = journal_reading::open(path);
  if (!out)
    return out;
  while (out->next()) {
  }
  if (out->known().number == 0)
    return no_record(*out);
  return out;
}

/// What can be known here of a coordinator that has written a journal.
enum class fate : uint8_t {
  ended, ///< With an outcome.
  moved, ///< It leads no more: another one does.
  runs,
  lost,    ///< It has ended without one.
  unknown, ///< It is, or was, on another host.
};

fate fate_of(const snapshot& x) {
  if (x.result)
    return fate::ended;
  if (x.left)
    return fate::moved;
  if (!is_of_this_host(x))
    return fate::unknown;
  return may_run(x) ? fate::runs : fate::lost;
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
    if (!one || fate_of(one->known()) == fate::ended
        || fate_of(one->known()) == fate::runs
        || out.size() == predecessor_count_max)
      break;
    out.push_back(std::move(*one));
  }
  std::ranges::reverse(out);
  return out;
}

void warn_of_damage(const journal_reading& x) {
  if (x.bad_line_count() > 0)
    std::cerr << warn(
      formatted("{}: {}",
                x.bad_line_count() == 1
                  ? "1 line of the journal is left out"
                  : formatted("{} lines of the journal are left out, the last"
                              " one for this reason",
                              x.bad_line_count()),
                x.last_trouble()),
      operator_program);
}

core::time_point now_of(const snapshot& x) {
  return fate_of(x) == fate::runs ? std::max(journal_now(), x.latest.when)
                                  : x.latest.when;
}

/// How `actorctl why` is printed.
struct why_print {
  bool json = false;
  /// Where log files are; below the last explanation.
  std::vector<log_place> places{};
};

void print(const std::vector<explanation>& parts, const std::string& state,
           const why_print& how) {
  auto logs = std::vector<std::string>{};
  for (const auto& x : how.places)
    logs.push_back(place_text(x));
  if (!how.json)
    std::cout << to_text(parts) << places_line(how.places);
  else
    for (const auto& x : parts)
      std::cout << to_json(x, state, logs);
}

/// Of the job whose coordinator wrote this.
std::vector<log_place> places_of(const snapshot& x, const std::string& folder,
                                 int64_t until_ms) {
  return cli::places_of(x.coordinator.job.value, x.began.wall_ms, until_ms,
                        list_log_places(folder));
}

/// What was said of a job whose coordinator has ended without an outcome.
explanation of_lost_coordinator(explanation out, const snapshot& x) {
  out.sentence = formatted(
    "The coordinator (pid {} on {}) has ended without an outcome;"
    " its journal ends at {}. Until then: {}",
    x.coordinator.pid, core::one_line(x.coordinator.host, host_size_max),
    date_text(x.latest.wall_ms), out.sentence);
  return out;
}

/// What was said of a job whose coordinator may run, and cannot be asked here.
explanation of_unseen_coordinator(explanation out, const snapshot& x) {
  out.sentence = formatted(
    "At {}, when this journal ends, and its coordinator was on {}, which is not"
    " this host: {}",
    date_text(x.latest.wall_ms),
    core::one_line(x.coordinator.host, host_size_max), out.sentence);
  return out;
}

int64_t unix_now_ms() {
  using namespace std::chrono;
  return floor<milliseconds>(system_clock::now()).time_since_epoch().count();
}

/// By the journal's monotonic clock, if the moment is counted from there; else by the
/// wall clock.
struct journal_limit {
  std::optional<core::time_point> when{};
  std::optional<int64_t> wall_ms{};

  /// None of both: there is no limit, and nothing is later.
  bool is_before(const moment& x) const {
    return (when && x.when > *when) || (wall_ms && x.wall_ms > *wall_ms);
  }
};

journal_limit limit_in(const snapshot& all,
                       const std::optional<given_moment>& at) {
  using enum given_moment::kind;
  if (!at)
    return {};
  const auto by = std::chrono::milliseconds{at->ms};
  if (at->how == after_begin)
    return {.when = all.began.when + by};
  if (at->how == before_end)
    return {.when = all.latest.when - by};
  return {.wall_ms = wall_ms_of(
            *at, {all.began.wall_ms, all.latest.wall_ms, unix_now_ms()})};
}

/// The moment of a limit, of a job that was last heard of at `last`.
moment moment_at(const journal_limit& limit, const moment& last) {
  using std::chrono::milliseconds;
  if (limit.when) {
    const auto by = std::max(*limit.when - last.when, core::duration{0});
    return {last.when + by,
            last.wall_ms
              + std::chrono::duration_cast<milliseconds>(by).count()};
  }
  if (!limit.wall_ms)
    return last;
  const auto by = std::max<int64_t>(*limit.wall_ms - last.wall_ms, 0);
  return {last.when + milliseconds{by}, last.wall_ms + by};
}

/// Which records are shown.
struct record_filter {
  journal_limit since{};
  journal_limit until{};
  std::string node{};

  bool has(const record& x, const snapshot& known) const {
    const auto is_late = since.when      ? x.at.when >= *since.when
                         : since.wall_ms ? x.at.wall_ms >= *since.wall_ms
                                         : true;
    return is_late && !until.is_before(x.at)
           && (node.empty() || is_about(x, known, node));
  }
};

/// A node rank means the node that had it last; others are as they are.
std::string node_in(const snapshot& all, const std::string& node) {
  if (node.find_first_not_of("0123456789") != std::string::npos)
    return node;
  for (const auto& [agent, x] : all.nodes)
    if (x.now->generation != generation_id{}
        && std::to_string(x.now->node_rank) == node)
      return agent.value;
  for (auto x = all.departures.rbegin(); x != all.departures.rend(); ++x)
    if (x->last.generation != generation_id{}
        && std::to_string(x->last.node_rank) == node)
      return x->last.agent.value;
  return node;
}

/// A clock time and a node rank need the end of the journal.
result<record_filter> filter_of(const journal_arguments& x,
                                const std::string& path) {
  if (!x.since && !x.until && x.node.empty())
    return record_filter{};
  const auto all = read(path);
  if (!all)
    return all.error();
  return record_filter{limit_in(all->known(), x.since),
                       limit_in(all->known(), x.until),
                       node_in(all->known(), x.node)};
}

result<void> await_more(found_journal& x) {
  std::this_thread::sleep_for(x.copy ? remote_follow_interval
                                     : follow_interval);
  return x.copy ? x.copy->go_on() : result<void>{};
}

} // namespace

int show_journal(const journal_arguments& arguments) {
  auto found = find_journal(arguments.what);
  if (!found)
    return fail_to_open(found.error(), arguments.what);
  auto journal = journal_reading::open(found->place.path);
  if (!journal)
    return fail(journal.error(), operator_program);
  const auto filter = filter_of(arguments, found->place.path);
  if (!filter)
    return fail(filter.error(), operator_program);
  auto has_shown = false;
  for (;;) {
    while (const auto x = journal->next()) {
      if (!filter->has(*x, journal->known()))
        continue;
      const auto line = arguments.json ? std::optional{journal->json()}
                                       : line_of(*x, journal->known());
      has_shown = has_shown || line;
      if (line)
        std::cout << *line;
    }
    std::cout.flush();
    if (!arguments.follow || !std::cout || !may_run(journal->known()))
      break;
    if (const auto ok = await_more(*found); !ok)
      return fail(ok.error(), operator_program);
  }
  if (journal->known().number == 0)
    return fail(no_record(*journal), operator_program);
  if (!has_shown)
    std::cerr << formatted("{}: note: the journal, from {} to {}, has nothing "
                           "that the options ask for\n",
                           operator_program,
                           date_text(journal->known().began.wall_ms),
                           date_text(journal->known().latest.wall_ms));
  warn_of_damage(*journal);
  return 0;
}

namespace {

/// As the coordinator itself tells it: its journal may be behind, on a full disk
/// for example.
/// @returns none: it is not on this host, or does not answer
std::optional<job_explanation> ask_here(const snapshot& known, bool all) {
  const auto jobs = find_local_jobs();
  if (!jobs)
    return {};
  const auto i
    = std::ranges::find(*jobs, known.coordinator.pid, &local_job::pid);
  if (i == jobs->end())
    return {};
  auto told = ask_why(*i, all, answer_limit);
  return told ? std::optional{std::move(*told)} : std::nullopt;
}

/// What an agent of this host tells.
struct agent_word {
  job_explanation what;
  v1::JobStatus status;

  /// Else the agent has none.
  bool is_of_coordinator() const { return status.coordinator_pid() != 0; }
};

/// @param job Empty: the only one of this host.
/// @returns none: there is no such agent, or it cannot tell
std::optional<agent_word> ask_agent_here(const std::string& job, bool all) {
  const auto here = find_local_job(job, answer_limit);
  if (!here || here->is_coordinator)
    return {};
  auto status = ask_status(*here, answer_limit);
  auto told = ask_why(*here, all, answer_limit);
  if (!status || !told)
    return {};
  return agent_word{std::move(*told), std::move(*status)};
}

/// @returns the exit code
int print(const job_explanation& x, const why_print& how) {
  print(x.parts, x.state, how);
  return x.is_healthy ? 0 : unhealthy;
}

int explain_remote_job(const why_arguments& arguments) {
  const auto told
    = ask_why(*arguments.what.remote, arguments.all, answer_limit);
  if (!told)
    return fail_to_find(told.error(), *arguments.what.remote);
  return print(*told, {.json = arguments.json});
}

/// The explanation of the job, with those of its generations in front if `all`.
std::vector<explanation> explanations(const snapshot& x, fate how, bool all) {
  const auto now = now_of(x);
  auto out = all ? why_all(x, now) : std::vector<explanation>{why(x, now)};
  if (how == fate::lost)
    out.back() = of_lost_coordinator(std::move(out.back()), x);
  else if (how == fate::unknown)
    out.back() = of_unseen_coordinator(std::move(out.back()), x);
  return out;
}

int explain_read_job(const snapshot& known, bool all,
                     const why_print& print_as) {
  const auto how = fate_of(known);
  const auto state = how == fate::lost ? "lost" : state_of(known);
  print(explanations(known, how, all), state, print_as);
  const auto is_good = (how == fate::ended || how == fate::runs)
                       && is_healthy(known, now_of(known));
  return is_good ? 0 : unhealthy;
}

} // namespace

int explain_job(const why_arguments& arguments) {
  if (arguments.what.remote)
    return explain_remote_job(arguments);
  const auto place = find_here(arguments.what);
  const auto is_file = names_file(arguments.what);
  const auto here = [&](const v1::JobStatus& x) {
    return places_of(x, list_log_places(arguments.what.folder));
  };
  if (!place) {
    if (const auto told
        = is_file ? std::nullopt
                  : ask_agent_here(arguments.what.name, arguments.all))
      return print(told->what, {arguments.json, here(told->status)});
    return fail_to_open(place.error(), arguments.what);
  }
  const auto journal = read(place->path);
  if (!journal)
    return fail(journal.error(), operator_program);
  const auto& known = journal->known();
  const auto until_ms
    = fate_of(known) == fate::runs ? INT64_MAX : known.latest.wall_ms;
  const auto print_as = why_print{
    arguments.json, places_of(known, arguments.what.folder, until_ms)};
  if (arguments.what.name.empty() && !arguments.json)
    std::cout << formatted("job {}:\n", core::printable(place->job.value));
  if (arguments.all)
    for (const auto& x : read_predecessors(arguments.what.folder, *place)) {
      const auto how
        = fate_of(x.known()) == fate::moved ? fate::moved : fate::lost;
      print(explanations(x.known(), how, true),
            how == fate::moved ? "moved" : "lost", {.json = arguments.json});
      warn_of_damage(x);
    }
  if (!is_file && fate_of(known) == fate::runs)
    if (const auto told = ask_here(known, arguments.all))
      return print(*told, print_as);
  // An agent may still look for the coordinator that has written this, or know a later
  // one, on another host.
  if (!is_file && fate_of(known) != fate::runs)
    if (const auto told = ask_agent_here(place->job.value, arguments.all)) {
      const auto code = print(told->what, {arguments.json, here(told->status)});
      if (told->is_of_coordinator())
        return code;
      if (fate_of(known) == fate::ended)
        return unhealthy;
    }
  const auto code = explain_read_job(known, arguments.all, print_as);
  warn_of_damage(*journal);
  return code;
}

int replay(const replay_arguments& arguments) {
  const auto found = find_journal(arguments.what);
  if (!found)
    return fail_to_open(found.error(), arguments.what);
  const auto all = read(found->place.path);
  if (!all)
    return fail(all.error(), operator_program);
  const auto until = limit_in(all->known(), arguments.at);
  auto journal = journal_reading::open(found->place.path);
  if (!journal)
    return fail(journal.error(), operator_program);
  auto shown = snapshot{};
  while (const auto x = journal->next()) {
    if (until.is_before(x->at))
      break;
    shown = journal->known();
  }
  if (shown.number == 0)
    return fail(
      {errc::bad_argument, formatted("--at: the journal begins later, at {}",
                                     date_text(all->known().began.wall_ms))},
      operator_program);
  const auto now = moment_at(until, shown.latest);
  std::cout << formatted("at {}, record {}: {}\n", date_text(now.wall_ms),
                         shown.number, why(shown, now.when).sentence)
            << to_text({status_of(shown, now)}, false);
  warn_of_damage(*all);
  return 0;
}

namespace {

/// Why generations of a coordinator have ended, in their order.
void add_ends(const snapshot& x, std::vector<explanation>& out) {
  for (size_t i = 0; i < x.generations.size(); ++i)
    if (x.generations[i].revoked_at || x.generations[i].stopped_at)
      out.push_back(why_generation(x, i));
}

} // namespace

int show_time(const time_arguments& arguments) {
  const auto found = find_journal(arguments.what);
  if (!found)
    return fail_to_open(found.error(), arguments.what);
  const auto last = read(found->place.path);
  if (!last)
    return fail(last.error(), operator_program);
  const auto before
    = names_file(arguments.what) || arguments.what.remote
        ? std::vector<journal_reading>{}
        : read_predecessors(arguments.what.folder, found->place);
  auto all = std::vector<const snapshot*>{};
  for (const auto& x : before)
    all.push_back(&x.known());
  all.push_back(&last->known());
  const auto& known = *all.back();
  auto report = time_report{
    .job = core::one_line(known.coordinator.job.value, host_size_max),
    .state = fate_of(known) == fate::lost ? "lost" : state_of(known),
    .time = time_of(all, now_of(known)),
    .coordinator_count = all.size(),
    .begins_late = all.front()->coordinator.is_successor,
    .node_price = arguments.node_price};
  for (const auto* x : all)
    add_ends(*x, report.ends);
  std::cout << (arguments.json ? to_json(report) : to_text(report));
  for (const auto& x : before)
    warn_of_damage(x);
  warn_of_damage(*last);
  return 0;
}

} // namespace actorrun::cli
