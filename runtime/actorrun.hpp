// PUBLIC: includes all public headers for host programs.
#pragma once

#include "runtime/devices.hpp"
#include "runtime/entry_points.hpp"
#include "runtime/job_logs.hpp"
#include "runtime/launcher.hpp"
#include "runtime/options.hpp"
#include "runtime/process_context.hpp"
#include "runtime/service_options.hpp"
#include "runtime/start_processes.hpp"
#include "runtime/status.hpp"
#include "runtime/steer.hpp"
#include "runtime/system_config.hpp"
