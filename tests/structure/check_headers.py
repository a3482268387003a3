# SPDX-License-Identifier: Apache-2.0
"""Compiles every header alone, in its language, with warnings as errors.

check_headers.py host     headers that need no toolkit, by the host compiler, without its include path
check_headers.py toolkit  the other .hpp, by the host compiler
check_headers.py nvcc     every .cuh, by nvcc's device pass

A header with which another one begins is compiled first thing with that one, and on its own only
where that failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from headers import Graph, INCLUDE, NEEDS, OF_TOOLKIT  # noqa: E402

graph = Graph(root)


def missing_package(output):
    """The optional package whose header the compiler did not find, if that is why it stopped."""
    lost = re.search(r"(?:fatal error: |could not open source file \")([\w/.+-]+)", output)
    optional = {need: pattern for need, pattern in NEEDS.items() if need != "cuda"}
    return lost and next((need for need, p in optional.items() if re.match(p, lost[1])), None)


def begins_with(header):
    """The own header that this one includes before it says anything else, or None."""
    for line in (graph.base / header).read_text().splitlines():
        if line.strip() and not line.startswith(("//", "#pragma once")):
            first = INCLUDE.match(line)
            return first[2].removeprefix("assay/") if first and first[2].startswith("assay/") else None
    return None


def compile_alone(header, command):
    if "cuda_mr" in graph.needs(header):
        command = [*command, "-DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE"]
    source = f"#include <assay/{header}>\n#include <assay/{header}>\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if done.returncode == 0:
        return header, "ok", ""
    if (package := missing_package(output)):
        return header, f"left out: {package} is not installed", ""
    return header, "FAILED", output[:6000]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", choices=["host", "toolkit", "nvcc"])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--system-include", action="append", default=[])
    options = parser.parse_args()

    wanted = {
        "host": lambda h: h.endswith(".hpp") and not graph.needs(h) & OF_TOOLKIT,
        "toolkit": lambda h: h.endswith(".hpp") and graph.needs(h) & OF_TOOLKIT,
        "nvcc": lambda h: h.endswith(".cuh"),
    }[options.which]
    headers = [h for h in graph.headers if wanted(h)]

    command = [*shlex.split(options.compiler), "-std=c++20", f"-I{root / 'include'}"]
    if options.which == "nvcc":
        command += ["-ptx", "-arch=compute_90", "-o", os.devnull, "-x", "cu", "-Werror=all-warnings", "-"]
    else:
        for directory in options.system_include:
            command += ["-isystem", directory]
        command += ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only", "-x", "c++", "-"]

    # Of one language, and without a macro that the other is not compiled with.
    beginners = {}
    for header in headers:
        if (first := begins_with(header)) in headers and "cuda_mr" not in graph.needs(header):
            beginners.setdefault(first, header)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        alone = [h for h in headers if h not in beginners]
        results = list(pool.map(lambda h: compile_alone(h, command), alone))
        passed = {header for header, verdict, _ in results if verdict == "ok"}

        def last_of_chain(header):
            while header in beginners:
                header = beginners[header]
            return header

        within = [h for h in beginners if last_of_chain(h) in passed]
        results += [(h, f"ok, with {last_of_chain(h)}", "") for h in within]
        rest = [h for h in beginners if h not in within]
        results += pool.map(lambda h: compile_alone(h, command), rest)
    for header, verdict, output in sorted(results):
        print(f"{header}: {verdict}\n{output}".rstrip())
    if not results or any(verdict == "FAILED" for _, verdict, _ in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
