"""Writes words to the agent and reads its orders: JSON, one object per packet.

The format is that of docs/decisions/0041-live-workers-talk.md. Types and members
that are not known are ignored: they are those of later versions.
"""
import json
import operator

VERSION = 1
PACKET_SIZE_MAX = 4096
TEXT_SIZE_MAX = 256


def packet(kind, **members):
    """Returns the bytes of one word."""
    return json.dumps({"type": kind, **members}).encode()


def at_packet(step):
    """Returns the bytes of the word that is said most often."""
    return b'{"type":"at","step":%d}' % step


def step_of(x):
    """Returns a step as an int.

    Raises:
        TypeError, ValueError: it is no whole number from 0 to 2**64 - 2.
    """
    step = operator.index(x)
    if not 0 <= step < 2**64 - 1:
        raise ValueError("a step is a number from 0 on")
    return step


def plain(text):
    """Returns the first line of a text, printable and of bounded length."""
    line = str(text).strip().split("\n", 1)[0][:TEXT_SIZE_MAX]
    return "".join(x if x.isprintable() else "?" for x in line)


def parse(data):
    """Returns an order as a dict.

    Raises:
        ValueError: it is none.
    """
    if len(data) > PACKET_SIZE_MAX:
        raise ValueError("a packet is too long")
    try:
        order = json.loads(data.decode())
    except RecursionError:
        raise ValueError("a packet is too deep") from None
    if not isinstance(order, dict) or not isinstance(order.get("type"), str):
        raise ValueError("a packet is no object with a type")
    return order


def number(order, name, default=None):
    """Returns a member that is a number from 0 on."""
    x = order.get(name, default)
    if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < 2**64:
        raise ValueError(f'"{name}" is no number that can be one')
    return x


def text(order, name):
    """Returns a member that is a text; empty if there is none."""
    x = order.get(name, "")
    if not isinstance(x, str):
        raise ValueError(f'"{name}" is no text')
    return plain(x)


def environment(order):
    """Returns the variables of a generation."""
    x = order.get("environment", {})
    if not isinstance(x, dict):
        raise ValueError('"environment" is no object')
    for name, value in x.items():
        if not isinstance(value, str) or "\0" in name + value:
            raise ValueError('"environment" has a value that is none')
        if not name or "=" in name:
            raise ValueError('"environment" has a name that is none')
    return x


def runs(order, name):
    """Returns pairs of first and last ranks, in order."""
    x = order.get(name, [])
    if not isinstance(x, list):
        raise ValueError(f'"{name}" is no list')
    out = []
    next_rank = 0
    for run in x:
        if not isinstance(run, list) or len(run) != 2:
            raise ValueError(f'"{name}" has what is no run of ranks')
        first, last = run
        if type(first) is not int or type(last) is not int:
            raise ValueError(f'"{name}" has what is no rank')
        if not next_rank <= first <= last < 2**32:
            raise ValueError(f'"{name}" is not in order')
        next_rank = last + 1
        out.append((first, last))
    return out
