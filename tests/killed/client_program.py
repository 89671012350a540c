"""Clients that are killed: one process for each request, which a timer of the system ends wherever it is just then.

    python client_program.py        one JSON line in for each client, one line out when it is dead

A line is `{"port", "request", "memory", "lives", "sleeps"}`: `request` is sent as it is; what comes back is received
straight into the file `memory`, which whoever asked can read; `lives` are the seconds until it is killed, `sleeps`
those for which it does not read. The one rule: it reports nothing itself, because it may be dead before it could.
"""

import json
import mmap
import os
import signal
import socket
import sys
import time


def client(asked: dict) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with open(asked["memory"], "r+b") as file:
        memory = memoryview(mmap.mmap(file.fileno(), 0))
    signal.setitimer(signal.ITIMER_REAL, asked["lives"])
    with socket.create_connection(("127.0.0.1", asked["port"])) as wire:
        wire.sendall(asked["request"].encode())
        time.sleep(asked["sleeps"])
        read = 0
        while count := wire.recv_into(memory[read:]):
            read += count
        # Hung up on, or its memory is full: it does nothing more until it is killed.
        signal.pause()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if not child:
            client(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
