#include "runtime/worker/detail/program_map.hpp"

#include <algorithm>
#include <iterator>

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

namespace actorrun::recording {

namespace {

struct module {
  std::string_view path;
  uintptr_t bias = 0;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  symbol_table symbols;
};

module modules[modules_max];
size_t module_count = 0;
char path_space[256 * 1'024];
size_t path_space_used = 0;

/// The path is the loader's, and goes with its library.
std::string_view keep(std::string_view path) {
  const auto n = std::min(path.size(), sizeof path_space - path_space_used);
  auto* copy = path_space + path_space_used;
  std::copy_n(path.data(), n, copy);
  path_space_used += n;
  return {copy, n};
}

std::string_view own_path() {
  static char path[PATH_MAX];
  static const auto size
    = std::max<ssize_t>(::readlink("/proc/self/exe", path, sizeof path), 0);
  return {path, static_cast<size_t>(size)};
}

int add_module(dl_phdr_info* info, size_t, void*) {
  if (module_count == modules_max)
    return 1;
  const auto is_program = module_count == 0;
  auto& x = modules[module_count++];
  x = {};
  x.bias = info->dlpi_addr;
  x.begin = UINTPTR_MAX;
  for (auto i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const auto start = x.bias + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      x.begin = std::min<uintptr_t>(x.begin, start);
      x.end = std::max<uintptr_t>(x.end, start + part.p_memsz);
    } else if (part.p_type == PT_DYNAMIC) {
      x.symbols
        = dynamic_symbols(reinterpret_cast<const ElfW(Dyn)*>(start), x.bias);
    }
  }
  x.path = is_program ? own_path() : keep(info->dlpi_name);
  if (!is_program)
    return 0;
  static const auto all = own_symbols();
  if (all.symbols != nullptr)
    x.symbols = all;
  return 0;
}

const module* find_module(uintptr_t address) {
  for (size_t i = 0; i < module_count; ++i)
    if (address >= modules[i].begin && address < modules[i].end)
      return &modules[i];
  return nullptr;
}

// -- what the kernel knows ----------------------------------------------------

/// A line of the table of mappings: `begin-end rwxp offset device inode  path`.
bool parse_mapping(std::string_view line, uintptr_t address, place& out) {
  const auto number = [&line] {
    auto value = uintptr_t{0};
    for (; !line.empty(); line.remove_prefix(1)) {
      const auto c = line.front();
      const auto digit = c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                : -1;
      if (digit < 0)
        break;
      value = value * 16 + static_cast<uintptr_t>(digit);
    }
    return value;
  };
  const auto skip
    = [&line](size_t n) { line.remove_prefix(std::min(n, line.size())); };
  constexpr auto rights = sizeof " rwxp " - 1;
  const auto begin = number();
  skip(1);
  const auto end = number();
  skip(rights);
  const auto offset = number();
  const auto slash = line.find('/');
  if (address < begin || address >= end || slash == line.npos)
    return false;
  out.file = keep(line.substr(slash));
  out.offset = address - begin + offset;
  return true;
}

// The path goes where the copies of the loader's are: into space that is never
// given back, and there is little of it to find at the end of a program.
place find_mapping(uintptr_t address) {
  auto out = place{};
  const auto fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return out;
  static char buffer[2 * PATH_MAX];
  auto size = size_t{0};
  auto found = false;
  while (!found) {
    const auto n = ::read(fd, buffer + size, sizeof buffer - size);
    if (n <= 0)
      break;
    size += static_cast<size_t>(n);
    auto text = std::string_view{buffer, size};
    for (auto end = text.find('\n'); end != text.npos && !found;
         end = text.find('\n')) {
      found = parse_mapping(text.substr(0, end), address, out);
      text.remove_prefix(end + 1);
    }
    if (text.size() == sizeof buffer) // No line is so long.
      text = {};
    std::copy(text.begin(), text.end(), buffer);
    size = text.size();
  }
  ::close(fd);
  return out;
}

} // namespace

void map_program() {
  module_count = 0;
  path_space_used = 0;
  ::dl_iterate_phdr(add_module, nullptr);
}

bool is_code(uintptr_t address) {
  return find_module(address) != nullptr || !find_mapping(address).file.empty();
}

place find_place(uintptr_t address) {
  const auto* x = find_module(address);
  if (x == nullptr)
    return find_mapping(address);
  const auto offset = address - x->bias;
  return {x->path, offset, x->symbols.find(offset)};
}

} // namespace actorrun::recording
