// Passes arguments to function workers and their return values back, in files
// in memory, so that neither side ever waits for the other.
#pragma once

#include "messages/result.hpp"
#include "runtime/entry_points.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <string>

namespace actorrun::detail {

/// Where a worker finds them.
inline constexpr int return_descriptor = 3;
inline constexpr int call_descriptor = 4;

struct function_call {
  std::string function;
  argument_list arguments;
};

/// @returns a sealed file, which cannot be changed any more
/// @retval errc::bad_argument    more than `call_size_max` bytes, or nested
///                               deeper than `value_depth_max`
/// @retval errc::system_failure  no descriptor or memory is left
result<unique_fd> write_call(const function_call& call);

/// @retval errc::bad_argument  this is no such file
result<function_call> read_call(int fd);

/// A file for what one function returns.
/// @retval errc::system_failure  no descriptor is left
result<unique_fd> make_return_file();

/// Notes in the file that the function is about to be called.
/// @returns false if this is no such file
bool mark_begun(int fd);

/// @retval errc::bad_argument    as `write_call`, with `return_size_max`
/// @retval errc::system_failure  no memory is left
result<void> write_return(int fd, const nlohmann::json& value);

/// How far a function came.
struct function_return {
  enum class stage { not_begun, begun, returned };
  stage reached = stage::not_begun;
  nlohmann::json value; ///< Set if it has returned.
};

/// @pre the worker has ended
/// @retval errc::bad_argument  the worker has damaged its file
result<function_return> read_return(int fd);

} // namespace actorrun::detail
