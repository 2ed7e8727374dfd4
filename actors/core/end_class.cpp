#include "actors/core/end_class.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/text.hpp"

#include <array>
#include <csignal>

namespace actorrun::core {

namespace {

constexpr auto class_names = std::array<std::string_view, end_class_count>{
  "none",    "program",    "user", "node",
  "network", "preemption", "hang", "unknown"};

constexpr size_t evidence_max = 160;

/// What parsers of arguments exit with: Python's, getopt's users, Bash.
constexpr auto usage_code = 2;

/// Such a parser prints both: how the program is used, and what is wrong.
bool shows_usage(const worker_failure& x) {
  const auto says = [&](std::string_view words) {
    return x.details.traceback.find(words) != std::string::npos;
  };
  return x.kind == failure_kind::exited && x.code == usage_code
         && says("usage: ") && says("error: ");
}

/// Signals by which a program ends itself, or the kernel for what it did.
bool is_own_crash(int signal) {
  switch (signal) {
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
    case SIGSYS:
    case SIGTRAP:
    case SIGXCPU:
    case SIGXFSZ:
      return true;
    default:
      return false;
  }
}

std::string signal_words(int signal) {
  const auto name = signal_name(signal);
  return name.empty() ? "signal " + std::to_string(signal) : name;
}

end_finding finding_of_signal(const worker_failure& x) {
  const auto name = signal_words(x.code);
  if (x.details.out_of_memory)
    return {end_class::node, "the kernel killed it for memory"};
  if (x.code == SIGTERM)
    return {end_class::preemption, "SIGTERM that actorrun has not sent"};
  if (is_own_crash(x.code))
    return {end_class::program, name};
  return {end_class::unknown, name + " that actorrun has not sent"};
}

} // namespace

std::string to_string(end_class x) {
  const auto i = static_cast<size_t>(x);
  return std::string{i < class_names.size() ? class_names[i] : "unknown"};
}

std::optional<end_class> trouble_named(std::string_view name) {
  for (auto i = size_t{1}; i < class_names.size(); ++i)
    if (class_names[i] == name)
      return static_cast<end_class>(i);
  return std::nullopt;
}

end_finding finding_of(const worker_failure& x) {
  switch (x.kind) {
    case failure_kind::not_started:
      return is_permanent(x)
               ? end_finding{end_class::user, "the program cannot be started"}
               : end_finding{end_class::node, "the machine started no process"};
    case failure_kind::timer_expired:
      return {end_class::hang, x.details.scope == hang_scope
                                 ? "no worker showed a sign of life"
                                 : "its timer expired"};
    case failure_kind::unkillable:
      return {end_class::node, "it hangs in the kernel"};
    case failure_kind::exited:
    case failure_kind::signalled:
      break;
  }
  if (misses_peer(x))
    return {end_class::network, "it lost its connection to a peer"};
  if (x.kind == failure_kind::signalled)
    return finding_of_signal(x);
  if (shows_usage(x))
    return {end_class::user, "exit code 2, and it printed its usage"};
  return {end_class::program, "exit code " + std::to_string(x.code)};
}

end_finding with_node_facts(end_finding x, std::string_view gpu_trouble,
                            std::string_view unfit) {
  if (x.what == end_class::user || x.what == end_class::preemption
      || x.what == end_class::node)
    return x;
  if (!gpu_trouble.empty())
    return {end_class::node,
            "its GPUs: " + one_line(gpu_trouble, evidence_max)};
  if (!unfit.empty())
    return {end_class::node, one_line(unfit, evidence_max)};
  return x;
}

} // namespace actorrun::core
