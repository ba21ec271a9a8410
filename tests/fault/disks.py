"""Small file systems that a script may fill, seen by it and by the programs that it starts, and gone with it."""
import ctypes
import os
import subprocess

CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 0x40000


def of_our_own():
    """From now on this process mounts for itself and what it starts; False: it may not mount anything."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0


class Disk:
    """One of so many kilobytes, at `path`."""

    def __init__(self, path, kilobytes):
        self.path = path
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", path], check=True, capture_output=True)

    def fill(self):
        """Nothing more can be written."""
        with open(self.path / "ballast", "wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def clear(self):
        (self.path / "ballast").unlink(missing_ok=True)

    def free_bytes(self):
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def remove(self):
        subprocess.run(["umount", "-l", self.path], capture_output=True)
