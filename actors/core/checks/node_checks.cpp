#include "actors/core/checks/node_checks.hpp"

#include "actors/core/generation.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

node_checks::node_checks(node_checks_options options)
  : options_(std::move(options)) {
  assert(!options_.commands.empty());
  assert(options_.limit > duration::zero());
}

std::vector<check_effect> node_checks::step(const check_event& event,
                                            time_point now) {
  now_ = now;
  std::visit([this](const auto& x) { on(x); }, event);
  return std::exchange(out_, {});
}

std::string node_checks::unfit() const {
  if (!trouble_.empty())
    return trouble_;
  return std::string{phase_ == phase::checking ? being_checked : ""};
}

// Nodes that need no check before take part at once, and it runs beside them.
void node_checks::on(const checks_begun&) {
  if (phase_ == phase::idle && options_.when.join)
    return begin(phase::checking);
  phase_ = phase::fit;
  if (options_.when.every)
    out_.emplace_back(alarms_.arm(alarm::again, now_ + *options_.when.every));
}

void node_checks::on(const check_ordered& event) {
  // What is being checked, or is unfit, is found anyhow.
  if (event.beside) {
    if (phase_ == phase::fit || phase_ == phase::idle)
      begin(phase::beside);
    return;
  }
  switch (phase_) {
    case phase::checking:
    case phase::beside:
      phase_ = phase::checking;
      was_ordered_ = true; // What has succeeded may fail by now.
      return report();
    case phase::idle:
    case phase::fit:
    case phase::unfit:
      return begin(phase::checking);
  }
}

void node_checks::on(const timer_fired& event) {
  if (alarms_.take(event.timer))
    begin(phase_ == phase::fit ? phase::beside : phase::checking);
}

void node_checks::begin(phase how) {
  alarms_.disarm(alarm::again);
  phase_ = how;
  next_ = 0;
  was_ordered_ = false;
  report();
  run();
}

void node_checks::run() {
  out_.emplace_back(
    run_check{++run_, options_.commands[next_], options_.limit});
}

void node_checks::on(const check_ended& event) {
  const auto runs = phase_ == phase::checking || phase_ == phase::beside;
  if (!runs || event.run != run_)
    return;
  if (!event.trouble.empty())
    return fail(event);
  if (was_ordered_)
    return begin(phase::checking);
  if (++next_ < options_.commands.size())
    return run();
  succeed();
}

void node_checks::succeed() {
  const auto was_unfit = !trouble_.empty();
  phase_ = phase::fit;
  trouble_.clear();
  pause_ = recheck_min;
  if (was_unfit)
    out_.emplace_back(
      report_check{true, "all checks of this node succeed again: it may take"
                         " part"});
  report();
  if (options_.when.every)
    out_.emplace_back(alarms_.arm(alarm::again, now_ + *options_.when.every));
}

void node_checks::fail(const check_ended& event) {
  phase_ = phase::unfit;
  auto text = "its check `" + options_.commands[next_] + "` has failed ("
              + event.trouble + ")"
              + (event.words.empty() ? "" : ": " + event.words);
  const auto is_news = text != trouble_;
  trouble_ = std::move(text);
  if (is_news)
    out_.emplace_back(report_check{false, "this node takes no part: " + trouble_
                                            + ". It is checked again after "
                                            + duration_text(pause_)});
  report();
  out_.emplace_back(alarms_.arm(alarm::again, now_ + pause_));
  pause_ = std::min<duration>(2 * pause_, recheck_max);
}

void node_checks::report() {
  if (auto why = unfit(); why != reported_) {
    reported_ = std::move(why);
    out_.emplace_back(report_fitness{reported_});
  }
}

std::string to_string(node_checks::phase x) {
  switch (x) {
    case node_checks::phase::idle:
      return "idle";
    case node_checks::phase::checking:
      return "checking";
    case node_checks::phase::fit:
      return "fit";
    case node_checks::phase::beside:
      return "beside";
    case node_checks::phase::unfit:
      return "unfit";
  }
  return "unknown";
}

namespace {

struct effect_text {
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + std::to_string(x.timer.value);
  }
  std::string operator()(const run_check& x) const {
    return "run_check " + std::to_string(x.run) + ' ' + x.command;
  }
  std::string operator()(const report_fitness& x) const {
    return x.unfit.empty() ? "fit" : "unfit: " + x.unfit;
  }
  std::string operator()(const report_check& x) const {
    return std::string{"log "} + (x.is_good ? "info: " : "warning: ") + x.text;
  }
};

} // namespace

std::string to_string(const check_effect& x) {
  return std::visit(effect_text{}, x);
}

} // namespace actorrun::core
