# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/summary.py counts what ctest really says of tests that pass, fail, are skipped or cannot start:
check_summary.py CTEST"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import sources

CTEST = sys.argv[1]
DOCTEST = f"""{'=' * 79}
a_test.cpp:7: MESSAGE: a test that passed
{'=' * 79}
a_test.cpp:9:
TEST CASE:  one

a_test.cpp:11: ERROR: CHECK( 1 == 2 ) is NOT correct!
{'=' * 79}
"""
TESTS = {
    "passes": (["true"], ""),
    "passes_in_part": (["echo", "SKIPPED: no second node\nSKIPPED: no second node\nSKIPPED: no disk"], ""),
    "skips": (["sh", "-c", "exit 77"], "SKIP_RETURN_CODE 77"),
    "disabled": (["true"], "DISABLED ON"),
    "fails": (["sh", "-c", "seq 40; exit 1"], ""),
    "fails_in_doctest": (["sh", "-c", "echo 'no part of it'; cat doctest; exit 1"], ""),
    "is_killed": (["sh", "-c", "kill -9 $$"], ""),
    "takes_too_long": (["sleep", "60"], "TIMEOUT 1"),
    "is_not_there": (["/none/such"], ""),
}


def ran(folder, preset, names):
    """Lets ctest run tests, as scripts/test does."""
    lines = []
    for name in names:
        command, properties = TESTS[name]
        lines.append(f"add_test({name} " + " ".join(f"[==[{word}]==]" for word in command) + ")")
        if properties:
            lines.append(f"set_tests_properties({name} PROPERTIES {properties})")
    (folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
    (folder / "doctest").write_text(DOCTEST)
    ended = subprocess.run([CTEST, "--output-junit", folder / f"{preset}.xml"], cwd=folder, capture_output=True)
    if ended.returncode != 0:
        (folder / f"{preset}.failed").touch()


def summary(folder, *presets):
    command = [sys.executable, sources.ROOT / "scripts" / "summary.py", folder, *presets]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.stderr == "", ended.stderr
    return ended.stdout, ended.returncode


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    ran(folder, "good", ["passes", "passes_in_part", "skips", "disabled"])
    (folder / "good.left_out").write_text("the slow ones\n")
    text, code = summary(folder, "good")
    assert code == 0 and text.endswith("\n2 passed, 0 failed, 2 skipped\n"), text
    assert "left to --long: the slow ones" in text and "skipped: skips" in text and "skipped: disabled" in text, text
    assert text.count("without: no second node") == 1 and "passed in part: passes_in_part" in text, text

    ran(folder, "bad", TESTS)
    (folder / "unbuilt.unbuilt").touch()
    text, code = summary(folder, "good", "bad", "unbuilt", "absent")
    assert code == 1 and text.endswith("\n4 passed, 7 failed, 4 skipped\n"), text
    failed = re.findall(r"^failed: (\w+): (\w+)$", text, re.MULTILINE)
    wrong = ["fails", "fails_in_doctest", "is_killed", "takes_too_long", "is_not_there"]
    assert failed == [("bad", test) for test in wrong] + [("unbuilt", "build"), ("absent", "ctest")], text
    reasons = text[text.index("failed: bad: fails_in_doctest") : text.index("failed: bad: is_killed")]
    assert "1 == 2" in reasons and "no part of it" not in reasons and "that passed" not in reasons, reasons
    assert "\n  40\n" in text and "\n  15\n" not in text, text  # the last lines of a long output

    ran(folder, "alone", ["passes"])
    (folder / "alone.failed").touch()  # ctest itself was wrong
    assert summary(folder, "alone")[1] == 1
    ran(folder, "empty", [])
    assert summary(folder, "empty")[1] == 1

print("summary.py: as ctest says")
