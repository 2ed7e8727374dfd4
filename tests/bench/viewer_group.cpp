#include "tests/bench/viewer_group.hpp"

namespace actorrun::bench {

namespace {

constexpr size_t screen_columns = 120;
constexpr size_t screen_rows = 40;
constexpr std::chrono::milliseconds read_interval{10};

} // namespace

result<program> start_top(setting& s, terminal& screen,
                          const std::vector<std::string>& where) {
  auto command = std::vector<std::string>{s.tool("actorctl"), "top"};
  command.insert(command.end(), where.begin(), where.end());
  auto what = s.command(std::move(command), {terminal::variable});
  what.terminal = screen.program_end();
  auto top = program::start(what);
  screen.close_program_end();
  return top;
}

result<std::unique_ptr<viewer_group>>
viewer_group::start(setting& s, size_t count,
                    const std::vector<std::string>& where,
                    std::string_view text) {
  auto out = std::unique_ptr<viewer_group>{new viewer_group};
  for (size_t i = 0; i < count; ++i) {
    auto screen = terminal::open(screen_columns, screen_rows);
    if (!screen)
      return screen.error();
    auto top = start_top(s, *screen, where);
    if (!top)
      return top.error();
    out->viewers_.push_back({std::move(*screen), std::move(*top)});
  }
  for (auto& x : out->viewers_)
    if (const auto seen = x.screen.await(text); !seen)
      return seen.error();
  out->reader_ = std::jthread{
    [group = out.get()](const std::stop_token& ends) { group->read(ends); }};
  return out;
}

viewer_group::~viewer_group() = default;

void viewer_group::read(const std::stop_token& ends) {
  while (!ends.stop_requested()) {
    for (auto& x : viewers_)
      x.screen.read_pending();
    std::this_thread::sleep_for(read_interval);
  }
}

} // namespace actorrun::bench
