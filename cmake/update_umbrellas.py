# SPDX-License-Identifier: Apache-2.0
"""Writes the umbrella headers from the headers that there are; --check only says what is missing."""
import argparse
import pathlib

from headers import Graph, umbrella_includes

ABOUT = {
    "no_cuda.hpp": "All headers that need no CUDA toolkit, but those of the trace, which are in\n"
                   "/// trace.hpp, and of the page.",
    "assay.hpp": "All headers that need no nvcc: those of no_cuda.hpp, and those that need the toolkit's\n"
                 "/// headers and runtime; but those of the trace.",
    "assay.cuh": "Everything, for nvcc; but the trace is in trace.hpp, and what needs an optional package is\n"
                 "/// included by its name.",
    "trace.hpp": "All of the trace that needs no CUDA toolkit and no optional package; the rest is included\n"
                 "/// by its name.",
}


def text(name, included):
    lines = "".join(f"#include <assay/{header}>\n" for header in included)
    return f"// SPDX-License-Identifier: Apache-2.0\n/// @file\n/// {ABOUT[name]}\n#pragma once\n\n{lines}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    graph = Graph(options.root)
    stale = 0
    for name, included in umbrella_includes(graph).items():
        path = graph.base / name
        before = path.read_text() if path.exists() else ""
        after = text(name, included)
        if before == after:
            continue
        stale += 1
        old, new = set(before.splitlines()), set(after.splitlines())
        for line in sorted(new - old):
            print(f"{name}: + {line}")
        for line in sorted(old - new):
            print(f"{name}: - {line}")
        if not options.check:
            path.write_text(after)
    if stale and options.check:
        raise SystemExit("the umbrellas are stale: run `python3 cmake/update_umbrellas.py`")


if __name__ == "__main__":
    main()
