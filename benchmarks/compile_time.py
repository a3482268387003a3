# SPDX-License-Identifier: Apache-2.0
"""How long `#include <assay/assay.cuh>` takes to compile, beside `#include <cub/cub.cuh>`.

Runs nvcc on both in turn and writes the medians as JSON; the target is at most 1.25 times. The ratio
is of the compilers' CPU time, the median over pairs, so that other work on the machine weighs less; wall time is
told beside it. It weighs all the same: on a virtual machine of two cores the ratio of the same headers was 1.33 to
1.58 from one hour to another, as what shares caches and memory with them slows the longer compilation more.

It was 1.19 with the headers of the first experiments, 1.58 with the pool and transfers, and is 3.6 with all that came
since; without dispatch, races and the referee it is still about 3. In the 1.58 no header stood out:
<assay/assay.hpp> alone, which has no kernels, took 1.3 times the
time, each of its rooms (measure, report, transfer, the pool) a tenth of it; the kernels of copy strategies and of the
all-reduce added less than a tenth each. No standard header that could go costs 0.2 s, and without any of the 44 static
assertions the time was the same.

What keeps it low: nvcc reads host code three times, and lines cost it little. Standard templates made
for one more type do: over the three passes a std::span of a vector or a ranges algorithm 0.1 s, a map,
set or range insert 0.05 to 0.1 s, a sort, optional or unique_ptr 0.03 s; and umbrella headers such as
<filesystem> 0.3 s, <cuda/ptx> 0.8 s, <cuda/barrier> 2.5 s. std::copyable or
std::equality_comparable of one more type, as a static_assert of a concept asks them, cost 0.01 to 0.03 s
each; a requires-expression that says the same (`regular_value`) next to nothing. Prefer types that are
in use already; templates that nobody calls cost nothing, but what inline functions call is instantiated.
`nvcc -fdevice-time-trace FILE` tells what a header makes the compiler do.
"""
import argparse
import datetime
import json
import pathlib
import resource
import shlex
import statistics
import subprocess
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
HEADERS = {"assay": "assay/assay.cuh", "cub": "cub/cub.cuh"}


def seconds(nvcc, header, folder):
    """Of one compilation: wall time, and CPU time of nvcc and all that it starts."""
    source = folder / "unit.cu"
    source.write_text(f"#include <{header}>\n")
    command = [*shlex.split(nvcc), "-std=c++20", "-gencode=arch=compute_90,code=sm_90",
               f"-I{root / 'include'}", "-c", str(source), "-o", str(folder / "unit.o")]
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": time.perf_counter() - begin,
            "cpu": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the result")
    options = parser.parse_args()

    started_at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    times = {name: [] for name in HEADERS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name, header in HEADERS.items():
                times[name].append(seconds(options.nvcc, header, pathlib.Path(folder)))
    pairs = list(zip(times["assay"], times["cub"]))
    ratio = {clock: statistics.median(assay[clock] / cub[clock] for assay, cub in pairs) for clock in ("cpu", "wall")}
    median = {f"{name}_{suffix}": statistics.median(one[clock] for one in values)
              for name, values in times.items() for clock, suffix in (("cpu", "seconds"), ("wall", "wall_seconds"))}

    def said_by(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.strip()

    version = said_by(*shlex.split(options.nvcc), "--version")
    commit = said_by("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    result = {
        "schema": "assay.benchmark",
        "schema_version": 1,
        "benchmark": "compile_time",
        "environment": {"started_at": started_at, "compiler": version.splitlines()[-1], "commit": commit,
                        "command_line": f"compile_time.py --rounds {options.rounds} --json compile_time.json"},
        "figures": {"ratio": ratio["cpu"], "wall_ratio": ratio["wall"], **median, "seconds": times},
    }
    text = json.dumps(result, indent=2) + "\n"
    if options.json:
        temporary = options.json.with_suffix(".tmp")
        temporary.write_text(text)
        temporary.replace(options.json)
    print(text, end="")
    raise SystemExit(0 if ratio["cpu"] <= 1.25 else 1)


if __name__ == "__main__":
    main()
