#include "runtime/process_group/call_channel.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// -- values, in CBOR ----------------------------------------------------------

using bytes = std::vector<uint8_t>;

/// Both ways of nlohmann's library call themselves once per level.
bool is_too_deep(const nlohmann::json& x, size_t depth_max) {
  if (!x.is_structured())
    return false;
  if (depth_max == 0)
    return true;
  return std::any_of(x.begin(), x.end(), [&](const auto& y) {
    return is_too_deep(y, depth_max - 1);
  });
}

/// Gives up on what nests deeper than a writer may.
struct depth_guard : nlohmann::json_sax<nlohmann::json> {
  size_t depth = 0;

  bool enter() { return ++depth <= value_depth_max + 1; }
  bool leave() {
    --depth;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }
};

/// @retval errc::bad_argument  it is nested deeper than `value_depth_max`, or
///         needs more than `size_max` bytes; the text continues `it is …`
result<bytes> encode(const nlohmann::json& value, size_t size_max) {
  if (is_too_deep(value, value_depth_max))
    return bad_argument(
      formatted("nested deeper than {} levels", value_depth_max));
  auto data = nlohmann::json::to_cbor(value);
  if (data.size() > size_max)
    return bad_argument(
      formatted("{} bytes, and at most {} may be sent", data.size(), size_max));
  return data;
}

/// @param data Untrusted.
/// @retval errc::bad_argument  it holds no value, or one that nests too deep
result<nlohmann::json> decode(std::span<const uint8_t> data) {
  auto guard = depth_guard{};
  const auto format = nlohmann::json::input_format_t::cbor;
  if (!nlohmann::json::sax_parse(data, &guard, format))
    return bad_argument("the value in it is damaged");
  return nlohmann::json::from_cbor(data, true, false);
}

// -- the files ----------------------------------------------------------------

using stage = function_return::stage;

/// At the start of both files; the value follows, in CBOR.
struct header {
  std::array<char, 8> magic;
  uint64_t reached; ///< A `stage`; of a call: `returned`.
};

constexpr auto call_magic = std::array{'a', 'r', 'c', 'a', 'l', 'l', '0', '1'};
constexpr auto return_magic
  = std::array{'a', 'r', 'r', 'e', 't', 'n', '0', '1'};

std::string_view text_of(std::span<const uint8_t> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

/// Writes the value behind the header. @returns 0 or an errno
int write_value(int fd, std::span<const uint8_t> data) {
  return write_all_at(fd, text_of(data), sizeof(header));
}

/// @returns 0 or an errno
int write_header(int fd, const std::array<char, 8>& magic, stage reached) {
  const auto x = header{magic, static_cast<uint64_t>(reached)};
  auto raw = std::array<uint8_t, sizeof x>{};
  std::memcpy(raw.data(), &x, sizeof x);
  return write_all_at(fd, text_of(raw), 0);
}

/// The whole file, if it is one of ours.
result<bytes> read_file(int fd, const std::array<char, 8>& magic,
                        size_t size_max) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    return bad_argument("there is no file");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < sizeof(header) || size > sizeof(header) + size_max)
    return bad_argument(formatted("the file has {} bytes", size));
  auto data = bytes(size);
  for (size_t done = 0; done < data.size();) {
    const auto n = ::pread(fd, data.data() + done, data.size() - done,
                           static_cast<off_t>(done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return bad_argument("the file cannot be read");
    done += static_cast<size_t>(n);
  }
  if (std::memcmp(data.data(), magic.data(), magic.size()) != 0)
    return bad_argument("the file is of another kind");
  return data;
}

result<unique_fd> make_file(const char* name) {
  auto fd = unique_fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd)
    return system_failure("no file in memory can be made: "
                          + system_error_text(errno));
  return fd;
}

} // namespace

// -- the call -----------------------------------------------------------------

result<unique_fd> write_call(const function_call& call) {
  const auto data = encode(
    nlohmann::json::array({call.function, call.arguments}), call_size_max);
  if (!data)
    return bad_argument("the arguments are " + data.error().text);
  auto fd = make_file("actorrun-call");
  if (!fd)
    return fd;
  auto error = write_header(fd->get(), call_magic, stage::returned);
  if (error == 0)
    error = write_value(fd->get(), *data);
  if (error != 0)
    return system_failure("the arguments cannot be kept in memory: "
                          + system_error_text(error));
  ::fcntl(fd->get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);
  return fd;
}

result<function_call> read_call(int fd) {
  const auto data = read_file(fd, call_magic, call_size_max);
  if (!data)
    return data.error();
  const auto value = decode(std::span{*data}.subspan(sizeof(header)));
  if (!value)
    return value.error();
  if (!value->is_array() || value->size() != 2 || !(*value)[0].is_string()
      || !(*value)[1].is_array())
    return bad_argument("the value in it is no call");
  return function_call{(*value)[0].get<std::string>(),
                       (*value)[1].get<argument_list>()};
}

// -- the return ---------------------------------------------------------------

result<unique_fd> make_return_file() {
  auto fd = make_file("actorrun-return");
  if (!fd)
    return fd;
  if (const auto error
      = write_header(fd->get(), return_magic, stage::not_begun))
    return system_failure("no file in memory can be written: "
                          + system_error_text(error));
  return fd;
}

bool mark_begun(int fd) {
  return read_file(fd, return_magic, return_size_max)
         && write_header(fd, return_magic, stage::begun) == 0;
}

result<void> write_return(int fd, const nlohmann::json& value) {
  const auto data = encode(value, return_size_max);
  if (!data)
    return bad_argument("the return value is " + data.error().text);
  // The header comes last: only then does the value count.
  auto error = write_value(fd, *data);
  if (error == 0)
    error = write_header(fd, return_magic, stage::returned);
  if (error != 0)
    return system_failure("the return value cannot be kept in memory: "
                          + system_error_text(error));
  return {};
}

result<function_return> read_return(int fd) {
  const auto data = read_file(fd, return_magic, return_size_max);
  if (!data)
    return data.error();
  auto x = header{};
  std::memcpy(&x, data->data(), sizeof x);
  if (x.reached > static_cast<uint64_t>(stage::returned))
    return bad_argument("the file is damaged");
  const auto reached = static_cast<stage>(x.reached);
  if (reached != stage::returned)
    return function_return{reached, nullptr};
  auto value = decode(std::span{*data}.subspan(sizeof(header)));
  if (!value)
    return value.error();
  return function_return{reached, std::move(*value)};
}

} // namespace actorrun::detail
