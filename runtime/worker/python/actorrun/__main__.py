"""Runs the program `actorrun`: python -m actorrun OPTIONS SCRIPT ARGUMENTS."""
from ._programs import actorrun

if __name__ == "__main__":
    actorrun()
