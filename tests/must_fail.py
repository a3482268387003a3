# SPDX-License-Identifier: Apache-2.0
"""must_fail.py FILE COMPILER...: the compiler must refuse FILE with the text its first line expects."""
import pathlib
import subprocess
import sys

source, *compiler = sys.argv[1:]
first = pathlib.Path(source).read_text().splitlines()[0]
marker = "// expect-error: "
if not first.startswith(marker):
    sys.exit(f"{source}: the first line must be `{marker}TEXT`")
expected = first[len(marker):].strip()

done = subprocess.run([*compiler, source], stdin=subprocess.DEVNULL, capture_output=True, text=True)
output = done.stdout + done.stderr
if done.returncode == 0:
    sys.exit(f"{source} compiles, and must not")
if expected not in output:
    sys.exit(f"{source} is refused, but not with `{expected}`:\n{output[:8000]}")
