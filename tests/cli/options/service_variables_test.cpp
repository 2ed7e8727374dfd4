#include "cli/options/service_variables.hpp"
#include "tests/support/catch.hpp"

#include <map>

namespace actorrun::test::service_variables_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

constexpr auto own_pid = pid_t{42};

service_variables read(const std::map<std::string, std::string>& variables) {
  return read_service_variables(
    [&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt
                                      : std::optional{found->second};
    },
    own_pid);
}

} // namespace

TEST_CASE("service variables: without a socket nothing is reported", "[cli]") {
  CHECK(read({}).options == service_options{});
  const auto x = read({{"NOTIFY_SOCKET", ""}, {"WATCHDOG_USEC", "nonsense"}});
  CHECK(x.options == service_options{});
  CHECK(x.warnings.empty());
}

TEST_CASE("service variables: socket and watchdog are taken", "[cli]") {
  CHECK(read({{"NOTIFY_SOCKET", "/run/systemd/notify"}}).options
        == service_options{"/run/systemd/notify", 0us});
  CHECK(
    read({{"NOTIFY_SOCKET", "@name"}, {"WATCHDOG_USEC", "30000000"}}).options
    == service_options{"@name", 30s});
  CHECK(read({{"NOTIFY_SOCKET", "@name"},
              {"WATCHDOG_USEC", "1"},
              {"WATCHDOG_PID", "42"}})
          .options
        == service_options{"@name", 1us});
}

TEST_CASE("service variables: the watchdog of another process is none of ours",
          "[cli]") {
  const auto x = read({{"NOTIFY_SOCKET", "@name"},
                       {"WATCHDOG_USEC", "30000000"},
                       {"WATCHDOG_PID", "4"}});
  CHECK(x.options == service_options{"@name", 0us});
  CHECK(x.warnings.empty());
}

TEST_CASE("service variables: an address that cannot be used gets a warning",
          "[cli]") {
  const auto longest = "/" + std::string(106, 'x');
  CHECK(read({{"NOTIFY_SOCKET", longest}}).options.socket == longest);
  for (const auto& socket :
       {std::string{"vsock:2:33"}, std::string{"run/notify"}, std::string{"/"},
        std::string{"@"}, longest + "x"}) {
    const auto x = read({{"NOTIFY_SOCKET", socket}, {"WATCHDOG_USEC", "9"}});
    CHECK(x.options == service_options{});
    REQUIRE(x.warnings.size() == 1);
    CHECK(x.warnings[0]
          == "NOTIFY_SOCKET has no effect: \"" + socket
               + "\" is neither an absolute path nor @ and a name, of at most"
                 " 107 characters");
  }
}

TEST_CASE("service variables: a watchdog that is no time gets a warning",
          "[cli]") {
  CHECK(read({{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", "3162240000000000"}})
          .options.watchdog
        == 36'600 * 24h);
  for (const auto* text : {"0", "-1", "30s", "1 ", "3162240000000001",
                           "99999999999999999999999"}) {
    const auto x = read({{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", text}});
    CHECK(x.options == service_options{"@n", 0us});
    REQUIRE(x.warnings.size() == 1);
    CHECK(x.warnings[0]
          == "WATCHDOG_USEC has no effect: \"" + std::string{text}
               + "\" is not a number of microseconds above 0");
  }
}

} // namespace actorrun::test::service_variables_test
