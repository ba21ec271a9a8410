"""Debian packages of programs that tests use, unpacked into the cache and not installed."""
import os
import pathlib
import shutil
import subprocess
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "tickpath"


def unpacked(package, program, cached):
    """(root of its files, ""), or (None, reason). `program`: its path without the first slash; where it is installed,
    the root is "/". Else it and what it needs is in CACHE / `cached`, fetched once."""
    if (pathlib.Path("/") / program).exists():
        return pathlib.Path("/"), ""
    root = CACHE / cached
    if (root / program).exists():
        return root, ""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        return None, "no apt-get"
    listed = subprocess.run(["apt-get", "install", "--simulate", package], capture_output=True, text=True)
    names = [line.split()[1] for line in listed.stdout.splitlines() if line.startswith("Inst ")]
    if listed.returncode != 0 or package not in names:
        return None, f"this system has no package {package}"
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent) as name:
        folder = pathlib.Path(name)
        if subprocess.run(["apt-get", "download", *names], cwd=folder, capture_output=True).returncode != 0:
            return None, f"packages of {package} cannot be fetched"
        for archive in sorted(folder.glob("*.deb")):
            subprocess.run(["dpkg", "--extract", archive, folder / "root"], check=True)
        (folder / "root").rename(root)
    return root, ""
