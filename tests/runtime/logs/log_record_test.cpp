#include "runtime/logs/log_record.hpp"
#include "runtime/past_logs.hpp"
#include "runtime/program_support.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace actorrun::test::log_record_test {

using namespace actorrun::detail;

namespace {

using namespace std::chrono_literals;

const auto both = core::stream_choice{core::std_streams::all};

core::generation_plan plan_of(uint64_t number, uint32_t first_rank = 0,
                              uint32_t world_size = 2) {
  auto out = core::generation_plan{};
  out.generation = generation_of(7, number);
  out.node_count = world_size / 2;
  out.world_size = world_size;
  out.own.node_rank = first_rank / 2;
  out.own.first_global_rank = first_rank;
  out.own.slot_count = 2;
  return out;
}

core::generation_outputs files_in(const std::string& folder) {
  auto options = core::log_options{};
  options.redirects = both;
  return core::plan_outputs(options, folder, 2);
}

log_run run_of(const std::string& host, int64_t began_ms,
               const std::string& folder = "/no/such") {
  return {.job = {"job/1"},
          .host = host,
          .agent = {host + "-1-00000000"},
          .pid = 1,
          .folder = folder,
          .began_ms = began_ms};
}

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(
    std::filesystem::path{path}.parent_path());
  std::ofstream{path} << text;
}

/// Records of runs, and what they say was written.
struct record_scene {
  test_folders::folder here;
  std::string journals = here.path() + "/journal";

  /// A run of one generation whose two workers have written a line each.
  log_record write_run(const std::string& host, int64_t began_ms,
                       int64_t ended_ms, uint64_t number,
                       uint32_t first_rank = 0, uint32_t world_size = 2) {
    const auto folder = here.path() + "/" + host + std::to_string(began_ms);
    const auto plan = plan_of(number, first_rank, world_size);
    auto record = log_record{run_of(host, began_ms, folder), {}};
    record.run.ended_ms = ended_ms;
    record.generations.push_back({plan, files_in(folder + "/attempt_0"), 1});
    for (auto i = 0; i < 2; ++i)
      write_file(folder + "/attempt_0/" + std::to_string(i) + "/stdout.log",
                 std::to_string(number) + " of " + std::to_string(began_ms)
                   + "\n");
    std::filesystem::create_directories(journals);
    std::ofstream{log_record_path(journals, record.run)} << to_json(record);
    return record;
  }

  /// What is read, and the notes in brackets.
  std::string read(v1::ReadLogs what = {}, generation_id newest = {}) {
    auto out = std::string{};
    notes.clear();
    const auto done = read_past_logs(
      {.folder = journals, .job = "job/1", .newest = newest},
      {.what = std::move(what)}, [&](const v1::LogLines& x) {
        notes += x.trouble();
        for (const auto& line : x.lines())
          out += std::to_string(line.rank()) + ":" + line.text() + "|";
        return true;
      });
    return done ? out : "refused: " + done.error().text;
  }

  std::string notes;
};

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace

TEST_CASE("log record: what is written can be read", "[runtime]") {
  auto record = log_record{run_of("n1", 5), {}};
  record.generations.push_back({plan_of(1), files_in("/a/attempt_0"), 9});
  // A worker that lives on has the file of the generation before.
  auto second = files_in("/a/attempt_0.generation_2");
  second.workers[1].out.path = "/a/attempt_0/1/stdout.log";
  second.workers[1].err = {};
  record.generations.push_back({plan_of(2), second, 10});
  const auto again = log_record_from(to_json(record));
  REQUIRE(again);
  CHECK(again->run.job == record.run.job);
  CHECK(again->run.agent == record.run.agent);
  CHECK(again->run.began_ms == 5);
  REQUIRE(again->generations.size() == 2);
  CHECK(again->generations[0].plan.generation == generation_of(7, 1));
  CHECK(again->generations[0].begun_ms == 9);
  CHECK(again->generations[0].outputs.workers[1].err.path
        == "/a/attempt_0/1/stderr.log");
  const auto& workers = again->generations[1].outputs.workers;
  CHECK(workers[0].out.path == "/a/attempt_0.generation_2/0/stdout.log");
  CHECK(workers[1].out.path == "/a/attempt_0/1/stdout.log");
  CHECK(workers[1].err.where == core::stream_target::kind::inherited);
}

TEST_CASE("log record: what is damaged is refused", "[runtime]") {
  const auto whole
    = to_json({run_of("n1", 5), {{plan_of(1), files_in("/a/attempt_0"), 9}}});
  for (const auto size : {size_t{0}, size_t{1}, whole.size() / 2})
    CHECK_FALSE(log_record_from(whole.substr(0, size)));
  auto other = whole;
  other.replace(other.find("\"version\":1"), 11, "\"version\":2");
  CHECK_FALSE(log_record_from(other));
  auto short_list = whole;
  short_list.replace(short_list.find("\"stdout\":true"), 13, "\"stdout\":[]");
  CHECK_FALSE(log_record_from(short_list));
}

TEST_CASE_METHOD(record_scene,
                 "log record: an agent writes its newest "
                 "generations",
                 "[runtime]") {
  auto files = std::make_shared<task_thread>("test-files");
  auto uut = log_recorder{journals, run_of("n1", 5), files};
  auto console = core::generation_outputs{};
  console.workers.resize(2);
  uut.note(plan_of(1), console, 1);
  uut.end(2);
  files->ask(10s, [] { return true; });
  CHECK(find_log_records(journals).empty()); // Nothing went to a file.
  const auto count = recorded_generation_count_max + 3;
  for (uint64_t i = 1; i <= count; ++i)
    uut.note(plan_of(i), files_in("/a/attempt_0"), int64_t(i));
  uut.end(99);
  files->ask(10s, [] { return true; });
  const auto all = find_log_records(journals);
  REQUIRE(all.size() == 1);
  CHECK(all[0].run.ended_ms == 99);
  REQUIRE(all[0].generations.size() == recorded_generation_count_max);
  CHECK(all[0].generations.back().plan.generation == generation_of(7, count));
}

TEST_CASE_METHOD(record_scene, "log record: the oldest are removed",
                 "[runtime]") {
  std::filesystem::create_directories(journals);
  for (size_t i = 0; i < log_record_count_max + 5; ++i)
    write_file(journals + "/x" + std::to_string(i) + ".logs", "");
  write_file(journals + "/j.n.1.2.jsonl", "");
  auto files = std::make_shared<task_thread>("test-files");
  auto uut = log_recorder{journals, run_of("n1", 5), files};
  uut.note(plan_of(1), files_in("/a/attempt_0"), 1);
  files->ask(10s, [] { return true; });
  auto count = size_t{0};
  for (const auto& x : std::filesystem::directory_iterator{journals})
    count += x.path().extension() == ".logs" ? 1 : 0;
  CHECK(count == log_record_count_max);
  CHECK(std::filesystem::exists(journals + "/j.n.1.2.jsonl"));
}

TEST_CASE_METHOD(record_scene, "past logs: those of the job that was last",
                 "[runtime]") {
  const auto host = own_host_name();
  write_run(host, 10, 20, 1);
  write_run(host, 30, 40, 1);
  CHECK(read() == "0:1 of 30|1:1 of 30|");
  CHECK(says(notes, "does not run on this host any more"));
  CHECK(list_log_places(journals).size() == 2);
}

TEST_CASE_METHOD(record_scene, "past logs: two agents of one job",
                 "[runtime]") {
  const auto host = own_host_name();
  write_run(host, 11, 40, 2, 2, 4);
  write_run(host, 10, 41, 2, 0, 4);
  CHECK(read() == "0:2 of 10|1:2 of 10|2:2 of 11|3:2 of 11|");
  auto what = v1::ReadLogs{};
  what.mutable_what()->add_ranks(3);
  CHECK(read(what) == "3:2 of 11|");
  what.mutable_what()->add_ranks(4);
  CHECK(says(read(what), "had no rank 4: its ranks were 0-3"));
  what = {};
  what.set_node("1");
  CHECK(read(what) == "2:2 of 11|3:2 of 11|");
  what.set_node("n9");
  CHECK(says(read(what), "refused: no node \"n9\""));
}

TEST_CASE_METHOD(record_scene, "past logs: the job knows its generations",
                 "[runtime]") {
  write_run(own_host_name(), 10, 20, 4);
  auto what = v1::ReadLogs{};
  what.mutable_what()->set_previous(true);
  CHECK(says(read(what), "one generation only"));
  // The journal knows that another one followed, without this node.
  CHECK(read(what, generation_of(7, 5)) == "0:4 of 10|1:4 of 10|");
  CHECK(read({}, generation_of(7, 5)).empty());
  CHECK(says(notes, "no worker of generation 5 has left files here"));
}

TEST_CASE_METHOD(record_scene, "past logs: it says where others are",
                 "[runtime]") {
  write_run(own_host_name(), 10, 40, 1, 0, 6);
  auto other = write_run("n7", 11, 40, 1, 2, 6);
  std::filesystem::remove_all(other.run.folder);
  CHECK(read() == "0:1 of 10|1:1 of 10|");
  CHECK(says(notes, "those of ranks 2-3 are in n7:" + other.run.folder));
  CHECK(says(notes, "ranks 4-5 wrote on other hosts"));
}

TEST_CASE_METHOD(record_scene, "past logs: a folder may be gone", "[runtime]") {
  const auto record = write_run(own_host_name(), 10, 40, 1);
  std::filesystem::remove_all(record.run.folder);
  CHECK(read().empty());
  CHECK(says(notes, record.run.folder + " is not there any more"));
}

TEST_CASE_METHOD(record_scene, "past logs: without a record nothing is known",
                 "[runtime]") {
  CHECK(says(read(), "refused: no log file of job \"job/1\" is known"));
  CHECK(list_log_places("").empty());
}

} // namespace actorrun::test::log_record_test
