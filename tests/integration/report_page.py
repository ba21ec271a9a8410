#!/usr/bin/env python3
"""The page that `tickpath report` makes of a run, in a real browser: Debian's Chromium without a window.

  tests/integration/report_page.py --bin build/release/bin [--keep FOLDER]

What must hold, at 390, 800 and 1600 pixels, light and dark: no script error, no request, nothing wider than the
screen; names for everything that a screen reader meets, headings in order, texts with enough contrast; figures are
those of `tickpath trace` and of risk; markers are there; texts of the run are text. Tables sort, filter and turn pages;
charts obey the keyboard. With as many orders as a page can hold it stays under 5 MB and opens quickly. Without the
chart libraries, and without traces, there is a page, too. Exit 77: no browser, or no chart libraries, are installed.
--keep: leaves the pages and pictures of them there.
"""
import argparse
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402, beside the other helpers of tests

SECONDS_MAX = 120  # of one command, on a machine that has other things to do
OPEN_SECONDS_MAX = 10  # 2 on a machine that has nothing else to do
BYTES_MAX = 5_000_000
HOSTILE = "<img src=x onerror=alert(1)>"
WIDTHS = (390, 800, 1600)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


class Tickpath:
    def __init__(self, binaries, folder):
        self.program, self.folder = binaries / "tickpath", folder

    def __call__(self, *arguments, statuses=(0,)):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS_MAX)
        expect(done.returncode in statuses, f"tickpath {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def trade(tickpath):
    """A run that was paused, continued and killed. Its recording has a hostile name."""
    recording = f"{HOSTILE}.itch50"
    tickpath("generate", recording, "--messages", "40000", "--symbols", "10", "--duration", "4", "--seed", "7")
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$0" "$@"']  # ports of config/demo
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        alone = []
    up = subprocess.Popen([*alone, tickpath.program, "up", ROOT / "config/demo", "--run-dir", "run", "--until-end", "--set",
                           f"sim:replay.file={recording}"], cwd=tickpath.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log = tickpath.folder / "run/sim.log"
    try:
        limit = time.monotonic() + SECONDS_MAX
        while not log.exists() or "replay running" not in log.read_text():
            expect(up.poll() is None and time.monotonic() < limit, "the replay begins")
            time.sleep(0.05)
        time.sleep(1.5)
        tickpath("replay", "pause", "--run-dir", "run")
        tickpath("report", "run", "--out", "live.html")  # while it goes on
        tickpath("replay", "continue", "--run-dir", "run")
        time.sleep(1.2)
        tickpath("kill", "--run-dir", "run")
        output, _ = up.communicate(timeout=SECONDS_MAX)
    finally:
        up.kill()
    expect(up.returncode == 0, output)


def make_hostile(run):
    """Texts that others choose: an instrument's name, a log line, a finding."""
    (run / "names.tsv").write_text(f"ZAAA\t{HOSTILE}\n")
    lines = (run / "risk.log").read_text().splitlines()
    killed = next(line for line in lines if line.startswith("20") and " is killed" in line)
    with (run / "risk.log").open("a") as log:
        log.write(f"{killed} {HOSTILE}\n")
    doctor = run / "doctor.json"
    found = json.loads(doctor.read_text())
    found["findings"].append({"id": "cpu.governor", "state": "warn", "current": HOSTILE, "needed": "", "why": "", "command": ""})
    doctor.write_text(json.dumps(found))


# What is wrong with the page for who cannot see it, or not well: WCAG 2.1 1.1.1, 1.3.1, 1.4.3, 3.1.1, 4.1.1, 4.1.2.
WRONG = r"""(() => {
  const wrong = [];
  const seen = (node) => node.getClientRects().length > 0;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  const label = (node) => (node.getAttribute("aria-label") || node.textContent || node.title || "").trim();
  if (document.documentElement.lang !== "en") wrong.push("no language");
  for (const node of all("button, a, summary, [role=region]")) if (!label(node)) wrong.push(`no name: ${node.outerHTML.slice(0, 90)}`);
  for (const node of all("input, select")) if (!node.labels.length) wrong.push(`no label: ${node.outerHTML.slice(0, 90)}`);
  for (const node of all("svg, canvas")) if (!node.closest("[aria-label], [aria-hidden=true]")) wrong.push(`no text for a picture: ${node.outerHTML.slice(0, 90)}`);
  for (const node of all("td, th")) if (!node.closest("table").querySelector("th[scope=col]")) wrong.push("a table without headers");
  for (const node of all("table")) if (!node.caption && !node.closest("[aria-label]")) wrong.push("a table without a name");
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids)) if (ids.filter((each) => each === id).length > 1) wrong.push(`id twice: ${id}`);
  let level = 0;
  for (const node of all("h1, h2, h3, h4")) {
    const now = Number(node.tagName[1]);
    if (now > level + 1) wrong.push(`heading ${node.textContent} skips a level`);
    level = now;
  }
  if (document.querySelectorAll("h1, main").length !== 2) wrong.push("not one h1 and one main");
  const parts = (text) => {
    const numbers = text.match(/[\d.]+(e-?\d+)?/g).map(Number);
    return text.startsWith("color(srgb") ? [...numbers.slice(0, 3).map((each) => each * 255), numbers[3] ?? 1] : [...numbers.slice(0, 3), numbers[3] ?? 1];
  };
  const over = (top, below) => top.slice(0, 3).map((each, at) => each * top[3] + below[at] * (1 - top[3]));
  const behind = (node) => {
    const layers = [];
    for (let each = node; each; each = each.parentElement) layers.push(parts(getComputedStyle(each).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((each) => each / 255).map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const poor = new Map();
  for (const node of all("body *")) {
    if (![...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim()) || node.disabled) continue;
    const style = getComputedStyle(node), below = behind(node);
    const ink = parts(node instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(over(ink, below)), light(below)].sort((one, two) => two - one);
    const ratio = (a + 0.05) / (b + 0.05), large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) poor.set(`${node.tagName}.${node.className.baseVal ?? node.className}`, `${ratio.toFixed(2)}: ${node.textContent.slice(0, 40)}`);
  }
  for (const [what, how] of poor) wrong.push(`contrast of ${what} is ${how}`);
  return wrong;
})()"""


def check_looks(page, file, keep):
    for width in WIDTHS:
        for dark in (False, True):
            where = f"{file.name} at {width}, {'dark' if dark else 'light'}"
            page.open(file, width, dark=dark, touch=width < 600)
            expect(page.run("document.documentElement.dataset.ready") == "true", f"{where}: {page.problems}")
            expect(not page.problems, f"{where}: {page.problems}")
            expect(not page.requests, f"{where} asks for {page.requests}")
            wide = page.run("document.documentElement.scrollWidth")
            expect(wide <= width, f"{where} is {wide} wide")
            wrong = page.run(WRONG)
            expect(not wrong, f"{where}:\n  " + "\n  ".join(wrong))
            if keep:
                page.picture(keep / f"{file.stem}-{width}-{'dark' if dark else 'light'}.png", whole=True)


def check_figures(page, file, tickpath):
    """The page's figures are those of the other commands."""
    page.open(file, 1200)
    data = page.run("data")
    said = json.loads(tickpath("trace", "run", "--json"))["headline"][0]
    for ours, theirs in (("count", "count"), ("p50_ns", "p50_ns"), ("p999_ns", "p99.9_ns"), ("max_ns", "max_ns")):
        expect(data["percentiles"][ours] == said[theirs], f"{ours}: {data['percentiles'][ours]} and {said[theirs]}")
    worst = json.loads(tickpath("trace", "run", "--worst", "20", "--json"))
    expect([each["id"] for each in data["worst"]] == [str(each["order_id"]) for each in worst], "the slowest orders are others")
    counted = sum(data["heat"]["cells"][2::3])
    expect(counted == said["count"], f"{counted} of {said['count']} orders are in the heat map")
    for bar in data["bars"]:
        parts = sum(part["ns"] for part in bar["parts"])
        expect(abs(parts - bar["mean_ns"]) <= len(bar["parts"]), f"p{bar['percent']}: parts are {parts} of {bar['mean_ns']} ns")
    expect([each["kind"] for each in data["markers"]["shown"]][:3] == ["pause", "continue", "kill"], data["markers"])
    expect(data["time"]["market"] and 34_199 < data["time"]["first"] < 34_201, data["time"])
    expect(data["prices"].startswith("Prices are the middle"), data["prices"])
    for strategy in data["curves"]["strategies"]:
        risk = next(each for each in data["results"] if each["strategy"] == strategy["name"])
        apart = abs(strategy["pnl"][-1] - risk["realised"] - risk["unrealised"])
        expect(apart <= 0.001 * max(strategy["gross"]) + 0.01, f"strategy {strategy['name']}: the curve ends {apart} beside risk's P&L")


def check_hostile(page, file):
    page.open(file, 1200)
    expect(page.run("document.querySelectorAll('img').length") == 0, "a text became an element")
    text = page.run("document.body.textContent")
    for where in (f"is killed by the operator (256: all) {HOSTILE}", f"{HOSTILE} (", f"{HOSTILE}.itch50"):
        expect(where in text, f"the page does not show {where}")
    # Markup that got in after all would not run.
    page.run("document.body.append(Object.assign(document.createElement('div'), {innerHTML: '<img src=http://127.0.0.1/x>'}))")
    page.run("new Promise((done) => setTimeout(done, 100))")
    expect(any("Content Security Policy" in each for each in page.problems), f"nothing was refused: {page.problems}")


KEY = "document.querySelector('{}').dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', bubbles: true}}))"


def check_hands(page, file):
    """What a person does."""
    page.open(file, 1200)
    text = lambda selector: page.run(f"document.querySelector(`{selector}`).textContent")  # noqa: E731
    before = text("#percentiles .readout")
    page.run(KEY.format("#percentiles .curve", "ArrowRight"))
    expect(text("#percentiles .readout") != before, "an arrow reads the next point")
    window = "curves.find((each) => each.graph.maindiv_.closest('#pnl')).graph.xAxisRange()"
    whole = page.run(window)
    page.run(KEY.format("#instruments .curve", "+"))
    zoomed = page.run(window)
    expect(zoomed[1] - zoomed[0] < 0.6 * (whole[1] - whole[0]), f"curves over time zoom together: {whole}, {zoomed}")
    before = text("#heat .readout")
    page.run("document.querySelector('#heat [aria-label^=\"Zoom in\"]').click()")
    expect(text("#heat .readout") != before, "the heat map zooms")
    page.run("document.querySelectorAll('#worst tbody button')[1].click()")
    second = page.run("data.worst[1].id")
    expect(second in text("#worst [aria-live] caption"), "another order is shown")
    page.run("[...document.querySelectorAll('#worst [aria-live] button')].at(-1).click()")
    count = page.run("document.querySelectorAll('#table-orders tbody tr').length")
    expect(count == 1, f"{count} rows are of one order")
    rows = "[...document.querySelectorAll('#table-positions tbody tr')].map((row) => Number(row.cells[2].textContent))"
    page.run("document.querySelectorAll('#table-positions th button')[2].click()")
    page.run("document.querySelectorAll('#table-positions th button')[2].click()")
    orders = page.run(rows)
    expect(orders == sorted(orders, reverse=True) and orders, f"sorted: {orders}")
    expect(page.run("document.querySelectorAll('#table-positions th')[2].getAttribute('aria-sort')") == "descending", "says so")
    page.run("{const select = document.querySelector('#instruments select'); select.value = data.instruments[1].symbol; select.dispatchEvent(new Event('change'))}")
    expect(not page.problems, page.problems)


def full(data):
    """As much of everything as a page has of a run of 100,000 orders."""
    def repeated(rows, count):
        return (rows * (count // max(len(rows), 1) + 1))[:count] if rows else rows
    columns, rows = data["heat"]["columns"], data["heat"]["rows"]
    data["heat"]["cells"] = [value for at in range(20_000) for value in (at * columns // 20_000, 40 + at * 7 % (rows // 2), 1 + at % 9)]
    data["heat"]["orders"] = 100_000
    for table in data["tables"]:
        if table["id"] in ("fills", "orders"):
            table["rows"], table["all"] = repeated(table["rows"], 4_000), 100_000
    data["instruments"] = repeated(data["instruments"], 12)
    for each in data["instruments"]:
        for what in ("fills", "orders", "held"):
            each[what] = sorted(repeated(each[what], 1_000))
        each["fills_all"] = each["orders_all"] = 6_000
    return data


def check_size(page, file, keep):
    data = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)
    text = file.read_text()
    large = json.dumps(full(json.loads(data.search(text)[2])), separators=(",", ":")).replace("<", "\\u003c")
    whole = file.parent / "full.html"
    whole.write_text(data.sub(lambda found: found[1] + large + found[3], text))
    size = whole.stat().st_size
    expect(size < BYTES_MAX, f"{size} bytes")
    took = min(page.open(whole, 1200) for _ in range(3))
    expect(page.run("document.documentElement.dataset.ready") == "true" and not page.problems, page.problems)
    expect(took < OPEN_SECONDS_MAX, f"{took:.1f} s until the page is there")
    print(f"a page of 100,000 orders: {size / 1e6:.1f} MB, open after {took:.2f} s; of this run: {file.stat().st_size / 1e6:.1f} MB")
    if keep:
        page.picture(keep / "full.png", whole=True)


def check_without(page, tickpath, keep):
    """Without the libraries; without traces."""
    (tickpath.folder / "empty").mkdir()
    tickpath("report", "run", "--libraries", "empty", "--out", "plain.html")
    check_looks(page, tickpath.folder / "plain.html", keep)
    expect("apt-get install node-d3 libjs-dygraphs" in page.run("document.body.textContent"), "it says what to install")
    expect(page.run("document.querySelectorAll('#pictures svg').length") == 3, "plain pictures stand there")
    for trace in (tickpath.folder / "run").glob("*.trace"):
        trace.unlink()
    tickpath("report", "run", "--out", "untraced.html")
    check_looks(page, tickpath.folder / "untraced.html", keep)
    expect("left no traces" in page.run("document.body.textContent"), "it says that there are none")
    expect(page.run("!document.querySelector('#pnl').hidden"), "P&L is there")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    if browser.program() is None:
        print(f"skipped: none of {', '.join(browser.PROGRAMS)} is installed")
        return 77
    if not pathlib.Path("/usr/share/nodejs/d3/dist/d3.min.js").exists():
        print("skipped: node-d3 and libjs-dygraphs are not installed")
        return 77
    keep = arguments.keep.resolve() if arguments.keep else None
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tickpath = Tickpath(arguments.bin.resolve(), folder)
        trade(tickpath)
        (folder / "run/doctor.json").write_text(tickpath("doctor", "--json", statuses=(0, 1)))
        page = stack.enter_context(browser.Browser(browser.program()))
        file = folder / "run/report.html"
        tickpath("report", "run")
        check_looks(page, file, keep)
        check_figures(page, file, tickpath)
        check_looks(page, folder / "live.html", keep)
        check_hands(page, file)
        check_size(page, file, keep)
        make_hostile(folder / "run")
        tickpath("report", "run", "--out", "hostile.html")
        check_looks(page, folder / "hostile.html", keep)
        check_hostile(page, folder / "hostile.html")
        check_without(page, tickpath, keep)
        if keep:
            for each in (file, folder / "hostile.html", folder / "plain.html", folder / "untraced.html"):
                shutil.copy(each, keep)
    print("the page holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
