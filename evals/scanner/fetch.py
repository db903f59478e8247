#!/usr/bin/env python3
"""Builds corpora for the definition scanner from packages on PyPI. Nothing is executed or installed: sources are parsed.

Usage: fetch.py <folder> [number of packages]

Writes `benign-tuned.jsonl` and `benign-unseen.jsonl` (tools of real MCP servers, split by package) and `attacks-*.jsonl`
(texts whose SHA-256 is in attack-labels.tsv). The texts belong to their authors, so they are fetched and not stored here.
"""

import ast
import concurrent.futures
import hashlib
import inspect
import io
import json
import pathlib
import random
import re
import sys
import tarfile
import urllib.request
import zipfile

HERE = pathlib.Path(__file__).parent
MAX_ARCHIVE_BYTES = 8_000_000
MAX_FILE_BYTES = 3_000_000
SEED = 16
# Packages whose purpose is security hold attacks as test data.
SECURITY = re.compile(
    r"scan|secur|guard|shield|audit|vuln|poison|inject|attack|red-?team|bench|safe|sentinel|defen|fuzz|pentest|threat|trust"
)


def get(url, timeout=60):
    request = urllib.request.Request(url, headers={"User-Agent": "toolyard-evals"})
    return urllib.request.urlopen(request, timeout=timeout).read()


def sources(package, kinds):
    """The Python and JSON files of a package, as (path, text)."""
    files = json.loads(get(f"https://pypi.org/pypi/{package}/json"))["urls"]
    for kind in kinds:
        for file in files:
            if file["packagetype"] == kind and file["size"] < MAX_ARCHIVE_BYTES:
                yield from unpack(file["filename"], get(file["url"]))
                return


def unpack(name, content):
    wanted = re.compile(r"\.(py|json)$")
    if name.endswith((".whl", ".zip")):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for item in archive.infolist():
                if wanted.search(item.filename) and item.file_size < MAX_FILE_BYTES:
                    yield item.filename, archive.read(item).decode("utf-8", "replace")
    else:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for item in archive:
                if item.isfile() and wanted.search(item.name) and item.size < MAX_FILE_BYTES:
                    yield item.name, archive.extractfile(item).read().decode("utf-8", "replace")


def evaluate(node, names):
    """The value of a literal; None for what only a run would know."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return names.get(node.id)
        case ast.BinOp(op=ast.Add()):
            left, right = evaluate(node.left, names), evaluate(node.right, names)
            return left + right if isinstance(left, str) and isinstance(right, str) else None
        case ast.JoinedStr():
            return "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        case ast.List() | ast.Tuple():
            return [evaluate(item, names) for item in node.elts]
        case ast.Dict():
            pairs = zip(node.keys, node.values)
            return {str(evaluate(key, names)): evaluate(value, names) for key, value in pairs if key}
        case ast.Call(func=ast.Attribute(attr="strip")):
            return evaluate(node.func.value, names)
        case ast.Call(func=ast.Name(id="dict")):
            return {item.arg: evaluate(item.value, names) for item in node.keywords if item.arg}
    return None


def parse(text):
    """The tree of a file and its constants."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, {}
    names = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = evaluate(node.value, names)
    return tree, names


def as_tool(name, description, schema):
    if isinstance(name, str) and isinstance(description, str) and description.strip():
        schema = schema if isinstance(schema, dict) else {"type": "object"}
        return {"name": name, "description": inspect.cleandoc(description), "inputSchema": schema}
    return None


def tools_of_python(text):
    tree, names = parse(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                target = call.func if call else decorator
                if getattr(target, "attr", getattr(target, "id", "")) in ("tool", "mcp_tool", "register_tool"):
                    given = {item.arg: evaluate(item.value, names) for item in call.keywords} if call else {}
                    name = given.get("name") or node.name
                    yield as_tool(name, given.get("description") or ast.get_docstring(node), parameters(node, names))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Tool":
            yield from tools_of_value({item.arg: evaluate(item.value, names) for item in node.keywords if item.arg})
        elif isinstance(node, ast.Dict):
            yield from tools_of_value(evaluate(node, names), deep=False)


def parameters(function, names):
    properties = {}
    for argument in function.args.posonlyargs + function.args.args + function.args.kwonlyargs:
        if argument.arg in ("self", "cls", "ctx", "context"):
            continue
        properties[argument.arg] = {"type": "string"}
        for call in ast.walk(argument.annotation) if argument.annotation else ():
            for item in call.keywords if isinstance(call, ast.Call) else ():
                text = evaluate(item.value, names)
                if item.arg == "description" and isinstance(text, str):
                    properties[argument.arg]["description"] = text
    return {"type": "object", "properties": properties}


def tools_of_value(value, deep=True):
    if isinstance(value, dict):
        tool = value["function"] if isinstance(value.get("function"), dict) else value
        schema = tool.get("inputSchema") or tool.get("input_schema") or tool.get("parameters")
        if isinstance(schema, dict):
            yield as_tool(tool.get("name"), tool.get("description"), schema)
    for item in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()) if deep else ():
        yield from tools_of_value(item)


def texts_of_python(text):
    tree, names = parse(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp)):
            value = evaluate(node, names)
            if isinstance(value, str):
                yield value


def benign(package):
    found = []
    try:
        for path, text in sources(package, ("bdist_wheel", "sdist")):
            if re.search(r"(^|/)tests?/|conftest|test_", path):
                continue
            if path.endswith(".py"):
                tools = tools_of_python(text)
            else:
                tools = tools_of_value(json.loads(text))
            found += [tool for tool in tools if tool and len(json.dumps(tool, default=str)) < 60_000]
    except (OSError, ValueError, RecursionError, tarfile.TarError, zipfile.BadZipFile):
        pass
    return package, found


def write_benign(folder, count):
    index = get("https://pypi.org/simple/", timeout=300).decode()
    names = re.findall(r'<a href="(?:/simple/)?([^"/]+)/"', index)
    names = [name for name in names if re.search(r"(^|[-_.])mcp([-_.]|$)", name) and not SECURITY.search(name)]
    random.Random(SEED).shuffle(names)
    seen = set()
    files = [open(folder / f"benign-{half}.jsonl", "w", encoding="utf-8") for half in ("tuned", "unseen")]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for package, tools in pool.map(benign, names[:count]):
            half = int(hashlib.sha1(package.encode()).hexdigest(), 16) % 2
            for tool in tools:
                key = (tool["name"], tool["description"])
                if key not in seen:
                    seen.add(key)
                    entry = {"label": "benign", "set": f"pypi-{('tuned', 'unseen')[half]}", "app": package, "tool": tool}
                    files[half].write(json.dumps(entry, default=str) + "\n")
    for file in files:
        file.close()


def write_attacks(folder):
    labels, packages = {}, set()
    for line in (HERE / "attack-labels.tsv").read_text().splitlines():
        digest, label, package = line.split("\t")
        labels[digest] = label
        packages.add(package)
    found = {}
    for package in sorted(packages):
        for path, text in sources(package, ("sdist", "bdist_wheel")):
            for value in texts_of_python(text) if path.endswith(".py") else ():
                value = inspect.cleandoc(value)
                digest = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
                if digest in labels:
                    found[digest] = value
    for label in sorted(set(labels.values())):
        with open(folder / f"attacks-{label}.jsonl", "w", encoding="utf-8") as file:
            for digest, value in sorted(found.items()):
                if labels[digest] == label:
                    tool = {"name": "tool", "description": value, "inputSchema": {"type": "object"}}
                    file.write(json.dumps({"label": "attack", "set": f"attacks-{label}", "tool": tool}) + "\n")
    print(f"{len(found)} of {len(labels)} labelled attacks found")


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_attacks(target)
    write_benign(target, int(sys.argv[2]) if len(sys.argv) > 2 else 1600)
