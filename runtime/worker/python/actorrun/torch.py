"""Aborts torch's process groups when the group of workers changes.

Import it before the first process group is made. From then on

- when a generation ends early, all process groups of this process are aborted, so
  that a collective that waits for a peer fails, and its exception ends the block;
- so does `init_process_group` itself, and `new_group`, where they wait for a peer:
  the connections that they have made so far, to torch's store for example, are shut
  down for reading. Not in a rank 0 that serves the store itself (torch 1.13): it
  holds Python's lock until all others have come;
- at the end of a generation's block the default process group is destroyed, and with
  it all others. A program needs no `destroy_process_group` of its own;
- a worker that stops at a safe point first waits for its CUDA device: a collective
  that is queued there would be aborted with its group. NOT TRIED, as NCCL below.

gloo: has no abort before torch 2.8; instead, the connections that a group has made
are shut down for reading, which was tried with torch 1.13. They stay open for their
other ends until the next group is made: gloo of that version forgets an operation
whose first write fails while it handles what it has read, and would wait for it
without end. So a peer that is killed may still make a worker hang, rarely; its agent
kills that one when the time to park is over. NCCL: by its `abort`; NOT TRIED, for lack
of a GPU.
"""
import os
import socket
import stat

import torch.distributed as dist

from . import on_leave, on_regroup, on_stop

_links = []  # Own descriptors of connections that groups have made …
_ended = []  # … and of those that are shut down.
_making = None  # While a group is made: the sockets that do not belong to it.


def _listens_for_peers(x):
    # Torch's store listens on all addresses, and would end the process.
    return (x.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            and x.getsockname()[0] not in ("0.0.0.0", "::"))


def _connections(listening=False):
    """Returns this process's TCP connections: descriptors by inode.

    Args:
        listening: with the sockets where a group waits for its peers to connect.
    """
    out = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            info = os.fstat(int(name))
            if stat.S_ISSOCK(info.st_mode):
                with socket.socket(fileno=os.dup(int(name))) as x:
                    if x.family in (socket.AF_INET, socket.AF_INET6):
                        if not (listening and _listens_for_peers(x)):
                            x.getpeername()
                        out[info.st_ino] = int(name)
        except OSError:
            pass  # Closed meanwhile, or connected to nothing.
    return out


def _close(descriptors):
    while descriptors:
        os.close(descriptors.pop())


def _watched(make):
    """Wraps a function that makes a group, and keeps what it connects."""
    def call(*args, **kwargs):
        global _making
        _close(_ended)  # All peers have parked: there is a new generation.
        _making = before = _connections(listening=True)
        try:
            out = make(*args, **kwargs)
            for inode, fd in _connections().items():
                if inode not in before:
                    try:
                        _links.append(os.dup(fd))
                    except OSError:
                        pass  # Closed meanwhile.
        finally:
            _making = None
        return out
    call.__name__ = make.__name__
    call.__doc__ = make.__doc__
    call.__wrapped__ = make
    return call


def _groups():
    c10d = dist.distributed_c10d
    world = getattr(c10d, "_world", None)
    groups = world.pg_map if world is not None else c10d._pg_map
    return list(groups)


def _abort_backends(group):
    for kind in ("cuda", "cpu"):
        try:
            import torch
            backend = group._get_backend(torch.device(kind))
        except (AttributeError, RuntimeError):
            backend = group
        for name in ("abort", "_abort"):
            abort = getattr(backend, name, None)
            if abort is not None:
                try:
                    abort()
                except RuntimeError:
                    pass  # This back end has none.
                return


def _shut_down(fd):
    _ended.append(fd)
    try:
        with socket.socket(fileno=os.dup(fd)) as x:
            x.shutdown(socket.SHUT_RD)
    except OSError:
        pass  # Its other end has closed it.


# A group that is being made has no links yet. What it connects later, the next call
# finds.
def _abort_making():
    before = _making
    if before is None:
        return
    for inode, fd in _connections(listening=True).items():
        if inode not in before:
            try:
                own = os.dup(fd)
            except OSError:
                continue  # Closed meanwhile.
            before[inode] = own
            _shut_down(own)


def abort(reason=""):
    """Makes what waits in a collective of this process, or for a group, fail.

    The groups are of no use afterwards. May be called on any thread, and again.
    """
    if not dist.is_available():
        return
    _abort_making()
    if not dist.is_initialized():
        return
    for group in _groups():
        _abort_backends(group)
    while _links:
        _shut_down(_links.pop())


# What destroy_process_group does for the default group, where there is none: one that
# could not be made has been counted, and its number is part of the names by which peers
# find each other. Others begin to count in the next generation.
def _reset():
    c10d = dist.distributed_c10d
    state = getattr(c10d, "_world", None)
    prefix = ""
    if state is None:  # Before torch 2.
        state, prefix = c10d, "_"
    if getattr(state, prefix + "group_count", 0) == 0:
        return
    for name in ("pg_map", "pg_names", "pg_group_ranks", "pg_backend_config",
                 "pg_to_tag", "tags_to_pg", "pg_coalesce_state",
                 "pg_default_device"):
        if hasattr(state, prefix + name):
            getattr(state, prefix + name).clear()
    if hasattr(c10d, "_unregister_all_process_groups"):
        c10d._unregister_all_process_groups()
    setattr(state, prefix + "group_count", 0)


def destroy(is_over=True):
    """Destroys the default process group and all others, if there are any."""
    if not dist.is_available():
        return
    if not dist.is_initialized():
        _reset()
        return
    if is_over:
        abort()  # What is under way would be waited for.
    _close(_links)
    dist.destroy_process_group()


def settle():
    """Waits for what this process has under way on its current CUDA device."""
    import torch
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


if dist.is_available():
    for _name in ("init_process_group", "new_group"):
        _made = _watched(getattr(dist, _name))
        setattr(dist, _name, _made)
        setattr(dist.distributed_c10d, _name, _made)
    on_regroup(abort)
    on_leave(destroy)
    on_stop(settle)
