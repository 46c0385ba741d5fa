# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tier report` writes a page that stands alone, and trace events: check_report.py TOOL MAKE-RECORDING"""
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

TOOL, MAKE_RECORDING = sys.argv[1:3]
UNTIMED = "H tmtrace=1 net=tiny\nT 0 4096 p w\nT 1 8192 a y\nK fc_f f 10 R 0 W 1 U -\nK sgd u 1 R 1 W - U 0\nX 1\nI\n"
VOID = {"meta", "br", "hr", "img", "link", "input"}
LIMIT = 20_000  # bytes of a file, where one is to be too large


def run(*arguments, **options):
    return subprocess.run([TOOL, "report", *map(str, arguments)], capture_output=True, text=True, **options)


def make(file, *arguments):
    subprocess.run([MAKE_RECORDING, str(file), *map(str, arguments)], check=True)
    return file


def report(trace, *more):
    page = trace.with_suffix(".html")
    ended = run(trace, "-o", page, *more)
    assert ended.returncode == 0 and ended.stdout + ended.stderr == "", ended
    return page.read_text()


class Page(HTMLParser):
    """Whether tags are closed in their order, what is loaded from elsewhere, and the text of cells."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.tags, self.tables, self.text = [], [], defaultdict(int), [], ""
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        for name, value in attributes:
            if name in ("src", "href", "srcset", "action", "data") or name.startswith("on") or "url(" in (value or ""):
                self.problems.append(f"{tag} has {name}={value}")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):  # <path/>
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def check_structure(text):
    page = Page(text)
    assert not page.problems, page.problems[:5]
    for word in ("http:", "https:", "@import", "url("):  # but for the name of SVG, which nobody loads
        assert word not in text.replace('xmlns="http://www.w3.org/2000/svg"', ""), word
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert len(pictures) == len(data["charts"]) == page.tags["figure"] > 0
    for picture, chart in zip(pictures, data["charts"]):
        root = ElementTree.fromstring(picture)
        width = float(root.get("viewBox").split()[2])
        assert width == data["bins"], (width, data["bins"])
        areas = root.findall("./{*}g/{*}path")
        assert len(areas) == len(chart["layers"])
        for path in areas:
            numbers = re.fullmatch(r"M0 ([\d.]+)(?:H\d+|V[\d.]+)+V1000H0Z", path.get("d"))
            assert numbers, path.get("d")[:200]
            assert all(float(x) <= width for x in re.findall(r"H(\d+)", path.get("d")))
            assert all(0 <= float(y) <= 1000 for y in re.findall(r"V([\d.]+)", path.get("d")))
        for layer in chart["layers"]:
            assert sum(v[1] if isinstance(v, list) else 1 for v in layer["values"]) == data["bins"]
    return page


def table_with(page, first):
    return next(rows for rows in page.tables if rows[0][0] == first)


def check_page(folder):
    trace = make(folder / "run.trace", 1, 12, 4)
    page = check_structure(report(trace))
    moved = defaultdict(lambda: [0, 0])
    for line in trace.read_text().splitlines():
        if line.startswith("m "):
            _, _, _, source, to, size, cause, *_ = line.split()
            moved[source, to, cause][0] += 1
            moved[source, to, cause][1] += int(size)
    rows = table_with(page, "From")[1:]
    assert len(rows) == len(moved) > 2
    for source, to, cause, count, size, *_ in rows:
        assert int(count.replace(",", "")) == moved[source, to, cause][0], (source, to, cause)
        assert size == f"{moved[source, to, cause][1] / 2**20:.2f} MiB", (size, moved[source, to, cause])
    for heading in ("What was in each tier", "What moved, and why", "Where threads waited", "Objects that moved most",
                    "Hints that came too late", "Kernels that never hit", "Kernels", "What was run"):  # fmt: skip
        assert heading in page.text, heading
    assert "embed_f" in [row[0] for row in table_with(page, "Kernel")]  # its table fits no fast memory: it never hits
    assert ["policy", "hint_aware:mode=LM"] in table_with(page, "Setting")
    assert report(trace) == report(trace)  # nothing in it is by chance


def check_hostile(folder):
    trace = make(folder / "hostile.trace", 2, 20, 3, "hostile")
    page = check_structure(report(trace))
    assert page.tags["script"] == 2 and page.tags["style"] == 1 and page.tags["img"] == 0
    assert "<img/src=x/onerror=document.title='hacked'>" in page.text and "</script><script>" in page.text
    named = os.fsencode(folder) + b"/gr\xfc\xdf <i>.trace"  # which is no UTF-8, as a page is
    trace.rename(os.fsdecode(named))
    ended = subprocess.run([TOOL, "report", named, "-o", trace.with_suffix(".html")], capture_output=True)
    assert ended.returncode == 0, ended
    assert "gr\ufffd\ufffd <i>.trace" in check_structure(trace.with_suffix(".html").read_text(encoding="utf-8")).text


def check_untimed(folder):
    trace = folder / "untimed.trace.gz"
    trace.write_bytes(gzip.compress(UNTIMED.encode()))
    page = folder / "untimed.html"
    assert run(trace, "--output", page).returncode == 0
    parsed = check_structure(page.read_text())
    assert "TIER_TRACE=FILE" in parsed.text and "Bytes alive" in parsed.text and "Largest objects" in parsed.text
    assert ["y", "activations", "1", "8.00 KiB"] in table_with(parsed, "Object")


def events_of(folder, trace, timed=True):
    """Checks what holds for all events, and sorts them."""
    out = folder / "events.json"
    ended = run(trace, "--perfetto", out)
    assert ended.returncode == 0 and ended.stdout + ended.stderr == "", ended
    whole = json.loads(out.read_text())
    assert ("as recorded" == whole["otherData"]["time"]) == timed
    by_phase = defaultdict(list)
    for event in whole["traceEvents"]:
        assert event["ts"] >= 0 and event["pid"] in range(1, 6), event
        by_phase[event["ph"]].append(event)
    tracks = defaultdict(list)
    for event in by_phase["X"]:
        tracks[event["pid"], event["tid"]].append((round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)))
    named = {(event["pid"], event["tid"]) for event in by_phase["M"] if event["name"] == "thread_name"}
    assert set(tracks) <= named
    for slices in tracks.values():  # one after the other, or one within the other
        open_until = []
        for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], (start, end, open_until)
            open_until.append(end)
    return by_phase


def check_perfetto(folder):
    trace = make(folder / "perfetto.trace", 4, 10, 3)
    lines = trace.read_text().splitlines()
    events = events_of(folder, trace)
    kinds = {1: "k ", 2: "m ", 3: "s "}
    for pid, start in kinds.items():
        found = [event for event in events["X"] if event["pid"] == pid]
        assert len(found) == sum(line.startswith(start) for line in lines) > 0, pid
    moved = sum(event["args"]["bytes"] for event in events["X"] if event["pid"] == 2)
    assert moved == sum(int(line.split()[5]) for line in lines if line.startswith("m "))
    first = next(line.split() for line in lines if line.startswith("k "))
    kernel = min((event for event in events["X"] if event["pid"] == 1), key=lambda event: event["ts"])
    assert round(kernel["ts"] * 1000) == int(first[2]) and round(kernel["dur"] * 1000) == int(first[3]), (kernel, first)
    assert len(events["i"]) == sum(line.startswith(("h ", "f ")) for line in lines) > 0
    counters = defaultdict(list)
    for event in events["C"]:
        counters[event["name"]].append(event["args"]["bytes"])
    assert set(counters) == {"dram", "emulated:cxl"}
    for values in counters.values():
        assert min(values) >= 0
    assert 0 < max(counters["dram"]) <= 96 << 20

    events_of(folder, make(folder / "perfetto_hostile.trace", 5, 10, 2, "hostile"))
    untimed = folder / "untimed.trace"
    untimed.write_text(UNTIMED)
    events = events_of(folder, untimed, timed=False)
    assert [(event["name"], event["ts"], event["dur"]) for event in events["X"]] == [("fc_f", 0, 1), ("sgd", 1, 1)]
    assert [(event["ts"], event["args"]["bytes"]) for event in events["C"]] == [(0, 12288), (2, 4096)]


def check_errors(folder):
    trace = folder / "untimed.trace"
    trace.write_text(UNTIMED)
    page, events = folder / "page.html", folder / "events.json"
    ended = run(trace)
    assert ended.returncode != 0 and "-o" in ended.stderr + ended.stdout and "--perfetto" in ended.stderr, ended
    for arguments in ((), ("-o", page), (trace, "-o"), (trace, "-o", page, "--nonsense"), (trace, trace, "-o", page)):
        ended = run(*arguments)
        assert ended.returncode != 0 and ended.stdout == "" and ended.stderr != "", ended
    for one, other, what in (("-", "-", "the standard output"), (page, page, f'"{page}"'), (page, f"{folder}/./page.html", '"')):
        ended = run(trace, "-o", one, "--perfetto", other)
        assert ended.returncode == 1 and f"--output and --perfetto cannot both be {what}" in ended.stderr, ended
        assert ended.stdout == "" and not page.exists(), ended
    assert run(trace, "-o", "/dev/null", "--perfetto", "/dev/null").returncode == 0
    ended = run(folder / "none", "-o", page)
    assert ended.returncode == 1 and ended.stderr == f'tier: open of "{folder}/none": No such file or directory\n', ended
    trace.write_text(UNTIMED.replace("X 1", "X 7"))
    ended = run(trace, "-o", page, "--perfetto", events)
    assert ended.returncode == 1 and ended.stderr.startswith(f"tier: {trace}:6: tensor 7 is not declared"), ended
    trace.write_text(UNTIMED)
    for option, what in (("line", "a line"), ("text", "a text"), ("memory", "a trace that takes")):
        ended = run(trace, "-o", page, f"--max-{option}", "20")
        assert ended.returncode == 1 and f": {what}" in ended.stderr and "more than 20" in ended.stderr, ended
    ended = run(trace, "-o", folder / "none" / "page.html")
    assert ended.returncode == 1 and f'open of "{folder}/none/page.html": No such file or directory' in ended.stderr, ended
    ended = run(trace, "-o", "/dev/full")
    assert ended.returncode == 1 and 'write of "/dev/full": No space left on device' in ended.stderr, ended
    assert not page.exists() and not events.exists()

    # An output that cannot be written whole leaves what was there; the one before it is whole.
    large = make(folder / "large.trace", 6, 12, 4)
    page.write_text("as it was")
    names = sorted(os.listdir(folder))
    ignored = dict(restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)))
    for arguments in (("-o", page), ("--perfetto", page)):
        ended = run(large, *arguments, **ignored)
        assert ended.returncode == 1 and ended.stderr == f'tier: write of "{page}": File too large\n', ended
        assert page.read_text() == "as it was" and sorted(os.listdir(folder)) == names
    ended = run(large, "-o", page, "--perfetto", events)
    assert ended.returncode == 0 and page.read_text().endswith("</html>\n") and json.loads(events.read_text()), ended


def check_help():
    ended = run("--help")
    assert ended.returncode == 0 and re.search(r"Examples:\n  tier report ", ended.stdout), ended
    for option in ("--output", "--perfetto", "--max-line", "--max-text", "--max-memory", "TIER_TRACE=FILE"):
        assert option in ended.stdout, option


signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # inherited where signals are not restored: writing fails instead
for check in (check_page, check_hostile, check_untimed, check_perfetto, check_errors):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        check(Path(name))
check_help()
