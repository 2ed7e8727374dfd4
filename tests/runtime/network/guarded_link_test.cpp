// Links between two actor systems as the programs have them, with something in
// the middle that keeps, changes or adds bytes.

#include "runtime/network/guarded_link.hpp"
#include "tests/runtime/network/caf_links_fixture.hpp"
#include "tests/runtime/network/frame_writer.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>

using namespace actorrun;
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

struct guarded_fixture : caf_links_fixture {
  ~guarded_fixture() {
    links_of_server.clear();
    link_of_client.reset();
  }

  void serve_guarded(unique_fd connection,
                     const std::optional<link_key>& with) {
    auto x = carry(loop, std::move(connection),
                   {.ends = {link_side::server, "a", node_name(server.system),
                             coordinator.id()},
                    .key = with,
                    .on_closed = [this](const result<void>& how) {
                      troubles.put(how ? "" : how.error().text);
                    }});
    links_of_server.push_back(std::move(x.link));
    serve(server.system, std::move(x.for_caf),
          caf::actor_cast<caf::strong_actor_ptr>(coordinator));
  }

  found attach_guarded(unique_fd connection,
                       const std::optional<link_key>& with,
                       core::duration limit = timeout) {
    auto x
      = carry(loop, std::move(connection),
              {.ends = {link_side::client, "a", node_name(client.system), 0},
               .key = with});
    link_of_client = std::move(x.link);
    return attach_to(std::move(x.for_caf), limit);
  }

  /// Both sides over one connection.
  found connect_guarded(const std::optional<link_key>& with) {
    auto pair = connected_sockets();
    serve_guarded(std::move(pair.server), with);
    return attach_guarded(std::move(pair.client), with);
  }

  void expect_an_generation(const found& there) {
    REQUIRE(*there);
    join(**there);
    CHECK(told.take() == "accepted, fence 180000000000");
    CHECK(told.take() == "formed 1");
  }

  inbox<std::string> troubles;
  std::vector<reactor_handle> links_of_server;
  reactor_handle link_of_client;
};

} // namespace

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: an agent joins through it, with and without "
                 "encryption",
                 "[runtime]") {
  SECTION("encrypted") {
    expect_an_generation(connect_guarded(key()));
  }
  SECTION("on a Unix socket") {
    expect_an_generation(connect_guarded({}));
  }
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: when one side ends its link, both systems "
                 "notice",
                 "[runtime]") {
  const auto there = connect_guarded(key());
  tell_anonymously(agent, **there);
  CHECK(told.take() == "monitors");
  expect_an_generation(there);
  SECTION("the agent") {
    link_of_client.reset();
    CHECK(troubles.take() == "");
  }
  SECTION("the coordinator") {
    links_of_server.clear();
  }
  CHECK(told.take() == "down");
  CHECK(links->calls.take() == "released a");
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: another key, or none, is noticed by both",
                 "[runtime]") {
  auto pair = connected_sockets();
  serve_guarded(std::move(pair.server), key());
  SECTION("another key") {
    CHECK_FALSE(*attach_guarded(std::move(pair.client), key(2)));
  }
  SECTION("clear text") {
    CHECK_FALSE(*attach_guarded(std::move(pair.client), {}));
  }
  const auto trouble = troubles.take();
  REQUIRE(trouble);
  CHECK(trouble->starts_with("broke the encryption"));
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: a peer that does not go on is cut off",
                 "[runtime]") {
  auto pair = connected_sockets();
  serve_guarded(std::move(pair.server), key());
  CHECK(troubles.take() == "does not agree on the encryption in time");
  CHECK(is_closed(pair.client.get()));
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: a frame that no member sends cuts the link and "
                 "harms no other",
                 "[runtime]") {
  // The content of a greeting is missing: CAF would crash.
  const auto deadly = write_frame({.kind = frame_kind::client_handshake});
  auto pair = connected_sockets();
  serve_guarded(std::move(pair.server), {});
  REQUIRE(send_whole(pair.client.get(), deadly));
  const auto trouble = troubles.take();
  REQUIRE(trouble);
  CHECK(trouble->starts_with("sends what no member of a job sends"));
  CHECK(is_closed(pair.client.get()));
  expect_an_generation(connect_guarded({}));
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
    const auto there = attach_guarded(std::move(to_client.client), key(),
                                      std::chrono::milliseconds{500});
    if (*there)
      join(**there);
    link_of_client.reset();
    REQUIRE(troubles.take());
    while (told.take(std::chrono::milliseconds{0})) {
    }
  }
  links_of_server.clear();
  // The coordinator lives and is not deaf.
  const auto there = connect_guarded(key());
  REQUIRE(*there);
  join(**there);
  CHECK(told.take() == "accepted, fence 180000000000");
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: what was written before the end arrives",
                 "[runtime]") {
  auto pair = connected_sockets();
  auto x = carry(loop, std::move(pair.server),
                 {.ends = {link_side::server, "a", node('s'), 7}});
  auto written = std::string{};
  for (auto i = 0; i < 500; ++i)
    written += write_frame({.source = 7,
                            .destination = 9,
                            .content = content_of("actorrun::v1::JobEnded")});
  x.for_caf.write(frame_dialect{}.from_wire(written));
  x.link.reset();
  CHECK(read_up_to(pair.client.get(), written.size() + 1) == written);
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: a CAF that takes nothing holds up the network, "
                 "and costs no memory",
                 "[runtime]") {
  auto pair = connected_sockets();
  auto x = carry(loop, std::move(pair.server),
                 {.ends = {link_side::server, "a", node('s'), 7}});
  auto join = v1::JoinRequest{};
  join.mutable_offer()->set_agent_id("a");
  const auto greeting
    = client_greeting('c')
      + write_frame({.source = 9,
                     .destination = 7,
                     .content = content_of("actorrun::v1::JoinRequest",
                                           join.SerializeAsString())});
  REQUIRE(send_whole(pair.client.get(), greeting));
  auto notice = v1::LeaveNotice{};
  notice.set_agent_id("a");
  const auto frame
    = write_frame({.source = 9,
                   .destination = 7,
                   .content = content_of("actorrun::v1::LeaveNotice",
                                         notice.SerializeAsString())});
  auto sent = frame_dialect{}.from_wire(greeting).size();
  const auto is_writable = [&] {
    return is_ready(pair.client.get(), POLLOUT, std::chrono::milliseconds{200});
  };
  while (is_writable() && sent < (64U << 20U)) {
    REQUIRE_FALSE(is_ready(pair.client.get(), POLLHUP, {}));
    if (send_whole(pair.client.get(), frame))
      sent += frame_dialect{}.from_wire(frame).size();
  }
  CHECK(sent < (8U << 20U));
  // It goes on as soon as CAF takes.
  auto taken = size_t{0};
  CHECK(test_deadline::soon([&] {
    taken += x.for_caf.take().size();
    return taken >= sent;
  }));
  CHECK(taken == sent);
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: a network that takes nothing gets the rest "
                 "later, and then the end",
                 "[runtime]") {
  auto pair = connected_sockets();
  auto x = carry(loop, std::move(pair.server),
                 {.ends = {link_side::server, "a", node('s'), 7},
                  .on_closed = [this](const result<void>& how) {
                    troubles.put(how ? "" : how.error().text);
                  }});
  const auto frame
    = write_frame({.source = 7,
                   .destination = 9,
                   .content = content_of("actorrun::v1::JobEnded")});
  auto written = std::string{};
  while (written.size() < (4U << 20U))
    written += frame;
  x.for_caf.write(frame_dialect{}.from_wire(written));
  x.for_caf.close();
  CHECK(read_up_to(pair.client.get(), written.size() + 1) == written);
  CHECK(troubles.take() == "");
}

TEST_CASE_METHOD(guarded_fixture,
                 "guarded_link: its keep-alives may wait, its end does not",
                 "[runtime]") {
  constexpr auto calm_time = std::chrono::milliseconds{400};
  auto heard = inbox<int64_t>{};
  auto pair = connected_sockets();
  const auto x = carry(loop, std::move(pair.server),
                       {.ends = {link_side::server, "a", node('s'), 7},
                        .has_lease =
                          [&](int64_t sent) {
                            heard.put(sent);
                            return true;
                          },
                        .answer_pause = std::chrono::seconds{60},
                        .on_closed =
                          [this](const result<void>& how) {
                            troubles.put(how ? "" : how.error().text);
                          }});
  const auto say = [&](const char* type, const auto& what) {
    REQUIRE(send_whole(
      pair.client.get(),
      write_frame({.source = 9,
                   .destination = 7,
                   .content = content_of(std::string{"actorrun::v1::"} + type,
                                         what.SerializeAsString())})));
  };
  const auto keep_alive = [&](int64_t sent) {
    auto y = v1::KeepAlive{};
    y.set_agent_id("a");
    y.set_sent_ns(sent);
    say("KeepAlive", y);
  };
  REQUIRE(send_whole(pair.client.get(), client_greeting('c')));
  auto request = v1::JoinRequest{};
  request.mutable_offer()->set_agent_id("a");
  say("JoinRequest", request);
  std::this_thread::sleep_for(
    calm_time); // What is no keep-alive is followed by more.
  keep_alive(1);
  CHECK(heard.take() == 1);
  keep_alive(2);
  CHECK_FALSE(heard.take(std::chrono::milliseconds{50}));
  pair.client.reset();
  CHECK(troubles.take() == "");
  CHECK(heard.take() == 2);
}

namespace {

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

TEST_CASE(
  "guarded_link: S4 messages that are not handled are not read without end",
  "[runtime]") {
  constexpr auto coordinator = uint64_t{7};
  constexpr auto agent = uint64_t{9};
  const auto message = [](const std::string& type, const std::string& bytes) {
    return write_frame({.source = agent,
                        .destination = coordinator,
                        .content = content_of("actorrun::v1::" + type, bytes)});
  };
  auto join = v1::JoinRequest{};
  join.mutable_offer()->set_agent_id("a");
  auto notice = v1::WorkersStarted{};
  notice.set_agent_id("a");
  auto all
    = client_greeting('c') + message("JoinRequest", join.SerializeAsString());
  while (all.size() < size_t{8} << 20)
    all += message("WorkersStarted", notice.SerializeAsString());
  auto asked = inbox<std::function<void()>>{};
  auto pair = connected_sockets();
  auto loop = reactor{};
  auto uut = carry(
    loop, std::move(pair.server),
    {.ends = {link_side::server, "a", node('s'), coordinator},
     .call_when_handled = [&](std::function<void()> fn) { asked.put(fn); }});
  auto passed = size_t{0};
  uut.for_caf.on_change([] {});
  auto sent = size_t{0};
  // CAF takes all that comes, and its actor handles nothing.
  for (auto more = true; more; passed += uut.for_caf.take().size()) {
    const auto got
      = flood(pair.client.get(), std::string_view{all}.substr(sent));
    sent += got;
    more = got > 0;
  }
  CHECK(passed < size_t{256} << 10);
  CHECK(sent < all.size());
  const auto answer = asked.take();
  REQUIRE(answer);
  (*answer)();
  const auto before = passed;
  CHECK(test_deadline::soon([&] {
    passed += uut.for_caf.take().size();
    return passed > before;
  }));
}
