#include "cli/report/exit_code.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <string>
#include <utility>

namespace actorrun::test::exit_code_test {

using namespace actorrun::cli;

TEST_CASE("exit code: every error has its code", "[cli]") {
  const std::pair<errc, int> expected[] = {
    {errc::none, 0},
    {errc::bad_argument, 2},
    {errc::unresolvable, 3},
    {errc::address_in_use, 6},
    {errc::cannot_listen, 6},
    {errc::connection_refused, 3},
    {errc::connection_timed_out, 3},
    {errc::connection_failed, 3},
    {errc::not_actorrun, 3},
    {errc::protocol_mismatch, 4},
    {errc::job_mismatch, 4},
    {errc::secret_mismatch, 4},
    {errc::certificate_mismatch, 4},
    {errc::settings_mismatch, 4},
    {errc::rendezvous_timed_out, 3},
    {errc::coordinator_lost, 5},
    {errc::job_over, 5},
    {errc::bad_slot_count, 4},
    {errc::duplicate_agent, 4},
    {errc::too_many_agents, 4},
    {errc::program_not_found, 127},
    {errc::program_not_executable, 126},
    {errc::start_failed, 6},
    {errc::log_failed, 6},
    {errc::system_failure, 6},
    {errc::worker_unkillable, 7},
    {errc::etcd_unreachable, 3},
    {errc::etcd_denied, 4},
    {errc::coordinator_gone, 3},
    {errc::user_mismatch, 4},
    {errc::bad_plan, 4},
  };
  CHECK(std::size(expected) == size_t(errc::certificate_mismatch) + 1);
  for (const auto& [code, number] : expected) {
    INFO(to_string(code));
    CHECK(static_cast<int>(exit_code_of(code)) == number);
  }
}

TEST_CASE("exit code: a signal ends with 128 and its number", "[cli]") {
  CHECK(exit_code_of_signal(2) == 130);
  CHECK(exit_code_of_signal(15) == 143);
  CHECK(exit_code_of_signal(64) == 192);
}

TEST_CASE("exit code: the table has every code that an error has", "[cli]") {
  auto codes = std::set<std::string>{};
  for (const auto& [code, meaning] : exit_code_table()) {
    CHECK(codes.insert(code).second);
    CHECK_FALSE(meaning.empty());
  }
  for (size_t i = 0; i <= size_t(errc::etcd_denied); ++i)
    CHECK(
      codes.contains(std::to_string(static_cast<int>(exit_code_of(errc(i))))));
  CHECK(codes.contains("1"));
  CHECK(codes.contains("8")); // U2: who stood by while the job succeeded.
  CHECK(codes.contains("9")); // P5: the answer to a question was no.
  CHECK(codes.contains("128+n"));
}

} // namespace actorrun::test::exit_code_test
