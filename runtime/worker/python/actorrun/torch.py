"""Aborts torch's process groups when the group of workers changes.

Import it before the first process group is made. From then on

- when an epoch ends early, all process groups of this process are aborted, so
  that a collective that waits for a peer fails, and its exception ends the block;
- at the end of an epoch's block the default process group is destroyed, and with
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


def _connections():
    """Returns this process's TCP connections: descriptors by inode."""
    out = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            info = os.fstat(int(name))
            if stat.S_ISSOCK(info.st_mode):
                with socket.socket(fileno=os.dup(int(name))) as x:
                    if x.family in (socket.AF_INET, socket.AF_INET6):
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
        _close(_ended)  # All peers have parked: there is a new epoch.
        before = _connections()
        out = make(*args, **kwargs)
        for inode, fd in _connections().items():
            if inode not in before:
                try:
                    _links.append(os.dup(fd))
                except OSError:
                    pass  # Closed meanwhile.
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


def abort(reason=""):
    """Makes what waits in a collective of this process fail.

    The groups are of no use afterwards. May be called on any thread, and again.
    """
    if not dist.is_available() or not dist.is_initialized():
        return
    for group in _groups():
        _abort_backends(group)
    while _links:
        fd = _links.pop()
        _ended.append(fd)
        try:
            with socket.socket(fileno=os.dup(fd)) as x:
                x.shutdown(socket.SHUT_RD)
        except OSError:
            pass  # Its other end has closed it.


def destroy(is_over=True):
    """Destroys the default process group and all others, if there are any."""
    if not dist.is_available() or not dist.is_initialized():
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
