// Defines the options about ports for metrics, health and the page.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"
#include "runtime/options.hpp"

#include <string>
#include <string_view>

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive the App.
void add_http_options(option_adder& add, http_options& out);

/// `[ADDRESS:]PORT`: a numeric address, in brackets if it is IPv6, or `localhost`;
/// without one 127.0.0.1. Port 0: any free one.
/// @retval errc::bad_argument  it has another form
result<endpoint> parse_listening(std::string_view text);

/// Fills in the ports of `out`. A variable of torchrun is read:
/// TORCHELASTIC_HEALTH_CHECK_PORT. One that names no port gets a warning, as
/// torchrun's has no effect, either.
void settle_http(const run_settings& settings, const host_facts& world,
                 run_arguments& out);

} // namespace actorrun::cli
