#include "runtime/processes/fork_request.hpp"

#include "runtime/os/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// The version of this format; agent and server may be different builds if the
/// program was replaced while it ran.
constexpr uint32_t protocol_version = 1;

/// With it come the descriptors: handshake, text, then out and err if there are
/// such, then the others.
struct header {
  uint32_t version = protocol_version;
  uint32_t has_out = 0;
  uint32_t has_err = 0;
  uint32_t err_is_out = 0;
  uint32_t descriptor_count = 0;

  size_t fd_count() const {
    return size_t{2} + has_out + has_err + descriptor_count;
  }
};

/// Handshake, text, out, err.
constexpr size_t fd_count_max = descriptor_count_max + 4;

union control_buffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * fd_count_max)];
};

// -- text ---------------------------------------------------------------------

void append(std::string& text, uint32_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof bytes);
}

void append(std::string& text, const std::vector<std::string>& strings) {
  append(text, static_cast<uint32_t>(strings.size()));
  for (const auto& x : strings) {
    append(text, static_cast<uint32_t>(x.size()));
    text += x;
  }
}

/// Reads numbers and strings from the front; a missing one is an error.
struct reader {
  std::string_view rest;
  bool failed = false;

  std::string_view bytes(size_t size) {
    failed = failed || size > rest.size();
    const auto result = rest.substr(0, failed ? 0 : size);
    rest.remove_prefix(result.size());
    return result;
  }

  uint32_t number() {
    auto result = uint32_t{0};
    const auto from = bytes(sizeof result);
    std::memcpy(&result, from.data(), from.size());
    return result;
  }

  std::vector<std::string> strings() {
    auto result = std::vector<std::string>{};
    for (auto left = number(); left > 0 && !failed; --left)
      result.emplace_back(bytes(number()));
    return result;
  }
};

// A memfd has no size limit, unlike a message on a socket.
unique_fd text_file(const std::string& text) {
  auto file = unique_fd{::memfd_create("actorrun-fork", MFD_CLOEXEC)};
  if (file && write_all(file.get(), text) != 0)
    return {};
  return file;
}

// -- descriptors --------------------------------------------------------------

std::vector<int> fds_of(const child_files& files, int handshake, int text,
                        const header& head) {
  auto result = std::vector<int>{};
  result.reserve(head.fd_count());
  result.insert(result.end(), {handshake, text});
  if (head.has_out != 0)
    result.push_back(files.out);
  if (head.has_err != 0)
    result.push_back(files.err);
  result.insert(result.end(), files.descriptors.begin(),
                files.descriptors.end());
  return result;
}

std::vector<unique_fd> take_fds(msghdr& message) {
  auto result = std::vector<unique_fd>{};
  for (auto* x = CMSG_FIRSTHDR(&message); x != nullptr;
       x = CMSG_NXTHDR(&message, x)) {
    if (x->cmsg_level != SOL_SOCKET || x->cmsg_type != SCM_RIGHTS)
      continue;
    const auto count = (x->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      auto fd = -1;
      std::memcpy(&fd, CMSG_DATA(x) + i * sizeof fd, sizeof fd);
      result.emplace_back(fd);
    }
  }
  return result;
}

fork_request to_request(const header& head, std::vector<unique_fd> fds) {
  auto result = fork_request{};
  auto next = fds.begin();
  const auto take = [&] { return std::move(*next++); };
  if (!fds.empty())
    result.handshake = take();
  if (head.version != protocol_version)
    result.error = EPROTO;
  else if (fds.size() != head.fd_count())
    result.error = EMFILE; // This process has no room for the rest.
  if (result.error != 0)
    return result;
  result.text = take();
  if (head.has_out != 0)
    result.out = take();
  if (head.has_err != 0)
    result.err = take();
  result.err_is_out = head.err_is_out != 0;
  while (next != fds.end())
    result.descriptors.push_back(take());
  return result;
}

} // namespace

int send_fork_request(int socket, const fork_text& text,
                      const child_files& files, int handshake) {
  auto bytes = std::string{};
  append(bytes, text.arguments);
  append(bytes, text.environment);
  if (bytes.size() > fork_text_max)
    return E2BIG;
  const auto file = text_file(bytes);
  if (!file)
    return errno;
  const auto err_is_out = files.err >= 0 && files.err == files.out;
  auto head = header{.has_out = files.out >= 0,
                     .has_err = files.err >= 0 && !err_is_out,
                     .err_is_out = err_is_out,
                     .descriptor_count
                     = static_cast<uint32_t>(files.descriptors.size())};
  const auto fds = fds_of(files, handshake, file.get(), head);
  const auto fds_size = fds.size() * sizeof(int);
  auto control = control_buffer{};
  auto part = iovec{.iov_base = &head, .iov_len = sizeof head};
  auto message = msghdr{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(fds_size);
  auto* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(fds_size);
  std::memcpy(CMSG_DATA(rights), fds.data(), fds_size);
  const auto sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == sizeof head ? 0 : errno;
}

std::optional<fork_request> receive_fork_request(int socket) {
  auto head = header{};
  auto control = control_buffer{};
  auto part = iovec{.iov_base = &head, .iov_len = sizeof head};
  auto message = msghdr{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  auto size = ssize_t{};
  do
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size <= 0)
    return std::nullopt;
  auto fds = take_fds(message);
  if (size != sizeof head)
    head.version = 0;
  return to_request(head, std::move(fds));
}

std::optional<fork_text> read_fork_text(int fd) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || status.st_size > off_t{fork_text_max})
    return std::nullopt;
  auto bytes = std::string(static_cast<size_t>(status.st_size), '\0');
  if (::pread(fd, bytes.data(), bytes.size(), 0) != status.st_size)
    return std::nullopt;
  auto from = reader{bytes};
  auto result
    = fork_text{.arguments = from.strings(), .environment = from.strings()};
  if (from.failed || !from.rest.empty())
    return std::nullopt;
  return result;
}

} // namespace actorrun::detail
