/* A worker program in C: starts, renews and ends one timer and prints what the
   calls returned. Usage: timers_child [path [signal]] */
#include <actorrun/runtime/worker/actorrun_worker.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc > 1)
    printf("configure %d\n",
           actorrun_timer_configure(argv[1], argc > 2 ? atoi(argv[2]) : 9));
  printf("acquire %d\n", actorrun_timer_acquire("from C", INT64_C(5000000000)));
  printf("alive %d\n", actorrun_timer_alive("step", INT64_C(1000000)));
  printf("release %d\n", actorrun_timer_release("from C"));
  printf("null %d %d %d %d\n", actorrun_timer_configure(NULL, 9),
         actorrun_timer_acquire(NULL, 1), actorrun_timer_alive(NULL, 1),
         actorrun_timer_release(NULL));
  printf("lost %" PRIu64 "\n", actorrun_timer_lost_count());
  return 0;
}
