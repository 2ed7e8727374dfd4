#include "cli/options/host_options.hpp"

#include "actors/core/generation.hpp"
#include "actors/core/text.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace actorrun::cli {

namespace {

constexpr auto secret_variable = "ACTORRUN_SECRET";

// -- each option for itself ---------------------------------------------------

/// Cuts a text into words as a shell does, without expanding anything.
result<std::vector<std::string>> parse_command(const std::string& text) {
  auto out = std::vector<std::string>{};
  auto is_word = false; // Also an empty one, if it has quotes.
  auto quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = text[i];
    const auto is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (quote == '\0' && is_space) {
      is_word = false;
      continue;
    }
    if (!std::exchange(is_word, true))
      out.emplace_back();
    if (c == '\\' && quote != '\'' && i + 1 < text.size())
      out.back() += text[++i];
    else if (quote == '\0' && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = '\0';
    else
      out.back() += c;
  }
  if (quote != '\0')
    return bad_argument(
      formatted("{} has a quote without its end", in_quotes(text)));
  if (out.empty() || out.front().empty())
    return bad_argument("no command is given; ssh is the default");
  return out;
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0
         && std::all_of(text.begin(), text.end(), [](unsigned char c) {
              return std::isalnum(c) || c == '_';
            });
}

result<std::vector<exported_variable>> parse_exports(const std::string& text) {
  auto out = std::vector<exported_variable>{};
  for (const auto part : split(text, ',')) {
    const auto sign = part.find('=');
    const auto name = sign == part.npos ? trimmed(part) : part.substr(0, sign);
    auto bare = name;
    if (sign == part.npos && bare.size() > 1 && bare.ends_with('*'))
      bare.remove_suffix(1);
    if (!is_variable_name(bare))
      return bad_argument(formatted(
        "{} is neither NAME nor NAME=VALUE, nor a beginning such as NCCL_*; a"
        " value with a comma goes to a variable of actorrun itself: X=1,2"
        " actorrun --export=X …",
        in_quotes(part)));
    if (name == secret_variable)
      return bad_argument(
        formatted("{} reaches the other hosts by itself, on a way that only"
                  " agents see",
                  secret_variable));
    out.push_back({std::string{name},
                   sign == part.npos
                     ? std::nullopt
                     : std::optional{std::string{part.substr(sign + 1)}}});
  }
  return out;
}

// -- how they go together -----------------------------------------------------

/// Options that are not passed on as they were typed.
constexpr std::string_view consumed[]
  = {"--dry-run",    "--hosts",         "--hostfile",  "--rsh",
     "--export",     "--nnodes",        "--rdzv-id",   "--secret-file",
     "--rdzv-conf",  "--rdzv-endpoint", "--node-rank", "--standalone",
     "--local-addr", "--master-addr",   "--parent-fd"};

/// What agents would take for their own.
constexpr std::string_view launcher_variables[]
  = {"PET_HOSTS",       "PET_HOSTFILE",   "PET_RSH",        "PET_EXPORT",
     "PET_SECRET_FILE", "PET_NODE_RANK",  "PET_STANDALONE", "PET_LOCAL_ADDR",
     "PET_MASTER_ADDR", "PET_MASTER_PORT"};

/// Without these a command does not mean on other hosts what it means here: where
/// programs and modules are found, and what actorrun itself reads for a whole job.
constexpr std::string_view exported_always[]
  = {"PATH",
     "LD_LIBRARY_PATH",
     "PYTHONPATH",
     "VIRTUAL_ENV",
     "CONDA_PREFIX",
     "PYTHON_EXEC",
     "LOGLEVEL",
     "OMP_NUM_THREADS",
     "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
     "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
     "TORCHELASTIC_ENABLE_FILE_TIMER",
     "TORCHELASTIC_HEALTH_CHECK_PORT",
     "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
     "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT"};

template <size_t N>
bool is_among(std::string_view x, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), x) != std::end(list);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// The text of an option: the last one that was typed, or its variable.
std::string text_of(const std::string& name, const scanned_words& typed,
                    const host_facts& world) {
  for (auto i = typed.options.rbegin(); i != typed.options.rend(); ++i)
    if (i->name == name)
      return i->value;
  return world.variable(variable_of(name)).value_or("");
}

bool is_given(const std::string& name, const scanned_words& typed,
              const host_facts& world) {
  return contains(typed.options, name) || world.variable(variable_of(name));
}

failure excludes(const char* option, const char* why) {
  return bad_argument(
    formatted("{} does not go with a list of hosts: {}", option, why));
}

result<void> refuse_own_options(const run_settings& x) {
  if (x.standalone)
    return excludes("--standalone", "it asks for this node alone");
  if (x.node_rank)
    return excludes("--node-rank", "with --rdzv-backend=static, ranks follow"
                                   " the list");
  if (x.master_address && !x.master_address->empty())
    return excludes("--master-addr", "the first host has the coordinator;"
                                     " --rdzv-endpoint says where else it is");
  if (!x.local_address.empty())
    return excludes("--local-addr", "each host has an address of its own");
  return {};
}

result<std::vector<host_share>> read_hosts(const run_settings& settings,
                                           const scanned_words& typed,
                                           const host_facts& world) {
  const auto is_typed = contains(typed.options, "--hosts");
  const auto is_file_typed = contains(typed.options, "--hostfile");
  if (!settings.hosts.empty() && !settings.host_file.empty()
      && is_typed == is_file_typed)
    return bad_argument("--hosts and --hostfile exclude each other");
  if (!settings.hosts.empty() && (is_typed || settings.host_file.empty()))
    return settings.hosts;
  const auto text = world.file(settings.host_file, host_file_size_max);
  if (!text)
    return bad_argument("--hostfile: " + text.error().text);
  auto out = parse_host_file(*text);
  if (!out)
    return bad_argument(
      formatted("--hostfile: {}: {}", settings.host_file, out.error().text));
  return out;
}

/// After this, `slots` is what the agent is told; 0: as all.
result<void> settle_shares(const run_settings& settings, hosts_arguments& out) {
  const auto& wish = settings.devices.slots;
  for (auto& host : out.hosts) {
    if (host.mentions == 1 && host.slots == 0)
      continue;
    if (host.mentions > 0 && wish.what != slot_wish::kind::number)
      return bad_argument(formatted(
        "{} stands in the list more than once, which asks for as many times"
        " --nproc-per-node; that needs a number",
        host.name));
    const auto sum
      = uint64_t{host.slots} + uint64_t{host.mentions} * wish.count;
    if (sum > core::slots_per_agent_max)
      return bad_argument(formatted("{} has more than {} workers", host.name,
                                    core::slots_per_agent_max));
    host.slots = static_cast<uint32_t>(sum);
  }
  return {};
}

result<void> settle_counts(const run_settings& settings,
                           const scanned_words& typed, const host_facts& world,
                           hosts_arguments& out) {
  const auto count = static_cast<uint32_t>(out.hosts.size());
  out.nodes = is_given("--nnodes", typed, world)
                ? settings.nodes
                : node_range{.min = count, .max = count};
  if (out.nodes.min > count)
    return bad_argument(
      formatted("--nnodes needs {} nodes, and the list has {} "
                "{}; without --nnodes all of them take part",
                out.nodes.min, count, count == 1 ? "host" : "hosts"));
  // An agent of a job of one node does not look for others.
  if (out.nodes.max == 1 && count > 1
      && settings.backend != rendezvous_backend::fixed) // Which says it better.
    return bad_argument(formatted(
      "--nnodes allows one node, and the list has {} hosts; name one host, or"
      " leave --nnodes out",
      count));
  return {};
}

/// `--rdzv-endpoint`, or etcd.
result<void> settle_given(const run_settings& settings, hosts_arguments& out) {
  out.place = meeting_place::given;
  if (settings.backend == rendezvous_backend::etcd)
    return {};
  if (settings.rendezvous.find(',') != settings.rendezvous.npos)
    return bad_argument(
      "--rdzv-endpoint: with a list of hosts the job begins at"
      " one endpoint; name one, or leave the option out");
  const auto where = parse_endpoint(settings.rendezvous);
  if (!where)
    return bad_argument("--rdzv-endpoint: " + where.error().text);
  if (out.nodes.max > 1)
    if (auto ok = refuse_endpoint(*where); !ok)
      return ok;
  if (is_loopback(where->host) && out.hosts.size() > 1)
    return bad_argument(formatted("--rdzv-endpoint: {} is another host on each "
                                  "host of the list; name one of"
                                  " them, or leave the option out",
                                  in_quotes(where->host)));
  if (out.is_fixed) {
    out.coordinator = 0;
    return {};
  }
  for (core::host_index i = 0; i < out.hosts.size(); ++i)
    if (core::lowered(host_of(out.hosts[i].name)) == core::lowered(where->host))
      out.coordinator = i;
  return {};
}

result<void> settle_place(const run_settings& settings, hosts_arguments& out) {
  const auto count = out.hosts.size();
  out.is_fixed
    = settings.backend == rendezvous_backend::fixed
      || (!settings.backend && settings.master_port.value_or(0) != 0);
  if (settings.master_port.value_or(0) != 0)
    out.port = static_cast<uint16_t>(*settings.master_port);
  if (out.is_fixed && out.nodes.max != count)
    return bad_argument(formatted("with fixed ranks all {} hosts of the list "
                                  "take part, and --nnodes has {}",
                                  count, out.nodes.max));
  if (!trimmed(settings.rendezvous).empty()
      || settings.backend == rendezvous_backend::etcd)
    return settle_given(settings, out);
  if (settings.conf.place != coordinator_place::automatic)
    return bad_argument("--rdzv-conf: is_host does not go with a list of hosts:"
                        " the first host has the coordinator");
  const auto takes_all = out.nodes.min == count && out.nodes.max == count;
  out.is_fixed = out.is_fixed || (!settings.backend && takes_all);
  out.place
    = out.is_fixed ? meeting_place::first_host : meeting_place::first_reached;
  if (out.is_fixed)
    out.coordinator = 0;
  return {};
}

/// Where none is set, the hosts get one that is made for this job: the way to them
/// is safe, and the one between them need not be.
result<void> settle_secret(const run_settings& settings,
                           const host_facts& world, hosts_arguments& out) {
  auto secret = secret_of(settings.secret_file, world);
  if (!secret)
    return secret.error();
  out.secret = *std::move(secret);
  if (out.secret.empty() && !settings.tls.is_set()
      && (out.hosts.size() > 1 || out.nodes.max > 1))
    out.secret = world.random_id() + world.random_id();
  out.names_matter = settings.tls.is_set();
  return {};
}

void settle_options(const scanned_words& typed, const CLI::App& app,
                    hosts_arguments& out) {
  const auto options = describe(app).options;
  const auto is_flag = [&](const std::string& name) {
    return std::any_of(options.begin(), options.end(), [&](const auto& x) {
      return x.name == name && x.value.empty();
    });
  };
  for (const auto& x : typed.options) {
    const auto is_ours
      = is_among(x.name, consumed)
        || (out.place != meeting_place::given
            && (x.name == "--rdzv-backend" || x.name == "--master-port"));
    if (is_ours)
      continue;
    out.options.push_back(
      is_flag(x.name) ? x.name : formatted("{}={}", x.name, x.value));
  }
  out.program = typed.rest;
}

bool matches(const exported_variable& x, std::string_view name) {
  if (x.name.ends_with('*'))
    return name.starts_with(
      std::string_view{x.name}.substr(0, x.name.size() - 1));
  return name == x.name;
}

void settle_variables(const run_settings& settings, const host_facts& world,
                      hosts_arguments& out) {
  auto names = world.variables ? world.variables() : std::vector<std::string>{};
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    const auto is_asked = std::any_of(
      settings.exports.begin(), settings.exports.end(),
      [&](const auto& x) { return !x.value && matches(x, name); });
    const auto is_ours
      = name.starts_with("PET_") && !is_for_launcher_only(name);
    if ((is_asked || is_ours || is_among(name, exported_always))
        && name != secret_variable && is_variable_name(name))
      out.variables.emplace_back(name, world.variable(name).value_or(""));
  }
  for (const auto& x : settings.exports) {
    if (x.value)
      out.variables.emplace_back(x.name, *x.value);
    else if (std::none_of(names.begin(), names.end(),
                          [&](const auto& name) { return matches(x, name); }))
      out.warnings.push_back(
        formatted("--export: {} is not set, and so not exported", x.name));
  }
}

std::string quoted_for_shell(std::string_view text) {
  const auto is_plain = std::all_of(
    text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c)
             || std::string_view{"/._-+,:@%"}.find(c) != std::string_view::npos;
    });
  if (is_plain)
    return std::string{text};
  auto out = std::string{"'"};
  for (const auto c : text)
    out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

} // namespace

void add_host_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Many hosts from one"};
  add(
    "--hosts", "HOST[:N],...",
    "start the job on these hosts, with N workers each (default: "
    "--nproc-per-node), by ssh: one command for all of them, and the whole job "
    "ends with it. [USER@]HOST; a host that stands there twice has the sum",
    into(out.hosts, parse_hosts));
  add("--hostfile", "FILE",
      "the same from a file, a host in each line: host, host:4 or host slots=4",
      into(out.host_file, parse_file_name));
  add("--rsh", "COMMAND",
      "what is executed to reach a host, in place of ssh; the host and a "
      "command for its shell are put behind it (default: ssh -x -T -o "
      "BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5)",
      into(out.remote_shell, parse_command));
  add(
    "--export", "NAME[=VALUE],...",
    "variables that the other hosts get, too; NCCL_* stands for all that begin "
    "so (always: PET_*, PATH, PYTHONPATH and what actorrun reads)",
    into(out.exports, parse_exports));
}

bool names_hosts(const run_settings& settings) {
  return !settings.hosts.empty() || !settings.host_file.empty();
}

result<hosts_arguments> settle_hosts(const run_settings& settings,
                                     const scanned_words& typed,
                                     const CLI::App& app,
                                     const host_facts& world) {
  auto out = hosts_arguments{};
  if (auto ok = refuse_own_options(settings); !ok)
    return ok.error();
  auto hosts = read_hosts(settings, typed, world);
  if (!hosts)
    return hosts.error();
  out.hosts = *std::move(hosts);
  out.remote_shell = settings.remote_shell;
  out.conf = text_of("--rdzv-conf", typed, world);
  out.rendezvous = settings.rendezvous;
  out.is_new_job = !settings.job || settings.job->empty();
  out.job = out.is_new_job ? world.random_id() : *settings.job;
  if (auto ok = settle_shares(settings, out); !ok)
    return ok.error();
  if (auto ok = settle_counts(settings, typed, world, out); !ok)
    return ok.error();
  if (auto ok = settle_place(settings, out); !ok)
    return ok.error();
  if (auto ok = settle_secret(settings, world, out); !ok)
    return ok.error();
  settle_options(typed, app, out);
  settle_variables(settings, world, out);
  return out;
}

std::vector<std::string>
agent_words(const hosts_arguments& x, core::host_index host,
            const std::optional<known_coordinator>& coordinator) {
  auto out = x.options;
  const auto add = [&](std::string_view name, const auto& value) {
    out.push_back(formatted("{}={}", name, value));
  };
  add("--nnodes", x.nodes.min == x.nodes.max
                    ? std::to_string(x.nodes.max)
                    : formatted("{}:{}", x.nodes.min, x.nodes.max));
  add("--rdzv-id", x.job);
  if (const auto slots = x.hosts[host].slots; slots != 0)
    add("--nproc-per-node", slots);
  auto conf = x.conf;
  if (x.place == meeting_place::given) {
    if (!x.rendezvous.empty())
      add("--rdzv-endpoint", x.rendezvous);
    if (x.is_fixed)
      add("--node-rank", host);
  } else if (x.nodes.max > 1) {
    add("--rdzv-endpoint",
        to_string(coordinator ? coordinator->where : endpoint{}));
    add("--rdzv-backend", x.is_fixed ? "static" : "c10d");
    if (x.is_fixed)
      add("--node-rank", host);
    else
      conf
        += formatted("{}is_host={}", conf.empty() ? "" : ",",
                     coordinator && coordinator->host == host ? "yes" : "no");
  } else if (x.port) { // Without others it is that of the workers.
    add("--master-port", *x.port);
  }
  if (!conf.empty())
    add("--rdzv-conf", conf);
  out.emplace_back("--");
  out.insert(out.end(), x.program.begin(), x.program.end());
  return out;
}

endpoint coordinator_endpoint(const hosts_arguments& x, core::host_index host,
                              const core::agent_greeting& greeting,
                              const std::string& own) {
  const auto is_here
    = [&](const host_share& y) { return is_this_host(y.name, own); };
  auto out = endpoint{.host = std::string{host_of(x.hosts[host].name)},
                      .port = x.port.value_or(greeting.port)};
  // Who is reached on loopback is this host, under another name.
  if (is_here(x.hosts[host])) {
    const auto is_alone = std::all_of(x.hosts.begin(), x.hosts.end(), is_here);
    if (!is_alone)
      out.host = own;
  } else if (!x.names_matter && is_loopback(greeting.address)) {
    out.host = own;
  } else if (!x.names_matter && !greeting.address.empty()
             && greeting.address.find('%') == std::string::npos) {
    // The name may be one that only ssh knows.
    out.host = greeting.address;
  }
  return out;
}

std::string agent_command(std::string_view program) {
  const auto path = quoted_for_shell(program);
  return formatted("test -x {} && exec {} {}; exec actorrun {}", path, path,
                   agent_word, agent_word);
}

bool is_for_launcher_only(std::string_view variable) {
  return is_among(variable, launcher_variables);
}

host_facts facts_of_agent(host_facts world, const std::string& secret) {
  world.variable = [ask = std::move(world.variable)](
                     const std::string& name) -> std::optional<std::string> {
    return name == secret_variable || is_for_launcher_only(name) ? std::nullopt
                                                                 : ask(name);
  };
  world.variables = [ask = std::move(world.variables)] {
    auto out = ask ? ask() : std::vector<std::string>{};
    std::erase_if(out, [](const auto& x) {
      return x == secret_variable || is_for_launcher_only(x);
    });
    return out;
  };
  world.own_secret = [secret]() -> result<std::string> { return secret; };
  return world;
}

} // namespace actorrun::cli
