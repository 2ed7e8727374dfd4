// Handshakes of a job without a secret, in which munge shows whose processes they
// are.

#include "messages/version.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/munge_queue.hpp"
#include "runtime/network/tombstone.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_munge.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

namespace actorrun::test::munge_handshake_test {

using namespace actorrun::detail;
using actorrun::test::fake_munge;
using actorrun::test::fake_munge_cluster;

namespace {

constexpr auto us = uid_t{1000};
constexpr auto them = uid_t{2000};

nonce_bytes nonce(uint8_t value) {
  auto out = nonce_bytes{};
  out.fill(value);
  return out;
}

enum class mode { demands, on_demand, off, secret };

/// A process on a node of its own.
struct member {
  std::shared_ptr<fake_munge> munge;
  credentials mine = credentials_of(job_id{"job"}, "");

  member(const std::shared_ptr<fake_munge_cluster>& cluster, uid_t user,
         mode how = mode::demands)
    : munge(std::make_shared<fake_munge>(cluster, user)) {
    if (how == mode::secret)
      mine = credentials_of(job_id{"job"}, "secret");
    if (how == mode::demands || how == mode::on_demand)
      mine.munge = std::make_shared<munge_queue>(munge);
    mine.demands_munge = how == mode::demands;
    if (mine.demands_munge)
      mine.key = random_key();
  }

  server_handshake server(uint8_t salt = 1) const {
    return {mine, nonce(salt), trust::secret};
  }

  client_handshake client(uint8_t salt = 9) const {
    return {mine, purpose::join, "n1-7-0badcafe", nonce(salt), trust::secret};
  }

  std::string have_done(handshake& side) const {
    const auto done
      = mine.munge->wait_for(*side.task(), std::chrono::seconds{20});
    return side.take_from_munge(done);
  }
};

/// A handshake between two of them.
struct fixture {
  std::shared_ptr<fake_munge_cluster> cluster
    = std::make_shared<fake_munge_cluster>();
  member coordinator{cluster, us};
  member agent{cluster, us};
  size_t step = 1000; ///< At most this many bytes arrive at once.
  /// Changes what the server sends after its hello.
  std::function<void(std::string& bytes)> tamper = [](std::string&) {};

  std::string feed(handshake& side, const member& owner, std::string& input) {
    auto out = std::string{};
    for (;;) {
      if (side.task())
        out += owner.have_done(side);
      const auto size = std::min({step, input.size(), side.wanted()});
      if (size == 0)
        return out;
      out += side.feed(input.substr(0, size));
      input.erase(0, size);
    }
  }

  void converse(client_handshake& c, server_handshake& s) {
    auto to_server = c.opening();
    auto to_client = std::string{};
    for (auto round = 0; round < 4; ++round) {
      auto answer = feed(s, coordinator, to_server);
      if (round == 0 && answer.size() > server_hello_size)
        tamper(answer);
      to_client += answer;
      to_server += feed(c, agent, to_client);
    }
  }

  /// What each side says of the other.
  std::string outcome() {
    auto c = agent.client();
    auto s = coordinator.server();
    converse(c, s);
    return text_of(c) + " / " + text_of(s);
  }

  static std::string text_of(const handshake& x) {
    switch (x.state()) {
      case handshake_state::pending:
        return "waits";
      case handshake_state::accepted:
        return "accepts";
      case handshake_state::refused:
        break;
    }
    return std::string{to_string(x.why().code)} + ": " + x.why().text;
  }
};

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text, part);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_METHOD(fixture, "munge: processes of one user accept each other",
                 "[runtime]") {
  for (step = 1; step <= client_hello_size; ++step) {
    auto c = agent.client();
    auto s = coordinator.server();
    converse(c, s);
    REQUIRE(text_of(c) == "accepts");
    REQUIRE(text_of(s) == "accepts");
    CHECK(c.key() == s.key());
    CHECK(c.key_of_job() == coordinator.mine.key);
    CHECK(c.wanted() == 0);
  }
}

TEST_CASE_METHOD(fixture, "munge: the key is not in what a handshake sends",
                 "[runtime]") {
  auto seen = std::string{};
  tamper = [&](std::string& bytes) { seen = bytes; };
  CHECK(outcome() == "accepts / accepts");
  const auto& key = coordinator.mine.key;
  CHECK_FALSE(seen.empty());
  CHECK(seen.find(std::string{key.begin(), key.end()}) == std::string::npos);
}

TEST_CASE_METHOD(fixture, "munge: another user's process is refused",
                 "[runtime]") {
  agent = member{cluster, them};
  CHECK(outcome()
        == "user_mismatch: belongs to another user, as munge says; run this"
           " program as that user / user_mismatch: cannot open what munge has"
           " sealed for this job's user (n1-7-0badcafe)");
}

TEST_CASE_METHOD(fixture,
                 "munge: a coordinator that lets all users read is another"
                 " user's all the same",
                 "[runtime]") {
  coordinator = member{cluster, them};
  tamper = [&](std::string&) {
    for (auto& [credential, x] : cluster->texts)
      x.reader = munge_service::any_user;
  };
  CHECK(has(outcome(), "user_mismatch: belongs to another user"));
}

TEST_CASE_METHOD(fixture, "munge: a credential counts on its connection only",
                 "[runtime]") {
  auto first = std::string{};
  tamper = [&](std::string& bytes) { first = bytes; };
  auto c = agent.client();
  auto s = coordinator.server();
  converse(c, s);
  tamper = [&](std::string& bytes) {
    bytes.replace(server_hello_size, std::string::npos,
                  first.substr(server_hello_size));
  };
  SECTION("at the same node munge has seen it") {
    CHECK(has(outcome(), "connection_failed: demands munge, and here munge has"
                         " seen it before"));
  }
  SECTION("at another one it is not for this client") {
    agent = member{cluster, us};
    auto later = agent.client(10);
    auto other = coordinator.server(2);
    converse(later, other);
    CHECK(has(text_of(later), "secret_mismatch: sends a credential that was not"
                              " made for this connection"));
    CHECK(other.state() == handshake_state::refused);
  }
}

TEST_CASE_METHOD(fixture,
                 "munge: what the user has sealed for something else does not"
                 " count",
                 "[runtime]") {
  const auto other = agent.mine.munge->wait_for(
    {munge_task::kind::seal, std::string(87, 'x')}, std::chrono::seconds{20});
  REQUIRE(other);
  tamper = [&](std::string& bytes) {
    bytes.replace(server_hello_size, std::string::npos,
                  encode_credential(*other));
  };
  CHECK(has(outcome(), "secret_mismatch: sends a credential"));
}

TEST_CASE_METHOD(fixture, "munge: no byte of a credential can be changed",
                 "[runtime]") {
  for (size_t i = 0; i < 6; ++i) {
    tamper = [&](std::string& bytes) {
      auto& x = bytes[server_hello_size + credential_head_size + i];
      x = static_cast<char>(x ^ 1);
    };
    CHECK(has(outcome(), "secret_mismatch: demands munge, and here munge"
                         " refuses the credential / user_mismatch"));
  }
  tamper = [](std::string& bytes) {
    bytes[server_hello_size] = static_cast<char>(credential_size_max / 256 + 1);
  };
  CHECK(has(outcome(), "not_actorrun: sends a malformed credential / waits"));
}

TEST_CASE_METHOD(fixture, "munge: a daemon that fails is named", "[runtime]") {
  const auto fails = [] {
    return std::optional{failure{errc::connection_failed, "munge is away"}};
  };
  SECTION("the coordinator's") {
    coordinator.munge->before_calls(fails);
    CHECK(outcome()
          == "connection_failed: demands munge, which does not answer on its"
             " host; see that munged runs there / connection_failed: was not"
             " let in: munge is away (n1-7-0badcafe)");
  }
  SECTION("the agent's") {
    agent.munge->before_calls(fails);
    CHECK(has(outcome(),
              "connection_failed: demands munge, and here munge is away"));
  }
}

TEST_CASE_METHOD(fixture, "munge: both sides say who lacks what", "[runtime]") {
  const auto between = [&](mode client, mode server) {
    agent = member{cluster, us, client};
    coordinator = member{cluster, us, server};
    return outcome();
  };
  for (const auto client : {mode::demands, mode::on_demand})
    CHECK(between(client, mode::demands) == "accepts / accepts");
  for (const auto client : {mode::on_demand, mode::off})
    for (const auto server : {mode::on_demand, mode::off})
      CHECK(between(client, server) == "accepts / accepts");
  for (const auto server : {mode::on_demand, mode::off}) {
    const auto text = between(mode::demands, server);
    CHECK(has(text, "does not use munge, and this program demands it"));
    CHECK(has(text, "/ secret_mismatch: demands munge, which this job does not"
                    " use (n1-7-0badcafe)"));
  }
  const auto without = between(mode::off, mode::demands);
  CHECK(has(without, "this program has --munge=off"));
  CHECK(has(without, "/ secret_mismatch: does not use munge, which this job"
                     " demands (n1-7-0badcafe)"));
  const auto with_secret = between(mode::secret, mode::demands);
  CHECK(has(with_secret, "has no secret, and this program has one"));
  CHECK(has(with_secret, "/ secret_mismatch: has a secret, and this job has"
                         " none (n1-7-0badcafe)"));
  const auto to_secret = between(mode::demands, mode::secret);
  CHECK(has(to_secret, "has a secret, and this program has none"));
  CHECK(has(to_secret, "/ secret_mismatch: has no secret (n1-7-0badcafe)"));
}

TEST_CASE_METHOD(fixture,
                 "munge: one in the middle cannot have a client do without",
                 "[runtime]") {
  auto c = agent.client();
  const auto answer = server_hello{protocol_version, verdict::ok, nonce(1)};
  CHECK(c.feed(encode(answer)).empty());
  CHECK(has(text_of(c), "does not use munge"));
}

TEST_CASE_METHOD(fixture,
                 "munge: a hello costs no credential until it is of"
                 " the job and has munge",
                 "[runtime]") {
  const auto costs = [&](const credentials& mine) {
    auto s = coordinator.server();
    auto to_server = client_handshake{mine, purpose::join, "n1-7-0badcafe",
                                      nonce(9), trust::secret}
                       .opening();
    s.feed(to_server);
    return s.task().has_value();
  };
  auto of_another_job = agent.mine;
  of_another_job.fingerprint = fingerprint_of(job_id{"other"});
  CHECK_FALSE(costs(of_another_job));
  CHECK_FALSE(costs(member{cluster, us, mode::off}.mine));
  CHECK(costs(agent.mine));
}

TEST_CASE_METHOD(fixture,
                 "munge: only who was let in knows a coordinator's tombstone",
                 "[runtime]") {
  const auto answer = coordinator_answer(coordinator.mine.key, nonce(3), {});
  const auto believes = [&](const credentials& mine) {
    auto c = client_handshake{mine, purpose::join, "n1-7-0badcafe", nonce(9),
                              trust::secret};
    c.feed(answer.substr(0, server_hello_size));
    c.feed(answer.substr(server_hello_size));
    CHECK(c.has_strange_tombstone() != c.tombstone().has_value());
    return c.tombstone().has_value();
  };
  CHECK_FALSE(believes(agent.mine));
  auto c = agent.client();
  auto s = coordinator.server();
  converse(c, s);
  agent.mine.key = c.key_of_job();
  CHECK(believes(agent.mine));
}

} // namespace actorrun::test::munge_handshake_test
