// Catch2 for all tests, whether the system has version 2 or version 3.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_EXTERNAL_INTERFACES // Listeners are part of version 3.
#include <catch2/catch.hpp>

namespace Catch {
using EventListenerBase = TestEventListenerBase;
}
#endif
