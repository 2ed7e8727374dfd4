// A program that fills a store with one kind of content and compares what is
// charged with what this process has grown by. Prints both, in bytes:
// `charged 1234 grown 1250`; for `generation`: `before 1 full 2 after 3`; for
// `limit`, what an agent's store took before it cut the client: `taken 1`.
#include "runtime/os/freed_memory.hpp"
#include "runtime/store/link.hpp"
#include "runtime/store/master_port.hpp"
#include "runtime/store/ports.hpp"
#include "runtime/store/server.hpp"
#include "tests/support/store_bytes.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::test;

namespace {

using enum core::store_verb;
using core::store_request;

constexpr auto megabyte = size_t{1} << 20;

/// So much is charged, about: enough that what is left over of a request does
/// not matter.
constexpr auto charged_goal = 96 * megabyte;
constexpr auto large_goal = 256 * megabyte;

size_t resident_size() {
  auto file = std::ifstream{"/proc/self/statm"};
  auto all = size_t{0};
  auto resident = size_t{0};
  file >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

[[noreturn]] void fail(std::string_view why) {
  std::cerr << "store_weight: " << why << "\n";
  std::exit(1);
}

/// A store, and requests to it from clients that exist from the first on.
struct filling {
  void send(uint64_t client, std::string_view bytes) {
    if (client > last_client) {
      last_client = client;
      if (!uut.connect({client}))
        fail("is full");
      send(client,
           store_bytes(torch::v2_14, {.verb = validate, .number = 0x3C85F7CE}));
    }
    while (!bytes.empty())
      for (const auto& x : uut.receive({client}, bytes))
        if (const auto* cut = std::get_if<core::drop_client>(&x))
          fail(cut->why);
  }

  void ask(uint64_t client, const store_request& x) {
    send(client, store_bytes(torch::v2_14, x));
  }

  /// Calls `step(i)` for 1, 2, 3… until so much is charged.
  template <class Step>
  void fill(Step step, size_t goal = charged_goal) {
    for (auto i = uint64_t{1}; uut.memory() < goal; ++i)
      step(i);
  }

  core::store uut{{.memory_max = SIZE_MAX / 2}};
  uint64_t last_client = 0;
  std::list<store_link> links{};
};

std::string name_of(uint64_t i) {
  return "key/" + std::to_string(i);
}

store_request set_of(std::string key, std::string value) {
  return {.verb = set, .keys = {std::move(key)}, .values = {std::move(value)}};
}

store_request push_to(std::string name, std::string value) {
  return {.verb = queue_push,
          .keys = {std::move(name)},
          .values = {std::move(value)}};
}

// -- the kinds ----------------------------------------------------------------

void values(filling& x) {
  x.fill([&](auto i) { x.ask(1, set_of(name_of(i), std::string(100, 'v'))); });
}

void empty_values(filling& x) {
  x.fill([&](auto i) { x.ask(1, set_of(name_of(i), {})); });
}

void large_values(filling& x) {
  x.fill(
    [&](auto i) { x.ask(1, set_of(name_of(i), std::string(megabyte, 'v'))); },
    large_goal);
}

void appended_values(filling& x) {
  constexpr auto keys = 1'000;
  x.fill([&](auto i) {
    x.ask(1, {.verb = append,
              .keys = {name_of(i % keys)},
              .values = {std::string(500, 'v')}});
  });
}

void counters(filling& x) {
  x.fill([&](auto i) {
    x.ask(1, {.verb = add, .keys = {name_of(i)}, .number = 5});
  });
}

void keys(filling& x) {
  x.fill([&](auto i) {
    x.ask(1, set_of(std::string(1'000, 'k') + name_of(i), {}));
  });
}

void many_at_once(filling& x) {
  x.fill([&](auto i) {
    auto request = store_request{.verb = multi_set};
    for (auto k = uint64_t{0}; k < 1'000; ++k) {
      request.keys.push_back(name_of(1'000 * i + k));
      request.values.push_back(std::string(20, 'v'));
    }
    x.ask(1, request);
  });
}

void queues(filling& x) {
  x.fill([&](auto i) { x.ask(1, push_to(name_of(i), {})); });
}

void queued_values(filling& x) {
  x.fill([&](auto) { x.ask(1, push_to("queue", "value")); });
}

void waits(filling& x) {
  x.fill([&](auto i) { x.ask(i, {.verb = wait, .keys = {name_of(i)}}); });
}

void shared_waits(filling& x) {
  x.fill([&](auto i) { x.ask(i, {.verb = wait, .keys = {"key"}}); });
}

void long_waits(filling& x) {
  x.fill([&](auto i) {
    auto request = store_request{.verb = wait};
    for (auto k = uint64_t{0}; k < 10'000; ++k)
      request.keys.push_back("a key that is long enough "
                             + name_of(10'000 * i + k));
    x.ask(i, request);
  });
}

void barriers(filling& x) {
  x.fill([&](auto i) {
    x.ask(i, {.verb = barrier, .keys = {name_of(i)}, .number = 2});
  });
}

void connections(filling& x) {
  x.fill([&](auto i) { x.send(i, {}); });
}

void half_read_values(filling& x) {
  const auto bytes
    = store_bytes(torch::v2_14, set_of("k", std::string(20'000, 'v')));
  x.fill([&](auto i) {
    for (auto part = size_t{0}; part < 15; ++part)
      x.send(i, std::string_view{bytes}.substr(part * 1'000, 1'000));
  });
}

void half_read_keys(filling& x) {
  auto request = store_request{.verb = check};
  for (auto k = uint64_t{0}; k < 2'000; ++k)
    request.keys.push_back(std::string(40, 'k'));
  const auto bytes = store_bytes(torch::v2_14, request);
  x.fill([&](auto i) {
    x.send(i, std::string_view{bytes}.substr(0, bytes.size() - 1));
  });
}

// A client that fetches nothing: its link has all that it has room for.
void unsent_replies(filling& x) {
  x.fill([&](auto) {
    auto& link = x.links.emplace_back(unique_fd{}, x.uut.new_charge());
    while (!link.is_full())
      if (!link.add({.client = {1}, .head = std::string(100, 'r')}))
        fail("is full");
  });
}

// Replies that have no room to be copied.
void unsent_references(filling& x) {
  const auto budget = std::make_shared<core::store_budget>(megabyte);
  const auto value = core::store_value::make(budget, std::string(50, 'v'));
  x.fill([&](auto) {
    auto& link = x.links.emplace_back(unique_fd{}, x.uut.new_charge());
    while (!link.is_full())
      link.add({.client = {1}, .head = std::string(1'000, 'r')});
    auto reply = core::send_reply{.client = {1}};
    reply.values.assign(10'000, *value);
    if (!link.add(std::move(reply)))
      fail("is full");
  });
}

const std::map<std::string, void (*)(filling&)> kinds = {
  {"values", values},
  {"empty_values", empty_values},
  {"large_values", large_values},
  {"appended_values", appended_values},
  {"counters", counters},
  {"keys", keys},
  {"many_at_once", many_at_once},
  {"queues", queues},
  {"queued_values", queued_values},
  {"waits", waits},
  {"shared_waits", shared_waits},
  {"long_waits", long_waits},
  {"barriers", barriers},
  {"connections", connections},
  {"half_read_values", half_read_values},
  {"half_read_keys", half_read_keys},
  {"unsent_replies", unsent_replies},
  {"unsent_references", unsent_references},
};

void weigh(void (*kind)(filling&)) {
  auto x = filling{};
  const auto before = resident_size();
  kind(x);
  // What was freed on the way goes back within half a second.
  return_freed_memory();
  std::cout << "charged " << x.uut.memory() << " grown "
            << resident_size() - before << std::endl;
}

// -- the memory of a generation ---------------------------------------------------

unique_fd connect_to(uint16_t port) {
  const auto where = *numeric_address("127.0.0.1", port);
  auto fd = unique_fd{::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (::connect(fd.get(), where.get(), where.size) != 0)
    fail("cannot connect");
  return fd;
}

/// @returns false if the server cuts us off
bool try_send(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void send_all(int fd, std::string_view bytes) {
  if (!try_send(fd, bytes))
    fail("the server has cut us off");
}

/// Small values and large ones, some of which are deleted between others.
void fill_server(int fd) {
  send_all(fd, store_hello(1));
  constexpr auto values = uint64_t{400'000};
  for (auto i = uint64_t{0}; i < values; ++i)
    send_all(
      fd, store_bytes(torch::v2_14, set_of(name_of(i), std::string(300, 'v'))));
  for (auto i = uint64_t{0}; i < 50; ++i)
    send_all(fd,
             store_bytes(torch::v2_14, set_of("large" + name_of(i),
                                              std::string(2 * megabyte, 'v'))));
  send_all(fd, store_bytes(torch::v2_14, {.verb = ping, .number = 2}));
  auto answers = std::string(8, '\0');
  if (::recv(fd, answers.data(), answers.size(), MSG_WAITALL) != 8)
    fail("the server does not answer");
}

// As in an agent: the generation's server stops, the next one is open at once.
void generation() {
  auto home = reactor{};
  const auto before = resident_size();
  auto bound = bind_master_port(*numeric_address("127.0.0.1", 0));
  if (!bound)
    fail(bound.error().text);
  const auto port = bound->port;
  auto server = store_server::start(home, std::move(bound->socket), {});
  if (!server)
    fail(server.error().text);
  const auto fd = connect_to(port);
  fill_server(fd.get());
  const auto full = resident_size();
  server->reset();
  std::cout << "before " << before << " full " << full << " after "
            << resident_size() << std::endl;
}

// -- the limit ----------------------------------------------------------------

/// Asks for the number of keys, behind the answers to a hello.
uint64_t key_count_at(uint16_t port) {
  const auto fd = connect_to(port);
  send_all(fd.get(),
           store_hello(1) + store_bytes(torch::v2_14, {.verb = count_keys}));
  auto answer = std::string(4 + 8, '\0');
  if (::recv(fd.get(), answer.data(), answer.size(), MSG_WAITALL) != 12)
    fail("the server does not answer");
  auto out = uint64_t{0};
  for (auto i = answer.size(); i > 4; --i)
    out = out << 8 | static_cast<uint8_t>(answer[i - 1]);
  return out;
}

void limit() {
  constexpr auto value_size = size_t{10'000};
  auto home = reactor{};
  auto ports = store_ports{home, {}, {}};
  ports.announce("127.0.0.1");
  auto plan = core::generation_plan{};
  plan.generation = {1};
  plan.master_address = "127.0.0.1";
  plan.master_port = ports.next();
  if (auto ok = ports.open(plan); !ok)
    fail(ok.error().text);
  const auto fd = connect_to(plan.master_port);
  send_all(fd.get(), store_hello(1));
  for (auto i = uint64_t{1};
       try_send(fd.get(),
                store_bytes(torch::v2_14,
                            set_of(name_of(i), std::string(value_size, 'v'))));
       ++i) {
  }
  std::cout << "taken " << value_size * key_count_at(plan.master_port)
            << std::endl;
}

} // namespace

int main(int count, char** arguments) {
  const auto kind = std::string{count == 2 ? arguments[1] : ""};
  if (kind == "generation") {
    generation();
  } else if (kind == "limit") {
    limit();
  } else if (const auto i = kinds.find(kind); i != kinds.end()) {
    weigh(i->second);
  } else {
    for (const auto& x : kinds)
      std::cout << x.first << "\n";
    return kind == "kinds" ? 0 : 1;
  }
}
