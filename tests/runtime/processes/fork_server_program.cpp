// A program that tests start as a fork server. Its arguments select what its
// workers do.
#include "runtime/processes/fork_server.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

using strings = std::vector<std::string>;

int pause_for_ever() {
  for (;;)
    ::pause();
}

// Checks that it is leader of a session, child of its agent, bound to it, and
// has no signal blocked, ignored or handled.
int check_self(const strings& arguments) {
  auto death_signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &death_signal);
  auto blocked = sigset_t{};
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  struct sigaction usr1 = {};
  ::sigaction(SIGUSR1, nullptr, &usr1);
  const auto good = ::getppid() == std::stoi(arguments.at(2))
                    && ::getsid(0) == ::getpid() && death_signal == SIGKILL
                    && sigisemptyset(&blocked) == 1
                    && usr1.sa_handler == SIG_DFL;
  return good ? 0 : 1;
}

// The C library knows the thread by its new id, and can create more threads.
int check_thread() {
  auto mutex = pthread_mutex_t{};
  ::pthread_mutex_init(&mutex, nullptr);
  ::pthread_mutex_lock(&mutex);
  const auto owner = mutex.__data.__owner;
  ::pthread_mutex_unlock(&mutex);
  auto ran = false;
  std::thread{[&] { ran = true; }}.join();
  return owner == ::gettid() && ran ? 0 : 1;
}

int print(const strings& arguments) {
  std::cout << arguments.at(2); // Not flushed.
  std::fprintf(stderr, "%s", arguments.at(3).c_str());
  return 0;
}

// Writes its environment, then its arguments, each as a line of a file.
int tell(const strings& arguments) {
  auto file = std::ofstream{arguments.at(2)};
  for (auto** x = ::environ; *x != nullptr; ++x)
    file << *x << '\n';
  for (const auto& x : arguments)
    file << x << '\n';
  return 0;
}

int run(const strings& arguments) {
  const auto actions = std::map<std::string, std::function<int()>>{
    {"exit", [&] { return std::stoi(arguments.at(2)); }},
    {"pause", pause_for_ever},
    {"leave", [] { return std::system("sleep 1000 & wait"); }},
    {"self", [&] { return check_self(arguments); }},
    {"thread", check_thread},
    {"print", [&] { return print(arguments); }},
    {"tell", [&] { return tell(arguments); }},
    {"throw", []() -> int { throw std::runtime_error{"thrown"}; }},
    {"abort", []() -> int { std::abort(); }},
  };
  return actions.at(arguments.at(1))();
}

} // namespace

int main(int argc, char**) {
  const auto fd = actorrun::detail::fork_server_socket();
  if (fd < 0)
    return EXIT_FAILURE;
  if (argc != 1 || actorrun::detail::fork_server_socket() >= 0
      || std::getenv(actorrun::detail::fork_server_variable) != nullptr)
    return EXIT_FAILURE;
  if (std::getenv("SERVER_HANGS") != nullptr)
    pause_for_ever();
  if (std::getenv("SERVER_PRINTS") != nullptr)
    std::cout << "once "; // Not flushed.
  std::signal(SIGUSR1, [](int) {});
  return actorrun::detail::serve_forks(
    fd, [](const strings& arguments) { return run(arguments); });
}
