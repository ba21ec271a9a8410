#!/usr/bin/env python3
"""`tickpath serve` beside a pipeline that trades: its metrics by Debian's Prometheus, its page by Debian's Chromium.

  tests/integration/serve.py metrics|page --bin build/release/bin [--keep FOLDER]

metrics: promtool checks the configuration, the rules, what they alert on, and the format; a Prometheus scrapes; every
name that rules and dashboard use is there, and so is every counter that the exporter names.
page: at three widths, light and dark, there are no script error, no request to another host and nothing wider than the
screen; figures come by themselves, a click sorts, and a kill from the page is in effect. --keep: pictures of it.
Exit 77: there is no Prometheus, or no browser, and it cannot be fetched.
"""
import argparse
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402, beside the other helpers of tests
import debian  # noqa: E402

SECONDS_MAX = 120  # of one wait, on a machine that has other things to do
NAME = re.compile(r"tickpath_[a-z_]+")


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def await_(condition, what):
    end = time.monotonic() + SECONDS_MAX
    while not (found := condition()):
        expect(time.monotonic() < end, f"{what} does not happen")
        time.sleep(0.2)
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get(url, data=None, **fields):
    request = urllib.request.Request(url, data=data, headers=fields)
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
        return answer.read().decode()


class Pipeline:
    """config/demo in a folder of its own, with `tickpath serve` beside it."""

    def __init__(self, binaries, folder, *options):
        self.program, self.folder = binaries.resolve() / "tickpath", folder
        self.run("generate", "day.itch50", "--messages", "150000", "--symbols", "20", "--duration", "60")
        self.run("up", ROOT / "config/demo", "--run-dir", "run", "--port-offset", str(free_port() % 20000 + 10000), "--set",
                 "sim:replay.file=day.itch50", "--set", "datapath.wait=park", "--detach")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.serve = subprocess.Popen([self.program, "serve", "--run-dir", "run", "--listen", self.url[7:], *options], cwd=folder,
                                      stdout=subprocess.PIPE, text=True)
        expect("ready" in self.serve.stdout.readline(), "serve says that it is ready")

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS_MAX)
        expect(done.returncode == 0, f"tickpath {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.serve.send_signal(signal.SIGTERM)
        subprocess.run([self.program, "down", "--run-dir", "run"], cwd=self.folder, capture_output=True, timeout=SECONDS_MAX)
        expect(self.serve.wait(SECONDS_MAX) == 0, "serve ends in order")

    def metrics(self):
        try:
            return get(self.url + "/metrics")
        except urllib.error.HTTPError as error:
            expect(error.code == 503, error)
            return ""


def promtool(root, *arguments, data=None):
    done = subprocess.run([root / "usr/bin/promtool", *arguments], input=data, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"promtool {' '.join(map(str, arguments))}:\n{done.stdout}{done.stderr}")


def check_files(root):
    promtool(root, "check", "config", ROOT / "config/prometheus/prometheus.yml")
    promtool(root, "check", "rules", ROOT / "config/prometheus/tickpath.rules.yml")
    promtool(root, "test", "rules", ROOT / "config/prometheus/tickpath.rules.test.yml")


def names_used():
    rules = (ROOT / "config/prometheus/tickpath.rules.yml").read_text()
    panels = json.loads((ROOT / "config/grafana/tickpath.json").read_text())["panels"]
    asked = rules + " ".join(target["expr"] for panel in panels for target in panel["targets"])
    return set(NAME.findall(asked))


def check_scrape(root, pipeline, folder):
    (folder / "prometheus.yml").write_text("scrape_configs: [{job_name: tickpath, scrape_interval: 1s, static_configs: "
                                           f"[{{targets: ['{pipeline.url[7:]}']}}]}}]\n")
    port = free_port()
    server = subprocess.Popen([root / "usr/bin/prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                               f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def asked(query):
        try:
            answer = json.loads(get(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})))
        except (urllib.error.URLError, ConnectionError):
            return None
        result = answer["data"]["result"]
        return float(result[0]["value"][1]) if result else None

    try:
        await_(lambda: asked("sum(tickpath_up)") == 5, "a scrape that finds five programs")
        quantile = "histogram_quantile(0.5, sum by (le) (rate(tickpath_tick_to_order_seconds_bucket[10s])))"
        median = await_(lambda: (found := asked(quantile)) and found == found and found, "a median of tick-to-order")
        expect(1e-7 < median < 10, f"tick-to-order of {median} s")
        await_(lambda: (asked("sum(rate(tickpath_feed_messages_total[10s]))") or 0) > 100, "a rate of the feed")
    finally:
        server.terminate()
        server.wait(SECONDS_MAX)


def metrics(arguments, folder):
    root, why = debian.unpacked("prometheus", "usr/bin/promtool", "prometheus")
    if root is None:
        print(f"not run: {why}")
        return 77
    check_files(root)
    with Pipeline(arguments.bin, folder) as pipeline:
        await_(lambda: "tickpath_tick_to_order_seconds_count" in pipeline.metrics(), "an order")
        text = pipeline.metrics()
        promtool(root, "check", "metrics", data=text)
        there = set(re.findall(r"^(tickpath_[a-z_]+)", text, re.MULTILINE))
        pairs = {"tickpath_leader"}  # of pairs alone
        missing = names_used() - there - pairs
        expect(not missing, f"rules or dashboard ask for what there is not: {missing}")
        named = set(re.findall(r'"(tickpath_[a-z_]+_total)"', (ROOT / "tools/watch/metrics.cpp").read_text()))
        expect(len(named) > 20 and not named - there, f"no program has the counter of: {named - there}")
        check_scrape(root, pipeline, folder)
    return 0


def looks(page, url, width, dark):
    page.problems, page.requests = [], []
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    page.call("Emulation.setEmulatedMedia", media="screen",
              features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    page.call("Page.navigate", url=url)
    await_(lambda: page.run("document.getElementById('fresh')?.textContent") == "live", "a first event")
    await_(lambda: page.run("document.querySelectorAll('#hops tbody tr').length") > 3, "latencies")
    expect(page.run("document.documentElement.scrollWidth") <= width, f"the page is wider than {width}")
    expect(not page.problems, f"at {width}: {page.problems}")
    others = [each for each in page.requests if not each.startswith((url, "data:"))]
    expect(page.requests and not others, f"requests to other hosts: {others}")


def check_page(page, pipeline, keep):
    for width in (390, 800, 1600):
        for dark in (False, True):
            looks(page, pipeline.url + "/", width, dark)
            if keep:
                page.picture(keep / f"serve_{width}_{'dark' if dark else 'light'}.png", whole=True)
    sent = "document.getElementById('programs').textContent"
    before = page.run(sent)
    await_(lambda: page.run(sent) != before, "the page going on by itself")
    symbols = "[...document.querySelectorAll('#positions tbody td:first-child')].map(cell => cell.textContent)"
    await_(lambda: len(page.run(symbols)) > 3, "positions")
    page.run("document.querySelector('#positions th button').click()")
    expect(page.run(symbols) == sorted(page.run(symbols)), "a click on a title sorts")
    unnamed = page.run("[...document.querySelectorAll('button, meter, table, [role=region]')].filter(each => "
                       "!(each.textContent.trim() || each.getAttribute('aria-label') || each.getAttribute('aria-labelledby'))).length")
    expect(unnamed == 0, f"{unnamed} elements without a name")
    page.run("window.confirm = () => true; [...document.querySelectorAll('#strategies .act')].at(-1).click()")
    said = "document.getElementById('control').textContent"
    await_(lambda: "nothing is open" in page.run(said) or "FAILED" in page.run(said), "the kill")
    expect("all strategies: no new orders" in page.run(said), page.run(said))
    await_(lambda: "killed" in page.run("document.getElementById('alarms').textContent"), "an alarm about the kill")
    expect('"by": "operator"' in pipeline.run("status", "--run-dir", "run", "--json"), "risk has the kill")
    if keep:
        page.picture(keep / "serve_killed.png", whole=True)


def page_(arguments, folder):
    if browser.program() is None:
        print("not run: no chromium (Debian: chromium)")
        return 77
    with Pipeline(arguments.bin, folder, "--control") as pipeline, browser.Browser(browser.program(), SECONDS_MAX) as page:
        check_page(page, pipeline, arguments.keep)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("part", choices=["metrics", "page"])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="the programs")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for pictures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tickpath_serve_") as name:
        return {"metrics": metrics, "page": page_}[arguments.part](arguments, pathlib.Path(name))


if __name__ == "__main__":
    sys.exit(main())
