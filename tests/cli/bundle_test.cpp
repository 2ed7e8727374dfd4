#include "cli/bundle_command.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::bundle_test {

using namespace actorrun::cli;

TEST_CASE("bundle: values that may be secrets are left out", "[cli]") {
  CHECK(without_secret("ACTORRUN_SECRET=x=y") == "ACTORRUN_SECRET=(left out)");
  CHECK(without_secret("WANDB_API_KEY=x") == "WANDB_API_KEY=(left out)");
  CHECK(without_secret("--hf-token=x") == "--hf-token=(left out)");
  CHECK(without_secret("--rdzv-conf=etcd_prefix=/a,password=x,b=1")
        == "--rdzv-conf=etcd_prefix=/a,password=(left out),b=1");
  CHECK(without_secret("db_password=x,y") == "db_password=(left out)");
}

TEST_CASE("bundle: other words stay", "[cli]") {
  for (const auto* word :
       {"--nnodes=2", "train.py", "--lr=1e-3", "MASTER_PORT=29500", "", "="})
    CHECK(without_secret(word) == word);
}

} // namespace actorrun::test::bundle_test
