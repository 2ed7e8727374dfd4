// A worker that loads the store at MASTER_ADDR:MASTER_PORT as torch's clients
// do (in the dialect that torch 1.13 and 2.0 speak), and prints what it took:
// `set 61234.5`, operations per second; `barrier 3.21`, milliseconds.
//
//     store_load OPERATIONS CLIENTS

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

using clock_type = std::chrono::steady_clock;

enum opcode : char { set = 0, get = 2, add = 3, wait = 5 };

/// Of every value: as an address of NCCL or Gloo.
constexpr size_t value_size = 128;

/// No single answer takes so long.
constexpr auto patience = timeval{20, 0};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

std::string number(uint64_t x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

std::string text(std::string_view x) {
  return number(x.size()) + std::string{x};
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
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
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
    char room[sizeof(uint64_t) + value_size];
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

// A SET has no answer; that all are done, the ADD behind them tells.
void measure_set(const client& x, int count) {
  const auto request
    = char(set) + text("/key") + text(std::string(value_size, 'v'));
  const auto start = clock_type::now();
  for (auto i = 0; i < count; ++i)
    x.send(request);
  x.send(char(add) + text("/count") + number(1));
  x.receive(sizeof(int64_t));
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

// As torch's store-based barrier: all count themselves and wait for a key that
// one of them makes.
void measure_barrier(const std::vector<client>& all) {
  const auto start = clock_type::now();
  for (const auto& x : all)
    x.send(char(add) + text("/barrier") + number(1));
  for (const auto& x : all)
    x.receive(sizeof(int64_t));
  for (const auto& x : all)
    x.send(char(wait) + number(1) + text("/barrier/done"));
  const auto last = client{};
  last.send(char(set) + text("/barrier/done") + text("1"));
  for (const auto& x : all)
    x.receive(1);
  std::printf("barrier %.3f\n", seconds_since(start) * 1e3);
}

} // namespace

int main(int argc, char** argv) {
  const auto count = argc == 3 ? std::atoi(argv[1]) : 0;
  const auto client_count = argc == 3 ? std::atoi(argv[2]) : 0;
  if (count < 1 || client_count < 1)
    return 2;
  const auto one = client{};
  measure_set(one, count);
  measure(one, count, "get", char(get) + text("/key"),
          sizeof(uint64_t) + value_size);
  measure(one, count, "add", char(add) + text("/count") + number(1),
          sizeof(int64_t));
  measure(one, count, "wait", char(wait) + number(1) + text("/key"), 1);
  measure_barrier(std::vector<client>(static_cast<size_t>(client_count)));
  return EXIT_SUCCESS;
}
