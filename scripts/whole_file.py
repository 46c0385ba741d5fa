# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that appear as a whole or not at all: what was there before stays until then."""
import os


def write_whole(path, text):
    """Beside its place, then moved there; a pipe or a device is written into."""
    if path.exists() and not path.is_file():
        path.write_text(text)
        return
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        beside.write_text(text)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
