# SPDX-License-Identifier: Apache-2.0
"""How good and how fast are verdicts from Python? Kernels of Triton of 50 us, with the package `assay` installed.

100 comparisons of a kernel with itself, 20 with one that does 2 % less work, a verdict in each of 5 fresh processes, and a
kernel of 5 us, which Python takes longer to launch than the GPU to run. Predicts: at most 9 false of 100, 20 of 20 found,
at most 1.5 s of measuring. Takes some 90 s: `python3 benchmarks/python_verdicts.py --json python_verdicts.json`.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import assay
import torch
import triton
import triton.language as tl

ELEMENTS = 3 << 23
BLOCK = 1024


@triton.jit
def scale(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def scaling(n, arrays=[]):
    """Scales so many of the same elements."""
    if not arrays:
        arrays += [torch.rand(ELEMENTS, device="cuda"), torch.empty(ELEMENTS, device="cuda")]
    return lambda: scale[(triton.cdiv(n, BLOCK),)](*arrays, n, block=BLOCK)


def compared(a, b, **options):
    found = assay.compare("a", scaling(a), "b", scaling(b), same_buffers=True, progress=False, **options)
    return found, {"verdict": found.verdict, "seconds": found.duration_seconds}


def trials(count, b):
    """Counts of verdicts of the whole kernel against one of `b` elements, and the seconds of one."""
    rows = [compared(ELEMENTS, b)[1] for _ in range(count)]
    said = [each["verdict"] for each in rows]
    seconds = [each["seconds"] for each in rows]
    return {"trials": count, "verdicts": {each: said.count(each) for each in sorted(set(said))},
            "median_seconds": statistics.median(seconds), "max_seconds": max(seconds)}


def in_fresh_processes(count):
    rows = []
    for _ in range(count):
        begin = time.monotonic()
        done = subprocess.run([sys.executable, __file__, "--one"], capture_output=True, text=True, check=True)
        rows.append({**json.loads(done.stdout.splitlines()[-1]), "process_seconds": time.monotonic() - begin})
    return {"measuring_seconds": max(each["seconds"] for each in rows),
            "median_process_seconds": statistics.median(each["process_seconds"] for each in rows), "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--commit", default="", help="of the package that is installed")
    parser.add_argument("--one", action="store_true", help="one verdict alone")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.one:
        scaling(ELEMENTS)()  # Triton compiles a kernel at its first launch, which is not measuring
        torch.cuda.synchronize()
        print(json.dumps(compared(ELEMENTS, ELEMENTS)[1]))
        return
    figures = {"fresh": in_fresh_processes(1 if options.quick else 5)}
    found, _ = compared(1 << 20, 1 << 20)
    seconds = found.variants[0].seconds
    figures["short"] = {"verdict": found.verdict, "clock": found.primary_clock,
                        **{f"{clock}_us": 1e6 * median for clock, median in (
                            ("gpu", seconds.gpu.median), ("submit", seconds.submit.median)) if median is not None}}
    figures["equal"] = trials(5 if options.quick else 100, ELEMENTS)
    figures["equal"]["false"] = sum(figures["equal"]["verdicts"].get(each, 0) for each in ("FASTER", "SLOWER"))
    # A number of elements that 16 does not divide makes Triton load them one by one, which is slower than all at once.
    figures["less"] = trials(2 if options.quick else 20, int(0.98 * ELEMENTS) // BLOCK * BLOCK)
    figures["less"]["found"] = figures["less"]["verdicts"].get("FASTER", 0)
    figures["versions"] = {each.__name__: each.__version__ for each in (torch, triton)}
    environment = {**json.loads(found.to_json())["environment"], "commit": options.commit,
                   "command_line": "python3 benchmarks/python_verdicts.py"}
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps({"schema": "assay.benchmark", "schema_version": 1, "benchmark": "python_verdicts",
                                            "environment": environment, "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
