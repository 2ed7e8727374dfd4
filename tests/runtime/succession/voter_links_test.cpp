// Tests links between voters on loopback.
#include "runtime/succession/voter_links.hpp"
#include "runtime/succession/voter_tombstone.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>

namespace actorrun::test::voter_links_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct heard {
  agent_id from;
  std::string what;
  voter_reply reply{};
};

/// What one voter has heard, and whom it does not reach.
struct ear {
  inbox<heard> messages;
  inbox<agent_id> broken;
  inbox<std::pair<agent_id, core::tombstone>> proofs;
};

/// Keeps the socket as a warden does, and says the statement once `die` is called.
class machine final : public socket_keeper {
public:
  void keep(kept_socket which, int socket, std::string_view statement,
            std::string_view) override {
    CHECK(which == kept_socket::voter);
    socket_.reset(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
    statement_ = statement;
  }

  void reword(kept_socket, std::string_view statement) override {
    statement_ = statement;
  }

  void close(kept_socket) override { socket_.reset(); }

  void speak() {
    REQUIRE(is_ready(socket_.get(), POLLIN));
    const auto line = unique_fd{::accept(socket_.get(), nullptr, nullptr)};
    send_whole(line.get(), statement_);
  }

private:
  unique_fd socket_;
  std::string statement_;
};

std::string text_of(const voter_message& x) {
  if (const auto* said = std::get_if<core::succession_message>(&x))
    return to_string(*said);
  if (const auto* said = std::get_if<leader_at>(&x))
    return said->leader.value + " leads";
  return std::holds_alternative<find_leader>(x) ? "who leads?"
                                                : "another message";
}

struct fixture {
  // Outlive the reactor.
  ear a;
  ear b;
  reactor loop;

  std::unique_ptr<voter_links>
  open(const std::string& self, ear& to, const std::string& secret = "secret",
       std::shared_ptr<machine> keeper = {},
       std::shared_ptr<voter_keys> keys = std::make_shared<voter_keys>()) {
    auto out = voter_links::open(
      loop,
      {.mine = credentials_of(job_id{"job"}, secret),
       .self = {self},
       .where = loopback(0),
       .host = "127.0.0.1",
       .limit = timeout,
       .keeper = std::move(keeper),
       .keys = std::move(keys),
       .lines = {}},
      {.on_message =
         [&to](const agent_id& from, const voter_message& x,
               const voter_reply& reply) {
           to.messages.put({from, text_of(x), reply});
         },
       .on_reached = [](const agent_id&) {},
       .on_broken = [&to](const agent_id& x) { to.broken.put(x); },
       .on_proof =
         [&to](const agent_id& x, const core::tombstone& left) {
           to.proofs.put({x, left});
         }});
    REQUIRE(out);
    return std::move(*out);
  }

  static std::string next(ear& at) {
    const auto x = at.messages.take();
    return x ? x->from.value + ": " + x->what : "nothing";
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "voter links: what one says the other hears, in order",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  for (auto term = uint64_t{1}; term <= 3; ++term)
    n1->send({"n2"}, n2->endpoint(),
             core::succession_message{core::would{term}});
  n2->send({"n1"}, n1->endpoint(),
           core::succession_message{core::would_not{4}});
  CHECK(next(b) == "n1: would 1");
  CHECK(next(b) == "n1: would 2");
  CHECK(next(b) == "n1: would 3");
  CHECK(next(a) == "n2: would_not 4");
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{5}});
  CHECK(next(b) == "n1: would 5");
  CHECK(a.broken.size() == 0);
}

TEST_CASE_METHOD(fixture, "voter links: a charter travels whole", "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  auto known = core::written_charter{
    .key = {1, 2},
    .voters = core::voter_set{{{"n1"}}},
    .order = {{"n1"}, {"n2"}},
    .endpoints = {{{"n1"}, n1->endpoint()}, {{"n2"}, n2->endpoint()}}};
  n1->send({"n2"}, n2->endpoint(),
           core::succession_message{core::beat{1, {}, known}});
  CHECK(next(b) == "n1: beat 1 with 1.2");
}

TEST_CASE_METHOD(fixture,
                 "voter links: one that is gone is reported, and reached when "
                 "it is back",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  auto n2 = open("n2", b);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{1}});
  CHECK(next(b) == "n1: would 1");
  const auto old = n2->endpoint();
  n2.reset();
  CHECK(a.broken.take() == agent_id{"n2"});
  n1->send({"n2"}, old,
           core::succession_message{core::would{2}}); // Is refused.
  CHECK(a.broken.take() == agent_id{"n2"});
  n2 = open("n2", b);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{3}});
  CHECK(next(b) == "n1: would 3");
}

// Many more agents than there are links may have been candidates.
TEST_CASE_METHOD(fixture,
                 "voter links: one whose link has made room for others is let "
                 "in again",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{1}});
  CHECK(next(b) == "n1: would 1");
  for (auto i = 0; i < 100; ++i)
    n1->reach({"other-" + std::to_string(i)}, "127.0.0.1:1");
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{2}});
  CHECK(next(b) == "n1: would 2");
}

TEST_CASE_METHOD(fixture, "voter links: who has no proof is not heard",
                 "[runtime]") {
  const auto n1 = open("n1", a, "another secret");
  const auto n2 = open("n2", b);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{1}});
  CHECK(a.broken.take() == agent_id{"n2"});
  CHECK(b.messages.size() == 0);
}

TEST_CASE_METHOD(fixture, "voter links: no one takes the id of another",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{1}});
  CHECK(next(b) == "n1: would 1");
  auto c = std::make_unique<ear>();
  auto liar = open("n1", *c);
  liar->send({"n2"}, n2->endpoint(), core::succession_message{core::would{9}});
  CHECK(c->broken.take() == agent_id{"n2"});
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{2}});
  CHECK(next(b) == "n1: would 2");
  liar.reset();
}

TEST_CASE_METHOD(fixture,
                 "voter links: who opens them again with its keys is no one "
                 "else",
                 "[runtime]") {
  const auto keys = std::make_shared<voter_keys>();
  const auto other_keys = std::make_shared<voter_keys>();
  auto n1 = open("n1", a, "secret", {}, keys);
  auto n2 = open("n2", b, "secret", {}, other_keys);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{1}});
  CHECK(next(b) == "n1: would 1");
  n1 = open("n1", a, "secret", {}, keys); // It has another address now, …
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{2}});
  CHECK(next(b) == "n1: would 2");
  n2 = open("n2", b, "secret", {}, other_keys); // … and so has this one, …
  auto c = std::make_unique<ear>();
  auto liar = open("n1", *c);
  liar->send({"n2"}, n2->endpoint(), core::succession_message{core::would{9}});
  CHECK(c->broken.take() == agent_id{"n2"}); // … which remembers the other.
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{3}});
  CHECK(next(b) == "n1: would 3");
  liar.reset();
}

TEST_CASE_METHOD(fixture,
                 "voter links: notices to two endpoints of one process are "
                 "both heard",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  const auto names
    = std::array{n2->endpoint(), "localhost:" + std::to_string(n2->port())};
  for (auto term = uint64_t{1}; term <= 4; ++term) {
    n1->notify(names[term % 2], core::beat{term, {}, {}});
    CHECK(next(b) == "n1: beat " + std::to_string(term));
    CHECK(a.broken.take() == agent_id{"+notice to " + names[term % 2]});
  }
}

TEST_CASE_METHOD(
  fixture,
  "voter links: a notice is for who listens there now, and its link "
  "does not last",
  "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  for (auto term = uint64_t{1}; term <= 3; ++term) {
    n1->notify(n2->endpoint(), core::beat{term, {}, {}});
    CHECK(next(b) == "n1: beat " + std::to_string(term));
    CHECK(a.broken.take() == agent_id{"+notice to " + n2->endpoint()});
  }
}

TEST_CASE_METHOD(fixture,
                 "voter links: a question is answered on its link, which "
                 "lasts until questions end",
                 "[runtime]") {
  auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  const auto question = find_leader{.endpoint = "127.0.0.1:1", // Leads nowhere.
                                    .takes_answer = true};
  auto last = voter_reply{};
  for (auto i = 0; i < 3; ++i) {
    n1->ask({"n2"}, n2->endpoint(), question);
    const auto asked = b.messages.take();
    REQUIRE(asked);
    CHECK(asked->from == agent_id{"n1"});
    CHECK(asked->what == "who leads?");
    last = asked->reply;
    last(leader_at{{"n3"}, "n3:1", "n3:2"});
    CHECK(next(a) == "n2: n3 leads");
  }
  n1->end_questions();
  n1->ask({"n2"}, n2->endpoint(), question);
  CHECK(next(b) == "n1: who leads?");
  last(leader_at{{"n4"}, "n4:1", "n4:2"}); // That link has ended.
  n1->ask({"n2"}, n2->endpoint(), question);
  const auto asked = b.messages.take();
  REQUIRE(asked);
  asked->reply(leader_at{{"n5"}, "n5:1", "n5:2"});
  CHECK(next(a) == "n2: n5 leads");
  CHECK(a.broken.size() == 0);
}

TEST_CASE_METHOD(fixture,
                 "voter links: who answers what was not asked is heard no more",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{1}});
  const auto said = b.messages.take();
  REQUIRE(said);
  said->reply(leader_at{{"n3"}, "n3:1", "n3:2"});
  CHECK(a.broken.take() == agent_id{"n2"});
  CHECK(a.messages.size() == 0);
}

TEST_CASE_METHOD(fixture,
                 "voter links: many that ask push out none that elects",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  const auto n2 = open("n2", b);
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{1}});
  CHECK(next(b) == "n1: would 1");
  auto askers = std::vector<std::unique_ptr<voter_links>>{};
  auto c = ear{};
  for (auto i = 0; i < 100; ++i) {
    askers.push_back(open("asker-" + std::to_string(i), c));
    askers.back()->ask({"n2"}, n2->endpoint(),
                       {.endpoint = "n9:1", .takes_answer = true});
    CHECK(b.messages.take());
  }
  n1->send({"n2"}, n2->endpoint(), core::succession_message{core::would{2}});
  CHECK(next(b) == "n1: would 2");
  CHECK(a.broken.size() == 0);
  askers.clear();
}

TEST_CASE_METHOD(fixture,
                 "voter links: an agent finds no coordinator at an endpoint",
                 "[runtime]") {
  const auto n2 = open("n2", b);
  const auto where = *read_endpoint(n2->endpoint());
  auto outcome = inbox<std::shared_ptr<result<connected>>>{};
  const auto attempt
    = connect(loop, where, an_agent(), timeout, [&](result<connected> x) {
        outcome.put(std::make_shared<result<connected>>(std::move(x)));
      });
  const auto x = outcome.take();
  REQUIRE(x);
  // Whether it is told before the link ends is a matter of the network.
  CHECK((!**x || is_closed((**x)->connection.get())));
}

TEST_CASE_METHOD(fixture,
                 "voter links: an endpoint that is no address is not reached",
                 "[runtime]") {
  const auto n1 = open("n1", a);
  n1->send({"n2"}, "nowhere", core::succession_message{core::would{1}});
  CHECK(a.broken.take() == agent_id{"n2"});
}

namespace {

core::tombstone some_tombstone() {
  return {.term = 7,
          .promised_to = {"n2"},
          .charter = core::written_charter{.key = {7, 2},
                                           .voters = core::voter_set{{{"n1"}}},
                                           .order = {{"n1"}, {"n2"}}}};
}

} // namespace

TEST_CASE_METHOD(fixture,
                 "voter links: what a process has left behind is found",
                 "[runtime]") {
  const auto keeper = std::make_shared<machine>();
  const auto n1 = open("n1", a);
  auto n2 = open("n2", b, "secret", keeper);
  const auto where = n2->endpoint();
  n2->leave_behind(some_tombstone());
  n1->examine({"n2"}, where); // It lives: that makes a link.
  n1->send({"n2"}, where, core::succession_message{core::would{1}});
  CHECK(next(b) == "n1: would 1");
  n2.reset();
  CHECK(a.broken.take() == agent_id{"n2"});
  for (auto i = 0; i < 2; ++i) {
    n1->examine({"n2"}, where);
    n1->examine({"n2"}, where); // It is being asked.
    keeper->speak();
    const auto proof = a.proofs.take();
    REQUIRE(proof);
    CHECK(proof->first == agent_id{"n2"});
    CHECK(proof->second == some_tombstone());
  }
}

TEST_CASE_METHOD(fixture,
                 "voter links: the machine of one that was never reached is "
                 "asked after an attempt",
                 "[runtime]") {
  const auto keeper = std::make_shared<machine>();
  const auto n1 = open("n1", a);
  auto n2 = open("n2", b, "secret", keeper);
  const auto where = n2->endpoint();
  n2->leave_behind(some_tombstone());
  n2.reset();
  n1->examine({"n2"}, where);
  keeper->speak();
  CHECK(a.broken.take() == agent_id{"n2"});
  CHECK(a.proofs.size() == 0);
  n1->examine({"n2"}, where);
  keeper->speak();
  CHECK(a.proofs.take());
}

TEST_CASE("voter tombstone: nothing else is one", "[runtime]") {
  const auto key = credentials_of(job_id{"job"}, "secret").key;
  const auto other_key = credentials_of(job_id{"job"}, "other").key;
  const auto genuine = voter_statement(key, {"n2"}, some_tombstone());
  REQUIRE(statement_size(genuine) == genuine.size());
  CHECK(read_voter_statement(key, {"n2"}, genuine) == some_tombstone());
  CHECK_FALSE(read_voter_statement(key, {"n3"}, genuine));
  CHECK_FALSE(read_voter_statement(other_key, {"n2"}, genuine));
  for (auto i = genuine.size() - 60; i < genuine.size(); ++i) {
    auto changed = genuine;
    changed[i] ^= 1;
    CHECK_FALSE(read_voter_statement(key, {"n2"}, changed));
  }
  CHECK_FALSE(statement_size(genuine.substr(0, 8)));
  CHECK(statement_size(std::string(64, 'x')) == 0);
  auto endless = genuine;
  endless[server_hello_size] = '\xff';
  CHECK(statement_size(endless) == 0);
}

TEST_CASE("voter tombstone: one that is too long is not said", "[runtime]") {
  auto left = some_tombstone();
  left.promised_to = {std::string(socket_keeper::statement_size_max, 'x')};
  CHECK(voter_statement({}, {"n2"}, left).empty());
}

} // namespace actorrun::test::voter_links_test
