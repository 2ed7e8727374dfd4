#include "messages/errc.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <string>

namespace actorrun::test::errc_test {

namespace {

struct named {
  errc code;
  std::string_view name;
};

constexpr named all[] = {
  {errc::none, "none"},
  {errc::bad_argument, "bad_argument"},
  {errc::unresolvable, "unresolvable"},
  {errc::address_in_use, "address_in_use"},
  {errc::cannot_listen, "cannot_listen"},
  {errc::connection_refused, "connection_refused"},
  {errc::connection_timed_out, "connection_timed_out"},
  {errc::connection_failed, "connection_failed"},
  {errc::not_actorrun, "not_actorrun"},
  {errc::protocol_mismatch, "protocol_mismatch"},
  {errc::job_mismatch, "job_mismatch"},
  {errc::secret_mismatch, "secret_mismatch"},
  {errc::settings_mismatch, "settings_mismatch"},
  {errc::rendezvous_timed_out, "rendezvous_timed_out"},
  {errc::coordinator_lost, "coordinator_lost"},
  {errc::bad_slot_count, "bad_slot_count"},
  {errc::duplicate_agent, "duplicate_agent"},
  {errc::too_many_agents, "too_many_agents"},
  {errc::program_not_found, "program_not_found"},
  {errc::program_not_executable, "program_not_executable"},
  {errc::start_failed, "start_failed"},
  {errc::log_failed, "log_failed"},
  {errc::system_failure, "system_failure"},
  {errc::worker_unkillable, "worker_unkillable"},
  {errc::etcd_unreachable, "etcd_unreachable"},
  {errc::etcd_denied, "etcd_denied"},
  {errc::coordinator_gone, "coordinator_gone"},
  {errc::job_over, "job_over"},
  {errc::user_mismatch, "user_mismatch"},
  {errc::bad_plan, "bad_plan"},
  {errc::certificate_mismatch, "certificate_mismatch"},
};

} // namespace

TEST_CASE("errc: every code has the name it has in the source", "[messages]") {
  for (const auto& [code, name] : all)
    CHECK(to_string(code) == name);
}

TEST_CASE("errc: codes are numbered without a gap", "[messages]") {
  auto names = std::set<std::string_view>{};
  for (size_t i = 0; i < std::size(all); ++i) {
    CHECK(static_cast<size_t>(all[i].code) == i);
    names.insert(to_string(static_cast<errc>(i)));
  }
  CHECK(names.size() == std::size(all));
}

TEST_CASE("errc: a number from elsewhere has no name", "[messages]") {
  CHECK(to_string(static_cast<errc>(std::size(all))) == "unknown");
  CHECK(to_string(static_cast<errc>(255)) == "unknown");
}

} // namespace actorrun::test::errc_test
