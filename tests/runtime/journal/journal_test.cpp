// Journals as files: lines, writers, readers, damage.
#include "runtime/journal.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/journal_lines.hpp"
#include "runtime/journal/journal_reader.hpp"
#include "runtime/journal/journal_writer.hpp"
#include "runtime/journal/predecessor.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/chronicle_fixture.hpp"
#include "tests/support/skip.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <fstream>
#include <future>
#include <random>
#include <sstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::journal_test {

using namespace actorrun::detail;

namespace {

/// A job in which much happens, from a seed: its records, and the snapshot after
/// each of them.
struct random_job : chronicle_fixture {
  explicit random_job(unsigned seed, int steps = 300)
    : chronicle_fixture{{1, 3, 5}}, random(seed) {
    begin();
    snapshots.push_back(chronicle.now());
    for (auto i = 0; i < steps; ++i) {
      time += std::chrono::milliseconds{random() % 50};
      const auto first = records.size();
      if (random() % 8 == 0) {
        const auto* trouble = random() % 3 == 0 ? "" : "XID 79";
        keep(chronicle.note_gpus({any_agent()}, trouble, moment_at(time)));
        note_saves(i);
      } else {
        note(time, event());
      }
      auto known = snapshots.back();
      for (auto j = first; j < records.size(); ++j) {
        known.apply(records[j]);
        snapshots.push_back(known);
      }
    }
  }

  /// Events are what they are without it.
  void note_saves(int step) {
    const auto agent = std::string{char('a' + step % 4)};
    auto x = saves_report{uut.generation(), step * 1ms};
    if (step % 5 != 0)
      x.age = duration{step % 7 * 9ms};
    x.saving_since = step % 3 * 1ms;
    keep(chronicle.note_saves({agent}, x, moment_at(time)));
  }

  std::string any_agent() { return {char('a' + random() % 4)}; }

  rendezvous_event event() {
    const auto agent = any_agent();
    const auto generation = uut.generation();
    switch (random() % 14) {
      case 0:
      case 1:
        return join(agent);
      case 2:
        return disconnect(agent);
      case 3:
        return lose(agent);
      case 4:
        return random() % 4 == 0 ? rendezvous_event{leaving(agent, 15)}
                                 : rendezvous_event{heard(0s, agent)};
      case 5: {
        auto x = worker_failed{{agent}, generation, failure_of(agent)};
        x.failure.details.message = "bytes \xff\x1b[31m \"quoted\"\n\\ \t";
        x.failure.details.traceback = std::string(random() % 100, 'x');
        x.failure.local_rank = random() % 4;
        x.failure.age = duration{random() % 1'000'000};
        return x;
      }
      case 6:
      case 7:
        return workers_stopped{{agent}, generation};
      case 8:
        return timer_fired{{1 + random() % 20}};
      case 9:
        return workers_started{
          {agent}, generation, {int64_t(random() % 9'999)}};
      case 10:
        return restart_requested{"alice", "try \"again\""};
      case 11:
        if (random() % 4 == 0)
          return drain_requested{agent, 1s, random() % 2 == 0, "bob"};
        return leaving(agent);
      default:
        return workers_started{{agent}, generation};
    }
  }

  std::mt19937 random;
  std::chrono::milliseconds time{0};
  std::vector<journal::snapshot> snapshots; ///< After record 1, 2, …
};

/// As a library of JSON would write it.
std::string as_json(const std::string& line) {
  return nlohmann::ordered_json::parse(line).dump();
}

std::string content_of(const std::string& path) {
  auto file = std::ifstream{path};
  auto out = std::ostringstream{};
  out << file.rdbuf();
  return out.str();
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream{path} << content;
}

/// What a writer that has ended leaves of a job of which this is known.
journal::snapshot with_end(journal::snapshot known, journal::moment at) {
  REQUIRE(known.result);
  known.apply({known.number + 1, at, journal::coordinator_ended{}});
  return known;
}

struct fixture {
  /// Writes the records in parts, as a coordinator does.
  void write(const journal::chronicle::records& all, size_t part = 3) {
    auto writer = journal_writer{
      path, [this](const std::string& x) { troubles += x + "\n"; }, limits};
    for (size_t i = 0; i < all.size(); i += part)
      writer.write({all.begin() + ptrdiff_t(i),
                    all.begin() + ptrdiff_t(std::min(all.size(), i + part))});
    REQUIRE(writer.flush(30s));
  }

  test_folders::folder folder;
  std::string path = folder / "deep/er/job.jsonl";
  journal_limits limits;
  std::string troubles;
};

} // namespace

TEST_CASE("journal: what is read is what was known, at every record",
          "[runtime]") {
  const auto seed = GENERATE(1U, 2U, 3U, 4U);
  const auto job = random_job{seed};
  REQUIRE(job.records.size() > 100);
  auto known = journal::snapshot{};
  for (size_t i = 0; i < job.records.size(); ++i) {
    auto line = to_line(job.records[i]);
    REQUIRE(line.back() == '\n');
    line.pop_back();
    REQUIRE(line.find('\n') == std::string::npos);
    INFO(line);
    REQUIRE(as_json(line) == line);
    const auto read = parse_journal_line(line);
    REQUIRE(read);
    REQUIRE(std::get<journal::record>(*read) == job.records[i]);
    known.apply(std::get<journal::record>(*read));
    REQUIRE(known == job.snapshots[i]);
    auto whole = to_line(known);
    whole.pop_back();
    REQUIRE(as_json(whole) == whole);
    const auto all = parse_journal_line(whole);
    REQUIRE(all);
    REQUIRE(std::get<journal::snapshot>(*all) == known);
  }
}

TEST_CASE("journal: what most nodes and generations have not is read, too",
          "[runtime]") {
  auto known = random_job{6}.snapshots.back();
  REQUIRE_FALSE(known.nodes.empty());
  REQUIRE_FALSE(known.generations.empty());
  const auto trouble
    = journal::gpu_trouble{"XID \"79\"", {time_point{5s}, 1'700'000'000'000}};
  auto& entry = known.nodes.begin()->second;
  auto node = *entry.now;
  node.waits_to_drain = journal::waiting_drain{"al\"ice", time_point{7s}};
  entry.now = node;
  entry.gpus = trouble;
  known.generations.back().gpus = trouble;
  auto line = to_line(known);
  line.pop_back();
  const auto read = parse_journal_line(line);
  REQUIRE(read);
  CHECK(std::get<journal::snapshot>(*read) == known);
}

TEST_CASE_METHOD(fixture, "journal: how a coordinator leads, and why no more",
                 "[runtime]") {
  const auto at = journal::moment{time_point{5s}, 1'700'000'000'000};
  auto began = journal::coordinator_began{};
  began.job = {"job1"};
  auto known = journal::snapshot{};
  auto writer = journal_writer{
    path, [this](const std::string& x) { troubles += x + "\n"; }, limits};
  const auto facts = std::vector<journal::fact>{
    began,
    journal::leader_chosen{.agent = {"n2-4712"},
                           .term = 2,
                           .by = leader_source::registry,
                           .what = leader_change::kind::asked,
                           .from = {"n1-4711"},
                           .silent_for = 400ms,
                           .reason = "al\"ice"},
    journal::voters_changed{3, {{"n2-4712"}, {"n3-4713"}}, {{"n4-4714"}}}};
  for (const auto& x : facts) {
    known.apply({known.number + 1, at, x});
    writer.write({{known.number, at, x}});
  }
  REQUIRE(writer.flush(30s));
  CHECK(*read_snapshot(path) == known);
  auto line = to_line(known);
  line.pop_back();
  CHECK(std::get<journal::snapshot>(*parse_journal_line(line)) == known);
  for (auto i = 0; i < 2; ++i) // Once.
    writer.leave("another agent leads");
  REQUIRE(writer.flush(30s));
  const auto read = read_snapshot(path);
  REQUIRE(read->left);
  CHECK(read->left->reason == "another agent leads");
  CHECK(read->number == known.number + 1);
  CHECK(troubles.empty());
}

TEST_CASE_METHOD(fixture, "journal: the end of a job is no loss of the lead",
                 "[runtime]") {
  auto records = random_job{6}.records;
  auto writer = journal_writer{
    path, [this](const std::string& x) { troubles += x + "\n"; }, limits};
  auto ended = journal::job_ended{};
  records.push_back({records.back().number + 1, records.back().at, ended});
  writer.write(records);
  writer.leave("the job is over");
  REQUIRE(writer.flush(30s));
  CHECK_FALSE(read_snapshot(path)->left);
}

TEST_CASE_METHOD(fixture, "journal: it is a file of this user alone",
                 "[runtime]") {
  const auto job = random_job{5};
  write(job.records);
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  const auto read = read_snapshot(path);
  REQUIRE(read);
  CHECK(*read == with_end(job.snapshots.back(), read->latest));
  CHECK(troubles.empty());
}

TEST_CASE_METHOD(fixture, "journal: its files stay short, and it goes on",
                 "[runtime]") {
  const auto job = random_job{6, 1'000};
  limits.file_size_max = 60'000;
  write(job.records);
  const auto read = read_snapshot(path);
  REQUIRE(read);
  CHECK(*read == with_end(job.snapshots.back(), read->latest));
  CHECK(content_of(path + ".1").size() < 200'000);
  CHECK(content_of(path).find("\"snapshot\"") < 100);
}

TEST_CASE_METHOD(fixture, "journal: it is read by position, across its files",
                 "[runtime]") {
  const auto job = random_job{6, 1'000};
  limits.file_size_max = 60'000;
  auto writer = journal_writer{path, nullptr, limits};
  const auto read_at = [&](uint64_t position) {
    auto got = std::promise<journal_part>{};
    writer.read(position, [&](journal_part x) { got.set_value(std::move(x)); });
    auto out = got.get_future();
    REQUIRE(out.wait_for(30s) == std::future_status::ready);
    return out.get();
  };
  auto all = std::string{};
  const auto read_on = [&] {
    for (;;) {
      const auto part = read_at(all.size());
      REQUIRE(part.position == all.size());
      if (part.text.empty())
        return;
      all += part.text;
    }
  };
  // Nothing is lost while one file takes another one's place.
  for (size_t i = 0; i < job.records.size(); i += 20) {
    writer.write(
      {job.records.begin() + ptrdiff_t(i),
       job.records.begin() + ptrdiff_t(std::min(job.records.size(), i + 20))});
    read_on();
  }
  const auto kept = content_of(path + ".1") + content_of(path);
  CHECK(all.size() > kept.size());
  CHECK(all.ends_with(kept));
  const auto oldest = read_at(0);
  CHECK(oldest.position == all.size() - kept.size());
  CHECK(kept.starts_with(oldest.text));
  CHECK_FALSE(oldest.text.empty());
  // The older file was removed.
  ::unlink((path + ".1").c_str());
  CHECK(content_of(path).starts_with(read_at(0).text));
  CHECK(read_at(all.size() + 1).text.empty());
}

TEST_CASE_METHOD(
  fixture,
  "journal: a file that cannot be rotated goes on, and is no larger "
  "for it",
  "[runtime]") {
  const auto job = random_job{6, 1'000};
  limits.file_size_max = 20'000;
  std::filesystem::create_directories(path + ".1");
  write(job.records);
  const auto text = content_of(path);
  const auto line_count = std::count(text.begin(), text.end(), '\n');
  CHECK(line_count == std::ssize(job.records) + 1);
  const auto read = read_snapshot(path);
  REQUIRE(read);
  CHECK(*read == with_end(job.snapshots.back(), read->latest));
  CHECK(troubles.find("cannot be rotated") != std::string::npos);
  // Each time that the file has grown as long again.
  const auto told = std::count(troubles.begin(), troubles.end(), '\n');
  CHECK(told <= std::ssize(text) / 20'000);
}

TEST_CASE_METHOD(fixture,
                 "journal: a large job's files are more than summaries",
                 "[runtime]") {
  const auto job = random_job{15, 2'000};
  {
    auto writer = journal_writer{path, {}, {.file_size_max = 1'000}};
    for (const auto& x : job.records)
      writer.write({x});
    REQUIRE(writer.flush(30s));
  }
  const auto last = content_of(path + ".1");
  const auto summary = last.find('\n');
  CHECK(last.find("\"snapshot\"") < 100);
  CHECK(summary > 1'000);
  CHECK(last.size() > 4 * summary);
  CHECK(last.size() < 5 * summary);
  const auto read = read_snapshot(path);
  REQUIRE(read);
  CHECK(*read == with_end(job.snapshots.back(), read->latest));
}

TEST_CASE_METHOD(fixture, "journal: a moment in the past", "[runtime]") {
  const auto job = random_job{7};
  write(job.records);
  auto random = std::mt19937{8};
  for (auto i = 0; i < 50; ++i) {
    const auto& at = job.snapshots[random() % job.snapshots.size()];
    auto last = at;
    for (const auto& x : job.snapshots)
      if (x.latest.when <= at.latest.when)
        last = x;
    const auto read = read_snapshot(path, at.latest.when);
    REQUIRE(read);
    CHECK(*read == last);
  }
}

TEST_CASE_METHOD(fixture, "journal: cut at any byte, it is read up to there",
                 "[runtime]") {
  const auto job = random_job{9, 9};
  write(job.records);
  const auto all = content_of(path);
  const auto cut = folder / "cut.jsonl";
  for (size_t size = 0; size <= all.size(); ++size) {
    write_file(cut, all.substr(0, size));
    const auto whole
      = size_t(std::count(all.begin(), all.begin() + ptrdiff_t(size), '\n'));
    const auto read = read_snapshot(cut);
    if (whole == 0) {
      CHECK_FALSE(read);
      continue;
    }
    REQUIRE(read);
    CHECK(*read == job.snapshots[whole - 1]);
  }
}

TEST_CASE_METHOD(fixture,
                 "journal: at 1,000 random moments it says what was known then",
                 "[runtime]") {
  auto random = std::mt19937{18};
  auto count = 0;
  for (unsigned seed = 100; count < 1'000; ++seed) {
    const auto job = random_job{seed, 60};
    path = folder / (std::to_string(seed) + ".jsonl");
    write(job.records, 1 + random() % 7);
    const auto begin = job.snapshots.front().latest.when;
    const auto length = job.snapshots.back().latest.when - begin;
    for (auto i = 0; i < 40; ++i, ++count) {
      const auto when
        = begin + duration{int64_t(random()) % (length.count() + 1)};
      auto live = job.snapshots.front();
      for (const auto& x : job.snapshots)
        if (x.latest.when <= when)
          live = x;
      const auto read = read_snapshot(path, when);
      REQUIRE(read);
      REQUIRE(*read == live);
    }
  }
}

TEST_CASE_METHOD(fixture, "journal: one of another version says so",
                 "[runtime]") {
  const auto job = random_job{19, 5};
  write(job.records);
  auto text = content_of(path);
  for (size_t at = 0; (at = text.find("{\"v\":2,", at)) != text.npos; ++at)
    text[at + 5] = '1';
  write_file(path, text);
  const auto read = read_snapshot(path);
  REQUIRE_FALSE(read);
  CHECK(read.error().text
        == path
             + " holds no record of a journal: written by another version (1;"
               " this program reads version 2)");
}

TEST_CASE("journal: of an earlier program's summary time is counted from there",
          "[runtime]") {
  auto known = random_job{7}.snapshots.back();
  REQUIRE_FALSE(known.nodes.empty());
  auto line = nlohmann::json::parse(to_line(known));
  line.erase("time");
  for (auto& x : line["nodes"]) {
    x.erase("time");
    x.erase("counted_until_ns");
  }
  for (auto& x : line["generations"])
    x.erase("time");
  const auto read = parse_journal_line(line.dump());
  REQUIRE(read);
  const auto& now = std::get<journal::snapshot>(*read);
  CHECK(now.time.since == known.latest.when);
  CHECK(now.time.left.empty());
  for (const auto& [agent, x] : now.nodes) {
    CHECK(x.counted_until == known.latest.when);
    CHECK(x.time == journal::spent_time{});
  }
}

TEST_CASE("journal: a list of times is of fewer causes, or damaged",
          "[runtime]") {
  const auto known = random_job{7}.snapshots.back();
  const auto with = [&](const nlohmann::json& list) {
    auto line = nlohmann::json::parse(to_line(known));
    line["time"]["outside"] = list;
    return parse_journal_line(line.dump());
  };
  const auto few = with({5, 6, 2, 3});
  REQUIRE(few);
  const auto& outside = std::get<journal::snapshot>(*few).time.outside;
  CHECK(outside.worker_us[0] == 5);
  CHECK(outside.worker_us[1] == 6);
  CHECK(outside.node_us[0] == 2);
  CHECK(outside.node_us[1] == 3);
  CHECK(outside.all_worker_us() == 11);
  CHECK_FALSE(with({1, 2, 3}));
  CHECK_FALSE(with({-1, 2}));
  CHECK_FALSE(with("x"));
  CHECK_FALSE(with(std::vector<int>(2 * journal::time_cause_count + 2)));
  const auto left = [&](const std::string& list) {
    auto line = nlohmann::json::parse(to_line(known));
    line["time"]["left"] = nlohmann::json::parse(list);
    return parse_journal_line(line.dump());
  };
  const auto one = left(R"([{"host": "n1", "time": [1, 2]}])");
  REQUIRE(one);
  CHECK(std::get<journal::snapshot>(*one).time.left.at("n1").all_node_us()
        == 2);
  for (const auto* bad :
       {R"("x")", "[1]", R"([{"host": "n1"}])", R"([{"time": [1, 2]}])",
        R"([{"host": 1, "time": [1, 2]}])"})
    CHECK_FALSE(left(bad));
}

TEST_CASE("journal: saves are read, and whatever a file says of them",
          "[runtime]") {
  auto has_lost = false;
  auto has_left = false;
  auto has_saved = false;
  for (auto seed = 0U; seed < 20; ++seed)
    for (const auto& x : random_job{seed}.snapshots) {
      has_left |= !x.leavers.empty();
      has_saved |= x.has_saves;
      for (const auto& y : x.generations)
        has_lost |= y.lost.has_value();
    }
  CHECK(has_lost);
  CHECK(has_left);
  CHECK(has_saved);
  const auto line = [](const std::string& members) {
    return parse_journal_line(
      R"({"v":2,"n":7,"ns":1000,"wall_ms":5,"what":"node_saved","agent":"a")"
      + members + "}");
  };
  const auto x = line(R"(,"generation":3,"saving_ns":5,"saved_up_to_ns":900,)"
                      R"("saving_since_ns":2)");
  REQUIRE(x);
  const auto& told = std::get<journal::record>(*x);
  CHECK(*told.what
        == journal::fact{
          journal::node_saved{{"a"}, {3}, 5ns, time_point{900ns}, 2ns}});
  auto again = to_line(told);
  again.pop_back();
  CHECK(std::get<journal::record>(*parse_journal_line(again)) == told);
  CHECK(line(R"(,"generation":3,"saving_ns":-5,"saving_since_ns":2)"));
  for (const auto* bad :
       {"", R"(,"generation":3,"saving_ns":5)",
        R"(,"generation":3,"saving_ns":1e99,"saving_since_ns":2)",
        R"(,"generation":3,"saving_ns":5,"saved_up_to_ns":"x",)"
        R"("saving_since_ns":2)"})
    CHECK_FALSE(line(bad));
}

TEST_CASE_METHOD(fixture, "journal: what may be missing may be missing",
                 "[runtime]") {
  const auto job = random_job{20, 30};
  auto line = to_line(job.snapshots.back());
  line.pop_back();
  for (const auto* part :
       {",\"gpus\":null", ",\"excluded\":false", ",\"waits_to_drain\":null",
        ",\"stands_by\":null", ",\"drained_by\":null"}) {
    REQUIRE(line.find(part) != line.npos);
    for (size_t at = 0; (at = line.find(part, at)) != line.npos;)
      line.erase(at, std::string_view{part}.size());
  }
  const auto read = parse_journal_line(line);
  REQUIRE(read);
  CHECK(std::get<journal::snapshot>(*read) == job.snapshots.back());
}

TEST_CASE_METHOD(
  fixture,
  "journal: on a full disk it warns once, and goes on when there "
  "is room",
  "[runtime]") {
  const auto disk = test_folders::small_disk{"64k"};
  if (!disk)
    return;
  path = disk / "job.jsonl";
  const auto job = random_job{21};
  const auto part = [&](size_t begin, size_t end) {
    return journal::chronicle::records{job.records.begin() + ptrdiff_t(begin),
                                       job.records.begin() + ptrdiff_t(end)};
  };
  const auto third = job.records.size() / 3;
  {
    auto writer = journal_writer{
      path, [this](const std::string& x) { troubles += x + "\n"; }};
    writer.write(part(0, third));
    REQUIRE(writer.flush(30s));
    REQUIRE(troubles.empty());
    write_file(disk / "ballast", std::string(64 << 10, 'x'));
    for (auto i = third; i < 2 * third; ++i) {
      writer.write(part(i, i + 1));
      REQUIRE(writer.flush(30s));
    }
    CHECK(std::count(troubles.begin(), troubles.end(), '\n') == 1);
    CHECK(troubles.find("No space left on device") != std::string::npos);
    const auto meanwhile = read_snapshot(path);
    REQUIRE(meanwhile);
    CHECK(meanwhile->number < 2 * third);
    REQUIRE(::unlink((disk / "ballast").c_str()) == 0);
    writer.write(part(2 * third, job.records.size()));
    REQUIRE(writer.flush(30s));
  }
  const auto read = read_snapshot(path);
  CHECK(std::count(troubles.begin(), troubles.end(), '\n') == 1);
  REQUIRE(read);
  CHECK(*read == job.snapshots.back());
}

TEST_CASE_METHOD(fixture,
                 "journal: a launch is written when it is over, or when it is "
                 "none",
                 "[runtime]") {
  limits.after_launch = true;
  auto job = chronicle_fixture{};
  job.begin();
  for (const auto* agent : {"a", "b", "c"})
    job.note(0ms, job.join(agent));
  auto writer = journal_writer{path, {}, limits};
  writer.write(job.records);
  const auto exists = [&] { return ::access(path.c_str(), F_OK) == 0; };
  CHECK_FALSE(exists());
  const auto launch = job.records.size();
  SECTION("its workers run") {
    for (const auto* agent : {"a", "b", "c"})
      job.note(100ms, workers_started{{agent}, {1}, {1}});
  }
  SECTION("a node is refused") {
    auto other = job.join("d");
    other.settings.restart_count_max = 9;
    job.note(1s, other);
  }
  SECTION("a worker dies") {
    job.note(1s, job.failed("b", 1));
  }
  SECTION("nothing more happens") {}
  writer.write({job.records.begin() + ptrdiff_t(launch), job.records.end()});
  REQUIRE(writer.flush(30s));
  const auto read = read_snapshot(path);
  REQUIRE(read);
  CHECK(*read == job.chronicle.now());
}

TEST_CASE_METHOD(fixture, "journal: damaged lines are left out and counted",
                 "[runtime]") {
  const auto job = random_job{10};
  write(job.records);
  auto all = content_of(path);
  auto random = std::mt19937{11};
  for (auto i = 0; i < 200; ++i) {
    auto bytes = all;
    for (auto j = 0; j < 5; ++j)
      bytes[random() % bytes.size()] = char(random());
    write_file(folder / "bad.jsonl", bytes);
    auto reading = journal_reading::open(folder / "bad.jsonl");
    REQUIRE(reading);
    while (reading->next()) {
    }
    CHECK(reading->bad_line_count() <= 10);
    CHECK(reading->known().number >= job.records.size() - 10);
  }
}

TEST_CASE("journal: the limit of a timer is read, and may be missing (P9)",
          "[runtime]") {
  auto died = journal::worker_died{{3}, {}};
  died.failure.kind = failure_kind::timer_expired;
  died.failure.details.scope = "step";
  died.failure.details.limit = 500ms;
  const auto told = journal::record{
    .number = 7, .at = {time_point{5s}, 1'700'000'000'000}, .what = died};
  auto line = to_line(told);
  line.pop_back();
  const auto read = parse_journal_line(line);
  REQUIRE(read);
  CHECK(std::get<journal::record>(*read) == told);
  const auto part = std::string{",\"limit_ns\":500000000"};
  REQUIRE(line.find(part) != line.npos);
  line.erase(line.find(part), part.size());
  const auto old = parse_journal_line(line);
  REQUIRE(old);
  died.failure.details.limit.reset();
  CHECK(std::get<journal::record>(*old)
        == journal::record{told.number, told.at, died});
}

TEST_CASE("journal: what is no line of a journal is refused with its reason",
          "[runtime]") {
  const auto why = [](const std::string& line) {
    const auto x = parse_journal_line(line);
    return x ? std::string{} : x.error().text;
  };
  const auto with = [](const std::string& members) {
    return R"({"v": 2, "n": 1, "ns": 1, "wall_ms": 1, "what": )" + members
           + "}";
  };
  CHECK(why("") == "it is not JSON");
  CHECK(why("[]") == "it is no record");
  CHECK(why("{}") == "it is no record");
  CHECK(why(R"({"v": 1})")
        == "written by another version (1; this program reads version 2)");
  CHECK(why(with(R"("phase_changed")")) == "\"phase\" is missing");
  CHECK(why(with(R"("phase_changed", "phase": "hungry")"))
        == "a name is unknown");
  CHECK(why(with(R"("node_leaving", "agent": "a", "signal": 5000000000)"))
        == "a number is out of range");
  CHECK(why(with(R"("node_leaving", "agent": 1, "signal": 5)"))
        == "a text is missing");
  const auto newer = parse_journal_line(with(R"("of_the_future", "x": 1)"));
  REQUIRE(newer);
  CHECK(std::get<unknown_record>(*newer).what == "of_the_future");
}

TEST_CASE_METHOD(fixture,
                 "journal: a full disk is told once, and what is "
                 "missing does not matter afterwards",
                 "[runtime]") {
  const auto job = random_job{12};
  limits.waiting_max = 0; // Every record is too many.
  const auto half = job.records.size() / 2;
  {
    auto writer
      = journal_writer{path,
                       [this](const std::string& x) { troubles += x + "\n"; },
                       {.waiting_max = 4}};
    writer.write({job.records.begin(), job.records.begin() + 3});
    REQUIRE(writer.flush(30s));
    writer.write({job.records.begin() + 3,
                  job.records.begin() + ptrdiff_t(half)}); // Is skipped.
    REQUIRE(writer.flush(30s));
    for (auto i = half; i < job.records.size(); i += 3) {
      writer.write(
        {job.records.begin() + ptrdiff_t(i),
         job.records.begin() + ptrdiff_t(std::min(job.records.size(), i + 3))});
      REQUIRE(writer.flush(30s));
    }
  }
  CHECK(std::count(troubles.begin(), troubles.end(), '\n') == 1);
  CHECK(troubles.find("too slowly") != std::string::npos);
  auto known = journal_reading::open(path);
  REQUIRE(known);
  while (known->next()) {
  }
  CHECK(known->known().phase == job.snapshots.back().phase);
  CHECK(known->known().nodes == job.snapshots.back().nodes);
}

TEST_CASE_METHOD(fixture, "journal: a folder that cannot be made is told once",
                 "[runtime]") {
  write_file(folder / "deep", "a file");
  write(random_job{13}.records);
  CHECK(std::count(troubles.begin(), troubles.end(), '\n') == 1);
  CHECK(troubles.find(path) != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "journal: it is read while it is written, and when "
                 "its file is exchanged",
                 "[runtime]") {
  const auto job = random_job{14, 1'000};
  auto writer = journal_writer{path, {}, {.file_size_max = 40'000}};
  writer.write({job.records.begin(), job.records.begin() + 1});
  REQUIRE(writer.flush(30s));
  auto reading = journal_reading::open(path);
  REQUIRE(reading);
  for (size_t i = 1; i < job.records.size(); i += 10) {
    const auto end = std::min(job.records.size(), i + 10);
    writer.write({job.records.begin() + ptrdiff_t(i),
                  job.records.begin() + ptrdiff_t(end)});
    REQUIRE(writer.flush(30s));
    while (reading->next()) {
    }
    REQUIRE(reading->known() == job.snapshots[end - 1]);
  }
  CHECK(reading->bad_line_count() == 0);
}

TEST_CASE("journal: its name tells of which job and coordinator it is",
          "[runtime]") {
  const auto name
    = journal_name{{"train/run 7.b"}, "n1.cluster", 1'785'500'000'123, 4711};
  CHECK(file_name_of(name)
        == "train%2Frun%207%2Eb.n1%2Ecluster.1785500000123.4711.jsonl");
  CHECK(journal_name_of(file_name_of(name)) == name);
  for (const auto* x :
       {"a.jsonl", "a.b.1.2", "a.b.x.2.jsonl", "a.b.1.2.jsonl.1",
        "a%.b.1.2.jsonl", "a%zz.b.1.2.jsonl", ".jsonl"})
    CHECK_FALSE(journal_name_of(x));
  const auto folder = test_folders::folder{};
  for (auto i = 1; i <= 5; ++i)
    write_file(folder / file_name_of({{"j" + std::to_string(i)}, "n", i, i}),
               "{}\n");
  CHECK(find_journals(folder.path()).size() == 5);
  remove_old_journals(folder.path(), 2);
  CHECK(find_journals(folder.path()).size() == 2);
}

namespace {

/// The peak of this process's memory, in bytes.
size_t memory_peak() {
  auto file = std::ifstream{"/proc/self/status"};
  for (auto word = std::string{}; file >> word;)
    if (auto kib = size_t{}; word == "VmHWM:" && file >> kib)
      return kib * 1024;
  return 0;
}

} // namespace

TEST_CASE("journal: S13 a line costs no more than some times its size",
          "[runtime]") {
  const auto is_refused = [](std::string line) {
    const auto x = parse_journal_line(line);
    return !x && x.error().text == "it is not a line of ours";
  };
  const auto before = memory_peak();
  CHECK(is_refused(std::string(30'000'000, '[')));
  auto flat = std::string{R"({"v": 1, "x": [)"};
  while (flat.size() < 3'000'000)
    flat += "[],";
  CHECK(is_refused(flat));
  CHECK(memory_peak() - before < size_t{200} << 20);
  CHECK_FALSE(
    is_refused(R"({"v": 1, "x": ")" + std::string(1'000, '[') + "\"}"));
  CHECK_FALSE(is_refused(R"({"v": 1, "x": "\"[[[[[[[[[[[[[[[[[[[[[[["})"));
}

TEST_CASE_METHOD(fixture,
                 "journal: S13 a file without line ends is read through in a "
                 "moment",
                 "[runtime]") {
  const auto large = folder / "zeros.jsonl";
  write_file(large, "");
  REQUIRE(::truncate(large.c_str(), off_t{1} << 29) == 0);
  const auto before = memory_peak();
  const auto begun = std::chrono::steady_clock::now();
  auto reading = journal_reading::open(large);
  REQUIRE(reading);
  CHECK_FALSE(reading->next());
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  CHECK(memory_peak() - before < size_t{200} << 20);
}

TEST_CASE_METHOD(
  chronicle_fixture,
  "journal: W4 the last record says whether the coordinator has ended in order",
  "[runtime]") {
  const auto folder = test_folders::folder{};
  const auto path = folder / "job.jsonl";
  const auto write_all = [&] {
    auto writer = journal_writer{path, {}};
    writer.write(records);
    REQUIRE(writer.flush(30s));
    CHECK_FALSE(read_snapshot(path)->is_complete);
  };
  run_noted();
  SECTION("before the job has ended, it says nothing") {
    write_all();
    CHECK(read_snapshot(path)->number == records.back().number);
  }
  SECTION("afterwards it is written when the process ends") {
    for (const auto* agent : {"a", "b", "c"})
      note(2s, succeeded(agent, 1));
    write_all();
    const auto known = read_snapshot(path);
    REQUIRE(known);
    CHECK(known->is_complete);
    CHECK(known->number == records.back().number + 1);
  }
}

// -- what a successor learns from it ---------------------------------------------

namespace {

/// The journal of a coordinator that has died: of three nodes, after a resize.
struct dead_coordinator : chronicle_fixture {
  dead_coordinator() {
    run_noted();
    note(1s, resize_requested{2, 5, "alice"});
    note(1s, exclusion_requested{"node-x", "bob", "a bad disk"});
  }

  void succeed() {
    for (const auto* agent : {"a", "b", "c"})
      note(2s, succeeded(agent, 1));
  }

  void all_leave() {
    for (const auto* agent : {"a", "b", "c"})
      note(3s, left(agent));
  }

  void end() {
    const auto& last = records.back();
    records.push_back({last.number + 1, last.at, journal::coordinator_ended{}});
  }

  void write(const std::string& into, std::chrono::milliseconds age = 1s) {
    const auto now = std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::system_clock::now());
    auto text = std::string{};
    for (auto x : records) {
      x.at.wall_ms = (now - age).time_since_epoch().count();
      text += to_line(x);
    }
    write_file(into + "/" + file_name_of({{"job1"}, "n0", 1, 99}), text);
  }

  std::optional<predecessor> find(const std::string& host = "n0") const {
    auto found = find_predecessor(folder.path(), {"job1"}, host, 90s);
    REQUIRE(found);
    return std::move(*found);
  }

  test_folders::folder folder;
};

} // namespace

TEST_CASE_METHOD(dead_coordinator,
                 "journal: V1 N6 W7 a successor learns what was the job's",
                 "[runtime]") {
  CHECK_FALSE(find());
  write(folder.path());
  CHECK_FALSE(find("n1"));
  const auto x = find();
  REQUIRE(x);
  CHECK(x->job.revision > 0);
  CHECK(x->job.settings == job_settings{2, 5, 1});
  CHECK(x->job.is_resized);
  CHECK(x->job.newest == generation_id{1});
  CHECK(x->job.lease == lease_max); // It has not said which it granted.
  REQUIRE(x->job.excluded.size() == 1);
  CHECK(x->job.excluded.front().host == "node-x");
  CHECK_FALSE(x->decided);
}

TEST_CASE_METHOD(
  dead_coordinator,
  "journal: W4 a successor learns that the job has ended, if its "
  "predecessor was killed",
  "[runtime]") {
  succeed();
  SECTION("no agent does") {
    write(folder.path());
    const auto x = find();
    REQUIRE(x);
    REQUIRE(x->decided);
    CHECK(x->decided->kind == outcome::verdict::succeeded);
    CHECK(x->job.revision == 0);
    CHECK(x->job.newest == generation_of(1, 0)); // Terms grow over the end.
  }
  SECTION("all do, and its process could not end in order") {
    all_leave();
    write(folder.path());
    CHECK(find()->decided);
  }
  SECTION("all do, and its process has ended in order") {
    all_leave();
    end();
    write(folder.path());
    CHECK_FALSE(find()->decided);
  }
  SECTION("its process has ended in order, and not all do") {
    end();
    write(folder.path());
    CHECK(find()->decided);
  }
  SECTION("no agent waits for it any more") {
    write(folder.path(), 100s);
    CHECK_FALSE(find()->decided);
  }
}

TEST_CASE_METHOD(
  dead_coordinator,
  "journal: S12 only one that this user or root has written tells "
  "a successor anything",
  "[runtime]") {
  if (::geteuid() != 0)
    return skip("root", "only root can give a file to another user");
  write(folder.path());
  const auto path = folder / file_name_of({{"job1"}, "n0", 1, 99});
  REQUIRE(::chown(path.c_str(), 65'534, 65'534) == 0);
  CHECK_FALSE(find());
  CHECK(read_snapshot(path)); // Whoever asks for it by name may see it.
  REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  CHECK(find());
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK_FALSE(find()); // Any user may have written that.
}

} // namespace actorrun::test::journal_test
