/* A worker program in C that lives through changes, for live_test.py: does and prints
   the same as live_child.py. */
#define _POSIX_C_SOURCE 200809L
#include <actorrun/runtime/worker/live.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char* way;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int call_count = 0;
static int is_unblocked = 0;
static pthread_t watcher;
static int has_watcher = 0;

static void describe(void) {
  uint32_t firsts[8], lasts[8];
  size_t i, count = actorrun_live_survivors(firsts, lasts, 8);
  printf("generation %" PRIu64 " rank %" PRIu32 "/%" PRIu32 " local %" PRIu32
         " survivors ",
         actorrun_live_number(), actorrun_live_rank(),
         actorrun_live_world_size(), actorrun_live_local_rank());
  for (i = 0; i < count; ++i) {
    printf("%s%" PRIu32, i == 0 ? "" : ",", firsts[i]);
    if (firsts[i] != lasts[i])
      printf("-%" PRIu32, lasts[i]);
  }
  printf(" restarts %" PRIu64 " reason %s port %s%s\n",
         actorrun_live_restarts(), actorrun_live_reason(),
         getenv("MASTER_PORT") ? getenv("MASTER_PORT") : "",
         getenv("ACTORRUN_AHEAD") ? " ahead" : "");
}

static void pause_ms(long time) {
  struct timespec x;
  x.tv_sec = 0;
  x.tv_nsec = time * 1000000;
  nanosleep(&x, NULL);
}

static void on_regroup(const char* reason, void* context) {
  pthread_mutex_lock(&mutex);
  if (++call_count == 1)
    printf("hook %s\n", reason);
  if (call_count >= 2 || strcmp(context, "hook") == 0)
    is_unblocked = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}

/* Each returns whether the program is to go on: 0 if it fails. */

static int wait_over(void) {
  return actorrun_live_wait_over(INT64_C(30000000000)) == ACTORRUN_LIVE_OVER;
}

static int flag(void) {
  while (actorrun_live_is_over() == ACTORRUN_LIVE_NOT_OVER)
    pause_ms(1);
  printf("flag\n");
  return 1;
}

static int steps(void) {
  uint64_t step = 0;
  int over;
  while ((over = actorrun_live_safe_point(++step)) == ACTORRUN_LIVE_NOT_OVER)
    if (strcmp(way, "steps") == 0)
      pause_ms(5);
  if (over == ACTORRUN_LIVE_OVER)
    printf("stopped at %" PRIu64 "\n", step);
  return 1;
}

static int hook(void) {
  pthread_mutex_lock(&mutex);
  while (!is_unblocked)
    pthread_cond_wait(&changed, &mutex);
  is_unblocked = 0;
  pthread_mutex_unlock(&mutex);
  return actorrun_live_is_explained("unblocked");
}

static void fork_at(uint64_t step) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    actorrun_live_safe_point(step);
    _exit(actorrun_live_is_over() || actorrun_live_wait_over(10000000));
  }
  waitpid(child, &status, 0);
  printf("child %d\n", status);
}

static int fork_one(void) {
  fork_at(7);
  return wait_over();
}

/* Another thread waits as long as the generation is this program's. */
static void* watch(void* unused) {
  (void)unused;
  printf("watches\n");
  printf("watch %d\n", actorrun_live_wait_over(INT64_C(3600000000000)));
  return NULL;
}

static void join_watcher(void) {
  if (has_watcher)
    pthread_join(watcher, NULL);
  has_watcher = 0;
}

/* Another thread looks at the generation with every line of the input. */
static void* look(void* unused) {
  char line[16];
  (void)unused;
  while (fgets(line, sizeof line, stdin) != NULL)
    printf("look %d\n", actorrun_live_is_over());
  return NULL;
}

static void exit_in_hook(const char* reason, void* context) {
  on_regroup(reason, context);
  exit(3);
}

static int watch_one(void) {
  char line[16];
  has_watcher = pthread_create(&watcher, NULL, watch, NULL) == 0;
  return fgets(line, sizeof line, stdin) != NULL;
}

struct command {
  char word[8];
  uint64_t step;
};

static int save(void* context) {
  const struct command* x = context;
  char more[8];
  printf("save %" PRIu64 "\n", x->step);
  if (strcmp(x->word, "wait") == 0 && scanf("%7s", more) != 1)
    return 1;
  return strcmp(x->word, "fail") == 0;
}

/* Does what the lines of its input say, one after the other. */
static int ordered(void) {
  struct command x;
  int over = ACTORRUN_LIVE_NOT_OVER;
  while (over == ACTORRUN_LIVE_NOT_OVER
         && scanf("%7s %" SCNu64, x.word, &x.step) == 2) {
    if (strcmp(x.word, "step") == 0)
      over = actorrun_live_safe_point(x.step);
    else if (strcmp(x.word, "fork") == 0)
      fork_at(x.step);
    else
      over = actorrun_live_safe_point_saving(x.step, save, &x);
    if (over == ACTORRUN_LIVE_NOT_OVER)
      printf("past %" PRIu64 "\n", x.step);
  }
  if (over == ACTORRUN_LIVE_OVER)
    printf("over at %" PRIu64 "\n", x.step);
  return over != ACTORRUN_LIVE_FAILED
         || actorrun_live_is_explained("first line\nsecond line");
}

static int live(void) {
  if (strcmp(way, "watch") == 0)
    return watch_one();
  if (strcmp(way, "wait") == 0 || strcmp(way, "look") == 0)
    return wait_over() || actorrun_live_is_over() == ACTORRUN_LIVE_LOST;
  if (strcmp(way, "flag") == 0)
    return flag();
  if (strcmp(way, "fail") == 0)
    return actorrun_live_restarts() > 0
           || actorrun_live_is_explained("first line\nsecond line");
  if (strcmp(way, "steps") == 0 || strcmp(way, "spin") == 0)
    return steps();
  if (strcmp(way, "ordered") == 0)
    return ordered();
  if (strncmp(way, "hook", 4) == 0 || strcmp(way, "exit") == 0)
    return hook();
  return strcmp(way, "fork") != 0 || fork_one();
}

int main(int argc, char** argv) {
  int more;
  way = argc > 1 ? argv[1] : "done";
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (strncmp(way, "hook", 4) == 0)
    actorrun_live_on_regroup(on_regroup, argv[1]);
  if (strcmp(way, "exit") == 0)
    actorrun_live_on_regroup(exit_in_hook, "hook");
  if (strcmp(way, "look") == 0)
    pthread_create(&watcher, NULL, look, NULL);
  while ((more = actorrun_live_next()) == ACTORRUN_LIVE_GENERATION) {
    join_watcher();
    describe();
    if (!live()) {
      printf("failed\n");
      fflush(stdout);
      return 1;
    }
  }
  join_watcher();
  printf(more == ACTORRUN_LIVE_ENDED ? "ended\n" : "failed AgentLost\n");
  return more == ACTORRUN_LIVE_ENDED ? 0 : 1;
}
