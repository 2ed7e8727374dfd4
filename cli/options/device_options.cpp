#include "cli/options/device_options.hpp"

#include "actors/core/devices/list.hpp"
#include "actors/core/generation.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace actorrun::cli {

namespace {

constexpr auto list_prefix = std::string_view{"gpu:"};
constexpr auto visible_variable = "CUDA_VISIBLE_DEVICES";

result<core::binding_mode> parse_binding(const std::string& text) {
  using enum core::binding_mode;
  static constexpr std::pair<std::string_view, core::binding_mode> known[]
    = {{"node", node},
       {"socket", socket},
       {"exclusive", exclusive},
       {"core-complex", core_complex}};
  if (const auto mode = value_of(text, known))
    return *mode;
  return bad_argument(formatted(
    "{} is not a binding; node, socket, exclusive and core-complex are",
    in_quotes(text)));
}

failure about_slots(const std::string& text) {
  return bad_argument("--nproc-per-node: " + text);
}

/// What CUDA offers to this node's workers.
struct cuda_devices {
  std::vector<core::visible_gpu> visible{};
  std::string bad_name{}; ///< Ends CUDA_VISIBLE_DEVICES; empty: none does.
};

/// By the driver itself, which has obeyed the variable: names are its own if
/// there are as many, or else numbers.
cuda_devices devices_by_count(uint32_t count,
                              const std::optional<std::string>& list) {
  auto out = cuda_devices{};
  auto names = list ? split(*list, ',') : std::vector<std::string_view>{};
  names.resize(list ? std::min<size_t>(names.size(), count) : 0);
  for (uint32_t i = 0; i < count; ++i)
    out.visible.push_back({.name = i < names.size()
                                     ? std::string{trimmed(names[i])}
                                     : std::to_string(i),
                           .gpu = i});
  return out;
}

/// @retval errc::bad_argument  there is none; the text says why
result<cuda_devices> find_cuda(const host_facts& world) {
  const auto list = world.variable(visible_variable);
  const auto gpus = world.gpus();
  if (gpus && !gpus->empty()) {
    auto found = core::find_visible(list, *gpus);
    if (!found.listed.empty())
      return cuda_devices{std::move(found.listed), std::move(found.bad_name)};
    return bad_argument(formatted(
      "CUDA is not available: CUDA_VISIBLE_DEVICES={} leaves none of the "
      "{} {}{}",
      in_quotes(list.value_or("")), gpus->size(),
      gpus->size() == 1 ? "GPU" : "GPUs",
      found.bad_name.empty()
        ? ""
        : formatted("; there is no {}, or it is named twice",
                    in_quotes(found.bad_name))));
  }
  if (const auto count = world.cuda_count())
    return devices_by_count(*count, list);
  return bad_argument("CUDA is not available: "
                      + (gpus ? "this node has no GPU with an NVIDIA driver"
                              : gpus.error().text));
}

void warn_of_bad_name(const cuda_devices& found, slot_choice& out) {
  if (!found.bad_name.empty())
    out.warnings.push_back(formatted(
      "{}: there is no GPU {}; CUDA leaves it out and all behind it, so that "
      "{} remain",
      visible_variable, in_quotes(found.bad_name), found.visible.size()));
}

slot_choice count_gpus(const cuda_devices& found, bool each_sees_one) {
  auto out = slot_choice{};
  out.count = static_cast<uint32_t>(
    each_sees_one ? found.visible.size() : core::usable_count(found.visible));
  warn_of_bad_name(found, out);
  return out;
}

result<slot_choice> choose_listed(const std::vector<uint32_t>& gpus,
                                  const cuda_devices& found) {
  auto names = core::choose_gpus(gpus, found.visible);
  if (!names && !found.bad_name.empty())
    return about_slots(
      formatted("{}; CUDA_VISIBLE_DEVICES ends at {}, which names none",
                names.error().text, in_quotes(found.bad_name)));
  if (!names)
    return about_slots(names.error().text + " (by CUDA's count)");
  auto out = slot_choice{.count = static_cast<uint32_t>(gpus.size()),
                         .visible = std::move(*names)};
  warn_of_bad_name(found, out);
  return out;
}

result<slot_choice> choose_gpus(const slot_wish& wish, bool each_sees_one,
                                const host_facts& world) {
  const auto found = find_cuda(world);
  if (!found)
    return about_slots(found.error().text
                       + "; give a number of workers, or cpu");
  return wish.what == slot_wish::kind::chosen
           ? choose_listed(wish.gpus, *found)
           : count_gpus(*found, each_sees_one);
}

result<slot_choice> choose_xpus(const host_facts& world) {
  const auto count = world.xpu_count();
  if (!count)
    return about_slots(
      formatted("XPU is not available: {}; give a number of workers, or cpu",
                count.error().text));
  return slot_choice{.count = std::min(*count, core::slots_per_agent_max)};
}

// A driver that fails gets a warning: its host probably has GPUs.
slot_choice choose_automatically(bool each_sees_one, const host_facts& world) {
  if (const auto found = find_cuda(world))
    return count_gpus(*found, each_sees_one);
  if (const auto count = world.xpu_count())
    return {.count = std::min(*count, core::slots_per_agent_max)};
  auto out = slot_choice{
    .count = std::min(world.cpu_count(), core::slots_per_agent_max)};
  if (const auto gpus = world.gpus(); !gpus)
    out.warnings.push_back("--nproc-per-node=auto: one worker for each CPU,"
                           " because the GPUs cannot be counted: "
                           + gpus.error().text);
  return out;
}

} // namespace

result<slot_wish> parse_slots(const std::string& text,
                              const std::function<uint32_t()>& cpu_count) {
  using enum slot_wish::kind;
  if (text == "cpu")
    return slot_wish{.count = cpu_count()};
  if (text == "gpu")
    return slot_wish{.what = gpus};
  if (text == "xpu")
    return slot_wish{.what = xpus};
  if (text == "auto")
    return slot_wish{.what = automatic};
  if (std::string_view{text}.starts_with(list_prefix)) {
    auto list
      = core::parse_gpu_list(std::string_view{text}.substr(list_prefix.size()));
    if (!list)
      return list.error();
    return slot_wish{.what = chosen, .gpus = std::move(*list)};
  }
  const auto count = parse_count(text, 1, core::slots_per_agent_max);
  if (!count)
    return bad_argument(count.error().text
                        + " and not cpu, gpu, gpu:0,2,5, xpu or auto");
  return slot_wish{.count = *count};
}

void add_device_options(CLI::App& app, device_settings& out,
                        const std::function<uint32_t()>& cpu_count) {
  auto add = option_adder{app, "Workers"};
  add("--nproc-per-node", "N|cpu|gpu|xpu|auto",
      "number of workers on this node (default: 1), or one per device: "
      "cpu (usable CPUs), gpu (GPUs visible to CUDA), gpu:0,2,5 (only "
      "these), xpu, auto (GPUs if there are any, otherwise CPUs)",
      into(out.slots, [cpu_count](const std::string& x) {
        return parse_slots(x, cpu_count);
      }));
  add("--numa-binding", "node|socket|exclusive|core-complex",
      "bind workers to CPUs near their GPUs, or to NUMA nodes in turn: "
      "node, socket (all CPUs of one), exclusive (cores of its own), "
      "core-complex (the CPUs of one last-level cache)",
      into(out.binding, parse_binding));
  add("--report-bindings", "print what each worker is bound to",
      out.reports_bindings);
}

result<slot_choice> choose_slots(const slot_wish& wish, bool each_sees_one,
                                 const host_facts& world) {
  switch (wish.what) {
    case slot_wish::kind::number:
      return slot_choice{.count = wish.count};
    case slot_wish::kind::xpus:
      return choose_xpus(world);
    case slot_wish::kind::automatic:
      return choose_automatically(each_sees_one, world);
    case slot_wish::kind::gpus:
    case slot_wish::kind::chosen:
      break;
  }
  return choose_gpus(wish, each_sees_one, world);
}

} // namespace actorrun::cli
