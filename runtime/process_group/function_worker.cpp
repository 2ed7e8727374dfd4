#include "runtime/process_group/function_worker.hpp"

#include "messages/formatted.hpp"
#include "runtime/process_group/call_channel.hpp"
#include "runtime/process_group/entry_registry.hpp"
#include "runtime/process_group/stack_end.hpp"
#include "runtime/processes/fork_server.hpp"
#include "runtime/worker/record.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace actorrun {

namespace detail {

namespace {

/// Those of `main`, once the hook has run.
std::vector<std::string> program_arguments;
std::atomic<bool> hook_has_run = false;

int fail(const std::string& text) {
  std::cerr << "actorrun: worker: " << text << std::endl;
  return 1;
}

struct call_frame {
  const entry_function& function;
  const argument_list& arguments;
};

// An exception here is the worker's failure: its text is recorded, and no value
// is returned.
int call(void* data) {
  const auto& frame = *static_cast<call_frame*>(data);
  const auto value = frame.function.call(frame.arguments);
  if (const auto written = write_return(return_descriptor, value); !written)
    throw std::length_error{written.error().text};
  return 0;
}

} // namespace

bool can_run_as_worker() {
  return hook_has_run;
}

const std::vector<std::string>& own_arguments() {
  return program_arguments;
}

bool is_astray() {
  return std::getenv(function_variable) != nullptr;
}

int run_function(const std::string& name, const entry_function& function,
                 const argument_list& arguments) {
  if (const auto problem = function.complaint(arguments))
    return fail(formatted("entry point \"{}\": {}", name, *problem));
  // Processes that the function starts must not inherit the file.
  ::fcntl(return_descriptor, F_SETFD, FD_CLOEXEC);
  if (!mark_begun(return_descriptor))
    return fail(formatted("descriptor {} is no place for what \"{}\" returns",
                          return_descriptor, name));
  ::prctl(PR_SET_NAME, name.c_str()); // For ps and top; 15 bytes of it.
  enable_record(uncaught::exits);
  auto frame = call_frame{function, arguments};
  return call_at_stack_end(call, &frame);
}

int run_call() {
  const auto call = read_call(call_descriptor);
  ::close(call_descriptor);
  if (!call)
    return fail(formatted("descriptor {} holds no call: {}", call_descriptor,
                          call.error().text));
  const auto function = find_entry_point(call->function);
  if (!function)
    return fail(function.error().text);
  return run_function(call->function, *function, call->arguments);
}

} // namespace detail

std::optional<int> run_as_worker(int argc, char** argv) {
  using namespace detail;
  if (!hook_has_run)
    program_arguments.assign(argv, argv + argc);
  hook_has_run = true;
  if (const auto fd = fork_server_socket(); fd >= 0)
    return serve_forks(fd, [](const auto&) { return run_call(); });
  if (!is_astray())
    return std::nullopt;
  ::unsetenv(function_variable);
  return run_call();
}

} // namespace actorrun
