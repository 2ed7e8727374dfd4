"""For worker programs of actorrun: a worker that lives through changes.

    import actorrun

    for epoch in actorrun.epochs():      # Under plain torchrun: once.
        with epoch:                      # Ends early when the group changes.
            dist.init_process_group("gloo")
            if epoch.survivors:
                sync_state(model, source=epoch.survivors[0])
            for batch in data:
                train(model, batch)
                step += 1
                epoch.safe_point(step)   # Where a change that can wait happens.

Pure standard library. `import actorrun.torch` besides, and process groups of
torch are aborted when the group changes, and destroyed at the end of each block.
"""
from ._epochs import (AgentLost, Epoch, Ranks, Regroup, epochs, on_leave,
                      on_regroup, on_stop)

__all__ = ["AgentLost", "Epoch", "Ranks", "Regroup", "epochs", "on_leave",
           "on_regroup", "on_stop"]
__version__ = "0.1.0"
