# SPDX-License-Identifier: Apache-2.0
"""Checks that the tree keeps the rules of CONTRIBUTING.md; prints `path:line: what` for each breach."""
import argparse
import collections
import pathlib
import re
import shutil
import subprocess

from headers import STANDARD, Graph

# The layers, lowest first; an include may only point to a lower one, or stay in its room.
LAYERS = [
    {"version", "core", "stats"},
    {"kernel", "memory", "submit", "host", "world"},
    {"copy", "transfer", "arrays", "pool"},
    {"callables"},
    {"verify"},
    {"workload", "comm", "dispatch", "nn"},
    {"pipeline", "transformer"},
    {"rig"},
    {"machine"},
    {"measure", "trace"},
    {"chrome", "nsys", "cupti"},
    {"report"},
    {"page"},
    {"serve", "profile"},
    {"compare"},
    {"race", "referee"},
    {"cli"},
]
# Headers of a high room that stand lower: they know no policy.
LOWERED = {
    "machine/environment.hpp": 1,
    "machine/file_lines.hpp": 1,
    "machine/host_environment.hpp": 1,
    "machine/stream_latch.cuh": 2,
}
# Headers that stand just above their room: they hold what rooms of its layer found beside each other.
RAISED = {
    "trace/explanation.hpp": 9.5,
    "transformer/answers.hpp": 9.5,
    "transformer/bounds.hpp": 9.5,
    "transformer/traced_answers.cuh": 10.5,
}
# What rooms of one layer, and the axes, may take from each other: contracts, never policies.
AXES = {"memory", "submit", "copy", "transfer"}
CONTRACTS = {"concepts", "lane", "buffer", "requirements"}

# The only users of the preprocessor.
MAY_LOOK_AROUND = {"core/requirements.hpp", "core/platform.hpp", "core/cccl.hpp", "core/ptx.cuh"}
MAX_HEADER_LINES = 350
MAX_ROOM_FILES = 30
MAX_KERNEL_LINES = 40
MAX_COLUMNS = 100

CODE = {".hpp", ".cuh", ".cpp", ".cu", ".py", ".sh", ".cmake"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# A formatter that fills comments can draw a marker of CMake into the sentence before it, where CMake
# does not find it.
LOST_MARKER = re.compile(r"^//.*\S +assay-[a-z-]+: ")
CONFLICT = re.compile(r"(<{7}|>{7}) \S")
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:home|root|work|workspace|Users|mnt)/\w")


# A name of the standard library, with those of the nested namespaces; and names of C that stand without std.
NAME_OF_STANDARD = re.compile(r"(?<!cuda::)\bstd::((?:(?:ranges|chrono|filesystem|pmr|this_thread)::)?\w+)|"
                              r"(?<![\w:.>])(errno|size_t|ptrdiff_t|u?int(?:8|16|32|64)_t)\b")

# Headers of functions of C and of operators, which code may use without `std::`.
USED_WITHOUT_STD = {"cmath", "csignal", "cstdio", "cstdlib", "cstring", "ctime", "new", "ostream"}

# The switch of compiled mode: a door includes its definitions in these three lines, at its end. With DECLARED the device's
# pass does not read them: they launch no kernel, and no template of theirs is one of users' types, which may.
DEFINES = re.compile(r'#ifndef ASSAY_(?:COMPILED|DECLARED)\n'
                     r'#include <assay/(?:\w+/)?(\w+)_definitions\.(?:hpp|cuh)>\n#endif\n\Z')


def room(header):
    return header.split("/")[0].split(".")[0].removesuffix("_definitions")


def is_door(header, text):
    """Whether a header ends with the switch of compiled mode, for definitions of its own name."""
    match = DEFINES.search(text)
    return match is not None and match[1] == pathlib.PurePath(header).stem


def layer(header):
    """The layer's number, None for a header that has none."""
    door = header.replace("_definitions.", ".")  # definitions stand where their header does
    for moved in (LOWERED, RAISED):
        if door in moved:
            return moved[door]
    return next((n for n, rooms in enumerate(LAYERS) if room(header) in rooms), None)


def may_include(header, other):
    """Why `header` may not include `other`, or None."""
    if layer(other) is None:  # told where that header stands
        return None
    contract = pathlib.PurePath(other).stem in CONTRACTS
    if room(header) == room(other):
        return None if layer(other) <= layer(header) else "an include may only point down"
    if layer(other) > layer(header) or (layer(other) == layer(header) and not contract):
        return f"an include may only point down, and {room(other)} is not below {room(header)}"
    if room(header) in AXES and room(other) in AXES and not contract:
        return "an axis knows no policy of another axis"
    return None


def is_c(path):
    """Whether this is a header for C, which keeps to the layers and to no other rule."""
    return path.suffix == ".h" and path.is_file()


def check_includes(graph):
    for header in graph.headers:
        if header.count("/") > 1 or "detail" in header.split("/"):
            yield header, 1, "headers are two folders deep, and there are no detail folders"
        if layer(header) is None:
            yield header, 1, "in no layer: name its room in LAYERS of check_structure.py"
            continue
        if header != "core/requirements.hpp" and not graph.own(header):
            yield header, 1, "a header that includes no other of ours includes assay/core/requirements.hpp"
        for number, bracket, name in graph.direct[header]:
            if bracket == '"':
                yield header, number, "headers include with angle brackets"
            if not name.startswith("assay/"):
                continue
            other = name[len("assay/"):]
            if other not in graph.direct and not is_c(graph.base / other):
                yield header, number, f"there is no {name}"
            elif (other in graph.direct and room(header) != room(other) and graph.internal(other)
                  and not ("_definitions." in header and "_definitions." in other)):
                yield header, number, f"must not include {name}: it is internal to its room"
            elif (why := may_include(header, other)):
                yield header, number, f"must not include {name}: {why}"
        if header.endswith(".hpp") and any(other.endswith(".cuh") for other in graph.own(header)):
            yield header, 1, "a .hpp compiles with plain g++ and cannot include a .cuh"
    if (cycle := graph.cycle()):
        yield cycle[0], 1, "include cycle: " + " -> ".join(cycle)


def check_order(graph):
    """Header-only, each header finds those that it includes complete, whichever header a program includes first.

    A door's last line includes its definitions, which include others: one of these may include a header that led
    here and has not come to its end. (Compiled mode includes less, in the same order, and has no such circles.)
    """
    texts = {header: (graph.base / header).read_text() for header in graph.headers}
    brings = {header: DEFINES.search(text)[0].split("<assay/")[1].split(">")[0]
              for header, text in texts.items() if is_door(header, text)}
    found = {}

    def visit(header, path, entered, at_end):
        entered.add(header)
        path.append(header)
        for other in graph.own(header):
            if other in path and other not in at_end:
                found[header, other] = path[0]
            elif other in graph.direct and other not in entered:
                visit(other, path, entered, at_end)
        at_end.add(header)
        if header in brings and brings[header] in graph.direct and brings[header] not in entered:
            visit(brings[header], path, entered, at_end)
        path.pop()

    for header in graph.headers:
        visit(header, [], set(), set())
    for (header, other), first in sorted(found.items()):
        yield header, 1, f"sees {other} before that is complete, where a program includes {first} first"


def check_rooms(graph):
    count = collections.Counter(header.split("/")[0] for header in graph.headers if "/" in header)
    for name, files_in_room in sorted(count.items()):
        if files_in_room > MAX_ROOM_FILES:
            yield (f"include/assay/{name}", 1,
                   f"a room has at most {MAX_ROOM_FILES} files, this has {files_in_room}")


def check_compiled(graph):
    """Compiled mode links definitions from one file of src/: from none a program lacks them, from two it has them twice."""
    def definitions(header, seen):
        for other in graph.own(header):
            if other in graph.direct and other not in seen:
                seen.add(other)
                definitions(other, seen)
        return {each for each in seen if "_definitions." in each}

    units = collections.Counter()
    for source in sorted((graph.base / "../../src").glob("assay*")):
        named = re.findall(r"#include <assay/([^>]+)>", source.read_text())
        units.update(set(named).union(*(definitions(each, set()) for each in named if each in graph.direct)))
    for header in graph.headers:
        if "_definitions." in header and units[header] != 1:
            yield header, 1, f"{units[header] or 'no'} files of src/ include it, and compiled mode links them all"


def check_aliases(graph):
    """A class template with one instantiation, under an alias, is a class that looks generic."""
    text = {path: re.sub(r"//[^\n]*", "", path.read_text())
            for path in files(graph.base.parents[1]) if path.suffix in {".hpp", ".cuh", ".cpp", ".cu"}}
    used = collections.Counter(name for each in text.values() for name in re.findall(r"\b(\w+)<", each))
    for header in graph.headers:
        for alias in re.finditer(r"^using (\w+) = (basic_\w+)<.*>;", text[graph.base / header], re.M):
            if used[alias[2]] == 1:
                line = text[graph.base / header][:alias.start()].count("\n") + 1
                yield header, line, f"{alias[1]} is the only {alias[2]}: make it a class that is no template"


def check_kernels(lines):
    """Kernels are templates, else two units cannot be linked, and each is read on one screen."""
    for start, line in enumerate(lines):
        if "__global__" not in line or line.lstrip().startswith("//"):
            continue
        above = "\n".join(lines[max(0, start - 4):start + 1])
        if "template" not in above:
            yield start + 1, "a kernel in a header is a template"
        depth = 0
        for number in range(start, len(lines)):
            depth += lines[number].count("{") - lines[number].count("}")
            if depth == 0 and "}" in lines[number]:
                if number - start + 1 > MAX_KERNEL_LINES:
                    yield start + 1, f"a kernel has at most {MAX_KERNEL_LINES} lines, this has {number - start + 1}"
                break


def check_docstrings(lines):
    """Every type and concept at namespace scope says in one sentence what it is."""
    hidden = False
    for index, line in enumerate(lines):
        if re.match(r"namespace (\w+::)*detail\b", line):
            hidden = True
        elif re.match(r"}\s*// namespace (\w+::)*detail\b", line):
            hidden = False
        match = re.match(r"(struct|class|enum class|concept)\s+(\w+)(.*)", line)
        if hidden or not match or (match[1] != "concept" and match[3].endswith(";") and "{" not in match[3]):
            continue
        if match[3].startswith("<"):  # a specialisation: its primary template has the words
            continue
        above = index - 1
        while above >= 0 and re.match(r"(template|requires|\s+\S)", lines[above]):
            above -= 1
        if not lines[above].startswith("///"):
            yield index + 1, f"{match[2]} has no `///` that says what it is"


def blank(match):
    """As many lines of nothing."""
    return "\n" * match[0].count("\n")


def code_of(lines):
    """The text of a header without comments and without what literals have in them."""
    text = "\n".join(lines)
    text = re.sub(r'R"(\w*)\(.*?\)\1"', blank, text, flags=re.DOTALL)
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda found: '""' if found[0][0] == '"' else "", text)


# What begins in the first column and is no function: of a function in a class every line is indented.
NO_FUNCTION = re.compile(r"(namespace|using|class|struct|enum|union|concept|static_assert|extern|friend|typedef)\b")
LINKS_TWICE = re.compile(r"\b(inline|constexpr|consteval|ASSAY_INLINE)\b")


def check_functions(code):
    """Functions at namespace scope may be defined in several units: those of templates, and inline ones."""
    template = False
    lines = code.split("\n")
    for index, line in enumerate(lines):
        if re.match(r"template\b", line):
            template = not re.match(r"template\s*<\s*>", line)  # a full specialisation is an ordinary function
            continue
        if not re.match(r"[A-Za-z_~:\[]", line) or re.match(r"requires\b", line):
            continue
        whole = "\n".join(lines[index:index + 40]).replace("operator()", "operator_call")
        made_of_template, template = template, False
        if made_of_template or NO_FUNCTION.match(line):
            continue
        head = re.match(r"[^({;=]*(?:\boperator\W+)?\(", whole)
        if not head or LINKS_TWICE.search(head[0]):
            continue
        depth, end = 1, head.end()
        while depth and end < len(whole):
            depth += {"(": 1, ")": -1}.get(whole[end], 0)
            end += 1
        if re.search(r"\bauto\b", whole[head.end():end]):  # a template that is written shortly
            continue
        after = re.match(r"[^;{]*", whole[end:])
        defaulted = re.search(r"=\s*default\b", after[0])
        if defaulted or whole[end + after.end():].startswith("{"):
            yield index + 1, "a function in a header is inline, constexpr or a template, else two units do not link"


def check_standard(code):
    """A header includes the standard header of each name that it uses, and no other."""
    included = set(re.findall(r"^\s*#\s*include <(\w+)>", code, re.MULTILINE))
    # A template over the traits of a stream leaves <ostream> to those who print.
    if ("basic_ostream<char, Traits>" not in code and (prints := re.search(r"\bout\s*<<", code))
            and not included & {"ostream", "iostream", "fstream", "sstream"}):
        yield code[:prints.start()].count("\n") + 1, "what prints needs #include <ostream>"
    seen = set()
    for number, line in enumerate(code.split("\n"), 1):
        for qualified, plain in NAME_OF_STANDARD.findall(line):
            name = qualified or plain
            if name in seen:
                continue
            seen.add(name)
            homes = [header for header, names in STANDARD.items() if re.fullmatch(names, name)]
            if not homes:
                yield number, f"std::{name} is of no header in STANDARD of cmake/headers.py: add it"
            elif not included & set(homes):
                yield number, f"{name} needs #include <{'> or <'.join(homes)}>"
    for header in sorted(included & STANDARD.keys() - USED_WITHOUT_STD):
        if not any(re.fullmatch(STANDARD[header], name) for name in seen):
            yield code[:code.index(f"<{header}>")].count("\n") + 1, f"no name of <{header}> is used"


def check_extents(code):
    """Extents in a signature are std::size_t: where they are int, GCC warns under -Wsign-conversion."""
    for found in re.finditer(r"template <([^\n]*)>\n([^;{]*)[;{]", code):
        extents = " ".join(re.findall(r"\[([^]]*)\]", found[2]))
        for name in set(re.findall(r"\bint (\w+)", found[1])) & set(re.findall(r"\w+", extents)):
            yield code[:found.start()].count("\n") + 1, f"{name} is an extent: make it std::size_t"


def check_header(header, lines):
    if lines[1:2] != ["/// @file"] or not "".join(lines[2:3]).startswith("/// "):
        yield 2, "after its licence a header says `/// @file` and one sentence"
    door = is_door(header, "\n".join(lines) + "\n")
    if "#pragma once" not in lines:
        yield 1, "no #pragma once"
    if len(lines) > MAX_HEADER_LINES:
        yield len(lines), f"a header has at most {MAX_HEADER_LINES} lines, this has {len(lines)}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, {MAX_COLUMNS} are allowed"
        if header in MAY_LOOK_AROUND or (door and number == len(lines) - 2):
            continue
        if re.match(r"\s*#\s*(define|undef|if|ifdef|ifndef|elif)\b", line):
            yield number, "no macros and no #if in headers, but for a door's definitions"
    yield from check_kernels(lines)
    yield from check_docstrings(lines)
    code = code_of(lines)
    yield from check_functions(code)
    yield from check_standard(code)
    yield from check_extents(code)


def files(root):
    """All files of the project: what git would keep, else all but build trees."""
    if shutil.which("git"):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                                capture_output=True, text=True, check=False)
        if listed.returncode == 0 and listed.stdout:
            return [p for line in listed.stdout.splitlines() if (p := root / line).is_file()]
    made = {"build", "out", ".git", "__pycache__"}
    return [p for p in root.rglob("*") if p.is_file() and not made & set(p.relative_to(root).parts)]


def check_text(path, lines):
    code = path.suffix in CODE or path.name == "CMakeLists.txt"
    if code and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
        yield 1, "no `SPDX-License-Identifier: Apache-2.0` at its start"
    for number, line in enumerate(lines, 1):
        if code and UNFINISHED.search(line):
            yield number, "unfinished"
        if path.suffix in {".cpp", ".cu"} and LOST_MARKER.search(line):
            yield number, "a marker begins its line: put an empty comment line before it"
        if CONFLICT.match(line):
            yield number, "the marker of a merge conflict"
        if MACHINE_PATH.search(line):
            yield number, "a path of somebody's machine"


def breaches(root):
    """(path, line, what) for everything that is not as it should be."""
    graph = Graph(root)
    for header, number, what in check_includes(graph):
        yield f"include/assay/{header}", number, what
    for header, number, what in check_order(graph):
        yield f"include/assay/{header}", number, what
    yield from check_rooms(graph)
    for check in (check_compiled, check_aliases):
        for header, number, what in check(graph):
            yield f"include/assay/{header}", number, what
    for header in graph.headers:
        for number, what in check_header(header, (graph.base / header).read_text().splitlines()):
            yield f"include/assay/{header}", number, what
    for path in files(root):
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, what in check_text(path, lines):
            yield path.relative_to(root).as_posix(), number, what


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    found = list(breaches(parser.parse_args().root.resolve()))
    for path, number, what in found:
        print(f"{path}:{number}: {what}")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
