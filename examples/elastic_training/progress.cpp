#include "progress.hpp"

#include "fail.hpp"

#include <iomanip>
#include <iostream>
#include <sstream>
#include <utility>

namespace training {

namespace {

constexpr auto console_pause = std::chrono::milliseconds{500};

std::string to_text(float loss) {
  auto out = std::ostringstream{};
  out << std::fixed << std::setprecision(3) << loss;
  return out.str();
}

} // namespace

progress::progress(const environment& self, const options& chosen)
  : self_(self), options_(chosen) {
  if (self.rank != 0 || chosen.progress.empty())
    return;
  file_.open(chosen.progress, std::ios::app);
  if (!file_)
    fail_errno("cannot open the progress file " + chosen.progress);
}

void progress::begin(const training_state& state) {
  if (self_.rank != 0)
    return;
  auto line = std::ostringstream{};
  line << "generation " << self_.generation << "  world " << self_.world_size
       << "  ";
  if (state.step >= options_.steps)
    line << "the checkpoint is complete at step " << state.step;
  else if (state.step > 0)
    line << "goes on at step " << state.step << "  loss "
         << to_text(state.loss);
  else
    line << "starts fresh at step 0";
  line << "  restarts " << self_.restart_count << "\n";
  std::cout << line.str() << std::flush;
}

void progress::report(const training_state& state) {
  if (self_.rank != 0)
    return;
  const auto edge
    = std::exchange(first_, false) || state.step == options_.steps;
  const auto now = std::chrono::steady_clock::now();
  if (edge || now >= next_line_) {
    next_line_ = now + console_pause;
    auto line = std::ostringstream{};
    line << "step " << std::setw(4) << state.step << "  loss "
         << to_text(state.loss) << "  world " << self_.world_size
         << "  generation " << self_.generation << "\n";
    std::cout << line.str() << std::flush;
  }
  if (file_.is_open() && (edge || state.step % options_.progress_every == 0)) {
    file_ << self_.generation << ' ' << state.step << ' ' << self_.world_size
          << ' ' << to_text(state.loss) << ' ' << self_.restart_count << '\n';
    if (!file_.flush())
      fail("cannot write the progress file " + options_.progress);
  }
}

} // namespace training
