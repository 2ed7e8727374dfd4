// A worker that loads the store at MASTER_ADDR:MASTER_PORT like torch's
// clients, and prints the results: `set 61234.5`, operations per second;
// `connect 3.21`, milliseconds.
//
//     store_load OPERATIONS CLIENTS

#include "tests/bench/tools/store_protocol.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using namespace actorrun::bench::store_protocol;
using clock_type = std::chrono::steady_clock;

/// Longer than any single answer.
constexpr auto timeout = timeval{20, 0};

/// The first repetition is slow, with cold caches; the median is printed.
constexpr auto barrier_count = 21;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

class client {
public:
  client() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto* host = std::getenv("MASTER_ADDR");
    const auto* port = std::getenv("MASTER_PORT");
    if (host == nullptr || port == nullptr)
      fail("MASTER_ADDR, MASTER_PORT");
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
    ::inet_pton(AF_INET, host, &address.sin_addr);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address)
        != 0)
      fail("connect");
    const auto on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  }

  client(client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~client() {
    if (fd_ >= 0)
      ::close(fd_);
  }

  void send(const std::string& bytes) const {
    if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
        != static_cast<ssize_t>(bytes.size()))
      fail("send");
  }

  void receive(size_t size) const {
    char room[number_size + value_size];
    if (size > sizeof room
        || ::recv(fd_, room, size, MSG_WAITALL) != static_cast<ssize_t>(size))
      fail("recv");
  }

private:
  int fd_ = -1;
};

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>{clock_type::now() - start}.count();
}

// A SET has no answer; the ADD after them shows that all are done.
void measure_set(const client& x, int count) {
  const auto request = set_to("/key", std::string(value_size, 'v'));
  const auto start = clock_type::now();
  for (auto i = 0; i < count; ++i)
    x.send(request);
  x.send(add_one(count_key));
  x.receive(number_size);
  std::printf("set %.1f\n", count / seconds_since(start));
}

void measure(const client& x, int count, const char* name,
             const std::string& request, size_t answer) {
  const auto start = clock_type::now();
  for (auto i = 0; i < count; ++i) {
    x.send(request);
    x.receive(answer);
  }
  std::printf("%s %.1f\n", name, count / seconds_since(start));
}

void ask_all(const std::vector<client>& all, const std::string& request,
             size_t answer) {
  for (const auto& x : all)
    x.send(request);
  for (const auto& x : all)
    x.receive(answer);
}

// All connect at once, like workers, and each has its first answer.
std::vector<client> measure_connect(size_t count) {
  const auto start = clock_type::now();
  auto all = std::vector<client>(count);
  ask_all(all, add_one("/here"), number_size);
  std::printf("connect %.3f\n", seconds_since(start) * 1e3);
  return all;
}

// Like torch's store-based barrier: all count themselves and wait for a key
// that one of them sets.
double barrier(const std::vector<client>& all, const std::string& key) {
  const auto start = clock_type::now();
  ask_all(all, add_one(key), number_size);
  for (const auto& x : all)
    x.send(wait_for(late_key + key));
  const auto last = client{};
  last.send(set_to(late_key + key, "1"));
  for (const auto& x : all)
    x.receive(1);
  return seconds_since(start) * 1e3;
}

void measure_barrier(const std::vector<client>& all) {
  auto times = std::vector<double>{};
  for (auto i = 0; i < barrier_count; ++i)
    times.push_back(barrier(all, "/barrier" + std::to_string(i)));
  const auto middle = times.begin() + barrier_count / 2;
  std::nth_element(times.begin(), middle, times.end());
  std::printf("barrier %.3f\n", *middle);
}

} // namespace

int main(int argc, char** argv) {
  const auto count = argc == 3 ? std::atoi(argv[1]) : 0;
  const auto client_count = argc == 3 ? std::atoi(argv[2]) : 0;
  if (count < 1 || client_count < 1)
    return 2;
  {
    const auto one = client{};
    measure_set(one, count);
    measure(one, count, "get", get_of("/key"), number_size + value_size);
    measure(one, count, "add", add_one("/count"), number_size);
    measure(one, count, "wait", wait_for("/key"), 1);
  }
  measure_barrier(measure_connect(static_cast<size_t>(client_count)));
  return EXIT_SUCCESS;
}
