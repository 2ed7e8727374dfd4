// Actor systems of programs that have message types of their own.
#include "messages/type_ids.hpp"
#include "runtime/launcher.hpp"
#include "runtime/system_config.hpp"
#include "tests/support/catch.hpp"

#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace {

struct host_note {
  int value = 0;
};

template <class Inspector>
auto inspect(Inspector& f, host_note& x) {
#if ACTORRUN_CAF_1
  return f.object(x).fields(f.field("value", x.value));
#else
  return f(x.value);
#endif
}

} // namespace

// Where every manual of CAF lets a program begin.
CAF_BEGIN_TYPE_ID_BLOCK(host, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(host, (host_note))
CAF_END_TYPE_ID_BLOCK(host)

namespace actorrun {

namespace {

job_options job() {
  return {};
}

agent_options agent() {
  auto out = agent_options{};
  out.workers.command = {"/bin/true"};
  out.logs.folder = "/dev/null";
  return out;
}

} // namespace

TEST_CASE("launcher: the host's types keep their numbers", "[runtime]") {
  CHECK(caf::type_id<host_note>::value == caf::first_custom_type_id);
  CHECK(caf::type_id<v1::JoinRequest>::value == 1'000);
  CHECK(caf::type_id<v1::StacksReport>::value == 1'023);
  caf::actor_system_config config;
#if ACTORRUN_CAF_1
  caf::init_global_meta_objects<caf::id_block::host>();
  const auto name = "SpawnServ";
#else
  config.add_message_types<caf::id_block::host>();
  const auto name = caf::atom("SpawnServ");
#endif
  configure(config);
  caf::actor_system system{config};
  auto uut = launcher::start(system, job(), agent());
  REQUIRE(uut);
  const auto how = (*uut)->wait();
  REQUIRE(how.result);
  CHECK(how.result->kind == core::outcome::verdict::succeeded);
  CHECK(system.registry().get(name));
}

// CAF 1 has one table for all systems of a process, and aborts without it.
#if ACTORRUN_CAF_017
TEST_CASE("launcher: a system that was not configured is refused",
          "[runtime]") {
  caf::actor_system_config config;
  caf::actor_system system{config};
  for (const auto& x : {launcher::start(system, job(), agent()).error(),
                        launcher::start_coordinator(
                          system,
                          [] {
                            auto out = job();
                            out.rendezvous = endpoint{"127.0.0.1", 29'400};
                            return out;
                          }())
                          .error()}) {
    CHECK(x.code == errc::bad_argument);
    CHECK(x.text.find("configure") != std::string::npos);
  }
}
#endif

} // namespace actorrun
