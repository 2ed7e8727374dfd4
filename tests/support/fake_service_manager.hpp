// Stands in for a service manager: takes the datagrams of sd_notify(3).
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace actorrun::test {

class fake_service_manager {
public:
  /// @param address A path that is free, or `@` and a name.
  explicit fake_service_manager(const std::string& address)
    : address_(address),
      fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    auto where = sockaddr_un{};
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path, address.data(), address.size());
    if (address[0] == '@')
      where.sun_path[0] = '\0';
    const auto size = offsetof(sockaddr_un, sun_path) + address.size();
    is_bound_
      = ::bind(fd_, reinterpret_cast<const sockaddr*>(&where),
               static_cast<socklen_t>(address[0] == '@' ? size : size + 1))
        == 0;
  }

  ~fake_service_manager() {
    ::close(fd_);
    if (address_[0] != '@')
      ::unlink(address_.c_str());
  }

  fake_service_manager(const fake_service_manager&) = delete;
  fake_service_manager& operator=(const fake_service_manager&) = delete;

  bool is_bound() const { return is_bound_; }

  /// All lines so far, of all datagrams.
  const std::vector<std::string>& lines() {
    auto place = std::array<char, 4'096>{};
    for (;;) {
      const auto size = ::recv(fd_, place.data(), place.size(), 0);
      if (size < 0)
        return lines_;
      auto text = std::string{place.data(), static_cast<size_t>(size)};
      for (auto end = text.find('\n'); end != text.npos;
           end = text.find('\n')) {
        lines_.push_back(text.substr(0, end));
        text.erase(0, end + 1);
      }
      if (!text.empty())
        lines_.push_back(text);
    }
  }

  /// How many of the lines so far begin with `text`.
  size_t count(const std::string& text) {
    auto out = size_t{0};
    for (const auto& x : lines())
      out += x.starts_with(text) ? 1 : 0;
    return out;
  }

  bool has(const std::string& text) { return count(text) > 0; }

  /// The newest line that begins with `text`.
  std::string latest(const std::string& text) {
    auto out = std::string{};
    for (const auto& x : lines())
      if (x.starts_with(text))
        out = x;
    return out;
  }

private:
  std::string address_;
  int fd_;
  bool is_bound_ = false;
  std::vector<std::string> lines_;
};

} // namespace actorrun::test
