# SPDX-License-Identifier: Apache-2.0
"""Builds assay's programs with every compiler, toolkit and CMake that is here, and prints a table.

Host compilers are g++-11 to -16 and clang++-14 to -23 on PATH, or g++ and clang++ where none has such a name. Toolkits
are those in CUDA_PATHS (folders with bin/nvcc, a colon between two), or the nvcc on PATH. CMAKE_PATHS names programs
cmake in the same way. Each compiler runs alone. What is not here is said so, and is no failure. Exit code 1: a cell failed.

  doors      the doors of the host, header-only, with the warnings of strict users as errors, as C++20 and as C++23
  no-rtti    -fno-rtti is refused by one line
  program    a comparison and a verification on the host, linked and run
  compiled   the same with the library of compiled mode
  nvcc       two_kernels.cu and a unit test, header-only and in compiled mode, with -c
  recipes    the recipes of the README by a CMake, strict warnings, unity builds and find_package twice
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
include = f"-I{root / 'include'}"

HOST_COMPILERS = [f"g++-{n}" for n in range(11, 17)] + [f"clang++-{n}" for n in range(14, 24)]
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wsign-conversion", "-Werror"]

PROGRAM = """
#include <assay/compare.hpp>
#include <assay/verify.hpp>

#include <cstddef>
#include <iostream>
#include <numeric>
#include <vector>

int main() {
  std::vector<int> const numbers(1000, 1);
  long sum = 0;
  auto const add = [&] { sum = std::accumulate(numbers.begin(), numbers.end(), 0L); };
  assay::options chosen;
  chosen.max_epochs = 8;
  std::cout << assay::compare("a", add, "b", add, chosen);
  auto const found = assay::verify([](assay::setup& make, std::size_t n) {
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    make.expect(y, [=](std::size_t i) { return 2.0 * x.seeded(i); });
    return [=] {
      for (std::size_t i = 0; i < n; ++i) { y.data()[i] = 2 * x.data()[i]; }
    };
  });
  std::cout << found;
  return found ? 0 : 1;
}
"""
DOORS = "#include <assay/race.hpp>\n#include <assay/referee.hpp>\n#include <assay/serve.hpp>\n" + PROGRAM


def first_error(output):
    """The compiler's own reason: its first line that has an error, without folders."""
    lines = output.splitlines()
    line = next((each for each in lines if re.search(r"\berror\b|undefined reference", each)), lines[-1] if lines else "")
    return re.sub(r"(?<![\w<])/?(?:[\w.+-]+/)+(?=[\w.+-]+:\d)", "", line).strip()[:200]


def run(*command, env=None, seconds=3600):
    """None where the command succeeds, else its output."""
    try:
        done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env=env, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"error: more than {seconds} s"
    return None if done.returncode == 0 else done.stdout + done.stderr or f"error: exit code {done.returncode}"


def refused(output):
    """None where the first error is the library's reason and the second the end, and there is no third."""
    errors = re.findall(r"^\S.*\berror: .*", output or "", re.MULTILINE)
    good = len(errors) == 2 and "assay needs run-time type information" in errors[0] and "assay stops here" in errors[1]
    return None if good else output or "error: it compiles"


def words(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout


def version_of(compiler):
    name = "Clang" if "clang" in pathlib.Path(compiler).name else "GCC"
    full = words(compiler, "-dumpfullversion" if name == "GCC" else "-dumpversion").strip()
    return f"{name} {full}"


def library_of(compiler):
    """The standard library by its GCC: Clang takes the newest that is installed."""
    macros = subprocess.run([compiler, "-std=c++20", "-dM", "-E", "-x", "c++", "-"], input="#include <version>\n",
                            capture_output=True, text=True, check=False).stdout
    found = re.search(r"#define _GLIBCXX_RELEASE (\d+)", macros)
    return f"libstdc++ {found[1]}" if found else "libc++"


class Matrix:
    def __init__(self, only, scratch, file):
        self.only, self.scratch, self.file, self.cells = only, scratch, file, []

    def cell(self, row, column, build):
        """Runs `build`, which returns None or an output that has the reason."""
        name = f"{row} {column}"
        if self.only and not re.search(self.only, name):
            return
        begin = time.monotonic()
        output = build()
        taken = time.monotonic() - begin
        result = "ok" if output is None else first_error(output)
        self.cells.append({"row": row, "column": column, "result": result, "seconds": round(taken, 1),
                           "date": datetime.date.today().isoformat()})
        if self.file:
            join(self.file, self.cells[-1])
        print(f"{row:42} {column:16} {taken:6.1f} s  {result}", flush=True)
        if output is not None:
            print("\n".join(f"    {line}" for line in output.splitlines()[:12]), flush=True)

    def absent(self, row):
        if not self.only or re.search(self.only, row):
            print(f"{row:42} not here", flush=True)

    def written(self, name, text):
        file = self.scratch / name
        file.write_text(text)
        return file

    def host(self, compiler):
        row = f"{version_of(compiler)}, {library_of(compiler)}"
        doors, program = self.written("doors.cpp", DOORS), self.written("program.cpp", PROGRAM)
        made = self.scratch / "program"
        for standard in ("20", "2b"):  # the name of C++23 that all of them know
            self.cell(row, f"doors C++{standard.replace('2b', '23')}",
                      lambda: run(compiler, f"-std=c++{standard}", *STRICT, include, "-fsyntax-only", doors))
        self.cell(row, "no-rtti", lambda: refused(run(compiler, "-std=c++20", "-fno-rtti", include, "-fsyntax-only", doors)))
        build = [compiler, "-std=c++20", "-O0", include, "-pthread", "-o", made, program]
        self.cell(row, "program", lambda: run(*build) or run(made))
        self.cell(row, "compiled",
                  lambda: run(*build, "-DASSAY_COMPILED", root / "src" / "assay.cpp", "-ldl") or run(made))

    def nvcc(self, toolkit, host):
        nvcc = toolkit / "bin" / "nvcc"
        release = re.search(r"V([\d.]+)", words(nvcc, "--version"))[1]
        row = f"nvcc {release}, {version_of(host)}"
        known = words(nvcc, "--help")
        made = self.scratch / "made.o"
        command = [nvcc, "-ccbin", host, include, "-arch=sm_90", "-O0", "-c", "-o", made]
        unit_test = self.written("unit_test.cu", (root / "examples" / "unit_test.cu").read_text()
                                 .replace("unit_test_kernels.cuh", str(root / "examples" / "unit_test_kernels.cuh"))
                                 .replace("catch2/catch_test_macros.hpp", "catch2/catch.hpp"))
        # nvcc drops C++23 where it does not know it of the host's compiler.
        empty = self.written("empty.cu", "")
        warned = subprocess.run([str(each) for each in [*command, "-std=c++23", empty]], capture_output=True, text=True,
                                check=False, stdin=subprocess.DEVNULL).stderr
        knows_23 = "c++23" in known and "not supported" not in warned
        for standard in ("20", "23"):
            if standard == "20" or knows_23:
                self.cell(row, f"two_kernels C++{standard}",
                          lambda: run(*command, f"-std=c++{standard}", root / "examples" / "two_kernels.cu"))
        self.cell(row, "unit_test", lambda: run(*command, "-std=c++20", "-rdc=true", "-Xcompiler=-Werror", unit_test))
        self.cell(row, "compiled", lambda: run(*command, "-std=c++20", "-DASSAY_COMPILED", root / "examples" / "two_kernels.cu")
                  or run(*command, "-std=c++20", "-DASSAY_COMPILED", root / "src" / "assay.cu"))

    def recipes(self, cmake):
        release = words(cmake, "--version").split()[2]
        script = root / "tests" / "consumer" / "recipes.py"
        for column, more in (("recipes", []), ("recipes, strict", ["--strict"])):
            self.cell(f"CMake {release}", column,
                      lambda: run(sys.executable, script, "--scratch", self.scratch / "recipes", "--cmake", cmake, *more))


def paths(variable, fallback):
    named = [pathlib.Path(each) for each in os.environ.get(variable, "").split(":") if each]
    return named or [pathlib.Path(each) for each in fallback if each]


def join(file, cell):
    """The cell replaces that of the same row and column in the file."""
    old = json.loads(file.read_text())["cells"] if file.exists() else []
    new = {(each["row"], each["column"]): each for each in [*old, cell]}
    file.write_text(json.dumps({"cells": list(new.values())}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="matrix.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", help="cells whose row and column match, such as 'GCC.* doors'")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="joins the cells into this file")
    parser.add_argument("--quick", action="store_true", help="the doors as C++20 and no-rtti, by the oldest and the newest GCC and Clang")
    options = parser.parse_args()
    if options.quick:
        options.only = r"(GCC|Clang) [\d.]+, lib.* (doors C\+\+20|no-rtti)"

    with tempfile.TemporaryDirectory() as scratch:
        matrix = Matrix(options.only, pathlib.Path(scratch), options.json)
        here = [each for each in HOST_COMPILERS if shutil.which(each)]
        for compiler in HOST_COMPILERS:
            if compiler not in here:
                matrix.absent(compiler)
        here = here or [each for each in ("g++", "clang++") if shutil.which(each)]
        if options.quick:  # what one between them refuses, one of them has nearly always refused too
            kinds = [[each for each in here if each.startswith(kind)] for kind in ("g++", "clang++")]
            here = [each for kind in kinds for each in dict.fromkeys(kind[:1] + kind[-1:])]
        for compiler in here:
            matrix.host(compiler)
        found = shutil.which("nvcc")
        toolkits = paths("CUDA_PATHS", [found and pathlib.Path(found).resolve().parent.parent])
        for toolkit in toolkits:
            if not (toolkit / "bin" / "nvcc").exists():
                matrix.absent(f"nvcc in {toolkit}")
                continue
            for host in here:
                matrix.nvcc(toolkit, host)
        if not toolkits:
            matrix.absent("nvcc")
        for cmake in paths("CMAKE_PATHS", [shutil.which("cmake")]):
            matrix.recipes(cmake)
    failed = [each for each in matrix.cells if each["result"] != "ok"]
    print(f"{len(matrix.cells)} cells on {platform.machine()}, {len(failed)} failed")
    sys.exit(1 if failed or not matrix.cells else 0)


if __name__ == "__main__":
    main()
