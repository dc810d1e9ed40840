#!/usr/bin/env python3
"""Who may depend on whom (DESIGN section 10), with which features, and under which licences our dependencies come (deny.toml).

Reads `cargo metadata`. Prints one line for each fault and exits 1 if there is one.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A crate depends only on crates of an earlier row.
ROWS = [
    ["gengfu-proto"],
    ["gengfu-domain"],
    ["gengfu-calendar"],
    ["gengfu-plan"],
    ["gengfu-telemetry"],
    ["gengfu-runtime"],
    ["gengfu-store"],
    ["gengfu-admission"],
    ["gengfu-rows"],
    ["gengfu-store-redis"],
    ["gengfu-messaging"],
    ["gengfu-audit"],
    ["gengfu-handler"],
    ["gengfu-handlers"],
    ["gengfu-role"],
    ["gengfu-scheduler", "gengfu-dispatcher", "gengfu-executor", "gengfu-recorder", "gengfu-gateway"],
    ["gengfu"],
    ["gengfu-integration-tests", "gengfu-simulation", "gengfu-example-custom-handler", "gengfu-example-airports"],
    ["gengfu-bench", "gengfu-chaos"],
]
ROW = {name: index for index, row in enumerate(ROWS) for name in row}

# The servers that tests start: any crate's tests may use them, as they use no crate of ours.
HARNESS = "gengfu-integration-tests"

# Crates that are pure: nowhere in their tree of normal and build dependencies.
PURE = ["gengfu-domain", "gengfu-calendar", "gengfu-plan"]
IMPURE = re.compile(r"^(tokio|redis|async-nats|nats|reqwest|hyper|axum|mio)$")

# Features by which tests kill a process at a given point or move its clock.
TEST_FEATURES = {"fault-points", "test-clock"}

# An outside crate that only one of ours may name.
ONLY_IN = [
    (re.compile(r"^redis$"), {"gengfu-store-redis"}),
    (re.compile(r"^async-nats$"), {"gengfu-messaging"}),
    (re.compile(r"^opentelemetry(_sdk|-(?!proto$).*)?$"), {"gengfu-telemetry"}),
    # The tests read what was sent.
    (re.compile(r"^opentelemetry-proto$"), {"gengfu-telemetry", HARNESS}),
]


def metadata():
    out = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--locked"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return json.loads(out.stdout)


def order_faults(package, ours):
    name = package["name"]
    if name not in ROW:
        yield f"{name} stands in no row of script/layers.py: put it where DESIGN section 10 has it"
        return
    for dependency in package["dependencies"]:
        other = dependency["name"]
        if other not in ours or other == name:
            continue
        if other == HARNESS and dependency["kind"] == "dev" and name not in PURE:
            continue
        if ROW.get(other, len(ROWS)) >= ROW[name]:
            yield f"{name} depends on {other}, which does not stand above it in DESIGN section 10"


def owner_faults(package):
    for dependency in package["dependencies"]:
        for pattern, owners in ONLY_IN:
            if pattern.match(dependency["name"]) and package["name"] not in owners:
                yield f"{package['name']} uses {dependency['name']}; only {', '.join(sorted(owners))} may"


def tree(start, nodes):
    """Every package id reached from `start` by normal and build dependencies."""
    seen, todo = set(), [start]
    while todo:
        for dependency in nodes[todo.pop()]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if kinds & {None, "build"} and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                todo.append(dependency["pkg"])
    return seen


def harness_faults(package, ours):
    if package["name"] != HARNESS:
        return
    for dependency in package["dependencies"]:
        if dependency["name"] in ours and dependency["kind"] != "dev":
            yield f"{HARNESS} depends on {dependency['name']}: its library uses no crate of ours, only its tests do"


def allowed(expression, licences):
    """Whether an SPDX expression can be met: every side of AND, one side of OR."""
    text = expression.replace("/", " OR ").replace("(", " ( ").replace(")", " ) ")
    words = []
    for word in re.sub(r" WITH ", "_WITH_", text).split():
        if word in ("(", ")"):
            words.append(word)
        elif word in ("AND", "OR"):
            words.append(word.lower())
        else:
            words.append(str(word.replace("_WITH_", " WITH ") in licences))
    if not all(re.fullmatch(r"\(|\)|and|or|True|False", word) for word in words):
        return False
    return eval(" ".join(words))  # only brackets, and, or, True, False: checked above


def test_feature_faults():
    """What tests put into a process must not come along with what users build."""
    out = subprocess.run(
        ["cargo", "tree", "--locked", "-p", "gengfu", "-p", "gengfu-bench", "-e", "normal,build", "--prefix", "none",
         "--no-dedupe", "-f", "{p} [{f}]"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    for line in sorted(set(out.stdout.splitlines()) - {""}):
        name, features = line.split()[0], line[line.rindex("[") + 1:line.rindex("]")].split(",")
        for feature in TEST_FEATURES & set(features):
            yield f"{name} has the feature {feature} in a build for users: only dev-dependencies may switch it on"


def licence_faults(packages, ours):
    licences = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    for package in packages:
        if package["name"] in ours:
            continue
        if not package["license"] or not allowed(package["license"], licences):
            yield f"{package['name']} {package['version']} comes under {package['license']!r}, which deny.toml does not allow"


def main():
    data = metadata()
    members = set(data["workspace_members"])
    packages = {package["id"]: package for package in data["packages"]}
    ours = {packages[member]["name"] for member in members}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    found = []
    for member in sorted(members):
        package = packages[member]
        found += order_faults(package, ours)
        found += owner_faults(package)
        found += harness_faults(package, ours)
        if package["name"] in PURE:
            for other in tree(member, nodes):
                if IMPURE.match(packages[other]["name"]):
                    found.append(f"{package['name']} is pure, but has {packages[other]['name']} in its tree")
    found += test_feature_faults()
    found += licence_faults(packages.values(), ours)
    for fault in found:
        print(f"layers: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
