"""Runs peers of the conformance suite for a test on another machine (tests/conformance/peer_process.cpp).

  peer_runner.py PORT PROGRAM

A connection begins with a line, "run NAME ARGUMENT ...": starts PROGRAM with the connection as its standard input and
output, and says its process id in a line of its own; or "signal NAME NUMBER": sends a signal to the one of that name
and answers "done". When the test's end of a connection is gone, its program is killed unless it leaves by itself within
a few seconds.
"""
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading

GRACE_SECONDS = 5
processes = {}


def first_line(connection):
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            return []
        line += byte
    return line.decode().split()


def run(connection, name, arguments):
    process = subprocess.Popen(["sh", "-c", 'echo $$; exec "$@"', "sh", sys.argv[2], *arguments], stdin=connection,
                               stdout=connection)
    processes[name] = process

    def watch():
        # Bytes are the program's to read: only the end of the connection is looked for.
        poller = select.poll()
        poller.register(connection, select.POLLRDHUP | select.POLLHUP)
        poller.poll()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.send_signal(signal.SIGCONT)

    threading.Thread(target=watch, daemon=True).start()
    process.wait()  # the other thread may be waiting, too: both are told
    with contextlib.suppress(OSError):  # the test has left first
        connection.shutdown(socket.SHUT_RDWR)


def serve(connection):
    with connection:
        words = first_line(connection)
        if words and words[0] == "run":
            run(connection, words[1], words[2:])
        elif words and words[0] == "signal":
            os.kill(processes[words[1]].pid, int(words[2]))
            connection.sendall(b"done\n")


def main():
    with socket.create_server(("", int(sys.argv[1]))) as server:
        print("listening", flush=True)
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


main()
