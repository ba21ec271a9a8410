"""Runs in the guest: starts, feeds back and ends commands that the rig asks for on a virtio port.

One JSON object a line, both ways.
  rig -> agent  {"start": ID, "command": [..], "env": {..}, "cwd": ".."}   {"signal": ID, "number": 9}   {"end": true}
  agent -> rig  {"ready": true}   {"output": ID, "text": ".."}   {"exit": ID, "status": N}
Each command is the head of its own process group; a signal goes to the whole group. Every process left
over at the end goes down with the guest.
"""
import glob
import json
import os
import subprocess
import threading
import time

send_lock = threading.Lock()


def open_port(limit_seconds=10):
    """The driver makes the port a moment after it was loaded."""
    end = time.monotonic() + limit_seconds
    while not (ports := glob.glob("/dev/vport*")) and time.monotonic() < end:
        time.sleep(0.02)
    if not ports:
        raise SystemExit("no virtio port: " + " ".join(os.listdir("/dev")))
    return os.open(ports[0], os.O_RDWR)


port = open_port()


def send(message):
    data = (json.dumps(message) + "\n").encode()
    with send_lock:
        while data:
            data = data[os.write(port, data):]


def follow(name, process):
    while chunk := os.read(process.stdout.fileno(), 65536):
        send({"output": name, "text": chunk.decode(errors="replace")})
    status = process.wait()
    send({"exit": name, "status": status if status >= 0 else 128 - status})


def start(request, processes):
    name = request["start"]
    try:
        process = subprocess.Popen(request["command"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=request["env"], cwd=request["cwd"],
                                   start_new_session=True)
    except OSError as error:
        send({"output": name, "text": f"{request['command'][0]}: {error}\n"})
        send({"exit": name, "status": 127})
        return
    processes[name] = process
    threading.Thread(target=follow, args=(name, process), daemon=True).start()


def serve():
    processes = {}
    send({"ready": True})
    rest = b""
    while True:
        data = os.read(port, 65536)
        if not data:
            return  # the rig is gone
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if "start" in request:
                start(request, processes)
            elif "signal" in request:
                try:
                    os.killpg(processes[request["signal"]].pid, request["number"])
                except (KeyError, ProcessLookupError):
                    pass  # it has ended by itself
            else:
                return


serve()
