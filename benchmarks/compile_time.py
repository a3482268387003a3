# SPDX-License-Identifier: Apache-2.0
"""How long `#include <assay/assay.cuh>` takes to compile, beside `#include <cub/cub.cuh>`.

Runs nvcc on both in turn and writes the medians as JSON; the target is at most 1.25 times.
"""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
HEADERS = {"assay": "assay/assay.cuh", "cub": "cub/cub.cuh"}


def seconds(nvcc, header, folder):
    source = folder / "unit.cu"
    source.write_text(f"#include <{header}>\n")
    command = [*shlex.split(nvcc), "-std=c++20", "-gencode=arch=compute_90,code=sm_90",
               f"-I{root / 'include'}", "-c", str(source), "-o", str(folder / "unit.o")]
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the result")
    options = parser.parse_args()

    times = {name: [] for name in HEADERS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name, header in HEADERS.items():
                times[name].append(seconds(options.nvcc, header, pathlib.Path(folder)))
    median = {name: statistics.median(values) for name, values in times.items()}
    ratio = statistics.median(a / c for a, c in zip(times["assay"], times["cub"]))
    version = subprocess.run([*shlex.split(options.nvcc), "--version"], capture_output=True, text=True, check=True)
    result = {
        "schema": "assay.benchmark",
        "schema_version": 1,
        "benchmark": "compile_time",
        "environment": {"compiler": version.stdout.strip().splitlines()[-1]},
        "figures": {"ratio": ratio, "assay_seconds": median["assay"], "cub_seconds": median["cub"],
                    "seconds": times},
    }
    text = json.dumps(result, indent=2) + "\n"
    if options.json:
        temporary = options.json.with_suffix(".tmp")
        temporary.write_text(text)
        temporary.replace(options.json)
    print(text, end="")
    raise SystemExit(0 if ratio <= 1.25 else 1)


if __name__ == "__main__":
    main()
