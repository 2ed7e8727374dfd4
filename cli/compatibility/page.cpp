// Writes the page on compatibility to the file that is named; the target
// `compatibility_ledger` runs it.
#include "cli/compatibility/ledger.hpp"

#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: compatibility_page FILE\n";
    return 2;
  }
  auto file = std::ofstream{argv[1]};
  file << actorrun::cli::compatibility_page() << std::flush;
  if (!file) {
    std::cerr << "compatibility_page: cannot write " << argv[1] << "\n";
    return 1;
  }
  return 0;
}
