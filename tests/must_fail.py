# SPDX-License-Identifier: Apache-2.0
"""must_fail.py FILE COMPILER...: the compiler must refuse FILE with the text its first line expects.

With `expect-only-error` in place of `expect-error`, that is the one error."""
import pathlib
import re
import subprocess
import sys

source, *compiler = sys.argv[1:]
first = pathlib.Path(source).read_text().splitlines()[0]
marker = re.match(r"// expect-(only-)?error: (.*)", first)
if not marker:
    sys.exit(f"{source}: the first line must be `// expect-error: TEXT`")
only, expected = marker.groups()
expected = expected.strip()

done = subprocess.run([*compiler, source], stdin=subprocess.DEVNULL, capture_output=True, text=True)
output = done.stdout + done.stderr
if done.returncode == 0:
    sys.exit(f"{source} compiles, and must not")
if expected not in output:
    sys.exit(f"{source} is refused, but not with `{expected}`:\n{output[:8000]}")
if only and (errors := len(re.findall(r"\berror\b.*:", output))) != 1:
    sys.exit(f"{source} is refused with {errors} errors, and must be with one:\n{output[:8000]}")
