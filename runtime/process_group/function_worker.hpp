// Runs a function worker: the process that was made for one call.
#pragma once

#include "runtime/entry_points.hpp"

#include <string>
#include <vector>

namespace actorrun::detail {

/// Names the function in a program that was started to call it (`spawn`).
inline constexpr auto function_variable = "ACTORRUN_FUNCTION";

/// True once `run_as_worker` has been called in this process: only then does
/// the same program, started again, come to its function.
bool can_run_as_worker();

/// The arguments of `run_as_worker`; empty before.
const std::vector<std::string>& own_arguments();

/// True in a worker whose `main` has not called `run_as_worker`: it must start
/// no workers, because they would do the same.
bool is_astray();

/// Calls the function, leaves what it returns in `return_descriptor`.
/// @returns the worker's exit code
int run_function(const std::string& name, const entry_function& function,
                 const argument_list& arguments);

/// The same for the call in `call_descriptor`.
int run_call();

} // namespace actorrun::detail
