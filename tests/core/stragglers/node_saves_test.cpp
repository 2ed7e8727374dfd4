#include "actors/core/stragglers/node_saves.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <optional>

namespace actorrun::test::node_saves_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Workers of generation 7, which began at 100 s and has been looked at then.
struct node_saves_fixture {
  node_saves_fixture() { begin({7}, 100s); }

  void begin(generation_id generation, duration t) {
    uut.begin(generation, time_point{t});
    CHECK_FALSE(look(t));
  }

  /// A save that has ended.
  void save(uint32_t rank, duration begun, duration time) {
    auto& x = seen[rank].saves;
    ++x.save_count;
    x.saved_up_to = time_point{begun};
    x.saving_before = x.saving;
    x.saving += time;
    x.saving_since.reset();
  }

  std::optional<saves_report> look(duration t, bool is_last = false) {
    return uut.step(seen, time_point{t}, is_last);
  }

  static saves_report report(duration saving, duration age,
                             duration saving_since) {
    return {{7}, saving, age, saving_since};
  }

  std::map<uint32_t, step_reading> seen;
  node_saves uut;
};

} // namespace

TEST_CASE_METHOD(node_saves_fixture,
                 "node saves: each save is told, once, and not too often",
                 "[core]") {
  CHECK_FALSE(uut.is_used());
  seen[4].step_count = 9; // It says how long it computes, and saves nothing.
  CHECK_FALSE(look(101s));
  CHECK_FALSE(uut.is_used());
  save(4, 110s, 3s);
  CHECK(look(114s) == report(3s, 4s, 3s));
  CHECK(uut.is_used());
  CHECK_FALSE(look(115s));
  save(4, 120s, 2s);
  CHECK(look(122s) == report(5s, 2s, 2s));
  save(4, 122'100ms, 0s);
  CHECK_FALSE(look(122'200ms));
  CHECK(look(123s) == report(5s, 900ms, 0s));
}

TEST_CASE_METHOD(node_saves_fixture,
                 "node saves: a save that goes on counts by now, and what ends "
                 "is told at once",
                 "[core]") {
  seen[4].saves.saving_since = time_point{110s};
  CHECK(look(110'500ms) == saves_report{{7}, 500ms, {}, 0s});
  CHECK_FALSE(look(111s));
  CHECK(look(111'500ms) == saves_report{{7}, 1'500ms, {}, 0s});
  // It has failed.
  seen[4].saves.saving_since.reset();
  seen[4].saves.saving = 1'700ms;
  CHECK_FALSE(look(112s));
  CHECK(look(112s, true) == saves_report{{7}, 1'700ms, {}, 0s});
  CHECK_FALSE(look(112s, true));
}

TEST_CASE_METHOD(node_saves_fixture,
                 "node saves: of workers that save the oldest save counts, and "
                 "those that end have saved",
                 "[core]") {
  save(4, 110s, 3s);
  save(5, 112s, 2s);
  CHECK(look(120s) == report(5s, 10s, 5s));
  save(4, 130s, 3s);
  CHECK(look(140s) == report(8s, 28s, 5s));
  seen.erase(5);
  save(4, 150s, 0s);
  CHECK_FALSE(look(160s)); // That is as old as it was.
  uut.forget_report();
  CHECK(look(161s) == report(8s, 49s, 2s));
}

TEST_CASE_METHOD(node_saves_fixture,
                 "node saves: no worker is believed more than it has had time "
                 "for",
                 "[core]") {
  seen[4].saves.saving = 24h;
  CHECK(look(110s) == saves_report{{7}, 10s, {}, 0s});
  seen[4].saves.saving_since = time_point{} - 1h;
  CHECK(look(111s)->saving == 11s);
  seen[4].saves.save_count = 1;
  seen[4].saves.saved_up_to = time_point{200s}; // To come.
  seen[4].saves.saving_before = 48h;
  CHECK(look(112s) == report(12s, 0s, 0s));
  // A page that is read while it changes takes nothing away.
  seen[4].saves = {.save_count = 1, .saved_up_to = time_point{105s}};
  CHECK(look(113s, true) == std::nullopt);
}

TEST_CASE_METHOD(node_saves_fixture,
                 "node saves: what a live worker has saved in generations "
                 "before is not of this one",
                 "[core]") {
  save(4, 110s, 3s);
  CHECK(look(120s));
  begin({8}, 200s);
  CHECK_FALSE(look(210s));
  save(4, 220s, 1s);
  CHECK(look(230s) == saves_report{{8}, 1s, 10s, 1s});
}

TEST_CASE_METHOD(node_saves_fixture,
                 "node saves: workers that are to end may save, in time that "
                 "is no training",
                 "[core]") {
  save(4, 110s, 3s);
  CHECK(look(120s, true) == report(3s, 10s, 3s));
  uut.stop();
  save(4, 121s, 5s);
  CHECK(look(126s, true) == report(3s, 5s, 0s));
  begin({7}, 130s);
  save(4, 131s, 1s);
  CHECK(look(140s) == report(1s, 9s, 1s));
}

TEST_CASE_METHOD(node_saves_fixture,
                 "node saves: another coordinator is told, and workers that "
                 "have ended say nothing",
                 "[core]") {
  save(4, 110s, 3s);
  CHECK(look(120s));
  uut.forget_report();
  CHECK(look(121s) == report(3s, 11s, 3s));
  uut.end();
  CHECK_FALSE(uut.is_watching());
  save(4, 130s, 3s);
  CHECK_FALSE(look(140s));
}

} // namespace actorrun::test::node_saves_test
