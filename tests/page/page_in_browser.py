# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of all committed records, and those of ranks and steps, in a headless Chromium, and looks at what it shows.

page_in_browser.py ASSAY_REPORT [--maker PROGRAM] [--pages PROGRAM] [--screenshots FOLDER] [FILE.json...]

The maker is the test that writes a record with traces of all kinds. The other program is the test that
writes pages of `trace_stats`.

Exit code 77, with the reason, where there is no Chromium.
"""
import argparse
import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTHS = (360, 390, 1600)
SHOWN = ('"schema": "assay.comparison"', '"benchmark": "all_reduce"', '"schema": "assay.dispatch.1"',
         '"schema": "assay.transformer"')  # has a page

# What is wrong with the page as it is shown, as a list of sentences.
LOOK = r"""(() => {
  const wrong = [];
  const told = (what, text) => wrong.push(what + ": " + text.trim().slice(0, 60));
  const outside = (inner, outer) => inner.left < outer.left - 1 || inner.right > outer.right + 1
      || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
  if (document.documentElement.scrollWidth > innerWidth) { wrong.push("the page is wider than the screen"); }
  for (const chart of document.querySelectorAll("svg.chart")) {
    const box = chart.getBBox(), title = chart.getAttribute("aria-label");
    if (!title || !document.getElementById(chart.getAttribute("aria-describedby"))) { told("no text alternative", chart.id); }
    if (!(box.width > 0)) { told("an empty chart", title); }
    const place = chart.closest("figure, .forest").getBoundingClientRect();
    const texts = Array.from(chart.querySelectorAll("text"));
    for (const each of texts) {
      if (outside(each.getBoundingClientRect(), place)) { told("clipped in " + title, each.textContent); }
    }
    const ticks = texts.filter(each => each.classList.contains("tick")).map(each => [each, each.getBoundingClientRect()]);
    for (const [one, a] of ticks) {
      for (const [other, b] of ticks) {
        if (one !== other && a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom) {
          told("ticks overlap in " + title, one.textContent + " and " + other.textContent);
        }
      }
    }
  }
  const all = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node; (node = all.nextNode());) {
    if (!node.data.trim() || node.parentElement.closest("svg, .scroll")) { continue; }
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.left < 0 || box.right > innerWidth + 1) { told("text beside the screen", node.data); }
    }
  }
  for (const each of document.querySelectorAll("main *:not(svg):not(svg *)")) {
    const style = getComputedStyle(each);
    if (each.scrollWidth > each.clientWidth + 1 && style.overflowX === "hidden") { told("cut off", each.textContent); }
    if (each.classList.contains("scroll") && style.overflowX !== "auto") { told("a table that does not scroll", each.textContent); }
  }
  return wrong;
})()"""

# The texts of a column of the first table with numbers, and how its head is marked.
COLUMN = r"""(() => {
  const cell = document.querySelector("td.n"), table = cell.closest("table"), column = cell.cellIndex;
  return {values: Array.from(table.tBodies[0].rows).map(row => row.cells[column].dataset.n).filter(n => n !== undefined).map(Number),
          mark: table.tHead.rows[0].cells[column].getAttribute("aria-sort")};
})()"""
HEAD = 'document.querySelector("td.n").closest("table").tHead.rows[0].cells[document.querySelector("td.n").cellIndex].firstChild'

# Colours of the page and of its parts, as numbers.
COLOURS = r"""(() => {
  const probe = document.createElement("i");
  document.body.append(probe);
  const colour = name => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color.match(/\d+/g).map(Number); };
  const found = Object.fromEntries(["page", "ink", "soft", "s0", "s1", "s2", "s3", "s4", "s5"].map(name => [name, colour(name)]));
  probe.remove();
  found.background = getComputedStyle(document.body).backgroundColor;
  found.mark = getComputedStyle(document.querySelector(".mark path, svg .bar")).fill;
  return found;
})()"""


# The view of the first timeline, and the ticks below it.
VIEW = r"""(() => {
  const chart = document.querySelector("[data-zoom]").closest("figure").querySelector("svg.chart");
  return {box: chart.querySelector(".view").getAttribute("viewBox").split(" ").map(Number),
          ticks: Array.from(chart.querySelectorAll('text.tick[text-anchor="middle"]')).map(each => each.textContent)};
})()"""


class Browser:
    """A headless Chromium, spoken to over two pipes in the DevTools protocol."""

    def __init__(self, program, folder):
        # Above 4, since the browser reads from 3 and writes to 4.
        ours = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pair in (os.pipe(), os.pipe()) for end in pair]
        reads, self.out, self.into, writes = ours
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                 "--disable-background-networking", f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen([program, *flags], pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda: (os.dup2(reads, 3), os.dup2(writes, 4)))
        os.close(reads)
        os.close(writes)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.into, 1 << 20)
            if not part:
                raise SystemExit("the browser ended early")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.out, json.dumps(asked).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        self.events = []
        self.call("Page.navigate", url=path.as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(self.message())

    def look(self, expression):
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise SystemExit(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def size(self, width):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def press_enter(self):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r" if kind == "keyDown" else "",
                      windowsVirtualKeyCode=13)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self, path):
        height = self.look("document.documentElement.scrollHeight")
        width = self.look("innerWidth")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))

    def errors(self):
        for each in self.events:
            method, of = each.get("method"), each.get("params", {})
            if method == "Runtime.exceptionThrown" or (method == "Log.entryAdded" and of["entry"]["level"] == "error") or (
                    method == "Runtime.consoleAPICalled" and of["type"] in ("error", "assert")):
                yield f"console: {json.dumps(of)[:200]}"
            if method == "Network.requestWillBeSent" and of["type"] != "Document":
                yield f"the page loads {of['request']['url']}"

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(timeout=30)


def contrast(one, other):
    """The contrast of two colours as WCAG 2 defines it."""
    def luminance(colour):
        parts = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def sorting(browser):
    """Presses the head of a column by mouse and by key, and says what is not sorted."""
    browser.look(f"{HEAD}.click()")
    up = browser.look(COLUMN)
    if up["mark"] != "ascending" or up["values"] != sorted(up["values"]):
        yield f"not ascending after a click: {up}"
    browser.look(f"{HEAD}.focus()")
    browser.press_enter()
    down = browser.look(COLUMN)
    if down["mark"] != "descending" or down["values"] != sorted(up["values"], reverse=True):
        yield f"not descending after Enter: {down}"


def wheel_and_drag(browser, whole):
    """Zooms the first timeline by the wheel and moves it by a drag; all timelines beside it follow."""
    place = browser.look("""(() => {
      const view = document.querySelector("[data-zoom]").closest("figure").querySelector(".view");
      view.scrollIntoView({block: "center"});
      const box = view.parentNode.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    })()""")
    browser.mouse("mouseWheel", *place, deltaX=0, deltaY=-300)
    near = browser.look(VIEW)["box"]
    if not near[2] < whole[2] or abs(near[0] + near[2] / 2 - whole[2] / 2) > whole[2] / 100:
        yield f"the wheel shows {near} of {whole}"
    browser.mouse("mousePressed", *place, button="left", clickCount=1)
    browser.mouse("mouseMoved", place[0] - 40, place[1], button="left", buttons=1)
    browser.mouse("mouseReleased", place[0] - 40, place[1], button="left", clickCount=1)
    if not (moved := browser.look(VIEW)["box"])[0] > near[0] or moved[2] != near[2]:
        yield f"a drag moves {near} to {moved}"
    beside = browser.look("""Array.from(document.querySelector(".timelines").querySelectorAll(".view"))
      .map(each => each.getAttribute("viewBox").split(" ").slice(0, 3).join(" "))""")
    if len(beside) < 2 or len(set(beside)) != 1:
        yield f"timelines of one difference show {beside}"


def zooming(browser):
    """Presses the buttons of the first timeline by mouse and by key, and says what its view does not do."""
    def press(way):
        browser.look(f"document.querySelector('[data-zoom={way}]').click()")
        return browser.look(VIEW)
    whole = browser.look(VIEW)
    middle = press("in")
    if middle["box"][2] != whole["box"][2] / 2 or middle["box"][0] != int(whole["box"][2] / 4 + 0.5):
        yield f"zooming in shows {middle['box']} of {whole['box']}"
    if not all(tick.startswith("+") for tick in middle["ticks"][1:]) or middle["ticks"][0] == whole["ticks"][0]:
        yield f"the ticks of a zoomed timeline are {middle['ticks']}"
    yield from (f"zoomed in: {each}" for each in browser.look(LOOK))
    if not press("right")["box"][0] > middle["box"][0]:
        yield "a timeline does not move to the right"
    press("right")
    if (end := press("right")["box"])[0] + end[2] > whole["box"][2] + 1:
        yield f"a timeline moves beyond its end: {end}"
    for _ in range(40):
        deep = press("in")
    if not 0 < deep["box"][2] <= 8:
        yield f"a timeline does not zoom to nanoseconds: {deep['box']}"
    yield from (f"zoomed to nanoseconds: {each}" for each in browser.look(LOOK))
    browser.look("document.querySelector('[data-zoom=all]').click()")
    yield from wheel_and_drag(browser, whole["box"])
    browser.look("document.querySelector('[data-zoom=all]').focus()")
    browser.press_enter()
    if (back := browser.look(VIEW)) != whole:
        yield f"after Enter on all, a timeline shows {back} and not {whole}"


def schemes(browser):
    """Colours differ between light and dark, and text can be read in both."""
    seen = {}
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        found = seen[scheme] = browser.look(COLOURS)
        for name in ("ink", "soft", "s0", "s1", "s2", "s3", "s4", "s5"):
            if (ratio := contrast(found[name], found["page"])) < 4.5:
                yield f"{name} has a contrast of {ratio:.1f} in {scheme}"
    for name in ("background", "mark"):
        if seen["light"][name] == seen["dark"][name]:
            yield f"the {name} is the same in light and dark"


def breaches(browser, page, shots):
    """All that is wrong with one page, in sentences."""
    charts = page.read_text(encoding="utf-8").count('<svg class="chart"')
    browser.scheme("light")
    for width in WIDTHS:
        browser.size(width)
        browser.open(page)
        if shots:
            browser.screenshot(shots / f"{page.stem}.{width}.png")
        browser.look("for (const each of document.querySelectorAll('details')) { each.open = true; }")
        if (shown := browser.look("document.querySelectorAll('svg.chart').length")) != charts:
            yield f"{shown} charts of {charts} are shown"
        yield from (f"at {width} pixels: {each}" for each in browser.look(LOOK))
        if browser.look("document.querySelector('[data-zoom]') !== null"):
            yield from (f"at {width} pixels: {each}" for each in zooming(browser))
        yield from browser.errors()
    yield from sorting(browser)
    yield from schemes(browser)
    yield from browser.errors()
    if shots:
        browser.open(page)
        browser.screenshot(shots / f"{page.stem}.dark.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("records", nargs="*", type=pathlib.Path)
    parser.add_argument("--maker", type=pathlib.Path)
    parser.add_argument("--pages", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium:
        print("skipped: there is no Chromium (apt-get install chromium)")
        raise SystemExit(77)
    records = options.records or [each for each in sorted((ROOT / "benchmarks/results").glob("*.json"))
                                  if any(kind in each.read_text(encoding="utf-8")[:200] for kind in SHOWN)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if options.maker:
            made = folder / "traced.json"
            subprocess.run([options.maker, "[.record]"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "ASSAY_RECORD": str(made)})
            records.append(made)
        pages = [folder / f"{record.stem}.html" for record in records]
        for record, page in zip(records, pages):
            subprocess.run([options.program, record, "--html", page], check=True)
        if options.pages:
            subprocess.run([options.pages, "[.pages]"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "ASSAY_PAGES": str(folder)})
            pages += [folder / "ranks.html", folder / "steps.html"]
        browser = Browser(chromium, folder / "profile")
        for page in pages:
            wrong = list(breaches(browser, page, options.screenshots))
            if options.maker and page.stem == "traced" and "data-zoom" not in page.read_text(encoding="utf-8"):
                wrong.append("the record with traces has no timeline")
            print(f"{page.stem}: {len(wrong)} breaches")
            found += wrong
        browser.close()
    print(*found, sep="\n")
    sys.exit(1 if found or not records else 0)


if __name__ == "__main__":
    main()
