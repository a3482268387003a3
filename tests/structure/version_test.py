# SPDX-License-Identifier: Apache-2.0
"""Checks that all that names a version of assay names the one of include/assay/version.hpp."""
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from check_structure import files  # noqa: E402

REQUEST = re.compile(r"find_package\(assay (\d+\.\d+)")


def first(pattern, path):
    found = re.search(pattern, (root / path).read_text(), re.MULTILINE)
    return found[1] if found else f"nothing like {pattern}"


def main():
    version = first(r'version = "([\d.]+)"', "include/assay/version.hpp")
    minor = version.rpartition(".")[0]
    told = {
        "CHANGELOG.md": first(r"^## (\S+)", "CHANGELOG.md"),
        "packaging/vcpkg/assay/vcpkg.json": json.loads((root / "packaging/vcpkg/assay/vcpkg.json").read_text())["version"],
    }
    wrong = [f"{place} says {each}, and the header {version}" for place, each in told.items() if each != version]
    asked = 0
    for path in files(root):
        if path.suffix not in {".md", ".txt", ".cmake", ".py"} or path.name == "CHANGELOG.md":
            continue
        for each in REQUEST.findall(path.read_text()):
            asked += 1
            if each != minor:
                wrong.append(f"{path.relative_to(root)} asks for assay {each}, and the header says {version}")
    if not asked:
        wrong.append("nothing asks for a version by find_package")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
