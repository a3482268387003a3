# SPDX-License-Identifier: Apache-2.0
"""Compiles every header alone, in its language, with warnings as errors.

check_headers.py host     headers that need no toolkit, by the host compiler, without its include path
check_headers.py toolkit  the other .hpp, by the host compiler
check_headers.py nvcc     every .cuh, by nvcc's device pass

Headers go to the compiler in chains, each after one that it includes anyway: what a header sees is
what it asked for, as if it were alone, since those within it lead chains or follow in them too. Where a
chain fails, each of its headers is compiled alone.

What a header defines without `inline` shows as a strong symbol in the object, or as a visible kernel in the
PTX: a program of two units that include the header would not link.

Two things make it cheap. Doors do not bring their definitions, which are headers that are compiled here too;
check_structure.py sees to it that in header-only mode nothing is included before it is complete. And the
headers of the standard library come precompiled; check_structure.py finds what uses one without including it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from headers import Graph, NEEDS, OF_TOOLKIT, STANDARD  # noqa: E402

graph = Graph(root)


def missing_package(output):
    """The optional package whose header the compiler did not find, if that is why it stopped."""
    lost = re.search(r"(?:fatal error: |could not open source file \")([\w/.+-]+)", output)
    optional = {need: pattern for need, pattern in NEEDS.items() if need != "cuda"}
    return lost and next((need for need, p in optional.items() if re.match(p, lost[1])), None)


def closure(header, seen=None):
    """All own headers that this one includes, itself or through others."""
    seen = set() if seen is None else seen
    for other in graph.own(header):
        if other in graph.direct and other not in seen:
            seen.add(other)
            closure(other, seen)
    return seen


def chains(headers):
    """The headers in as few chains as there can be, in each of which a header includes those before it.

    A matching of headers with the next of their chain, as large as there is (Kuhn's algorithm). A chain costs
    what its last header does: those that include most are matched first, so that they end as few as possible.
    """
    within = {header: closure(header) for header in headers}
    cost = {header: sum(len(graph.direct[each]) for each in {header, *within[header]}) for header in headers}
    previous = {}

    def follow(header, tried):
        for other in headers:
            if header in within[other] and other not in tried:
                tried.add(other)
                if other not in previous or follow(previous[other], tried):
                    previous[other] = header
                    return True
        return False

    leading_on = {header for header in sorted(headers, key=cost.get, reverse=True) if follow(header, set())}
    found = []
    for last in headers:
        if last not in leading_on:
            chain = [last]
            while chain[0] in previous:
                chain.insert(0, previous[chain[0]])
            found.append(chain)
    return found


def strong_in_object(path):
    """What an object defines that a second one may not."""
    listed = subprocess.run(["nm", "--defined-only", "--demangle", path], capture_output=True, text=True, check=True)
    return re.findall(r"^[0-9a-f]* [TDBRGSC] (.*)$", listed.stdout, re.MULTILINE)


def strong_in_ptx(path):
    """The kernels and device functions in PTX that a second unit may not define: those of templates are weak there."""
    return re.findall(r"^\s*\.visible\s+\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)", path.read_text(), re.MULTILINE)


def compile_chain(chain, command, strong):
    """(header, verdict, output) of each."""
    if "cuda_mr" in graph.needs(chain[-1]):
        command = [*command, "-DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE"]
    source = "".join(2 * f"#include <assay/{header}>\n" for header in chain)
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "made")
        done = subprocess.run([*command, "-o", made, "-"], input=source, capture_output=True, text=True, check=False)
        twice = strong(made) if done.returncode == 0 else []
    output = done.stdout + done.stderr + "".join(f"defined in each unit: {symbol}\n" for symbol in twice)
    if done.returncode == 0 and not twice:
        return [(header, "ok", "") for header in chain]
    if len(chain) > 1:
        return [verdict for header in chain for verdict in compile_chain([header], command, strong)]
    if (package := missing_package(output)):
        return [(chain[0], f"left out: {package} is not installed", "")]
    return [(chain[0], "FAILED", output[:6000])]


# Comes before each header: definitions are inline, as in header-only mode, but doors do not bring them.
PRELUDE = "#include <assay/core/requirements.hpp>\n#define ASSAY_COMPILED\n#define ASSAY_DECLARED\n"


def written(folder, text):
    """A header with this text."""
    header = pathlib.Path(folder, "prelude.hpp")
    header.write_text(text)
    return str(header)


def precompiled(command, folder):
    """The prelude with all of STANDARD; the compiler takes the file .gch beside it in its place."""
    header = written(folder, "".join(f"#include <{name}>\n" for name in STANDARD) + PRELUDE)
    subprocess.run([*command, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return header


def compile_all(headers, options, scratch):
    """(header, verdict, output) of each."""
    command = [*shlex.split(options.compiler), "-std=c++20", f"-I{root / 'include'}"]
    if options.which == "nvcc":
        strong = strong_in_ptx
        # Only in relocatable code are templates weak; elsewhere each unit has its own device code.
        command += ["-include", written(scratch, PRELUDE), "-ptx", "-rdc=true", "-arch=compute_90", "-x", "cu",
                    "-Werror=all-warnings"]
    else:
        strong = strong_in_object
        for directory in options.system_include:
            command += ["-isystem", directory]
        # The warnings of strict users, who copy the headers.
        command += ["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror", "-O0"]
        command += ["-include", precompiled(command, scratch), "-c", "-x", "c++"]

    # A macro that only one of them is compiled with would show.
    apart = [[h] for h in headers if "cuda_mr" in graph.needs(h)]
    together = chains([h for h in headers if [h] not in apart])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [each for done in pool.map(lambda c: compile_chain(c, command, strong), apart + together) for each in done]


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

    with tempfile.TemporaryDirectory() as scratch:
        results = compile_all(headers, options, scratch)
    for header, verdict, output in sorted(results):
        print(f"{header}: {verdict}\n{output}".rstrip())
    if not results or any(verdict == "FAILED" for _, verdict, _ in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
