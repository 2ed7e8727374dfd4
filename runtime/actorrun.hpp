// PUBLIC: all that a host program includes.
#pragma once

#include "runtime/entry_points.hpp"
#include "runtime/launcher.hpp"
#include "runtime/options.hpp"
#include "runtime/process_context.hpp"
#include "runtime/start_processes.hpp"
#include "runtime/status.hpp"
