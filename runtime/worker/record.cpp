#include "runtime/worker/record.hpp"

#include "runtime/worker/detail/error_writer.hpp"
#include "runtime/worker/detail/fatal_signals.hpp"
#include "runtime/worker/detail/program_map.hpp"
#include "runtime/worker/detail/uncaught.hpp"
#include "runtime/worker/record.h"

#include <cstdlib>

namespace actorrun {

// A forked child of a program that records may be a worker of its own.
void enable_record(uncaught how) {
  using namespace recording;
  if (is_recording())
    return;
  const auto* path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (path != nullptr && *path != '\0' && open_error_file(path)) {
    map_program();
    catch_fatal_signals();
    catch_uncaught(how);
  } else if (how == uncaught::exits) {
    catch_uncaught(how);
  }
}

int record(int (*main_function)(int, char**), int argc, char** argv) {
  enable_record();
  return main_function(argc, argv);
}

} // namespace actorrun

extern "C" void actorrun_record_enable(void) {
  actorrun::enable_record();
}
