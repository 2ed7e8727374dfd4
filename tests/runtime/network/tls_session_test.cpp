#include "runtime/network/tls_session.hpp"
#include "tests/runtime/certificates.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>

namespace actorrun::test::tls_session_test {

using namespace actorrun::detail;

namespace {

link_key key(uint8_t value = 1) {
  auto out = link_key{};
  out.fill(value);
  return out;
}

/// Both sides of a link without a network.
struct two_sides {
  explicit two_sides(const link_key& of_server = key(),
                     const tls_trust& client_trust = {},
                     const tls_trust& server_trust = {})
    : client(link_side::client, key(), client_trust),
      server(link_side::server, of_server, server_trust) {}

  /// Passes on what each side has to send, until nothing is left or one side
  /// complains.
  result<void> settle() {
    for (;;) {
      const auto forth = client.take_records();
      if (auto ok = server.receive(forth, at_server); !ok)
        return ok;
      const auto back = server.take_records();
      if (auto ok = client.receive(back, at_client); !ok)
        return ok;
      if (forth.empty() && back.empty())
        return {};
    }
  }

  tls_session client;
  tls_session server;
  std::string at_client;
  std::string at_server;
};

tls_trust trust_in(const tls_options& files, const std::string& host = {}) {
  auto identity = tls_identity::load(files);
  REQUIRE(identity);
  return {*identity, host};
}

/// What the client and the server complain of.
std::pair<failure, failure> troubles(two_sides& x) {
  auto out = std::pair<failure, failure>{};
  for (auto i = 0; i < 4; ++i) {
    const auto at_server
      = x.server.receive(x.client.take_records(), x.at_server);
    if (!at_server && out.second.code == errc::none)
      out.second = at_server.error();
    const auto at_client
      = x.client.receive(x.server.take_records(), x.at_client);
    if (!at_client && out.first.code == errc::none)
      out.first = at_client.error();
  }
  return out;
}

} // namespace

TEST_CASE("tls_session: two sides with one key understand each other, and no "
          "other reads along",
          "[runtime]") {
  auto x = two_sides{};
  REQUIRE(x.settle());
  REQUIRE((x.client.is_open() && x.server.is_open()));
  const auto text = std::string(100'000, 'a') + "the end";
  REQUIRE(x.client.send(text));
  const auto records = x.client.take_records();
  CHECK(records.find("aaaa") == std::string::npos);
  REQUIRE(x.server.receive(records, x.at_server));
  CHECK(x.at_server == text);
  REQUIRE(x.server.send("answer"));
  REQUIRE(x.settle());
  CHECK(x.at_client == "answer");
}

TEST_CASE("tls_session: another key is refused, by both", "[runtime]") {
  auto x = two_sides{key(2)};
  CHECK_FALSE(x.settle());
  CHECK_FALSE(x.server.is_open());
  auto plain = std::string{};
  CHECK_FALSE(
    (x.client.receive(x.server.take_records(), plain) && x.client.is_open()));
}

TEST_CASE("tls_session: what was recorded means nothing to another session",
          "[runtime]") {
  auto first = two_sides{};
  REQUIRE(first.settle());
  REQUIRE(first.client.send("stop all"));
  const auto recorded = first.client.take_records();
  auto second = two_sides{};
  REQUIRE(second.settle());
  CHECK_FALSE(second.server.receive(recorded, second.at_server));
  CHECK(second.at_server.empty());
}

TEST_CASE(
  "tls_session: both sides have one key to resume, each session another",
  "[runtime]") {
  auto first = two_sides{};
  auto second = two_sides{};
  REQUIRE((first.settle() && second.settle()));
  CHECK(first.client.key_to_resume() == first.server.key_to_resume());
  CHECK(first.client.key_to_resume() != second.client.key_to_resume());
}

TEST_CASE("tls_session: the end of one side reaches the other", "[runtime]") {
  auto x = two_sides{};
  REQUIRE(x.settle());
  CHECK_FALSE(x.server.has_ended());
  x.client.close();
  REQUIRE(x.settle());
  CHECK(x.server.has_ended());
}

TEST_CASE(
  "tls_session: a record that was changed, dropped, repeated or swapped "
  "ends the session",
  "[runtime]") {
  auto x = two_sides{};
  REQUIRE(x.settle());
  const auto record = [&](const std::string& text) {
    REQUIRE(x.client.send(text));
    return x.client.take_records();
  };
  const auto first = record("first");
  const auto second = record("second");
  SECTION("changed") {
    auto bytes = first;
    const auto index = GENERATE(0, 1, 3, 5, 9);
    bytes[static_cast<size_t>(index)] ^= 1;
    // A longer length waits for bytes that never come.
    const auto ok = x.server.receive(bytes, x.at_server);
    CHECK((!ok || index == 3));
  }
  SECTION("dropped") {
    CHECK_FALSE(x.server.receive(second, x.at_server));
  }
  SECTION("repeated") {
    REQUIRE(x.server.receive(first, x.at_server));
    x.at_server.clear();
    CHECK_FALSE(x.server.receive(first, x.at_server));
  }
  SECTION("swapped") {
    CHECK_FALSE(x.server.receive(second + first, x.at_server));
  }
  CHECK(x.at_server.empty());
}

TEST_CASE("tls_session: keys change without a pause in a long conversation",
          "[runtime]") {
  auto x = two_sides{};
  REQUIRE(x.settle());
  auto sent = size_t{0};
  for (auto i = 0; i < (1 << 20) + 10; ++i) {
    REQUIRE(x.client.send("x"));
    if (++sent % 4096 == 0)
      REQUIRE(x.server.receive(x.client.take_records(), x.at_server));
  }
  REQUIRE(x.settle());
  CHECK(x.at_server.size() == sent);
}

TEST_CASE("tls_session: noise is refused and harmless", "[runtime]") {
  auto random = std::mt19937{20'261'123};
  for (auto round = 0; round < 500; ++round) {
    auto x = two_sides{};
    if (round % 2 == 0)
      REQUIRE(x.settle());
    auto bytes = x.client.take_records();
    if (bytes.empty()) {
      REQUIRE(x.client.send(std::string(random() % 200, 'x')));
      bytes = x.client.take_records();
    }
    for (auto i = 0; i < 3 && !bytes.empty(); ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.append(random() % 50, static_cast<char>(random()));
    x.server.receive(bytes, x.at_server);
    CHECK(x.at_server.size() <= 200);
  }
}

TEST_CASE("tls_session: with certificates, both sides know each other's names",
          "[runtime]") {
  const auto files = certificates{};
  if (!files)
    return;
  auto x = two_sides{key(), trust_in(files.options(), "localhost"),
                     trust_in(files.options())};
  REQUIRE(x.settle());
  REQUIRE((x.client.is_open() && x.server.is_open()));
  CHECK((x.at_client.empty() && x.at_server.empty()));
  CHECK(x.server.may_speak_for("127.0.0.1"));
  CHECK_FALSE(x.server.may_speak_for("10.0.0.1"));
  REQUIRE(x.client.send("a request"));
  REQUIRE(x.settle());
  CHECK(x.at_server == "a request");
  CHECK(x.client.key_to_resume() == x.server.key_to_resume());
}

TEST_CASE("tls_session: what follows the proof in one read is not lost",
          "[runtime]") {
  const auto files = certificates{};
  if (!files)
    return;
  auto x = two_sides{key(), trust_in(files.options(), "localhost"),
                     trust_in(files.options())};
  auto plain = std::string{};
  while (!x.server.is_open()) {
    REQUIRE(x.server.receive(x.client.take_records(), plain));
    if (!x.server.is_open())
      REQUIRE(x.client.receive(x.server.take_records(), plain));
  }
  REQUIRE(x.server.send("at once"));
  REQUIRE(x.client.receive(x.server.take_records(), x.at_client));
  CHECK(x.at_client == "at once");
}

TEST_CASE("tls_session: a certificate of another authority, for another host, "
          "another use, or none, is refused, and both sides know why",
          "[runtime]") {
  const auto files = certificates{};
  if (!files)
    return;
  const auto good = trust_in(files.options());
  const auto client_as
    = [&](const tls_options& x) { return trust_in(x, "127.0.0.1"); };
  const auto check
    = [](const tls_trust& at_client, const tls_trust& at_server, errc code) {
        auto x = two_sides{key(), at_client, at_server};
        const auto [client, server] = troubles(x);
        INFO(client.text << " / " << server.text);
        CHECK(client.code == code);
        CHECK(server.code == code);
        CHECK_FALSE((x.client.is_open() && x.server.is_open()));
      };
  SECTION("the client's authority") {
    check(client_as(files.foreign_options()), good, errc::certificate_mismatch);
  }
  SECTION("the server's authority") {
    check(client_as(files.options()), trust_in(files.foreign_options()),
          errc::certificate_mismatch);
  }
  SECTION("another host") {
    check(trust_in(files.options(), "n1"), good, errc::certificate_mismatch);
  }
  SECTION("only for servers") {
    check(client_as(files.options_for("IP:127.0.0.1", "serverAuth")), good,
          errc::certificate_mismatch);
  }
  SECTION("only for clients") {
    check(client_as(files.options()),
          trust_in(files.options_for("IP:127.0.0.1", "clientAuth")),
          errc::certificate_mismatch);
  }
  SECTION("the client has none") {
    auto x = two_sides{key(), {}, good};
    CHECK(troubles(x).first.code == errc::connection_failed);
    CHECK_FALSE((x.client.is_open() || x.server.is_open()));
  }
}

TEST_CASE("tls_session: with certificates, another key of the handshake is "
          "refused",
          "[runtime]") {
  const auto files = certificates{};
  if (!files)
    return;
  auto x = two_sides{key(2), trust_in(files.options(), "localhost"),
                     trust_in(files.options())};
  const auto [client, server] = troubles(x);
  CHECK(client.text.find("not the peer") != std::string::npos);
  CHECK(server.text.find("not the peer") != std::string::npos);
  CHECK_FALSE((x.client.is_open() || x.server.is_open()));
}

} // namespace actorrun::test::tls_session_test
