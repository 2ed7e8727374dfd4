// Command lines written for torchrun, unchanged.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

namespace actorrun::test::spellings_test {

namespace {

bool has_python(scene& uut) {
  auto code = -1;
  uut.read({"python3", "-c", "pass"}, &code);
  if (code != 0)
    actorrun::test::skip("python3", "there is no python3");
  return code == 0;
}

} // namespace

TEST_CASE_METHOD(scene, "run-path: the script is the main module", "[cli]") {
  if (!has_python(*this))
    return;
  const auto path = write("train.py", "import sys, os\n"
                                      "print(__name__, sys.argv[1:],\n"
                                      "      os.path.basename(sys.argv[0]),\n"
                                      "      os.path.basename(__file__))\n"
                                      "sys.exit(len(sys.argv) - 3)\n");
  auto& x = run({"--run-path", "--role=r", path, "--nnodes", "${local_rank}"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "__main__ ['--nnodes', '0'] train.py train.py\n")
        == 1);
}

TEST_CASE_METHOD(scene, "options: abbreviated, joined, with underscores",
                 "[cli]") {
  auto& x = run({"--nproc_per", "2", "--max-r=1", "-t3", "--rdzv-i", "mine",
                 "--no-p", "sh", "-c", "echo $TORCHELASTIC_RUN_ID $RANK"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "[default1]:mine 1\n") == 1);
  auto& y = run({"--nproc", "2", "--no-python", "true"});
  CHECK(y.wait() == 2);
  CHECK(count_of(y.output(), "--nproc is no option; write --nproc-per-node")
        == 1);
}

TEST_CASE_METHOD(scene, "options: argparse accepts the same lines", "[cli]") {
  if (!has_python(*this))
    return;
  auto code = -1;
  CHECK(read({"python3", ARGPARSE_COMPARISON, ACTORRUN_PROGRAM}, &code) == "");
  CHECK(code == 0);
}

TEST_CASE_METHOD(
  scene, "launch: LOCAL_RANK, and an argument for scripts that need one",
  "[cli]") {
  auto& x = run({"--use-env", "--nproc_per_node=2", "--no_python", "sh", "-c",
                 "echo env $LOCAL_RANK $0", "--local-rank=${local_rank}"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "env 1 --local-rank=1\n") == 1);
}

TEST_CASE_METHOD(scene, "master: a job of one node uses its port", "[cli]") {
  const auto wanted = std::to_string(free_port());
  auto& x = run({"--nproc-per-node=1", "--master-port=" + wanted,
                 "--master-addr=127.0.0.1", "--node-rank=0", "--no-python",
                 "sh", "-c", "echo at $MASTER_ADDR:$MASTER_PORT"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "at 127.0.0.1:" + wanted + "\n") == 1);
}

TEST_CASE_METHOD(scene, "completion: bash accepts the printed script",
                 "[cli]") {
  auto code = -1;
  const auto script = write(
    "completion", read({ACTORRUN_PROGRAM, "--print-completion=bash"}, &code));
  REQUIRE(code == 0);
  CHECK(read({"bash", "--norc", "-c",
              "source " + script
                + "; COMP_WORDS=(actorrun --max-); COMP_CWORD=1; _actorrun;"
                  " echo \"${COMPREPLY[@]}\"; complete -p actorrun"})
          .find("--max-restarts\ncomplete -o filenames -F _actorrun actorrun")
        == 0);
}

} // namespace actorrun::test::spellings_test
