// Links between two actor systems as the programs have them, with something in
// the middle that keeps, changes or adds bytes.

#include "runtime/network/guarded_link.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/network/remote_links_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>

namespace actorrun::test::guarded_link_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

link_key key(uint8_t value = 1) {
  auto out = link_key{};
  out.fill(value);
  return out;
}

/// Passes bytes on between two sockets, and may change them.
class middle {
public:
  /// @param change Gets what a read has brought, and in which direction.
  middle(unique_fd a, unique_fd b,
         std::function<void(std::string&, bool to_server)> change)
    : a_(std::move(a)), b_(std::move(b)), change_(std::move(change)),
      thread_([this] { run(); }) {}

  ~middle() {
    ::shutdown(a_.get(), SHUT_RDWR);
    ::shutdown(b_.get(), SHUT_RDWR);
    thread_.join();
  }

private:
  void run() {
    pollfd both[] = {{a_.get(), POLLIN, 0}, {b_.get(), POLLIN, 0}};
    while (::poll(both, 2, -1) > 0)
      for (auto& x : both)
        if (x.revents != 0 && !pass_on(x.fd))
          return;
  }

  bool pass_on(int from) {
    const auto to = from == a_.get() ? b_.get() : a_.get();
    auto bytes = std::string(16 * 1024, '\0');
    const auto got = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    change_(bytes, from == b_.get());
    if (got > 0 && (bytes.empty() || send_whole(to, bytes)))
      return true;
    ::shutdown(a_.get(), SHUT_RDWR);
    ::shutdown(b_.get(), SHUT_RDWR);
    return false;
  }

  unique_fd a_; ///< To the server.
  unique_fd b_;
  std::function<void(std::string&, bool)> change_;
  std::thread thread_;
};

struct guarded_fixture : remote_links_fixture {
  ~guarded_fixture() {
    links_of_server.clear();
    link_of_client.reset();
  }

  void serve_guarded(unique_fd connection, const std::optional<link_key>& with,
                     bool goes_on = true) {
    links_of_server.push_back(carry(
      loop, std::move(connection),
      {.mine = link_side::server,
       .peer = std::make_unique<remote_agent>(server.system, agent_setup()),
       .key = with,
       .on_encrypted = [goes_on](const resumption_key&) { return goes_on; },
       .on_closed =
         [this](const result<void>& how) {
           troubles.put(how ? "" : how.error().text);
         }}));
  }

  void attach_guarded(unique_fd connection,
                      const std::optional<link_key>& with) {
    link_of_client = carry(
      loop, std::move(connection),
      {.mine = link_side::client,
       .peer = std::make_unique<remote_coordinator>(
         client.system, actorrun::log{},
         [this](rendezvous_coordinator_actor x) { found.put(std::move(x)); }),
       .key = with,
       .on_closed = [this](const result<void>&) { ends_of_client.put(true); }});
  }

  /// Both sides over one connection.
  rendezvous_coordinator_actor
  connect_guarded(const std::optional<link_key>& with) {
    auto pair = connected_sockets();
    serve_guarded(std::move(pair.server), with);
    attach_guarded(std::move(pair.client), with);
    const auto got = found.take();
    REQUIRE(got);
    return *got;
  }

  void expect_a_generation(const rendezvous_coordinator_actor& there) {
    join(there);
    CHECK(told.take() == "accepted, fence 180000000000");
    CHECK(told.take() == "formed 1");
  }

  inbox<std::string> troubles;
  inbox<bool> ends_of_client;
  std::vector<reactor_handle> links_of_server;
  reactor_handle link_of_client;
};

/// What a link brings, for a test instead of actors.
class raw_peer final : public link_peer {
public:
  struct seen {
    std::shared_ptr<link_outbox> outbox;
    std::atomic<size_t> size = 0; ///< Bytes that have come.
  };

  /// @param is_passed What `take` returns.
  raw_peer(std::shared_ptr<seen> to, bool is_passed)
    : to_(std::move(to)), is_passed_(is_passed) {}

  void begin(const link_opening& x) override { to_->outbox = x.outbox; }

  result<bool> take(std::string_view content) override {
    to_->size += content.size() + frame_header_size;
    if (!is_passed_)
      answers_ += frame_header(content.size()) + std::string{content};
    return is_passed_;
  }

  std::string take_answers() override { return std::exchange(answers_, {}); }
  void end() override {}

private:
  std::shared_ptr<seen> to_;
  bool is_passed_;
  std::string answers_;
};

/// One end of a link in clear text, and the connection at its other end.
struct raw_fixture {
  explicit raw_fixture(bool is_passed = true) {
    setup.mine = link_side::server;
    setup.peer = std::make_unique<raw_peer>(seen, is_passed);
    setup.on_closed = [this](const result<void>& how) {
      troubles.put(how ? "" : how.error().text);
    };
  }

  void open() {
    uut = carry(loop, std::move(pair.server), std::move(setup));
    run_and_wait(loop, [] {});
  }

  inbox<std::string> troubles;
  std::shared_ptr<raw_peer::seen> seen = std::make_shared<raw_peer::seen>();
  socket_pair pair = connected_sockets();
  reactor loop;
  link_setup setup;
  reactor_handle uut;
};

/// Answers each message itself.
struct answering_fixture : raw_fixture {
  answering_fixture() : raw_fixture(false) {}
};

std::string some_frame(size_t size = 20) {
  return frame_header(size) + std::string(size, 'x');
}

/// Writes as much as the other side takes within a moment. @returns how much that
/// was
size_t flood(int fd, std::string_view bytes) {
  auto done = size_t{0};
  while (done < bytes.size() && is_ready(fd, POLLOUT, 200ms)) {
    const auto sent = ::send(fd, bytes.data() + done, bytes.size() - done,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0)
      break;
    done += static_cast<size_t>(sent);
  }
  return done;
}

} // namespace

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: an agent joins through it, with and without "
                 "encryption",
                 "[runtime]") {
  SECTION("encrypted") {
    expect_a_generation(connect_guarded(key()));
  }
  SECTION("on a Unix socket") {
    expect_a_generation(connect_guarded({}));
  }
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: when one side ends its link, both systems "
                 "notice",
                 "[runtime]") {
  const auto there = connect_guarded(key());
  tell_anonymously(agent, caf::actor_cast<caf::strong_actor_ptr>(there));
  CHECK(told.take() == "monitors");
  expect_a_generation(there);
  SECTION("the agent") {
    link_of_client.reset();
    CHECK(troubles.take() == "");
  }
  SECTION("the coordinator") {
    links_of_server.clear();
    CHECK(ends_of_client.take());
  }
  CHECK(told.take() == "down");
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: another key, or none, is noticed by both",
                 "[runtime]") {
  auto pair = connected_sockets();
  serve_guarded(std::move(pair.server), key());
  SECTION("another key") {
    attach_guarded(std::move(pair.client), key(2));
  }
  SECTION("clear text") {
    attach_guarded(std::move(pair.client), {});
    // It has nothing to say before it is welcomed.
    REQUIRE_FALSE(found.take(20ms));
    link_of_client.reset();
    CHECK(troubles.take());
    return;
  }
  const auto trouble = troubles.take();
  REQUIRE(trouble);
  CHECK(trouble->starts_with("broke the encryption"));
  CHECK(ends_of_client.take());
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: a link that is not wanted once it is encrypted "
                 "never reaches an actor",
                 "[runtime]") {
  auto pair = connected_sockets();
  serve_guarded(std::move(pair.server), key(), false);
  attach_guarded(std::move(pair.client), key());
  CHECK(troubles.take() == "");
  CHECK(ends_of_client.take());
  CHECK_FALSE(found.take(0ms));
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: a peer that does not go on is cut off",
                 "[runtime]") {
  auto pair = connected_sockets();
  serve_guarded(std::move(pair.server), key());
  CHECK(troubles.take() == "does not agree on the encryption in time");
  CHECK(is_closed(pair.client.get()));
}

TEST_CASE_METHOD(
  guarded_fixture,
  "guarded_link: what no member sends cuts the link and harms no "
  "other",
  "[runtime]") {
  auto pair = connected_sockets();
  serve_guarded(std::move(pair.server), {});
  REQUIRE(send_whole(pair.client.get(), frame_header(2) + "\xff\xff"));
  CHECK(troubles.take() == "sends what is no message of ours");
  CHECK(is_closed(pair.client.get()));
  expect_a_generation(connect_guarded({}));
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: whatever one in the middle does to a byte, at "
                 "worst the link is cut",
                 "[runtime]") {
  auto random = std::mt19937{20'261'123};
  for (auto round = 0; round < 30; ++round) {
    auto to_server = connected_sockets();
    auto to_client = connected_sockets();
    auto left = std::atomic<int>{static_cast<int>(random() % 2'000)};
    const auto way = random() % 4;
    auto kept = std::string{};
    auto man = middle{
      std::move(to_server.client), std::move(to_client.server),
      [&](std::string& bytes, bool) {
        const auto at = left.fetch_sub(static_cast<int>(bytes.size()));
        if (bytes.empty() || at < 0 || at >= static_cast<int>(bytes.size()))
          return;
        const auto index = static_cast<size_t>(at);
        if (way == 0)
          bytes[index] ^= 1;
        else if (way == 1)
          bytes.erase(index, 1);
        else if (way == 2)
          bytes.insert(index, bytes.substr(index, 1));
        else
          std::reverse(bytes.begin() + at, bytes.end());
      }};
    serve_guarded(std::move(to_server.server), key());
    // A record that became longer waits for its rest.
    attach_guarded(std::move(to_client.client), key());
    if (const auto there = found.take(std::chrono::milliseconds{500}))
      join(*there);
    link_of_client.reset();
    REQUIRE(troubles.take());
    while (told.take(0ms) || found.take(0ms)) {
    }
  }
  links_of_server.clear();
  // The coordinator lives and is not deaf.
  join(connect_guarded(key()));
  CHECK(told.take() == "accepted, fence 180000000000");
}

TEST_CASE_METHOD(raw_fixture,
                 "guarded_link: what was written before the end arrives",
                 "[runtime]") {
  open();
  auto written = std::string{};
  for (auto i = 0; i < 500; ++i)
    written += some_frame();
  seen->outbox->write(written);
  uut.reset();
  CHECK(read_up_to(pair.client.get(), written.size() + 1) == written);
}

TEST_CASE_METHOD(raw_fixture,
                 "guarded_link: a network that takes nothing gets the rest "
                 "later, and then the end",
                 "[runtime]") {
  open();
  auto written = std::string{};
  while (written.size() < (4U << 20U))
    written += some_frame(1'000);
  seen->outbox->write(written);
  seen->outbox->end();
  CHECK(read_up_to(pair.client.get(), written.size() + 1) == written);
  CHECK(troubles.take() == "");
}

TEST_CASE_METHOD(answering_fixture,
                 "guarded_link: who does not read its answers is read no more",
                 "[runtime]") {
  open();
  auto all = std::string{};
  while (all.size() < (8U << 20U))
    all += some_frame(1'000);
  auto sent = size_t{0};
  for (auto more = true; more;) {
    const auto got
      = flood(pair.client.get(), std::string_view{all}.substr(sent));
    sent += got;
    more = got > 0;
  }
  CHECK(sent < all.size());
  CHECK(seen->size < (1U << 20U));
  const auto before = seen->size.load();
  read_up_to(pair.client.get(), before);
  CHECK(test_deadline::soon([&] { return seen->size > before; }));
}

TEST_CASE_METHOD(answering_fixture,
                 "guarded_link: what it answers may wait, its end does not",
                 "[runtime]") {
  constexpr auto calm_time = 400ms;
  setup.answer_pause = std::chrono::seconds{60};
  open();
  std::this_thread::sleep_for(calm_time); // What begins is followed by more.
  const auto frame = some_frame();
  REQUIRE(send_whole(pair.client.get(), frame));
  CHECK(read_up_to(pair.client.get(), frame.size()) == frame);
  REQUIRE(send_whole(pair.client.get(), frame));
  CHECK_FALSE(is_ready(pair.client.get(), POLLIN, 50ms));
  pair.client.reset();
  CHECK(troubles.take() == "");
  CHECK(seen->size == 2 * frame.size());
}

TEST_CASE_METHOD(raw_fixture,
                 "guarded_link: S4 messages that are not handled are not read "
                 "without end",
                 "[runtime]") {
  auto asked = inbox<std::function<void()>>{};
  setup.call_when_handled = [&](std::function<void()> fn) { asked.put(fn); };
  open();
  auto all = std::string{};
  while (all.size() < size_t{8} << 20)
    all += some_frame(30);
  // The actor handles nothing.
  auto sent = size_t{0};
  for (auto more = true; more;) {
    const auto got
      = flood(pair.client.get(), std::string_view{all}.substr(sent));
    sent += got;
    more = got > 0;
  }
  CHECK(seen->size < size_t{256} << 10);
  CHECK(sent < all.size());
  const auto answer = asked.take();
  REQUIRE(answer);
  const auto before = seen->size.load();
  (*answer)();
  CHECK(test_deadline::soon([&] { return seen->size > before; }));
}

} // namespace actorrun::test::guarded_link_test
