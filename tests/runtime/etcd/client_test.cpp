// Runs the client against a real etcd.
#include "runtime/etcd/client.hpp"
#include "tests/runtime/certificates.hpp"
#include "tests/runtime/etcd/etcd_server.hpp"
#include "tests/runtime/etcd/http_parrot.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <thread>

namespace actorrun::test::client_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;

namespace {

using clock = etcd_client::clock;
using client = std::unique_ptr<etcd_client>;

clock::time_point soon() {
  return clock::now() + 10s;
}

client open(uint16_t port, const etcd_options& options = {},
            const std::string& job = "job") {
  auto x = etcd_client::open({"127.0.0.1", port}, options, {job});
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return std::move(*x);
}

template <class T>
T value_of(result<T> x) {
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return std::move(*x);
}

core::campaign_won win(etcd_client& x, int64_t lease, int64_t revision) {
  const auto mark = value_of(x.read(soon())).job.revision;
  const auto answer = value_of(x.campaign({lease, revision, mark}, soon()));
  REQUIRE(std::holds_alternative<core::campaign_won>(answer));
  return std::get<core::campaign_won>(answer);
}

} // namespace

TEST_CASE("etcd client: one candidate wins and publishes, and others see it",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  const auto server = etcd_server{};
  const auto a = open(server.port());
  const auto b = open(server.port());
  CHECK_FALSE(value_of(a->read(soon())).entry);
  CHECK(a->link().local_address == "127.0.0.1");
  const auto lease = value_of(a->open_lease(15s, soon()));
  CHECK(lease.length == 15s);
  const auto won = win(*a, lease.lease, 0);
  CHECK(won.terms_before == 0);
  CHECK(value_of(b->read(soon())).entry
        == core::leader_entry{won.revision, ""});
  const auto published
    = value_of(a->publish(lease.lease, won.revision, "n1:1", soon()));
  REQUIRE(published);
  CHECK(*published > won.revision);
  const auto other = value_of(b->open_lease(15s, soon()));
  const auto lost
    = value_of(b->campaign({other.lease, 0, won.revision}, soon()));
  CHECK(std::get<core::campaign_lost>(lost).entry
        == core::leader_entry{*published, "n1:1"});
  CHECK(value_of(a->renew(lease.lease, soon())) == core::duration{15s});
}

TEST_CASE("etcd client: an entry is taken over at the revision it has",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  const auto server = etcd_server{};
  const auto a = open(server.port());
  const auto b = open(server.port());
  const auto mine = value_of(a->open_lease(15s, soon()));
  const auto old = win(*a, mine.lease, 0);
  const auto theirs = value_of(b->open_lease(15s, soon()));
  const auto missed = value_of(
    b->campaign({theirs.lease, old.revision + 1, old.revision}, soon()));
  CHECK(std::holds_alternative<core::campaign_lost>(missed));
  const auto won = win(*b, theirs.lease, old.revision);
  CHECK(won.terms_before == 1);
  CHECK_FALSE(value_of(a->publish(mine.lease, old.revision, "x:1", soon())));
  // The end of the old lease is not the end of the new entry.
  a->end_lease({mine.lease, false}, soon());
  CHECK(value_of(b->read(soon())).entry
        == core::leader_entry{won.revision, ""});
}

TEST_CASE("etcd client: the end of a lease ends the leadership, and the key of "
          "the job remains until its end",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  const auto server = etcd_server{};
  const auto x = open(server.port());
  const auto first = value_of(x->open_lease(15s, soon()));
  win(*x, first.lease, 0);
  x->end_lease({first.lease, false}, soon());
  CHECK_FALSE(value_of(x->read(soon())).entry);
  CHECK_FALSE(value_of(x->renew(first.lease, soon())));
  const auto second = value_of(x->open_lease(15s, soon()));
  CHECK(win(*x, second.lease, 0).terms_before == 1);
  // A leader whose term is over does not affect the job.
  x->end_lease({first.lease, true}, soon());
  x->end_lease({second.lease, false}, soon());
  const auto last = value_of(x->open_lease(15s, soon()));
  CHECK(win(*x, last.lease, 0).terms_before == 2);
  CHECK_FALSE(value_of(x->read(soon())).job.is_over);
  x->end_lease({last.lease, true}, soon());
  // No candidate may take it for one that goes on; the next to win changes that.
  const auto ended = value_of(x->read(soon()));
  CHECK_FALSE(ended.entry);
  CHECK(ended.job.is_over);
  const auto third = value_of(x->open_lease(15s, soon()));
  CHECK(win(*x, third.lease, 0).terms_before == 0);
  CHECK_FALSE(value_of(x->read(soon())).job.is_over);
}

TEST_CASE(
  "etcd client: a campaign is lost if the job has ended since the entry "
  "was read",
  "[runtime]") {
  if (!etcd_server::is_here())
    return;
  const auto server = etcd_server{};
  const auto a = open(server.port());
  const auto b = open(server.port());
  const auto mine = value_of(a->open_lease(15s, soon()));
  const auto won = win(*a, mine.lease, 0);
  a->end_lease({mine.lease, true}, soon());
  const auto theirs = value_of(b->open_lease(15s, soon()));
  const auto answer
    = value_of(b->campaign({theirs.lease, 0, won.revision}, soon()));
  const auto* lost = std::get_if<core::campaign_lost>(&answer);
  REQUIRE(lost != nullptr);
  CHECK_FALSE(lost->entry);
  CHECK(lost->job.is_over);
}

TEST_CASE("etcd client: jobs do not see each other", "[runtime]") {
  if (!etcd_server::is_here())
    return;
  const auto server = etcd_server{};
  const auto a = open(server.port(), {}, "a");
  const auto b = open(server.port(), {}, "b");
  const auto apart = open(server.port(), {.prefix = "/elsewhere"}, "a");
  win(*a, value_of(a->open_lease(15s, soon())).lease, 0);
  CHECK_FALSE(value_of(b->read(soon())).entry);
  CHECK_FALSE(value_of(apart->read(soon())).entry);
  CHECK(value_of(a->read(soon())).entry);
}

TEST_CASE("etcd client: a lease outlives the restart of etcd", "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto server = etcd_server{};
  const auto x = open(server.port());
  const auto lease = value_of(x->open_lease(15s, soon()));
  const auto won = win(*x, lease.lease, 0);
  server.kill();
  const auto away = x->read(soon());
  REQUIRE_FALSE(away);
  CHECK(away.error().code == errc::etcd_unreachable);
  CHECK(away.error().text.find(server.endpoint()) != std::string::npos);
  server.start();
  CHECK(value_of(x->renew(lease.lease, soon())) == core::duration{15s});
  CHECK(value_of(x->read(soon())).entry
        == core::leader_entry{won.revision, ""});
}

// -- waiting ------------------------------------------------------------------

TEST_CASE("etcd client: a mute server is waited for until the deadline, or "
          "until the caller hurries",
          "[runtime]") {
  const auto server = test_http::mute_server{};
  const auto x = open(server.port());
  const auto begin = clock::now();
  SECTION("the deadline") {
    const auto answer = x->read(begin + 200ms);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == errc::etcd_unreachable);
    CHECK(answer.error().text.find("no answer in time") != std::string::npos);
    CHECK(clock::now() - begin >= 200ms);
  }
  SECTION("hurry") {
    auto other = std::thread{[&] { x->hurry(clock::now()); }};
    const auto answer = x->read(begin + 60s);
    other.join();
    CHECK_FALSE(answer);
    // All later requests end at once, too.
    CHECK_FALSE(x->read(clock::now() + 60s));
  }
  CHECK(clock::now() - begin < 30s);
}

// -- authentication -----------------------------------------------------------

TEST_CASE("etcd client: TLS accepts clients with the right certificate",
          "[runtime]") {
  const auto files = certificates{};
  if (!etcd_server::is_here() || !files)
    return;
  const auto server = etcd_server{
    {.more = {"--cert-file=" + files.certificate(), "--key-file=" + files.key(),
              "--client-cert-auth", "--trusted-ca-file=" + files.authority()},
     .is_secure = true}};
  const auto good = etcd_options{.secure = true,
                                 .authority_file = files.authority(),
                                 .certificate_file = files.certificate(),
                                 .key_file = files.key()};
  CHECK(open(server.port(), good)->read(soon()));
  const auto refused = [&](const etcd_options& options) {
    const auto x = open(server.port(), options)->read(soon());
    REQUIRE_FALSE(x);
    return x.error();
  };
  // The server's reason may be lost: it has closed the connection.
  const auto is_about_ours = [](const failure& x) {
    INFO(x.text);
    CHECK((x.code == errc::etcd_denied
           || x.text.find("(cert, key)") != std::string::npos));
  };
  auto x = good;
  SECTION("no client certificate") {
    x.certificate_file = x.key_file = "";
    is_about_ours(refused(x));
  }
  SECTION("a certificate of another authority") {
    x.certificate_file = files.foreign_certificate();
    x.key_file = files.foreign_key();
    is_about_ours(refused(x));
  }
  SECTION("a server that is not trusted") {
    x.authority_file = files.foreign_certificate();
    CHECK(refused(x).code == errc::etcd_denied);
  }
  SECTION("a missing file") {
    x.key_file = files.key() + ".gone";
    const auto early
      = etcd_client::open({"127.0.0.1", server.port()}, x, {"job"});
    REQUIRE_FALSE(early);
    CHECK(early.error().code == errc::etcd_denied);
    CHECK(early.error().text.starts_with("key: " + x.key_file));
  }
  SECTION("a file without a key") {
    x.key_file = files.authority();
    CHECK(refused(x).code == errc::etcd_denied);
  }
  SECTION("a key with a password") {
    x.key_file = files.locked_key();
    CHECK(refused(x).code == errc::etcd_denied);
  }
  SECTION("an expired certificate") {
    x.certificate_file = files.expired_certificate();
    is_about_ours(refused(x));
  }
  SECTION("no TLS") {
    CHECK(refused({}).code == errc::etcd_unreachable);
  }
}

TEST_CASE("etcd client: a server with an expired certificate is not "
          "trusted",
          "[runtime]") {
  const auto files = certificates{};
  if (!etcd_server::is_here() || !files)
    return;
  const auto server
    = etcd_server{{.more = {"--cert-file=" + files.expired_certificate(),
                            "--key-file=" + files.key()},
                   .is_secure = true}};
  const auto options
    = etcd_options{.secure = true, .authority_file = files.authority()};
  const auto x = open(server.port(), options)->read(soon());
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::etcd_denied);
  CHECK(x.error().text.find("expired") != std::string::npos);
}

TEST_CASE("etcd client: a server with users accepts clients with the "
          "password",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto server = etcd_server{};
  auto http = etcd_http::open({"127.0.0.1", server.port()}, {});
  REQUIRE(http);
  const auto order = [&](const std::string& path, const std::string& body) {
    const auto x = (*http)->post(path, body, soon());
    REQUIRE(x);
    REQUIRE(x->status == 200);
  };
  order("/v3/auth/user/add", R"({"name":"root","password":"secret"})");
  order("/v3/auth/role/add", R"({"name":"root"})");
  order("/v3/auth/user/grant", R"({"user":"root","role":"root"})");
  order("/v3/auth/user/add", R"({"name":"weak","password":"secret"})");
  order("/v3/auth/enable", "{}");
  const auto file = [&](const std::string& password) {
    const auto path = server.folder() + "/password";
    std::ofstream{path} << password;
    return path;
  };
  const auto refused = [&](const etcd_options& options) {
    const auto x = open(server.port(), options)->read(soon());
    REQUIRE_FALSE(x);
    return x.error().code;
  };
  const auto me
    = etcd_options{.user = "root", .password_file = file("secret\n")};
  const auto x = open(server.port(), me);
  CHECK(x->read(soon()));
  CHECK(refused({}) == errc::etcd_denied);
  CHECK(refused({.user = "weak", .password_file = file("secret")})
        == errc::etcd_denied);
  CHECK(refused({.user = "root", .password_file = file("wrong")})
        == errc::etcd_denied);
  CHECK_FALSE(etcd_client::open(
    {"127.0.0.1", server.port()},
    {.user = "root", .password_file = server.folder() + "/none"}, {"job"}));
  // A new server does not know the token, so the client asks for another.
  server.kill();
  server.start();
  CHECK(x->read(soon()));
}

// -- libcurl ------------------------------------------------------------------

TEST_CASE("etcd client: without libcurl the error names the package",
          "[runtime]") {
  const auto x = load_curl({"libno-such-curl.so.4", "libno-such-curl.so.5"});
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::system_failure);
  CHECK(x.error().text.find("install libcurl4") != std::string::npos);
  const auto y = load_curl({"libno-such-curl.so.4", "libcurl.so.4"});
  CHECK(y);
}

TEST_CASE("etcd client: a library that is not libcurl is refused",
          "[runtime]") {
  const auto x = load_curl({"libm.so.6"});
  REQUIRE_FALSE(x);
  CHECK(x.error().text.find("curl_global_init") != std::string::npos);
}

TEST_CASE(
  "etcd client: V2 N11 W7 a job's key tells the next coordinator what it "
  "must know",
  "[runtime]") {
  if (!etcd_server::is_here())
    return;
  const auto server = etcd_server{};
  const auto x = open(server.port());
  const auto job = core::charter{.revision = 5,
                                 .settings = {2, 8, 3, false, 1'200ms},
                                 .is_resized = true,
                                 .restart_count = 1,
                                 .charged = {6'000},
                                 .excluded = {{"n2", "a bad disk", "bob", {}}},
                                 .lease = 1'300ms,
                                 .newest = {7'000}};
  const auto first = value_of(x->open_lease(15s, soon()));
  auto order = core::campaign{first.lease};
  order.job = job;
  REQUIRE(std::holds_alternative<core::campaign_won>(
    value_of(x->campaign(order, soon()))));
  CHECK(value_of(x->read(soon())).job.job == job);
  auto changed = job;
  changed.revision = 6;
  CHECK(value_of(x->write_job({first.lease, false, changed}, soon())));
  CHECK(value_of(x->read(soon())).job.job == changed);
  // Of the outcome, while the coordinator still leads.
  CHECK(value_of(x->write_job({first.lease, true, changed}, soon())));
  const auto ended = value_of(x->read(soon()));
  CHECK(ended.entry.has_value());
  CHECK(ended.job.is_over);
  CHECK(ended.job.job.newest == generation_id{7'000});
  CHECK_FALSE(value_of(x->write_job({first.lease + 1, false, job}, soon())));
}

} // namespace actorrun::test::client_test
