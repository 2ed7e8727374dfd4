// Tests links between voters on loopback.
#include "runtime/succession/voter_links.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct heard {
  agent_id from;
  std::string what;
};

/// What one voter has heard, and whom it does not reach.
struct ear {
  inbox<heard> messages;
  inbox<agent_id> broken;
};

std::string text_of(const voter_message& x) {
  const auto* said = std::get_if<core::succession_message>(&x);
  return said != nullptr ? to_string(*said) : "another message";
}

struct fixture {
  // Outlive the reactor.
  ear a;
  ear b;
  reactor loop;

  std::unique_ptr<voter_links> open(const std::string& self, ear& to,
                                    const std::string& secret = "secret") {
    auto out = voter_links::open(
      loop,
      {.mine = credentials_of(job_id{"job"}, secret),
       .self = {self},
       .where = loopback(0),
       .host = "127.0.0.1",
       .limit = timeout,
       .lines = {}},
      {.on_message =
         [&to](const agent_id& from, const voter_message& x) {
           to.messages.put({from, text_of(x)});
         },
       .on_reached = [](const agent_id&) {},
       .on_broken = [&to](const agent_id& x) { to.broken.put(x); }});
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
    CHECK(a.broken.take() == agent_id{});
  }
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
