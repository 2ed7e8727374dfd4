// PUBLIC: includes all that a host program with jobs needs. Groups of processes
// without a job are in start_processes.hpp, which takes longer to compile.
#pragma once

#include "messages/config.hpp"
#include "runtime/jobs.hpp"
#include "runtime/launcher.hpp"
#include "runtime/options.hpp"
