// Jobs with one in the middle who changes, drops, repeats and reorders bytes: at
// worst a link is cut.
#include "tests/support/catch.hpp"
#include "tests/system/meddler.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace actorrun::test::meddling_test {

namespace {

/// So many greetings are spoilt, and so many bytes of a running job.
constexpr uint32_t greeting_count = 6;
constexpr uint32_t later_count = 4;

/// Exit code of an agent that was refused, or cannot speak to its coordinator.
constexpr int refused = 4;

/// A job of two nodes; one of them reaches the coordinator through the meddler.
struct meddled_job : scene {
  meddled_job() : between(port(), 20'261'124) {}

  void begin(const words& more) {
    agent({.slots = 1, .more = more});
    options = {.slots = 1,
               .more = more,
               .endpoint = "127.0.0.1:" + std::to_string(between.port())};
  }

  /// Waits until both nodes run their workers. A spoilt greeting may look like one
  /// of another program, so the far agent may be refused; then another one comes.
  void await_both() {
    const auto runs = [&] {
      REQUIRE(programs().front().running());
      if (far == nullptr || !far->running()) {
        CHECK((far == nullptr || far->wait() == refused));
        far = &agent(options);
      }
      const auto all = records();
      return !all.empty() && is_whole(workers_of(all.back().generation));
    };
    require(eventually(runs, 2 * timeout), "both nodes run their workers");
  }

  static bool is_whole(const worker_records& x) {
    return x.size() == 2 && std::all_of(x.begin(), x.end(), [](const auto& y) {
             return y.world_size == 2 && alive(y.pid)
                    && y.master_address == "127.0.0.1";
           });
  }

  /// No worker has stamped after one of a later generation began.
  void check_that_generations_do_not_overlap() const {
    const auto all = records();
    for (const auto& x : all)
      for (const auto& y : all)
        if (x.generation < y.generation)
          CHECK(x.last_ns <= y.start_ns);
  }

  meddler between;
  agent_options options;
  program* far = nullptr;
};

} // namespace

TEST_CASE_METHOD(meddled_job,
                 "meddling: whatever one in the middle does to bytes, at worst "
                 "a link is cut",
                 "[meddling]") {
  using enum meddler::deed;
  const auto what = GENERATE(change, drop, repeat, reorder);
  const auto has_secret = GENERATE(true, false);
  auto more = words{};
  if (has_secret) {
    const auto secret = write("secret", "open sesame, whoever you are\n");
    REQUIRE(::chmod(secret.c_str(), 0600) == 0);
    more.push_back("--secret-file=" + secret);
  }
  CAPTURE(static_cast<int>(what), has_secret);
  between.meddle_with_greetings(what, greeting_count);
  begin(more);
  await_both();
  for (uint32_t i = 0; i < later_count; ++i) {
    const auto before = between.done_count();
    between.meddle_now(what);
    REQUIRE(eventually([&] { return between.done_count() > before; }));
    await_both();
  }
  check_that_generations_do_not_overlap();
  order_end();
  CHECK(programs().front().wait() == 0);
  CHECK(far->wait() == 0);
}

} // namespace actorrun::test::meddling_test
