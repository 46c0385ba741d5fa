# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up what ctest wrote for each preset, says what tests that passed have left out, and why others failed:
summary.py FOLDER PRESET..."""
import re
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

lines_of_a_failure = 25


def outcome(case):
    """passed, failed or skipped. A test that could not be started is a failure, not a skip."""
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    meant = case.get("status") == "disabled" or (
        skipped is not None and skipped.get("message", "").startswith("SKIP_")
    )
    return "skipped" if meant else "failed"


def left_out(case):
    """What a test that ran says it could not try here, each once."""
    return dict.fromkeys(re.findall(r"SKIPPED: (.*)", case.findtext("system-out") or ""))


def failures(case):
    """What a test that failed says of it: doctest's paragraphs with errors, what a sanitizer says; or how it ended."""
    output = case.findtext("system-out") or ""
    # Without what emulated machines print on their way, if there is more.
    output = re.sub(r"^[A-Z][\w-]*\| .*\n", "", output, flags=re.M) or output
    wrong = re.compile("ERROR: |WARNING: ThreadSanitizer|: runtime error: ")
    found = [part.strip() for part in re.split(r"^={70,}$", output, flags=re.M) if wrong.search(part)]
    lines = "\n".join(found).splitlines() or output.strip().splitlines()[-lines_of_a_failure:]
    more = len(lines) - lines_of_a_failure
    return lines[:lines_of_a_failure] + ([f"({more} lines more)"] if more > 0 else [])


def results(folder, preset):
    """[(test, outcome, what it left out or why it failed)] of one preset; a preset without results is one failure."""
    report = folder / f"{preset}.xml"
    if not report.exists():
        return [("build" if (folder / f"{preset}.unbuilt").exists() else "ctest", "failed", [])]
    cases = []
    for case in xml.parse(report).iter("testcase"):
        found = outcome(case)
        cases.append((case.get("name"), found, failures(case) if found == "failed" else left_out(case)))
    if (folder / f"{preset}.failed").exists() and not any(found == "failed" for _, found, _ in cases):
        cases.append(("ctest", "failed", []))
    return cases


def main():
    folder, presets = Path(sys.argv[1]), sys.argv[2:]
    total = Counter()
    failed = []
    for preset in presets:
        cases = results(folder, preset)
        counts = Counter(found for _, found, _ in cases)
        total += counts
        print(f"{preset:8} {counts['passed']:4} passed {counts['failed']:4} failed {counts['skipped']:4} skipped")
        if (folder / f"{preset}.left_out").exists():
            print(f"           left to --long: {(folder / f'{preset}.left_out').read_text().strip()}")
        for name, found, parts in cases:
            if found != "passed":
                print(f"           {found}: {name}")
            elif parts:
                print(f"           passed in part: {name}", *parts, sep="\n             without: ")
            if found == "failed":
                failed.append((preset, name, parts))
    for preset, name, parts in failed:  # at the end, which is read first
        print(f"failed: {preset}: {name}", *parts, sep="\n  ")
    skipped = f", {total['skipped']} skipped" if total["skipped"] else ""
    print(f"{total['passed']} passed, {total['failed']} failed{skipped}")
    return 1 if total["failed"] or not total["passed"] else 0


sys.exit(main())
