#include "actors/core/logs/line_label.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test::line_label_test {

using namespace actorrun::core;

TEST_CASE("line_label: each line gets the prefix and keeps its end", "[core]") {
  auto batch = std::string{"before\n"};
  auto uut = labelling_sink{"[a0]:", batch};
  CHECK(uut.put("one", "\n"));
  CHECK(uut.put("", "\r\n"));
  CHECK(uut.put(std::string_view{"\0\xff", 2}, "\n"));
  CHECK(batch
        == "before\n[a0]:one\n[a0]:\r\n" + std::string{"[a0]:\0\xff\n", 8});
}

TEST_CASE("line_label: there is room until the batch has its size", "[core]") {
  auto batch = std::string{};
  auto uut = labelling_sink{"p", batch};
  CHECK(uut.put(std::string(batch_max - 3, 'x'), "\n")); // One byte is left.
  CHECK(batch.size() == batch_max - 1);
  CHECK_FALSE(uut.put("whole", "\n"));
  CHECK(batch.ends_with("pwhole\n"));
  batch.clear();
  CHECK_FALSE(uut.put(std::string(batch_max - 2, 'x'), "\n"));
  CHECK(batch.size() == batch_max);
}

TEST_CASE("line_label: lines that match a filter are copied", "[core]") {
  auto batch = std::string{};
  auto filtered = std::string{};
  const auto filters = std::vector<std::string>{"loss=", "a.c"};
  auto labels = labelling_sink{"p:", batch};
  auto uut = filtering_sink{filters, "p:", filtered, labels};
  CHECK(uut.put("loss=1", "\n"));
  CHECK(uut.put("the loss is 1", "\n"));
  CHECK(uut.put("xx a.c loss=", "\r\n")); // Two filters, one copy.
  CHECK(uut.put("abc", "\n"));            // No match.
  CHECK(filtered == "p:loss=1\np:xx a.c loss=\r\n");
  CHECK(batch == "p:loss=1\np:the loss is 1\np:xx a.c loss=\r\np:abc\n");
}

TEST_CASE("line_label: a full copy stops the stream, too", "[core]") {
  auto batch = std::string{};
  auto filtered = std::string(batch_max, 'x');
  const auto filters = std::vector<std::string>{"n"};
  auto labels = labelling_sink{"", batch};
  auto uut = filtering_sink{filters, "", filtered, labels};
  CHECK(uut.put("other", "\x0a"));
  CHECK_FALSE(uut.put("n", "\n"));
  CHECK(batch == "other\nn\n");
}

} // namespace actorrun::test::line_label_test
