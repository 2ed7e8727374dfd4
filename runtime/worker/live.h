/* For worker programs in any language: what live.hpp offers, as plain C. A worker
   that lives through changes of the group. */
#ifndef ACTORRUN_RUNTIME_WORKER_LIVE_H
#define ACTORRUN_RUNTIME_WORKER_LIVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ACTORRUN_LIVE_ENDED = 0,      /* The program is to end. */
  ACTORRUN_LIVE_GENERATION = 1, /* There is a generation. */

  ACTORRUN_LIVE_NOT_OVER = 0, /* The generation goes on. */
  ACTORRUN_LIVE_OVER = 1,     /* It is over: go on with the next one. */

  /* The agent has closed the connection: it has ended, or refuses this worker. */
  ACTORRUN_LIVE_LOST = -1,
  /* No memory, a loop in C++ has not ended, or the program could not save. */
  ACTORRUN_LIVE_FAILED = -2
};

/* Leaves the last generation, of which nothing may be left, waits for the next one, and
   changes the environment (RANK, WORLD_SIZE, MASTER_PORT...) with setenv(3): no
   other thread may use it then. All of this belongs to one thread of the program,
   but for actorrun_live_is_over, _wait_over and _on_regroup.

       int more;
       while ((more = actorrun_live_next()) == ACTORRUN_LIVE_GENERATION)
         train();
       return more == ACTORRUN_LIVE_ENDED ? 0 : 1;

   ENDED: the program has done what it was to do in the last generation, which was not
   over, or it is told to stop. Without an agent there is one generation. A program that
   is started ahead of its first one (ACTORRUN_AHEAD) waits here, and has no RANK before. */
int actorrun_live_next(void);

/* Leaves the loop early. */
void actorrun_live_end(void);

/* Of the generation; the text lives until the next one. */
uint64_t actorrun_live_number(void);
uint32_t actorrun_live_rank(void);
uint32_t actorrun_live_world_size(void);
uint32_t actorrun_live_local_rank(void);
uint64_t actorrun_live_restarts(void);
const char* actorrun_live_reason(void);

/* The ranks of the workers that took part in the generation before and have its state, as
   runs: writes the first and last rank of up to `room` runs, in order. Returns how
   many runs there are. */
size_t actorrun_live_survivors(uint32_t* firsts, uint32_t* lasts, size_t room);

/* NOT_OVER, OVER or LOST. While actorrun_live_next waits for the next generation, it is
   about the last one; NOT_OVER if there is none. */
int actorrun_live_is_over(void);

/* The same, after up to so many nanoseconds. Returns also when the program leaves the
   generation, with actorrun_live_next or actorrun_live_end, and then NOT_OVER if its work
   is done; at once if there is no generation. */
int actorrun_live_wait_over(int64_t time_ns);

/* Says that the program could stop here, after so many steps: 0..2^64-2, more from
   call to call in a generation. NOT_OVER, OVER or LOST.

   Before a change that can wait, such as a node that joins, all workers are stopped
   here at the same step: it waits until all are there, and returns OVER then. If the
   change is called off, it returns NOT_OVER.

   All workers must call it at the same steps, where nothing of a step is under way
   any more: a worker that waits here takes part in no collective. If one does not
   come, the change does not wait longer than --safe-point-timeout. */
int actorrun_live_safe_point(uint64_t step);

/* The same, and calls save(context) where this worker stops for a change: at most once
   per call, on this thread, before it says that it has stopped. If that does not
   return 0, FAILED, and nothing is said. A change that cannot wait saves nothing. */
int actorrun_live_safe_point_saving(uint64_t step, int (*save)(void* context),
                                    void* context);

/* Something failed: asks the agent, for up to 2 s, whether the end of the generation
   explains it. Then it returns 1, and the program goes on with actorrun_live_next. */
int actorrun_live_is_explained(const char* trouble);

/* Has the hook called when a generation ends early: on a thread of the library, at once
   and every 0.25 s until the program has gone on to the next generation; not at all if
   it has seen the end by itself. It is to make whatever the program waits for fail. It
   may end the program with exit(3). */
void actorrun_live_on_regroup(void (*hook)(const char* reason, void* context),
                              void* context);

#ifdef __cplusplus
}
#endif

#endif
