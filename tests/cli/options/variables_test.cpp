#include "cli/options/variables.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::cli;

TEST_CASE("variables: a misspelled PET_… is told, with the one that was meant",
          "[cli]") {
  CHECK(accepted({"a"}, {{"PET_NPROC_PERNODE", "2"}}).warnings
        == words{"PET_NPROC_PERNODE has no effect: no option reads it; is"
                 " PET_NPROC_PER_NODE meant?"});
  CHECK(accepted({"a"}, {{"PET_ANIMAL", "cat"}}).warnings
        == words{"PET_ANIMAL has no effect: no option reads it"});
  // torchrun reads none for this option.
  CHECK(has(accepted({"a"}, {{"PET_NUMA_BINDING", "node"}}).warnings.at(0),
            "PET_NUMA_BINDING has no effect"));
}

TEST_CASE("variables: those that are read, and those of others, are not told",
          "[cli]") {
  CHECK(accepted({"a"}, {{"PET_NPROC_PER_NODE", "2"},
                         {"PET_MAX_RESTARTS", "1"},
                         {"PETS", "2"},
                         {"TORCHELASTIC_RUN_ID", "x"},
                         {"HOME", "/"}})
          .warnings.empty());
}

TEST_CASE("variables: an empty value that is refused is hardly meant",
          "[cli]") {
  CHECK(refused({"a"}, {{"PET_NNODES", ""}})
        == "PET_NNODES: \"\" is not an integer in 1..100000; it is set and"
           " empty: unset it, or give it a value");
  CHECK(refused({"--nnodes= ", "a"})
        == "--nnodes: \" \" is not an integer in 1..100000; the value is empty,"
           " maybe a variable of the shell is not set");
  CHECK(has(refused({"--secret-file=", "a"}), "no file is named"));
}
