// PUBLIC: all that a host program includes.
#pragma once

#include "actorrun/runtime/entry_points.hpp"
#include "actorrun/runtime/launcher.hpp"
#include "actorrun/runtime/options.hpp"
#include "actorrun/runtime/process_context.hpp"
#include "actorrun/runtime/start_processes.hpp"
#include "actorrun/runtime/status.hpp"
