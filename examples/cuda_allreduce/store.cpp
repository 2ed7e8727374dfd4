#include "store.hpp"

#include "environment.hpp"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// The protocol's numbers are little-endian, like every host of a GPU.
static_assert(std::endian::native == std::endian::little);

namespace {

constexpr time_t timeout_seconds = 60;

// The requests that are needed here; docs/store.md has all.
enum request : char { validate = 0, set_key = 1, get_key = 3, wait_keys = 6 };
constexpr std::uint32_t magic = 0x3C85F7CE;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "the store at %s:%s: %s: %s\n",
               variable("MASTER_ADDR").c_str(), variable("MASTER_PORT").c_str(),
               what, std::strerror(errno));
  std::exit(3);
}

template <class Number>
std::string bytes_of(Number x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

std::string text(const std::string& x) {
  return bytes_of<std::uint64_t>(x.size()) + x;
}

int connect_to(const std::string& host, const std::string& port) {
  auto hints = addrinfo{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const auto error
      = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
      error != 0) {
    std::fprintf(stderr, "MASTER_ADDR=%s: %s\n", host.c_str(),
                 ::gai_strerror(error));
    std::exit(3);
  }
  auto out = -1;
  for (const auto* x = found; x != nullptr && out < 0; x = x->ai_next) {
    out = ::socket(x->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (out >= 0 && ::connect(out, x->ai_addr, x->ai_addrlen) != 0) {
      const auto why = errno;
      ::close(out);
      errno = why;
      out = -1;
    }
  }
  ::freeaddrinfo(found);
  return out;
}

} // namespace

store::store() {
  if (variable("TORCHELASTIC_USE_AGENT_STORE") != "True") {
    std::fprintf(stderr, "the agent serves no store: start this without"
                         " --no-agent-store\n");
    std::exit(2);
  }
  descriptor_ = connect_to(variable("MASTER_ADDR"), variable("MASTER_PORT"));
  if (descriptor_ < 0)
    give_up("connect");
  const auto on = 1;
  const auto timeout = timeval{.tv_sec = timeout_seconds, .tv_usec = 0};
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  send(bytes_of(validate) + bytes_of(magic));
}

store::~store() {
  ::close(descriptor_);
}

void store::set(const std::string& key, const std::string& value) {
  send(bytes_of(set_key) + text(key) + text(value));
}

std::string store::get(const std::string& key) {
  constexpr std::uint64_t one = 1;
  send(bytes_of(wait_keys) + bytes_of(one) + text(key));
  auto is_there = char{};
  receive(&is_there, sizeof is_there);
  send(bytes_of(get_key) + text(key));
  auto size = std::uint64_t{0};
  receive(&size, sizeof size);
  auto value = std::string(size, '\0');
  receive(value.data(), value.size());
  return value;
}

void store::send(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count = ::send(descriptor_, bytes.data() + done,
                              bytes.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
      give_up("send");
    done += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
}

void store::receive(void* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const auto count
      = ::recv(descriptor_, static_cast<char*>(data) + done, size - done, 0);
    if (count == 0)
      errno = ECONNRESET;
    if (count == 0 || (count < 0 && errno != EINTR))
      give_up("receive");
    done += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
}
