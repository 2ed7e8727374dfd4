#include "actors/core/generation.hpp"
#include "actors/core/workers/worker_settings.hpp"
#include "tests/support/catch.hpp"

#include <csignal>

namespace actorrun::test::worker_settings_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

// The right column is the result of Python's string.Template(text)
// .safe_substitute(local_rank=3).
TEST_CASE("worker_settings: macros expand as torchrun's do", "[core]") {
  struct row {
    std::string_view text;
    std::string expected;
  };
  const row rows[] = {
    {"", ""},
    {"train.py", "train.py"},
    {"${local_rank}", "3"},
    {"$local_rank", "3"},
    {"--device=cuda:${local_rank}", "--device=cuda:3"},
    {"out-$local_rank.log", "out-3.log"},
    {"$local_rank-$local_rank${local_rank}", "3-33"},
    {"$local_rank$local_rank", "33"},
    {"${local_rank}0", "30"},
    {"${local_rank}}", "3}"},
    {"$local_rank\xc3\xa9", "3\xc3\xa9"},
    // A longer name is another name.
    {"$local_rank0", "$local_rank0"},
    {"$local_rank9", "$local_rank9"},
    {"$local_ranks", "$local_ranks"},
    {"$local_rankz", "$local_rankz"},
    {"$local_rankA", "$local_rankA"},
    {"$local_rankZ", "$local_rankZ"},
    {"$local_rank_", "$local_rank_"},
    // Characters next to the ranges of letters and digits end a name.
    {"$local_rank/$local_rank:$local_rank@", "3/3:3@"},
    {"$local_rank[$local_rank`$local_rank{", "3[3`3{"},
    // Text that is no macro is kept.
    {"$LOCAL_RANK ${LOCAL_RANK}", "$LOCAL_RANK ${LOCAL_RANK}"},
    {"$rank ${rank} $HOME", "$rank ${rank} $HOME"},
    {"${local_rank", "${local_rank"},
    {"${ local_rank }", "${ local_rank }"},
    {"$ local_rank", "$ local_rank"},
    {"$local_ran", "$local_ran"},
    {"$", "$"},
    {"a$", "a$"},
    {"$1", "$1"},
    // Two dollars are one dollar and begin no macro.
    {"$$", "$"},
    {"$$$", "$$"},
    {"$$$$", "$$"},
    {"$$local_rank", "$local_rank"},
    {"$${local_rank}", "${local_rank}"},
    {"$$$local_rank", "$3"},
    {"${x$$}", "${x$}"},
  };
  for (const auto& x : rows) {
    CAPTURE(x.text);
    CHECK(expand(x.text, 3) == x.expected);
  }
}

TEST_CASE("worker_settings: every rank can be written", "[core]") {
  CHECK(expand("<$local_rank>", 0) == "<0>");
  CHECK(expand("<$local_rank>", slots_per_agent_max - 1) == "<4095>");
  CHECK(expand("<$local_rank>", UINT32_MAX) == "<4294967295>");
}

TEST_CASE("worker_settings: a text may hold any byte", "[core]") {
  const auto text = std::string{"a\0$local_rank\0\n", 15};
  CHECK(expand(text, 12)
        == std::string{"a\0"
                       "12\0\n",
                       6});
}

TEST_CASE("worker_settings: program and arguments are expanded one by one",
          "[core]") {
  auto spec = worker_settings{};
  spec.command = {"bin/$local_rank", "", "--rank", "${local_rank}", "a b"};
  CHECK(command_of(spec, 7)
        == std::vector<std::string>{"bin/7", "", "--rank", "7", "a b"});
  CHECK(spec.command.front() == "bin/$local_rank");
}

TEST_CASE("worker_settings: by default one worker gets SIGTERM and 30 s",
          "[core]") {
  const auto x = worker_settings{};
  CHECK(x.role == "default");
  CHECK(x.slot_count == 1);
  CHECK(x.stop_signal == SIGTERM);
  CHECK(x.grace_period == 30s);
}

} // namespace actorrun::test::worker_settings_test
