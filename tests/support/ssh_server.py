"""An OpenSSH server of this user alone, on a loopback port, with keys of its own; nothing is installed."""
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import time

import debian


def unavailable():
    """Why there can be none here; "" where there can."""
    for program in ("ssh", "ssh-keygen"):
        if not shutil.which(program):
            return f"no {program}"
    root, reason = debian.unpacked("openssh-server", "usr/sbin/sshd", "openssh-server")
    if root is None:
        return reason
    # As root it wants a user to be between its processes, whom its package makes.
    installed = root == pathlib.Path("/")
    if os.geteuid() == 0 and not installed and subprocess.run(["unshare", "--mount", "true"]).returncode != 0:
        return "root may not have mounts of its own"
    return ""


class SshServer:
    """options(alias): what `ssh -o` needs to be let in, and to know the server by that name."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir(parents=True)
        self.user = getpass.getuser()
        self.root, _ = debian.unpacked("openssh-server", "usr/sbin/sshd", "openssh-server")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        shutil.copy(folder / "user.pub", folder / "authorized_keys")
        self.known = folder / "known_hosts"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        settings = [f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {folder}/host", "UsePAM no",
                    f"AuthorizedKeysFile {folder}/authorized_keys", "StrictModes no", "PasswordAuthentication no",
                    "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password", f"PidFile {folder}/sshd.pid"]
        libraries = self.root / "usr/lib/openssh"
        for key, program in (("SshdSessionPath", "sshd-session"), ("SshdAuthPath", "sshd-auth")):
            if self.root != pathlib.Path("/") and (libraries / program).exists():
                settings.append(f"{key} {libraries / program}")
        (folder / "sshd_config").write_text("\n".join(settings) + "\n")
        self.process = None

    def know(self, *aliases, key=None):
        public = (key or self.folder / "host.pub").read_text()
        with self.known.open("a") as file:
            for alias in aliases:
                file.write(f"{alias} {public}")

    def options(self, alias):
        return [f"Port={self.port}", f"HostKeyAlias={alias}", f"IdentityFile={self.folder}/user", "IdentitiesOnly=yes",
                f"UserKnownHostsFile={self.known}"]

    def start(self):
        command = [str(self.root / "usr/sbin/sshd"), "-D", "-e", "-f", str(self.folder / "sshd_config")]
        environment = dict(os.environ)
        for library in self.root.glob("usr/lib/*/libwrap.so.0"):
            environment["LD_LIBRARY_PATH"] = str(library.parent)
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
            users = pathlib.Path("/etc/passwd").read_text()
            if "\nsshd:" not in users:
                (self.folder / "passwd").write_text(users + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
                script = f'mount --bind "{self.folder}/passwd" /etc/passwd && exec "$@"'
                command = ["unshare", "--mount", "sh", "-c", script, "sh", *command]
        with (self.folder / "sshd.log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        end = time.monotonic() + 10
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("sshd does not start:\n" + (self.folder / "sshd.log").read_text())

    def sessions(self):
        """Processes of sshd beside the one that listens."""
        tree = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)
                tree[int(stat.parent.name)] = (int(fields[1].split()[1]), fields[0].split("(", 1)[1])
            except (OSError, IndexError):
                continue
        found, front = [], [self.process.pid]
        while front:
            parent = front.pop()
            for pid, (its, name) in tree.items():
                if its == parent and name.startswith("sshd"):
                    found.append(pid)
                    front.append(pid)
        return found

    def cut(self, go=False):
        """Every connection, as a broken cable would; what ran at their ends goes on. go: nobody is let in any more."""
        sessions = self.sessions()
        if go:
            self.stop()
        for pid in sessions:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass

    def stop(self):
        """Nobody is let in any more; connections stay."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)
