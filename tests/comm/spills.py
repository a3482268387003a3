# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of comm::all_reduce for an architecture or more; fails where ptxas spills registers."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Three numbers of ranks: four kernels for each of three types, one for each of two, two more copy strategies.
LEAST_KERNELS = 48
PROPERTIES = re.compile(r"Function properties for (\S+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, "
                        r"(\d+) bytes spill loads")


def spills(report):
    """The number of functions in a report of `ptxas -v`, and a line for each that spills."""
    functions = PROPERTIES.findall(report)
    return len(functions), [f"{name}: {stores} bytes of spill stores, {loads} bytes of spill loads"
                            for name, _, stores, loads in functions if int(stores) or int(loads)]


def compile_for(architecture, options):
    unit = pathlib.Path(__file__).with_name("spills.cuh")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [options.compiler, "-std=c++20", "--expt-relaxed-constexpr", "-x", "cu", "-cubin", f"-arch=sm_{architecture}",
             "-Xptxas", "-v", "-I", options.include, str(unit), "-o", f"{folder}/kernels.cubin"],
            capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sm_{architecture}: {done.stderr}")
    return done.stderr + done.stdout


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--compiler", default="nvcc")
    arguments.add_argument("--include", default=str(pathlib.Path(__file__).parents[2] / "include"))
    arguments.add_argument("--architectures", type=int, nargs="+", default=[90],
                           help="such as 80 90 100 120, which `cmake/gpu.sh architectures` compiles for")
    options = arguments.parse_args()
    failed = False
    for architecture in options.architectures:
        count, found = spills(compile_for(architecture, options))
        if count < LEAST_KERNELS:
            found.append(f"ptxas reported {count} functions only, and {LEAST_KERNELS} or more were expected")
        for line in found:
            print(f"sm_{architecture}: {line}")
        failed = failed or bool(found)
        print(f"sm_{architecture}: {count} functions")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
