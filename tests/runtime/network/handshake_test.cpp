#include "messages/version.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/tls_identity.hpp"
#include "tests/runtime/certificates.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace actorrun::test::handshake_test {

using namespace actorrun::detail;

namespace {

nonce_bytes nonce(uint8_t value) {
  auto out = nonce_bytes{};
  out.fill(value);
  return out;
}

server_handshake server(const std::string& job = "job",
                        const std::string& secret = "secret",
                        trust how = trust::secret, uint8_t salt = 1) {
  return {credentials_of(job_id{job}, secret), nonce(salt), how};
}

client_handshake client(const std::string& job = "job",
                        const std::string& secret = "secret",
                        trust how = trust::secret) {
  return {credentials_of(job_id{job}, secret), purpose::join, "n1-7-0badcafe",
          nonce(9), how};
}

// Feeds at most `step` bytes at a time and at most as many as are wanted;
// returns the answer and leaves the bytes that were not taken.
std::string feed(handshake& side, std::string& input, size_t step) {
  auto out = std::string{};
  while (!input.empty() && side.wanted() > 0) {
    const auto size = std::min({step, input.size(), side.wanted()});
    out += side.feed(input.substr(0, size));
    input.erase(0, size);
  }
  return out;
}

// Runs both sides until neither has output; `tail` follows the client's last
// frame on the same stream. Returns the bytes left for the server's owner.
std::string converse(client_handshake& c, server_handshake& s,
                     size_t step = 1000, const std::string& tail = {}) {
  auto to_server = c.opening();
  auto to_client = std::string{};
  for (auto moving = true; moving;) {
    const auto answers = feed(s, to_server, step);
    to_client += answers;
    auto replies = feed(c, to_client, step);
    if (c.state() == handshake_state::accepted)
      replies += tail;
    to_server += replies;
    moving = !answers.empty() || !replies.empty();
    if (c.state() == handshake_state::accepted)
      break;
  }
  return to_server;
}

errc code_of(const handshake& x) {
  return x.state() == handshake_state::refused ? x.why().code : errc::none;
}

std::string hello_with(uint16_t version, purpose intent = purpose::join) {
  return encode(client_hello{version, intent, fingerprint_of(job_id{"job"}),
                             nonce(9), "n1-7-0badcafe"});
}

} // namespace

TEST_CASE("handshake: two members of a job accept each other", "[runtime]") {
  auto c = client();
  auto s = server();
  converse(c, s);
  REQUIRE(c.state() == handshake_state::accepted);
  REQUIRE(s.state() == handshake_state::accepted);
  CHECK(s.peer().peer_id == "n1-7-0badcafe");
  CHECK(s.peer().intent == purpose::join);
  CHECK(c.wanted() == 0);
  CHECK(s.wanted() == 0);
}

TEST_CASE("handshake: frames may arrive in pieces of any size", "[runtime]") {
  for (size_t step = 1; step <= client_hello_size; ++step) {
    auto c = client();
    auto s = server();
    const auto rest = converse(c, s, step, "BASP follows");
    CHECK(c.state() == handshake_state::accepted);
    CHECK(s.state() == handshake_state::accepted);
    CHECK(rest == "BASP follows");
  }
}

TEST_CASE("handshake: a hello split at any boundary is one hello",
          "[runtime]") {
  const auto hello = client().opening();
  for (size_t cut = 1; cut < hello.size(); ++cut) {
    auto s = server();
    CHECK(s.feed(hello.substr(0, cut)).empty());
    CHECK(s.state() == handshake_state::pending);
    CHECK(s.wanted() == hello.size() - cut);
    CHECK(s.feed(hello.substr(cut)).size() == server_hello_size);
    CHECK(s.wanted() == client_proof_size);
  }
}

TEST_CASE("handshake: a foreign peer is refused at the first wrong byte",
          "[runtime]") {
  for (const std::string& words :
       {std::string{"GET / HTTP/1.1\r\n"}, std::string{"ARUM"},
        std::string(32, '\0'), std::string{"\x16\x03\x01"}}) {
    auto s = server();
    const auto bytes = words.substr(0, s.wanted());
    CHECK(s.feed(bytes).empty());
    CHECK(code_of(s) == errc::not_actorrun);
    auto c = client();
    CHECK(c.feed(words.substr(0, c.wanted())).empty());
    CHECK(code_of(c) == errc::not_actorrun);
  }
}

TEST_CASE("handshake: a client of etcd learns that this is no etcd",
          "[runtime]") {
  auto s = server();
  CHECK(s.feed("POST /v3/kv/range HTTP/1.1\r\n") == not_etcd);
  CHECK(code_of(s) == errc::not_actorrun);
  for (const auto* other : {"POST /v2/", "POST /", "GET /v3/kv", "P"}) {
    auto x = server();
    CHECK(x.feed(other).empty());
    CHECK(code_of(x) == errc::not_actorrun);
  }
}

TEST_CASE("handshake: a malformed hello is refused without an answer",
          "[runtime]") {
  const auto good = hello_with(protocol_version);
  const auto with = [&](size_t index, char value) {
    auto out = good;
    out[index] = value;
    return out;
  };
  const auto id_at = client_hello_size - peer_id_size_max;
  for (const auto& bytes :
       {with(6, 0), with(6, 4), with(7, 8), with(7, 16), with(id_at, '\0'),
        with(id_at + 1, '\n'), with(id_at + 1, '\x1b'), with(id_at + 1, '\xc3'),
        with(client_hello_size - 1, 'x')}) {
    auto s = server();
    CHECK(s.feed(bytes).empty());
    CHECK(code_of(s) == errc::not_actorrun);
  }
}

TEST_CASE("handshake: a version from before is refused by both, which name it",
          "[runtime]") {
  constexpr auto old = uint16_t{protocol_version_min - 1};
  auto s = server();
  const auto hello = hello_with(old);
  CHECK(s.feed(hello.substr(0, 5)).empty());
  const auto answer = s.feed(hello.substr(5, 1));
  CHECK(code_of(s) == errc::protocol_mismatch);
  CHECK(s.why().text.find("version " + std::to_string(old)
                          + ", this program speaks version "
                          + std::to_string(protocol_version))
        != std::string::npos);
  // A client of any version knows this frame.
  const auto told = decode_server_hello(answer);
  REQUIRE(told);
  CHECK(told->status == verdict::version_differs);
  CHECK(told->version == protocol_version);

  for (const auto status : {verdict::version_differs, verdict::ok}) {
    auto c = client();
    c.feed(encode(server_hello{old, status, nonce(1)}));
    CHECK(code_of(c) == errc::protocol_mismatch);
    CHECK(c.why().text.find("version " + std::to_string(old))
          != std::string::npos);
  }
}

TEST_CASE("handshake: both sides speak the newest version that both know",
          "[runtime]") {
  auto s = server();
  const auto told
    = decode_server_hello(s.feed(hello_with(protocol_version + 1)));
  REQUIRE(told);
  CHECK(told->status == verdict::ok);
  CHECK(told->version == protocol_version);
  CHECK(s.version() == protocol_version);
  // No server answers with a version that its client has not offered.
  auto c = client();
  c.feed(encode(server_hello{protocol_version + 1, verdict::ok, nonce(1)}));
  CHECK(code_of(c) == errc::protocol_mismatch);
}

TEST_CASE("handshake: another job is refused by both", "[runtime]") {
  auto c = client("other");
  auto s = server("job");
  converse(c, s);
  CHECK(code_of(c) == errc::job_mismatch);
  CHECK(code_of(s) == errc::job_mismatch);
}

TEST_CASE("handshake: another secret is refused by both", "[runtime]") {
  const auto [theirs, ours] = GENERATE(
    table<std::string, std::string>({{"a", "b"}, {"", "b"}, {"a", ""}}));
  auto c = client("job", theirs);
  auto s = server("job", ours);
  converse(c, s);
  CHECK(code_of(c) == errc::secret_mismatch);
  CHECK(code_of(s) == errc::secret_mismatch);
}

TEST_CASE("handshake: whoever has no secret is told that, by both",
          "[runtime]") {
  const auto texts = [](const std::string& theirs, const std::string& ours) {
    auto c = client("job", theirs);
    auto s = server("job", ours);
    converse(c, s);
    return c.why().text.substr(0, c.why().text.find(';')) + " / "
           + s.why().text;
  };
  CHECK(texts("a", "b")
        == "has another secret / has another secret (n1-7-0badcafe)");
  CHECK(texts("", "b")
        == "has a secret, and this program has none / has no secret "
           "(n1-7-0badcafe)");
  CHECK(texts("a", "")
        == "has no secret, and this program has one / has a secret, and this "
           "job has none (n1-7-0badcafe)");
}

TEST_CASE("handshake: a side without certificates is told which one it is",
          "[runtime]") {
  const auto files = certificates{};
  if (!files)
    return;
  const auto identity = tls_identity::load(files.options());
  REQUIRE(identity);
  const auto texts = [&](bool client_has, bool server_has) {
    auto mine = credentials_of(job_id{"job"}, "secret");
    auto theirs = mine;
    mine.identity = client_has ? *identity : nullptr;
    theirs.identity = server_has ? *identity : nullptr;
    auto c = client_handshake{mine, purpose::join, "n1-7-0badcafe", nonce(9),
                              trust::secret};
    auto s = server_handshake{theirs, nonce(1), trust::secret};
    converse(c, s);
    if (c.state() == handshake_state::accepted)
      return std::string{"accepted"};
    CHECK(code_of(c) == errc::certificate_mismatch);
    CHECK(code_of(s) == errc::certificate_mismatch);
    return c.why().text.substr(0, c.why().text.find(';')) + " / "
           + s.why().text;
  };
  CHECK(texts(true, true) == "accepted");
  CHECK(texts(false, true)
        == "has a certificate, and this program has none / has no certificate "
           "(n1-7-0badcafe)");
  CHECK(texts(true, false)
        == "has no certificate, and this program has one / has a certificate, "
           "and this job has none (n1-7-0badcafe)");
}

TEST_CASE("handshake: another user's process on this host is refused",
          "[runtime]") {
  auto c = client();
  auto s = server("job", "secret", trust::none);
  converse(c, s);
  CHECK(code_of(c) == errc::user_mismatch);
  CHECK(code_of(s) == errc::user_mismatch);
}

TEST_CASE("handshake: both sides have one key, each conversation another",
          "[runtime]") {
  auto keys = std::set<link_key>{};
  for (uint8_t salt = 1; salt < 4; ++salt) {
    auto c = client();
    auto s = server("job", "secret", trust::secret, salt);
    converse(c, s);
    REQUIRE(s.state() == handshake_state::accepted);
    CHECK(c.key() == s.key());
    keys.insert(c.key());
  }
  CHECK(keys.size() == 3);
}

TEST_CASE(
  "handshake: the id of a connected agent belongs to the one that knows "
  "the resumption key of its link",
  "[runtime]") {
  const auto last_key = resumption_key{1, 2, 3};
  auto asked = std::string{};
  const auto state_with
    = [&](std::optional<resumption_key> theirs,
          std::optional<resumption_key> ours, purpose intent = purpose::join) {
        auto c = client_handshake{credentials_of(job_id{"job"}, "secret"),
                                  intent,
                                  "n1-7-0badcafe",
                                  nonce(9),
                                  trust::secret,
                                  theirs};
        auto s = server_handshake{credentials_of(job_id{"job"}, "secret"),
                                  nonce(1),
                                  trust::secret,
                                  {},
                                  [&](const std::string& agent) {
                                    asked = agent;
                                    return ours;
                                  }};
        converse(c, s);
        CHECK(c.state() == s.state());
        return s.state();
      };
  CHECK(state_with({}, {}) == handshake_state::accepted);
  CHECK(asked == "n1-7-0badcafe");
  CHECK(state_with(last_key, {}) == handshake_state::accepted);
  CHECK(state_with(last_key, last_key) == handshake_state::accepted);
  CHECK(state_with({}, last_key) == handshake_state::refused);
  CHECK(state_with(resumption_key{1, 2, 4}, last_key)
        == handshake_state::refused);
  // An operator claims nothing.
  CHECK(state_with({}, last_key, purpose::operate)
        == handshake_state::accepted);
}

TEST_CASE("handshake: without a secret the job id is enough", "[runtime]") {
  auto c = client("job", "");
  auto s = server("job", "");
  converse(c, s);
  CHECK(c.state() == handshake_state::accepted);
  CHECK(s.state() == handshake_state::accepted);
}

TEST_CASE("handshake: a server that cannot prove itself is refused",
          "[runtime]") {
  auto c = client();
  c.feed(encode(server_hello{protocol_version, verdict::ok, nonce(1)}));
  REQUIRE(c.wanted() == server_verdict_size);
  // Like a server that accepts every client.
  c.feed(encode(server_verdict{verdict::ok, {}, {}}));
  CHECK(code_of(c) == errc::secret_mismatch);
}

TEST_CASE("handshake: a client is not deceived by its own echo", "[runtime]") {
  auto c = client();
  c.feed(c.opening().substr(0, c.wanted()));
  CHECK(code_of(c) == errc::not_actorrun);
}

TEST_CASE("handshake: a proof sent back to its author proves nothing",
          "[runtime]") {
  auto c = client();
  const auto proof
    = c.feed(encode(server_hello{protocol_version, verdict::ok, nonce(1)}));
  REQUIRE(proof.size() == client_proof_size);
  c.feed(std::string(1, static_cast<char>(verdict::ok))
         + std::string(nonce_size, '\0') + proof.substr(0, proof_size));
  CHECK(code_of(c) == errc::secret_mismatch);
}

TEST_CASE("handshake: a recorded conversation cannot be replayed",
          "[runtime]") {
  auto c = client();
  auto first = server();
  auto replay = server("job", "secret", trust::secret, 2);
  const auto proof = c.feed(first.feed(c.opening()));
  replay.feed(c.opening());
  replay.feed(proof);
  CHECK(code_of(replay) == errc::secret_mismatch);
  first.feed(proof);
  CHECK(first.state() == handshake_state::accepted);
}

TEST_CASE("handshake: the proof covers every bit of the hello", "[runtime]") {
  const auto honest = client().opening();
  // Fingerprint and head have refusals of their own; the proof covers nonce and
  // id.
  for (size_t i = 8 + fingerprint_size; i < honest.size(); ++i) {
    auto c = client();
    auto s = server();
    auto forged = honest;
    forged[i] = static_cast<char>(forged[i] == 'x' ? 'y' : 'x');
    const auto answer = s.feed(forged);
    if (!answer.empty())
      s.feed(c.feed(answer));
    CHECK(s.state() == handshake_state::refused);
  }
}

TEST_CASE("handshake: a busy server reports it and can be tried again",
          "[runtime]") {
  auto c = client();
  c.feed(busy_answer());
  CHECK(code_of(c) == errc::connection_failed);
}

TEST_CASE("handshake: where the system identifies the peer no proof is needed",
          "[runtime]") {
  SECTION("any job") {
    auto s = server("job", "secret", trust::system);
    auto c = client_handshake{
      {}, purpose::operate, "actorctl-12", nonce(9), trust::system};
    converse(c, s);
    CHECK(c.state() == handshake_state::accepted);
    REQUIRE(s.state() == handshake_state::accepted);
    CHECK(s.peer().intent == purpose::operate);
  }
  SECTION("this job, whatever the secret") {
    auto s = server("job", "secret", trust::system);
    auto c = client("job", "", trust::system);
    converse(c, s);
    CHECK(c.state() == handshake_state::accepted);
  }
  SECTION("another job") {
    auto s = server("job", "secret", trust::system);
    auto c = client("other", "secret", trust::system);
    converse(c, s);
    CHECK(code_of(c) == errc::job_mismatch);
  }
  SECTION("but not on the network") {
    auto s = server();
    auto c = client_handshake{
      {}, purpose::operate, "actorctl-12", nonce(9), trust::secret};
    converse(c, s);
    CHECK(code_of(c) == errc::job_mismatch);
    CHECK(code_of(s) == errc::job_mismatch);
  }
}

TEST_CASE("handshake: noise is refused and harmless", "[runtime]") {
  auto random = std::mt19937{20'240'131};
  const auto byte = [&] { return static_cast<char>(random() & 0xff); };
  for (auto round = 0; round < 20'000; ++round) {
    auto s = server();
    auto c = client();
    // A valid beginning of any length, so that noise gets everywhere.
    const auto good = c.opening();
    auto noise = good.substr(0, random() % (good.size() + 1));
    noise.resize(noise.size() + 1 + random() % 300);
    const auto wild = std::min(noise.size(), size_t{1} + random() % 64);
    std::generate(noise.end() - static_cast<long>(wild), noise.end(), byte);
    feed(s, noise, 1 + random() % 50);
    REQUIRE(s.state() != handshake_state::accepted);
    auto answer = encode(server_hello{protocol_version, verdict::ok, nonce(1)})
                    .substr(0, random() % (server_hello_size + 1));
    answer.resize(answer.size() + server_verdict_size);
    std::generate(answer.end() - server_verdict_size, answer.end(), byte);
    feed(c, answer, 1 + random() % 50);
    REQUIRE(c.state() != handshake_state::accepted);
  }
}

TEST_CASE("handshake: a peer id has 1 to 128 printable characters",
          "[runtime]") {
  CHECK_FALSE(is_peer_id(""));
  CHECK(is_peer_id("a"));
  CHECK(is_peer_id(std::string(peer_id_size_max, 'a')));
  CHECK_FALSE(is_peer_id(std::string(peer_id_size_max + 1, 'a')));
  CHECK_FALSE(is_peer_id("two words"));
  const auto longest = client_hello{protocol_version,
                                    purpose::join,
                                    {},
                                    {},
                                    std::string(peer_id_size_max, 'z')};
  const auto back = decode_client_hello(encode(longest));
  REQUIRE(back);
  CHECK(back->peer_id == longest.peer_id);
}

TEST_CASE("keys: they differ by job, by secret and without a secret",
          "[runtime]") {
  const auto keys = std::set<job_key>{
    derive_key(job_id{"a"}, ""),  derive_key(job_id{"b"}, ""),
    derive_key(job_id{"a"}, "a"), derive_key(job_id{"b"}, "a"),
    derive_key(job_id{"a"}, "b"), derive_key(job_id{""}, "")};
  CHECK(keys.size() == 6);
  CHECK(derive_key(job_id{"a"}, "s") == derive_key(job_id{"a"}, "s"));
  CHECK(fingerprint_of(job_id{"a"}) != fingerprint_of(job_id{"b"}));
  CHECK(fingerprint_of(job_id{""}) != job_fingerprint{});
  CHECK(random_nonce() != random_nonce());
}

TEST_CASE("keys: derived keys never change between releases", "[runtime]") {
  const auto hex = [](const auto& bytes) {
    auto out = std::string{};
    for (const auto x : bytes) {
      out += "0123456789abcdef"[x >> 4];
      out += "0123456789abcdef"[x & 0xf];
    }
    return out;
  };
  // Recomputed with Python's hashlib and hmac.
  CHECK(hex(fingerprint_of(job_id{"train"}))
        == "2a4a10e9a1db43405b45636296e3bc2e");
  CHECK(hex(derive_key(job_id{"train"}, "secret"))
        == "3cf005e54277119e03394c5b4494a91c"
           "d81ac5344f520725d62b9d5146cebda4");
  CHECK(hex(derive_key(job_id{"train"}, ""))
        == "33a87057799c57423a747ff1ea6281ec"
           "49ddcb8956d39c8b8ffcf534dac669bb");
}

} // namespace actorrun::test::handshake_test
