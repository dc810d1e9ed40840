#!/usr/bin/env python3
"""How the text of the repository must look: lengths, names, sleeps in tests, and what must not be named.

Prints one line for each fault, `path:line: what is wrong and what to do`, and exits 1 if there is one.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES = 400
FUNCTION_LINES = 50  # about 40 reads well; from here on it is a fault
TEST_LINES = 80  # a test may hold a table

# Copies of things that others wrote or measured; their look is not ours.
COPIED = ("bench/", "cases/", "data/", "Cargo.lock", "LICENSE", "examples/airports/airports.csv")
# Where time is made: a sleep there passes none.
MADE_TIME = ("simulation/",)
CODE = (".rs", ".lua", ".py", ".sh", ".proto", ".ts", ".tsx")

FUNCTION = re.compile(r"^(\s*)(pub(\([^)]*\))?\s+)?((const|async|unsafe|extern \"C\")\s+)*fn\s+(\w+)")
VAGUE_NAME = re.compile(r"\b(struct|enum|trait|mod|type)\s+(\w*(Manager|Helper|Util|Utils)|common|utils?|helpers?)\b")
SLEEP = re.compile(r"\b(time::sleep(_until)?|thread::sleep)\s*\(|\bsleep\(Duration|use (tokio::time|std::thread)::sleep\b")
IGNORED_TEST = re.compile(r"^\s*#\[ignore")

# Spelled as patterns, so that this file does not contain what it forbids.
REGISTRY_HOST = re.compile(
    r"\b((pypi|crates|npmjs|debian|pythonhosted|rubygems)\.(org|io)|(registry|files|static|index|deb|proxy)\.[a-z]+\.(org|io|com))\b"
)
REGISTRY_NAME_ALLOWED = re.compile(r"github\.com/rust-lang/crates\.io-index")
MACHINE_PATH = re.compile(r"(?<![\w.$}/*-])/(root|work|home)/[\w.]")


def tracked():
    """The files that git knows or would add, as paths relative to the root."""
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    return [name for name in sorted(set(out.stdout.splitlines())) if (ROOT / name).is_file()]


def functions(lines):
    """Yields (line number, name, lines) of each function; relies on rustfmt's indentation."""
    for start, line in enumerate(lines):
        head = FUNCTION.match(line)
        if not head:
            continue
        closing = head.group(1) + "}"
        for end in range(start, len(lines)):
            text = lines[end]
            if text.rstrip() == closing:
                yield start + 1, head.group(6), end - start + 1
                break
            if text.startswith(head.group(1)) and text.rstrip().endswith(";") and end == start:
                break  # a declaration without a body


def first_test_line(name, lines):
    """The index from which a Rust file is test code, or its length."""
    if "/tests/" in name or name.endswith("/tests.rs") or name.startswith("integration-tests/"):
        return 0
    for index, line in enumerate(lines):
        if line.strip() == "#[cfg(test)]" and index + 1 < len(lines) and re.match(r"\s*(pub(\(.*\))? )?mod \w+ \{", lines[index + 1]):
            return index
    return len(lines)


def expected(lines, index):
    """Whether an `#[expect(clippy::disallowed_methods, reason = …)]` stands above this line, or above its function."""
    above = "\n".join(lines[max(0, index - 20):index])
    return re.search(r"expect\(\s*clippy::disallowed_methods", above) is not None


def rust_faults(name, lines):
    tests_from = first_test_line(name, lines)
    for line, function, length in functions(lines):
        limit = TEST_LINES if line > tests_from else FUNCTION_LINES
        if length > limit:
            yield line, f"fn {function} has {length} lines, more than {limit}: split it by idea"
    for index, line in enumerate(lines):
        code = line.split("//")[0]
        vague = VAGUE_NAME.search(code)
        if vague:
            yield index + 1, f"`{vague.group(0)}` says nothing: name it by what it does"
        if index >= tests_from and not name.startswith(MADE_TIME) and SLEEP.search(code) and not expected(lines, index):
            yield index + 1, "a test sleeps: wait for the event (eventually!, a signal, the paused clock)"
        if IGNORED_TEST.search(code):
            yield index + 1, "an ignored test tests nothing: mend it or take it out"


def faults(name):
    text = (ROOT / name).read_bytes()
    if b"\0" in text[:8192]:
        return
    lines = text.decode("utf-8", "replace").splitlines()
    if name.endswith(CODE) and len(lines) > FILE_LINES:
        yield len(lines), f"{len(lines)} lines, more than {FILE_LINES}: two ideas in one file, split it by idea"
    for index, line in enumerate(lines):
        if REGISTRY_HOST.search(REGISTRY_NAME_ALLOWED.sub("", line)):
            yield index + 1, "names a registry's host: use the ordinary client and the package's name"
        if MACHINE_PATH.search(line):
            yield index + 1, "a path of somebody's machine: make it relative, or take it from the environment"
    if name.endswith(".rs"):
        yield from rust_faults(name, lines)


def main():
    found = 0
    for name in tracked():
        if name.startswith(COPIED):
            continue
        for line, what in faults(name):
            print(f"{name}:{line}: {what}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
