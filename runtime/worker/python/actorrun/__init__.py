"""For worker programs of actorrun: a worker that lives through changes.

    import actorrun

    for generation in actorrun.generations():      # Under plain torchrun: once.
        with generation:                      # Ends early when the group changes.
            dist.init_process_group("gloo")
            if generation.survivors:
                sync_state(model, source=generation.survivors[0])
            for batch in data:
                train(model, batch)
                step += 1
                generation.safe_point(step)   # Where a change that can wait happens.

Pure standard library. `import actorrun.torch` besides, and process groups of
torch are aborted when the group changes, and destroyed at the end of each block.
"""
from ._generations import (AgentLost, Generation, Interrupt, Ranks, Regroup, generations,
                           on_leave, on_regroup, on_stop)

__all__ = ["AgentLost", "Generation", "Interrupt", "Ranks", "Regroup", "generations", "on_leave",
           "on_regroup", "on_stop"]
__version__ = "0.1.0"
