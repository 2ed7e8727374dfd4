#include "runtime/store/link.hpp"

#include "actors/core/store/cost.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

namespace actorrun::detail {

namespace {

/// Smaller values are copied behind each other; to refer to one costs as much.
constexpr size_t copied_size_max = 4'096;

/// Of one chunk of such.
constexpr size_t text_size_max = size_t{64} * 1024;

/// Chunks sent by one system call.
constexpr size_t chunks_per_call_max = 64;

bool comes_later(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

std::string length_of(std::string_view bytes) {
  auto out = std::string(sizeof(uint64_t), '\0');
  auto size = static_cast<uint64_t>(bytes.size());
  for (auto& c : out) {
    c = static_cast<char>(size);
    size >>= 8;
  }
  return out;
}

} // namespace

std::optional<size_t> store_link::read(std::span<char> room) {
  const auto got = ::recv(fd(), room.data(), room.size(), 0);
  if (got > 0)
    return static_cast<size_t>(got);
  if (got < 0 && comes_later(errno))
    return 0;
  return std::nullopt;
}

bool store_link::keep(std::string_view input) {
  assert(kept_.empty());
  if (!core::make_room(kept_, input.size(), charge_))
    return false;
  kept_.append(input);
  return true;
}

std::string store_link::take_kept() {
  charge_.shrink(core::text_cost(kept_));
  return std::exchange(kept_, {});
}

bool store_link::add(core::send_reply reply) {
  if (!add_text(reply.head))
    return false;
  for (auto& x : reply.values)
    if (!add_text(length_of(x.bytes())) || !add_value(std::move(x)))
      return false;
  if (reply.tail && !add_value(std::move(*reply.tail)))
    return false;
  return true;
}

// Its value has a charge of its own.
size_t store_link::cost_of(const chunk& x) {
  return core::list_node_cost<chunk>() + core::text_cost(x.text);
}

bool store_link::add_chunk() {
  if (!charge_.grow(core::list_node_cost<chunk>()))
    return false;
  output_.emplace_back();
  return true;
}

bool store_link::add_text(std::string_view text) {
  if (text.empty())
    return true;
  const auto continues = !output_.empty() && !output_.back().value
                         && output_.back().text.size() < text_size_max;
  if (!continues && !add_chunk())
    return false;
  auto& all = output_.back().text;
  const auto size = all.size() + text.size();
  if (size > all.capacity()
      && !core::make_room(
        all, std::max(size, std::min(2 * all.size(), text_size_max)), charge_))
    return false;
  all.append(text);
  output_size_ += text.size();
  return true;
}

bool store_link::add_value(core::store_value value) {
  const auto size = value.bytes().size();
  if (size == 0 || (size <= copied_size_max && !is_full()))
    return add_text(value.bytes());
  if (!add_chunk())
    return false;
  output_.back().value = std::move(value);
  output_size_ += size;
  return true;
}

bool store_link::write() {
  auto left = store_turn_max;
  while (!output_.empty() && left > 0) {
    const auto done = send_some(left);
    if (done < 0)
      return comes_later(errno);
    left -= static_cast<size_t>(done);
  }
  return true;
}

// By one system call; returns like it.
ssize_t store_link::send_some(size_t most) {
  auto parts = std::array<iovec, chunks_per_call_max>{};
  auto count = size_t{0};
  for (const auto& x : output_) {
    auto bytes = x.bytes();
    if (count == 0)
      bytes.remove_prefix(first_sent_);
    bytes = bytes.substr(0, most);
    most -= bytes.size();
    parts[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
    if (count == parts.size() || most == 0)
      break;
  }
  auto message = msghdr{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const auto done = ::sendmsg(fd(), &message, MSG_NOSIGNAL);
  if (done > 0)
    sent(static_cast<size_t>(done));
  return done;
}

void store_link::sent(size_t size) {
  output_size_ -= size;
  size += std::exchange(first_sent_, size_t{0});
  while (!output_.empty() && size >= output_.front().bytes().size()) {
    size -= output_.front().bytes().size();
    charge_.shrink(cost_of(output_.front()));
    output_.pop_front();
  }
  first_sent_ = size;
}

} // namespace actorrun::detail
