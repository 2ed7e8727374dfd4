#include "tests/system/log_scene.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <filesystem>

namespace actorrun::test {

namespace fs = std::filesystem;

program& log_scene::job(const words& options, const std::string& script,
                        uint32_t slots) {
  auto line = words{"--standalone", "--rdzv-id=job",
                    "--nproc-per-node=" + std::to_string(slots)};
  line.insert(line.end(), options.begin(), options.end());
  for (const auto& word : {"--no-python", "sh", "-c", script.c_str()})
    line.emplace_back(word);
  return run(std::move(line));
}

std::string log_scene::console_of(const words& options,
                                  const std::string& script, uint32_t slots,
                                  int expected_code) {
  auto& x = job(options, script, slots);
  CHECK(x.wait() == expected_code);
  return x.output();
}

words log_scene::runs_in(const std::string& base) {
  auto out = words{};
  auto ignored = std::error_code{};
  for (const auto& x : fs::directory_iterator{base, ignored})
    out.push_back(x.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

log_tree log_scene::read_logs(const std::string& base) {
  const auto runs = runs_in(base);
  require(runs.size() == 1, "one run in " + base);
  const auto top = fs::path{base} / runs.front();
  auto out = log_tree{};
  for (const auto& x : fs::recursive_directory_iterator{top}) {
    const auto path = fs::relative(x.path(), top).string();
    if (x.is_directory())
      out[path + "/"] = "";
    else
      out[path] = content_of(x.path());
  }
  return out;
}

std::string paths_of(const log_tree& x) {
  auto out = std::string{};
  for (const auto& [path, content] : x)
    out += path + " ";
  return out;
}

words lines_of(const std::string& text) {
  auto out = words{};
  for (size_t i = 0; i < text.size();) {
    const auto end = std::min(text.find('\n', i), text.size());
    out.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  return out;
}

words sorted_lines(const std::string& text) {
  auto out = lines_of(text);
  std::sort(out.begin(), out.end());
  return out;
}

std::string difference(const words& actual, const words& expected) {
  const auto [a, b] = std::mismatch(actual.begin(), actual.end(),
                                    expected.begin(), expected.end());
  if (a == actual.end() && b == expected.end())
    return "";
  return "line " + std::to_string(a - actual.begin()) + " of "
         + std::to_string(actual.size()) + " is "
         + (a == actual.end() ? "missing" : "\"" + *a + "\"") + ", expected of "
         + std::to_string(expected.size()) + ": "
         + (b == expected.end() ? "none" : "\"" + *b + "\"");
}

} // namespace actorrun::test
