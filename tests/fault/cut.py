"""Cuts a connection between two processes from outside, at a socket of one of them, as a network would: neither is told before it
reads or writes. As root, or of the same user where the kernel lets one trace the other (pidfd_getfd(2))."""
import ctypes
import os
import re
import socket
import subprocess

PIDFD_GETFD = 438  # on every architecture


def files_of(pid):
    """The sockets of a process: inode to descriptor."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if match := re.fullmatch(r"socket:\[(\d+)\]", target):
            found[match[1]] = int(name)
    return found


def unix_ends():
    """Connected Unix sockets: inode to the peer's inode."""
    listed = subprocess.run(["ss", "-xnH", "state", "established"], check=True, capture_output=True, text=True).stdout
    ends = {}
    for line in listed.splitlines():
        numbers = line.split()
        if numbers[0] in ("u_str", "u_seq"):
            ends[numbers[-3]] = numbers[-1]
    return ends


def tcp_ends():
    """TCP connections of this host, both of whose ends are here: inode to the peer's inode."""
    by_address = {}
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            fields = line.split()
            if fields[3] == "01":  # established
                by_address[fields[1], fields[2]] = fields[9]
    return {inode: by_address.get((there, here)) for (here, there), inode in by_address.items()}


def links(one, other, ends):
    """Descriptors of process `one` whose peers are of process `other`."""
    ours, theirs = files_of(one), files_of(other)
    return [ours[inode] for inode, peer in ends().items() if inode in ours and peer in theirs]


def cut(one, other, ends=unix_ends):
    """Ends every connection between the two; how many there were."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(one)
    try:
        found = links(one, other, ends)
        for descriptor in found:
            copy = libc.syscall(PIDFD_GETFD, process, descriptor, 0)
            if copy < 0:
                raise OSError(ctypes.get_errno(), f"pidfd_getfd of process {one}")
            with socket.socket(fileno=copy) as end:
                end.shutdown(socket.SHUT_RDWR)
        return len(found)
    finally:
        os.close(process)
