# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports as a browser shows and prints them: check_browser.py TOOL MAKE-RECORDING. With TIER_PICTURES=FOLDER pictures stay there."""
import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser

TOOL, MAKE_RECORDING = sys.argv[1:3]
PICTURES = os.environ.get("TIER_PICTURES")
UNTIMED = "H tmtrace=1 net=tiny\n" + "".join(f"T {i} {4096 * (i % 7 + 1)} a y{i}\n" for i in range(1500)) + "".join(
    f"K fc_f f 10 R {i - 1 if i else '-'} W {i} U -\n" + (f"X {i - 3}\n" if i > 2 else "") for i in range(1500)
)
# In its own page, since the report's lets nothing be loaded: how many colours a picture has, and the share of the commonest.
COUNT_COLOURS = """new Promise((done) => {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = image.width; canvas.height = image.height;
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const counts = new Map(), pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
    done([counts.size, Math.max(...counts.values()) / pixels.length, image.width, image.height]);
  };
  image.src = "data:image/png;base64,PICTURE";
})"""
BOXES = """[...document.querySelectorAll("figure.chart .plot svg")].map((svg) => {
  const box = svg.getBoundingClientRect();
  return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height};
})"""


def make_pages(folder):
    def report(name, *arguments):
        trace = folder / f"{name}.trace"
        if arguments:
            subprocess.run([MAKE_RECORDING, trace, *map(str, arguments)], check=True)
        else:
            trace.write_text(UNTIMED)
        page = folder / f"{name}.html"
        subprocess.run([TOOL, "report", trace, "-o", page], check=True)
        return page

    return {"recording": report("recording", 1, 12, 6), "hostile": report("hostile", 2, 20, 3, "hostile"), "untimed": report("untimed")}


def keep(name, contents):
    if PICTURES:
        Path(PICTURES, name).write_bytes(contents)


def check_no_problems(browser, page):
    problems = browser.problems()
    assert not problems, (page, problems)
    title = browser.evaluate("document.title")
    assert title.startswith("Memory report: ") and "hacked" not in title, title


def check_layout(browser, width):
    """Nothing sticks out to the side, and charts have a size."""
    page_width, window = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert page_width <= window == width, (page_width, window, width)
    boxes = browser.evaluate(BOXES)
    assert boxes
    for box in boxes:
        assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["width"] > 0.5 * width and box["height"] > 60, box
    return boxes


def colours(browser, picture):
    return browser.evaluate(COUNT_COLOURS.replace("PICTURE", base64.b64encode(picture).decode()))


def check_pictures(browser, name, pictures):
    """What was taken of the page and of each chart is not blank."""
    browser.open("about:blank", 800)
    for number, picture in enumerate(pictures):
        found, commonest, width, height = colours(browser, picture)
        assert found >= 4 and commonest < 0.99, (name, number, found, commonest, width, height)


LOOKS = ((1280, "light", True), (390, "light", True), (1280, "dark", True), (1280, "light", False))


def check_looks(browser, name, page, looks):
    for width, scheme, script in looks:
        browser.open(page.as_uri(), width, scheme=scheme, script=script)
        check_no_problems(browser, page)
        boxes = check_layout(browser, width)
        visible = browser.evaluate("getComputedStyle(document.querySelector('.bar')).display") != "none"
        assert visible == script  # what needs the script is there only with it
        whole = browser.screenshot()
        keep(f"{name}-{width}-{scheme}{'' if script else '-no-script'}.png", whole)
        check_pictures(browser, name, [whole] + [browser.screenshot(clip=box) for box in boxes[:2]])


def check_print(browser, name, page):
    browser.open(page.as_uri(), 1280, scheme="dark")  # which is not printed
    pdf = browser.pdf()
    keep(f"{name}.pdf", pdf)
    assert pdf.startswith(b"%PDF-") and b"/Subtype /Image" not in pdf  # pictures are lines and areas
    browser.call("Emulation.setEmulatedMedia", media="print")
    cut = browser.evaluate("[...document.querySelectorAll('.scroll, table')].filter((e) => e.scrollWidth > e.clientWidth + 1).length")
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert cut == 0 and paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"), (cut, paper)
    assert browser.evaluate("getComputedStyle(document.querySelector('.bar')).display") == "none"
    check_no_problems(browser, page)
    browser.call("Emulation.setEmulatedMedia", media="")


def check_zoom(browser, page):
    view = "[...document.querySelectorAll('.plot svg')].map((svg) => svg.getAttribute('viewBox'))"
    tip = "document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').textContent"
    first_path = "document.querySelector('.areas path').getAttribute('d')"
    ticks = "document.querySelector('.x').textContent"
    browser.open(page.as_uri(), 1280)
    box = browser.evaluate(BOXES)[0]
    browser.evaluate(f"scrollTo(0, {box['y']} - 300)")
    y = 300 + box["height"] / 2

    browser.mouse("mouseMoved", box["x"] + box["width"] / 2, y)
    lines = browser.evaluate(tip).split("\n")
    assert " to " in lines[0] and any(line.startswith("read before it was written: ") for line in lines) and lines[-1].startswith("highest: "), lines
    assert browser.evaluate("[...document.querySelectorAll('.cursor')].every((line) => !line.hidden)")  # in all charts

    whole, path, labels = browser.evaluate(view), browser.evaluate(first_path), browser.evaluate(ticks)
    assert len(set(whole)) == 1
    bins = int(whole[0].split()[2])
    browser.drag((box["x"] + 0.25 * box["width"], y), (box["x"] + 0.5 * box["width"], y))
    zoomed = browser.evaluate(view)
    start, _, length, _ = map(float, zoomed[0].split())
    assert len(set(zoomed)) == 1 and abs(start - bins / 4) < 0.01 * bins and abs(length - bins / 4) < 0.01 * bins, zoomed
    assert browser.evaluate(first_path) != path and browser.evaluate(ticks) != labels
    keep("zoomed.png", browser.screenshot(whole=False))
    x = box["x"] + 0.5 * box["width"]
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120, modifiers=2)  # with Ctrl
    nearer = browser.evaluate(view)
    assert float(nearer[0].split()[2]) < length, nearer
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=120, modifiers=8)  # with Shift
    assert float(browser.evaluate(view)[0].split()[0]) > float(nearer[0].split()[0])
    for action, changes in (("left", True), ("in", True), ("out", True), ("right", True), ("reset", True), ("reset", False)):
        before = browser.evaluate(view)
        browser.evaluate(f"document.querySelector('[data-action={action}]').click()")
        assert (browser.evaluate(view) != before) == changes, action
    assert browser.evaluate(view) == whole and browser.evaluate(first_path) == path and browser.evaluate(ticks) == labels
    assert browser.evaluate("document.querySelector('[data-action=out]').disabled")
    check_no_problems(browser, page)


if not Browser.path():
    print("SKIPPED: no Chromium is installed (on Debian the package chromium)")
    sys.exit(77)
with tempfile.TemporaryDirectory(dir="/var/tmp") as name, Browser() as browser:
    pages = make_pages(Path(name))
    for name, page in pages.items():
        check_looks(browser, name, page, LOOKS if name == "recording" else LOOKS[:2])
        check_print(browser, name, page)
    check_zoom(browser, pages["recording"])
    # The check of errors itself: it finds one.
    broken = Path(pages["recording"].parent, "broken.html")
    broken.write_text(pages["recording"].read_text().replace('"use strict";', '"use strict"; nowhere.to.be.found();'))
    browser.open(broken.as_uri(), 1280)
    assert browser.problems()
