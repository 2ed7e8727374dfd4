// A minimal client of the store that the agent serves (torch's TCPStore), for
// programs that are not Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// The store of this generation, empty at its beginning. Errors end the program
/// with 3: then the launcher restarts all ranks.
class store {
public:
  /// Connects to MASTER_ADDR:MASTER_PORT, where the agent of node rank 0 serves
  /// it before any worker starts. Ends the program with 2 if it does not.
  store();

  ~store();
  store(const store&) = delete;
  store& operator=(const store&) = delete;

  void set(const std::string& key, const std::string& value);

  /// Waits at most 60 s until a worker has set it.
  std::string get(const std::string& key);

private:
  void send(const std::string& bytes);
  void receive(void* data, std::size_t size);

  int descriptor_ = -1;
};
