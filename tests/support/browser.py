"""Debian's Chromium without a window, steered by the Chrome DevTools Protocol over two pipes (--remote-debugging-pipe:
messages of JSON, each with a NUL behind it): https://chromedevtools.github.io/devtools-protocol/."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium")


def program():
    """Its path, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One page. `problems`: script errors, messages of the console that are errors, and violations of the policy;
    `requests`: addresses that the page asked for, itself left out."""

    def __init__(self, path, seconds=60):
        self.seconds, self.number, self.waiting = seconds, 0, b""
        self.problems, self.requests, self.events = [], [], []
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_read, its_write = os.pipe()
        its_read, ours_write = os.pipe()
        # The protocol has the browser's descriptors 3 (to it) and 4 (from it).
        command = [path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={self.home.name}", "about:blank"]
        shell = ["sh", "-c", f'exec "$@" 3<&{its_read} 4>&{its_write}', "sh", *command]
        self.process = subprocess.Popen(shell, pass_fds=(its_read, its_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.home.name})
        os.close(its_read)
        os.close(its_write)
        self.read_end, self.write_end, self.session = ours_read, ours_write, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        self.home.cleanup()

    def _message(self, until):
        while b"\0" not in self.waiting:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError(f"the browser said nothing for {self.seconds} s")
            got = os.read(self.read_end, 1 << 16)
            if not got:
                raise RuntimeError("the browser has ended")
            self.waiting += got
        message, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        method, said = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            detail = said["exceptionDetails"]
            self.problems.append(detail.get("exception", {}).get("description") or detail["text"])
        elif method == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.problems.append(said["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "assert"):
            self.problems.append(" ".join(str(each.get("value")) for each in said["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method:
            self.events.append(method)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.seconds
        while True:
            answer = self._message(until)
            if answer.get("id") != self.number:
                self._note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, file, width, height=900, dark=False, touch=False, scale=1):
        """Seconds until the page says that it is ready (<html data-ready>)."""
        self.problems, self.requests, self.events = [], [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.call("Emulation.setEmulatedMedia", media="screen",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        url = pathlib.Path(file).resolve().as_uri()
        begin = time.monotonic()
        self.call("Page.navigate", url=url)
        while self.run("location.href + ' ' + document.readyState") != f"{url} complete":
            if time.monotonic() - begin > self.seconds:
                raise TimeoutError(f"{file} did not open within {self.seconds} s")
            time.sleep(0.02)
        took = time.monotonic() - begin
        self.requests = [each for each in self.requests if each != url and not each.startswith("data:")]
        return took

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "script failed"))
        return answer["result"].get("value")

    def picture(self, path, whole=False, clip=None):
        """PNG of what is seen, or of the whole page, or of {"x", "y", "width", "height"}."""
        options = {"format": "png", "captureBeyondViewport": whole or clip is not None}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        if clip:
            options["clip"] = {**clip, "scale": 1}
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))
