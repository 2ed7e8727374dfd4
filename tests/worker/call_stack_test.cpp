#include "runtime/worker/detail/call_stack.hpp"
#include "runtime/worker/detail/program_map.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <string>

#include <sys/mman.h>

namespace actorrun::test::call_stack_test {

using namespace actorrun::recording;

namespace {

[[gnu::noinline]] void take_stack(call_stack& out) {
  walk(out);
}

int dig(int depth, call_stack& out);

// The compiler must not turn the calls into a loop.
int (*volatile dig_on)(int, call_stack&) = dig;

[[gnu::noinline]] int dig(int depth, call_stack& out) {
  if (depth == 0)
    take_stack(out);
  return depth == 0 ? 0 : dig_on(depth - 1, out) + 1;
}

call_stack stack_of(std::initializer_list<uintptr_t> addresses) {
  auto out = call_stack{};
  for (const auto x : addresses)
    out.add({x, false});
  return out;
}

std::string written(const call_stack& x) {
  static char buffer[64 * 1'024];
  auto text = fixed_text{buffer};
  put_stack(text, x, put_bare_frame);
  return std::string{text.view()};
}

} // namespace

TEST_CASE("call stack: it contains the innermost calls", "[worker]") {
  map_program();
  auto stack = call_stack{};
  dig(3, stack);
  REQUIRE(stack.count > 5);
  CHECK_FALSE(stack.is_cut);
  const auto name
    = [&](size_t i) { return find_place(stack.frames[i].within()); };
  const auto dug = find_place(reinterpret_cast<uintptr_t>(&dig)).function.name;
  CHECK(dug.find("dig") != dug.npos);
  auto count = 0;
  for (size_t i = 0; i < 8; ++i)
    count += name(i).function.name == dug ? 1 : 0;
  CHECK(count == 4);
}

TEST_CASE("call stack: deeper stacks are cut", "[worker]") {
  auto stack = call_stack{};
  dig(frames_max, stack);
  CHECK(stack.count == frames_max);
  CHECK(stack.is_cut);
}

TEST_CASE("call stack: a call added in front may displace the outermost",
          "[worker]") {
  auto x = call_stack{};
  for (size_t i = 0; i < frames_max - 1; ++i)
    x.add({i, false});
  x.put_in_front({1'000, true});
  CHECK(x.count == frames_max);
  CHECK_FALSE(x.is_cut);
  CHECK(x.frames[0].address == 1'000);
  CHECK(x.frames[frames_max - 1].address == frames_max - 2);
  x.put_in_front({2'000, true});
  CHECK(x.count == frames_max);
  CHECK(x.is_cut);
  CHECK(x.frames[1].address == 1'000);
  CHECK(x.frames[frames_max - 1].address == frames_max - 3);
  x.add({3'000, false});
  CHECK(x.count == frames_max);
  x.drop(frames_max - 1);
  CHECK(x.count == 1);
  CHECK(x.frames[0].address == frames_max - 3);
}

TEST_CASE("call stack: repeated lines are counted", "[worker]") {
  CHECK(written(stack_of({0x1, 0x2, 0x2, 0x2, 0x3}))
        == "Traceback (most recent call last):\n"
           "  0x3\n"
           "  0x2\n"
           "  [the same 2 times more]\n"
           "  0x1\n");
  CHECK(written(stack_of({})) == "Traceback (most recent call last):\n");
  auto cut = stack_of({0x1, 0x1});
  cut.is_cut = true;
  CHECK(written(cut)
        == "Traceback (most recent call last):\n"
           "  ...\n"
           "  0x1\n"
           "  [the same 1 times more]\n");
}

TEST_CASE("program map: an address has its file and function", "[worker]") {
  map_program();
  const auto own = reinterpret_cast<uintptr_t>(&stack_of);
  const auto x = find_place(own + 1);
  CHECK(x.file.ends_with("/worker_tests"));
  CHECK(x.function.name.find("stack_of") != std::string_view::npos);
  CHECK(x.function.offset == 1);
  const auto library = find_place(reinterpret_cast<uintptr_t>(&std::abort));
  CHECK(library.function.name == "abort");
  CHECK(is_code(own));
}

TEST_CASE("program map: a library loaded later is known by its file",
          "[worker]") {
  map_program();
  auto* file = std::tmpfile();
  std::fputs("x", file);
  std::fflush(file);
  auto* there
    = ::mmap(nullptr, 4'096, PROT_READ, MAP_PRIVATE, ::fileno(file), 0);
  std::fclose(file);
  REQUIRE(there != MAP_FAILED);
  const auto address = reinterpret_cast<uintptr_t>(there);
  const auto x = find_place(address + 16);
  CHECK(x.file.starts_with("/"));
  CHECK(x.offset == 16);
  CHECK(x.function.name == "");
  CHECK(is_code(address));
  ::munmap(there, 4'096);
  CHECK_FALSE(is_code(address));
  CHECK(find_place(address).file == "");
}

TEST_CASE("program map: a null address has no place", "[worker]") {
  map_program();
  for (const auto x : {uintptr_t{0}, uintptr_t{1}, UINTPTR_MAX}) {
    CHECK_FALSE(is_code(x));
    CHECK(find_place(x).file == "");
  }
}

} // namespace actorrun::test::call_stack_test
