#include "runtime/diagnosis/demangle.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::demangle_test {

using namespace actorrun::detail;

TEST_CASE("demangle: names are replaced where they stand", "[runtime]") {
  CHECK(demangled("") == "");
  CHECK(demangled("no name") == "no name");
  CHECK(demangled("_Z4stepv") == "step()");
  CHECK(demangled("./a(_Z4stepv+0x1) _ZN1a1bEi\n")
        == "./a(step()+0x1) a::b(int)\n");
}

TEST_CASE("demangle: other text is kept", "[runtime]") {
  for (const auto* x : {"_Z", "_Zx", "x_Z4stepv", "_ZN", "_Z99x", "_Z4stepv_"})
    CHECK(demangled(x) == x);
}

TEST_CASE("demangle: a long name is kept", "[runtime]") {
  const auto name = [](int length) {
    return "_Z" + std::to_string(length) + std::string(length, 'f') + "v";
  };
  CHECK(demangled(name(506)).ends_with("f()")); // 512 characters.
  CHECK(demangled(name(507)) == name(507));
}

// Each further pair contains the previous one twice.
TEST_CASE("demangle: a name that expands to gigabytes is kept", "[runtime]") {
  const auto digits = std::string{"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"};
  const auto bomb = [&](size_t levels) {
    auto name = std::string{"_Z1fSt4pairIiiE"};
    for (size_t i = 0; i < levels; ++i) {
      const auto last = std::string{"S"} + digits[i] + "_";
      name += "S_I" + last + last + "E";
    }
    return name;
  };
  CHECK(demangled(bomb(3)) != bomb(3)); // Nine references.
  CHECK(demangled(bomb(4)) == bomb(4));
  CHECK(demangled(bomb(30)) == bomb(30));
  const auto packs = std::string{"_Z1fIJiiEEvDpT_"};
  CHECK(demangled(packs) == "void f<int, int>(int, int)");
  CHECK(demangled(packs + "DpT_") == packs + "DpT_");
}

TEST_CASE("demangle: the expansion of all names together is bounded",
          "[runtime]") {
  auto text = std::string{};
  for (int i = 0; i < 20'000; ++i)
    text += "_Z1fSt6vectorIiSaIiEE ";
  const auto out = demangled(text);
  CHECK(out.size() < 2 * text.size());
  CHECK(out.ends_with("_Z1fSt6vectorIiSaIiEE "));
}

} // namespace actorrun::test::demangle_test
