#include "cli/options/caller_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"

namespace actorrun::test::caller_options_test {

using namespace actorrun::cli;

namespace {

/// 3 can be read, 4 written; 5 is a file, 6 a socket. No other one is open.
host_facts world_with_descriptors(const variables& environment = {}) {
  auto out = world_with(environment);
  out.descriptor = [](int fd) -> descriptor_facts {
    return {.is_open = fd >= 3 && fd <= 6,
            .is_pipe = fd != 5,
            .is_readable = fd != 4,
            .is_writable = fd != 3};
  };
  return out;
}

run_arguments run_of(const words& line, const variables& environment = {}) {
  auto x = parse_run(with_script(line), world_with_descriptors(environment));
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  REQUIRE(std::holds_alternative<run_arguments>(*x));
  return std::get<run_arguments>(*x);
}

std::string refusal_of(const words& line, const variables& environment = {}) {
  auto x = parse_run(with_script(line), world_with_descriptors(environment));
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

} // namespace

TEST_CASE("caller options: without them all is as usual", "[cli]") {
  const auto x = run_of({});
  CHECK(x.report_file.empty());
  CHECK(x.prints_report);
  CHECK(x.title == "train.py");
  CHECK(x.agent.entry_name.empty());
  CHECK_FALSE(x.parent_descriptor);
  CHECK_FALSE(x.event_descriptor);
  CHECK_FALSE(x.hides_variables);
}

TEST_CASE("caller options: what they ask for (R1, R2, R3)", "[cli]") {
  const auto x = run_of(
    {"--report-file=r.json", "--no-report", "--entry-name", "trainer.main"});
  CHECK(x.report_file == "r.json");
  CHECK_FALSE(x.prints_report);
  CHECK(x.title == "trainer.main");
  CHECK(x.agent.entry_name == "trainer.main");
}

TEST_CASE("caller options: without a name reports have the script of an"
          " interpreter (T6)",
          "[cli]") {
  const auto x
    = accepted({"--no-python", "python3", "-u", "s.py", "--epochs=3"});
  CHECK(x.title == "s.py");
}

TEST_CASE("caller options: a name is a line of text", "[cli]") {
  CHECK(has(refusal_of({"--entry-name="}), "--entry-name: no name is given"));
  CHECK(has(refusal_of({"--entry-name=a\nb"}), "is not one line"));
  CHECK(has(refusal_of({"--entry-name=" + std::string(256, 'x')}),
            "longer than 255 bytes"));
  CHECK(run_of({"--entry-name=" + std::string(255, 'x')}).title.size() == 255);
  CHECK(has(refusal_of({"--report-file="}), "no file is named"));
}

TEST_CASE("caller options: a parent is a pipe or a socket that can be read"
          " (R4)",
          "[cli]") {
  CHECK(run_of({"--parent-fd=3"}).parent_descriptor == 3);
  CHECK(run_of({"--parent-fd=6"}).parent_descriptor == 6);
  CHECK(has(refusal_of({"--parent-fd=4"}), "is the writing end of a pipe"));
  CHECK(has(refusal_of({"--parent-fd=5"}), "neither a pipe nor a socket"));
  CHECK(has(refusal_of({"--parent-fd=7"}), "descriptor 7 is not open"));
  for (const auto* text : {"0", "2", "-1", "x", "2147483648"}) {
    INFO(text);
    CHECK(
      has(refusal_of({std::string{"--parent-fd="} + text}), "--parent-fd: "));
  }
}

TEST_CASE("caller options: events go to what can be written (R9)", "[cli]") {
  CHECK(run_of({"--event-log-fd=4"}).event_descriptor == 4);
  CHECK(run_of({"--event-log-fd=5"}).event_descriptor == 5);
  CHECK(has(refusal_of({"--event-log-fd=3"}), "open for reading only"));
  CHECK(has(refusal_of({"--event-log-fd=9"}), "descriptor 9 is not open"));
  CHECK(has(refusal_of({"--event-log-fd=6", "--parent-fd=6"}),
            "name one descriptor"));
}

TEST_CASE("caller options: those about one process have no variables",
          "[cli]") {
  const auto x = run_of({}, {{"PET_REPORT_FILE", "r.json"},
                             {"PET_PARENT_FD", "3"},
                             {"PET_EVENT_LOG_FD", "4"},
                             {"PET_NO_PET", "1"},
                             {"PET_ENTRY_NAME", "n"},
                             {"PET_NO_REPORT", "1"}});
  CHECK(x.report_file.empty());
  CHECK_FALSE(x.parent_descriptor);
  CHECK_FALSE(x.event_descriptor);
  CHECK_FALSE(x.hides_variables);
  CHECK(x.title == "n");
  CHECK_FALSE(x.prints_report);
}

TEST_CASE("caller options: no variable of an option is read (R8)", "[cli]") {
  const auto set = variables{{"PET_NPROC_PER_NODE", "x"},
                             {"PET_MAX_RESTARTS", "3"},
                             {"PET_SOMETHING", "1"},
                             {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}};
  const auto x = run_of({"--max-restarts=2", "--no-pet"}, set);
  CHECK(x.hides_variables);
  CHECK(x.agent.workers.slot_count == 1);
  CHECK(x.job.restart_count_max == 2);
  CHECK(x.warnings.empty());
  // It is no option's.
  CHECK(x.agent.workers.grace_period == std::chrono::seconds{7});
  CHECK(has(refusal_of({"--max-restarts=2"}, set), "PET_NPROC_PER_NODE: "));
}

TEST_CASE("caller options: a list of hosts has files and events elsewhere",
          "[cli]") {
  CHECK(has(refusal_of({"--hosts=a,b", "--report-file=r.json"}),
            "--report-file does not go with a list of hosts"));
  CHECK(has(refusal_of({"--hosts=a,b", "--event-log-fd=4"}),
            "--event-log-fd does not go with a list of hosts"));
  CHECK(has(refusal_of({"--hosts=a,b", "--parent-fd=4"}),
            "is the writing end of a pipe"));
  const auto x
    = parse_run(with_script({"--hosts=a,b", "--parent-fd=3", "--no-report",
                             "--no-pet", "--entry-name=n"}),
                world_with_descriptors({{"PET_MAX_RESTARTS", "3"}}));
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  const auto& hosts = std::get<hosts_arguments>(*x);
  CHECK(hosts.parent_descriptor == 3);
  CHECK(hosts.options == words{"--no-report", "--no-pet", "--entry-name=n"});
  CHECK(hosts.variables.empty());
}

TEST_CASE("caller options: a line that is refused may still name the report"
          " file",
          "[cli]") {
  const auto in = [](const words& line) { return report_file_in(line); };
  CHECK(in({"--report-file=r", "--nproc-per-node=x", "a"}) == "r");
  CHECK(in({"--report-file", "r", "--nproc-per-nod=4", "a"}) == "r");
  CHECK(in({"--nonsense", "-Z", "--report_file=r", "a"}) == "r");
  CHECK(in({"--report-file=r", "--report-file=s"}) == "s");
  CHECK(in({"--report-fi=r", "--nproc=2"}) == "r");
  CHECK(in({"--report-file"}) == "");
  CHECK(in({"--nnodes=2"}) == "");
  // Of the script, or perhaps so.
  CHECK(in({"--nnodes=x", "train.py", "--report-file=r"}) == "");
  CHECK(in({"--nonsense", "4", "--report-file=r"}) == "");
  CHECK(in({"--", "--report-file=r"}) == "");
}

} // namespace actorrun::test::caller_options_test
