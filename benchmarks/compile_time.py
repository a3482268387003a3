# SPDX-License-Identifier: Apache-2.0
"""How long programs of assay take to compile, in both modes, beside `#include <cub/cub.cuh>`.

Runs nvcc on each unit in turn and writes the medians as JSON: `<assay/compare.cuh>` alone and the program two_kernels,
header-only and with -DASSAY_COMPILED; a kernel alone, and with its unit test in compiled mode; in that mode the program
see_why and all files of the experiment null_cast; and once the libraries that the compiled mode links. Needs CUPTI, CLI11 and nlohmann_json. Ratios are of the compilers' CPU
time, the median over rounds, so that other work on the machine weighs less. It weighs all the same: on a virtual machine
of two cores the ratio of the same headers was 1.33 to 1.58 from one hour to another, as what shares caches and memory with
them slows the longer compilation more.

What keeps it low: nvcc reads host code three times, and lines cost it little. Standard templates made
for one more type do: over the three passes a std::span of a vector or a ranges algorithm 0.1 s, a map,
set or range insert 0.05 to 0.1 s, a sort, optional or unique_ptr 0.03 s; and headers as large as
<filesystem> 0.3 s, <cuda/ptx> 0.8 s, <cuda/barrier> 2.5 s. A vector that grows or a map of one more type
makes some 20 and 36 functions, make_shared 26 and shared_ptr{new T} 11. A sum of eight texts compiles to
twice the code of concat (core/concat.hpp). So doors erase the types of callables and arrays
(callables/callable.hpp, arrays/setup.hpp), and what stands behind them is compiled once.
`nvcc -fdevice-time-trace FILE` tells what a header makes the compiler do.
"""
import argparse
import datetime
import json
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
COMPARE = "#include <assay/compare.cuh>\n"
TWO_KERNELS = "examples/two_kernels.cu"
KERNEL = """#include <cstddef>
__global__ void scale(std::size_t n, float const* x, float* y) {
  auto const i = blockIdx.x * std::size_t{256} + threadIdx.x;
  if (i < n) { y[i] = 2 * x[i]; }
}
"""
UNIT_TEST = "#include <assay/verify.cuh>\n" + KERNEL + """
bool is_right() {
  return static_cast<bool>(assay::verify([](assay::setup& make, std::size_t n) {
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
    return [=](cudaStream_t s) { scale<<<n / 256 + 1, 256, 0, s>>>(n, x.data(), y.data()); };
  }));
}
"""
# Texts, or files of this tree, and whether they are compiled in compiled mode.
LIBRARY = ("assay.cpp", "assay_reports.cpp", "assay_traces.cpp", "assay_pool.cpp", "assay.cu")
OPTIONAL_LIBRARIES = ("assay_cli.cpp", "assay_cupti.cpp")
LESS_OPTIMISED = ("assay_reports.cpp", "assay_cli.cpp")
UNITS = {"cub": (["#include <cub/cub.cuh>\n"], False),
         "compare_header_only": ([COMPARE], False), "compare_compiled": ([COMPARE], True),
         "two_kernels_header_only": ([TWO_KERNELS], False), "two_kernels_compiled": ([TWO_KERNELS], True),
         "kernel": ([KERNEL], False), "unit_test_compiled": ([UNIT_TEST], True),
         "see_why_compiled": (["examples/see_why.cu"], True),
         "null_cast_compiled": (["examples/null_cast/null_cast.cpp", "examples/tracing/cupti.cpp"], True)}


def seconds(command):
    """Of one compilation: wall time, and CPU time of the compiler and all that it starts."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": time.perf_counter() - begin,
            "cpu": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime}


def weak_symbols(object_file):
    """Functions and data of an object file that other units may have too."""
    listed = subprocess.run(["nm", object_file], capture_output=True, text=True, check=True).stdout
    return sum(1 for line in listed.splitlines() if len(line.split()) > 1 and line.split()[-2] in "WVu")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the result")
    options = parser.parse_args()

    started_at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    times = {name: [] for name in UNITS}
    symbols = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        toolkit = pathlib.Path(shutil.which(shlex.split(options.nvcc)[0])).resolve().parents[1]
        common = ["-std=c++20", '-DASSAY_COMMIT=""', f"-I{root / 'include'}", f"-I{toolkit}/extras/CUPTI/include", "-c"]
        nvcc = [*shlex.split(options.nvcc), "-gencode=arch=compute_90,code=sm_90", *common]
        gcc = [*shlex.split(options.cxx), *common, f"-I{toolkit}/include", f"-I{toolkit}/include/cccl"]

        def compile_time(source, *flags, optimise=("-O2",)):
            if "\n" in source:
                (folder / "unit.cu").write_text(source)
                source = folder / "unit.cu"
            compiler = gcc if str(source).endswith(".cpp") else nvcc
            return seconds([*compiler, *optimise, *flags, "-o", str(folder / "unit.o"), str(root / source)])

        # As cmake/AssayCompiled.cmake has it.
        libraries = {each: compile_time(f"src/{each}", optimise=("-O1",) if each in LESS_OPTIMISED else ("-O2",))
                     for each in (*LIBRARY, *OPTIONAL_LIBRARIES)}
        for _ in range(options.rounds):
            for unit, (sources, compiled) in UNITS.items():
                parts = [compile_time(each, *(["-DASSAY_COMPILED"] if compiled else [])) for each in sources]
                times[unit].append({clock: sum(part[clock] for part in parts) for clock in ("wall", "cpu")})
        for unit in ("two_kernels_header_only", "two_kernels_compiled"):
            compile_time(TWO_KERNELS, *(["-DASSAY_COMPILED"] if UNITS[unit][1] else []), optimise=())
            symbols[unit] = weak_symbols(folder / "unit.o")

    def median(unit):
        return statistics.median(one["cpu"] for one in times[unit])

    def ratio(unit):
        return statistics.median(one["cpu"] / cub["cpu"] for one, cub in zip(times[unit], times["cub"]))

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
        "figures": {
            "to_cub": {unit: ratio(unit) for unit in UNITS},
            "cpu_seconds": {unit: median(unit) for unit in UNITS},
            "unit_test_beyond_kernel_cpu_seconds": median("unit_test_compiled") - median("kernel"),
            "library_cpu_seconds": sum(libraries[each]["cpu"] for each in LIBRARY),
            "optional_libraries_cpu_seconds": sum(libraries[each]["cpu"] for each in OPTIONAL_LIBRARIES),
            "weak_symbols": symbols,
            "seconds": times,
        },
    }
    text = json.dumps(result, indent=2) + "\n"
    if options.json:
        temporary = options.json.with_suffix(".tmp")
        temporary.write_text(text)
        temporary.replace(options.json)
    print(text, end="")


if __name__ == "__main__":
    main()
