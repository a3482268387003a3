# SPDX-License-Identifier: Apache-2.0
"""Compiles every header alone, in its language, with warnings as errors.

check_headers.py host     headers that need no toolkit, by the host compiler, without its include path
check_headers.py toolkit  the other .hpp, by the host compiler
check_headers.py nvcc     every .cuh, by nvcc's device pass
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
from headers import Graph, NEEDS, OF_TOOLKIT  # noqa: E402

graph = Graph(root)


def missing_package(output):
    """The optional package whose header the compiler did not find, if that is why it stopped."""
    lost = re.search(r"(?:fatal error: |could not open source file \")([\w/.+-]+)", output)
    optional = {need: pattern for need, pattern in NEEDS.items() if need != "cuda"}
    return lost and next((need for need, p in optional.items() if re.match(p, lost[1])), None)


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

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda h: compile_alone(h, command), headers))
    for header, verdict, output in results:
        print(f"{header}: {verdict}\n{output}".rstrip())
    if not results or any(verdict == "FAILED" for _, verdict, _ in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
