# SPDX-License-Identifier: Apache-2.0
"""kernels.py FILE...: has every kernel that a host launches device code, in each of these objects or libraries?

nvcc reads a unit once for the host and once for the device. A kernel that only the first finds compiles, links,
and fails with "invalid device function" where it is launched, on a GPU alone. What a host launches shows as a
wrapper of the kernel's stub, and device code as a section of an ELF file within the object, where that is not
compressed. Ends with 77 where none can be read. Takes kernels that are templates; the headers have no others.
"""
import pathlib
import re
import subprocess
import sys

WRAPPER = "__wrapper__device_stub_"


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def without_parameters(function):
    """A demangled name as far as its list of parameters, without the type that it returns."""
    function = re.sub(r"^(?:static )?void ", "", function.replace("(anonymous namespace)", "{anonymous}"))
    depth = 0
    for at, letter in enumerate(function):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            return function[:at]
    return function


def launched(path):
    names = (line.split(maxsplit=2)[-1] for line in run("nm", "--defined-only", "--demangle", str(path)) if WRAPPER in line)
    return {without_parameters(name).replace(WRAPPER, "") for name in names if "guard variable" not in name}


def compiled(path):
    mangled = {name.decode() for name in re.findall(rb"\.text\.(_Z\w+)", path.read_bytes())}
    return {without_parameters(name) for name in run("c++filt", text="\n".join(sorted(mangled)))}


def main():
    failed = len(sys.argv) < 2
    for path in map(pathlib.Path, sys.argv[1:]):
        wanted, there = launched(path), compiled(path)
        if not there:
            print(f"skipped: {path.name}: no device code that can be read; nvcc --compress-mode=none leaves it as it is")
            sys.exit(77)
        print(f"{path.name}: {len(wanted)} kernels that the host launches, {len(wanted & there)} with device code")
        for name in sorted(wanted - there):
            print(f"{path.name}: launched, and not compiled for a device: {name}")
        failed = failed or not wanted or bool(wanted - there)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
