// PUBLIC: all that a host program includes.
#pragma once

#include "actorrun/runtime/launcher.hpp"
#include "actorrun/runtime/options.hpp"
#include "actorrun/runtime/status.hpp"
