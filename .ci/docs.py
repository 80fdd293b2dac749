#!/usr/bin/env python3
"""Checks the links of the documentation, and prepares it for mdBook.

.ci/docs.py          fails if a Markdown file links to a file or a heading that does not exist
.ci/docs.py FOLDER   fails if a page of the built site does
mdbook build         builds the site; calls this as a preprocessor (book.toml)

On the site, a page in docs/ that is nothing but {{#include FILE}} is that file or, for a C header,
the reference in its comments; {{#python-reference}} is what python_reference.py makes. Links to
other pages lead to these, and links to other files of the repository lead to them on GitHub.
"""

import html.parser
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import python_reference

REPOSITORY = "https://github.com/palladion/palladion"
# Code, which has no links; or what comes before a link, with its text if that is a path, and its
# target.
LINK = re.compile(
    r'(^```.*?^```|`[^`]+`)|((?:\[([\w./-]+))?\]\(|^\[[^\]]+\]: +|src=")([^)\s"]+)', re.M | re.S
)
INCLUDE = re.compile(r"\{\{#include (\S+)\}\}\s*")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(path):
    """Returns the names that GitHub gives to the headings."""
    text = re.sub(r"^```.*?^```", "", read(path), flags=re.M | re.S)
    names = set()
    for title in re.findall(r"^#+ (.*)", text, re.M):
        name = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        while name in names:
            name += "-1"
        names.add(name)
    return names


def targets(path):
    """Yields the path and the anchor of each link to a file of the repository."""
    for code, _, _, target in LINK.findall(read(path)):
        if not code and not re.match(r"\w+:", target):
            file, _, anchor = target.partition("#")
            relative = os.path.join(os.path.dirname(path), file)
            yield os.path.normpath(relative) if file else path, anchor


def check_sources():
    tracked = set(subprocess.check_output(["git", "ls-files"], text=True).split("\n"))
    folders = {os.path.dirname(file) for file in tracked} | {"."}
    for path in sorted(file for file in tracked if file.endswith(".md")):
        for file, anchor in targets(path):
            if file not in tracked and not any(f"{f}/".startswith(f"{file}/") for f in folders):
                yield f"{path}: no file {file}"
            elif anchor and file.endswith(".md") and anchor not in anchors(file):
                yield f"{path}: no heading #{anchor} in {file}"


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page of the site."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(read(path))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value and not re.match(r"\w+:|//", value):
                self.links.append(value)


def check_site(root):
    pages = {
        os.path.join(folder, file): Page(os.path.join(folder, file))
        for folder, _, files in os.walk(root) for file in files if file.endswith(".html")
    }
    for path, page in pages.items():
        # The error page is served at any address, so its links begin at the site's address.
        for link in page.links if not path.endswith("404.html") else []:
            file, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(target):
                yield f"{path}: no file {link}"
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{path}: no heading {link}"


def reference(header):
    """Returns the comments of a header in C, with what they are about, as Markdown."""
    yield f"# {os.path.basename(header)}\n"
    blocks = re.finditer(r"/\*(\*?)(.*?)\*/\n?(.*?)(?=\n\n|\n\}.*?;\n|\Z)(\n\}[^\n]*)?",
                         read(header), re.S)
    for position, (is_doc, comment, code, end) in enumerate(block.groups() for block in blocks):
        if not is_doc and position > 0:
            continue
        # Bullets, HTML and emphasis are the only Markdown to mind.
        text = re.sub(r"^ \* ?", "", comment.strip(), flags=re.M).removeprefix("* ").strip()
        text = text.replace("<", "&lt;").replace("*", "\\*")
        text, *tags = re.split(r"\s*@(?=param|return)", text)
        if is_doc:
            names = re.findall(r"^#define (\w+)|^(?!#|typedef).*?\b([a-z]\w+)\(|^typedef .*?(\w+);",
                               code, re.M) or re.findall(r"\}()() *(\w+);", end or "")
            names = ["".join(name) for name in names]
            if "/**" in code and not end:  # constants, each with its comment
                code, text = f"/**{comment}*/\n{code}", ""
            others = ", ".join(f"`{name}`" for name in names[1:3]) + ", …" * (len(names) > 3)
            yield f"## `{names[0]}`{others and ', ' + others}\n"
            yield f"```c\n{code.strip()}{end or ''}\n```\n"
        yield text + "\n"
        for tag in tags:
            kind, rest = tag.split(None, 1)
            if kind == "param":
                name, rest = rest.split(None, 1)
                kind = f"`{name}`:"
            yield f"- {kind.replace('return', '**returns**')} {' '.join(rest.split())}"
        yield ""


def prepare(items):
    """Rewrites the links in the chapters, which come as mdBook's JSON."""
    chapters = list(walk(items))
    sources = {}  # where a page's text is, and the page
    for chapter in chapters:
        path = "docs/" + chapter["source_path"]
        if included := INCLUDE.fullmatch(chapter["content"]):
            path = os.path.normpath(os.path.join("docs", included[1]))
            is_header = path.endswith(".h")
            chapter["content"] = "\n".join(reference(path)) if is_header else read(path)
        elif chapter["content"].strip() == "{{#python-reference}}":
            chapter["content"] = python_reference.page()
        sources[path] = chapter
    for path, chapter in sources.items():
        here = os.path.dirname(chapter["path"])

        def rewritten(match, path=path, here=here):
            code, before, text, target = match.groups()
            if code or target.startswith("#") or re.match(r"\w+:", target):
                return match[0]
            file, mark, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(path), file))
            if file in sources:
                page = sources[file]["path"].replace("README.md", "index.md")
                if text and target.endswith((text, text + "/README.md")):
                    before = f"[{sources[file]['name']}]("
                return before + os.path.relpath(page, here or ".") + mark + anchor
            if file.startswith("docs/") and os.path.isfile(file):
                return before + os.path.relpath(file, os.path.join("docs", here))
            kind = "tree" if os.path.isdir(file) else "blob"
            return f"{before}{REPOSITORY}/{kind}/main/{file}{mark}{anchor}"

        chapter["content"] = LINK.sub(rewritten, chapter["content"])


def walk(items):
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            yield item["Chapter"]
            yield from walk(item["Chapter"]["sub_items"])


os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
match sys.argv[1:]:
    case ["mdbook", "supports", _]:
        problems = []
    case ["mdbook"]:
        _, book = json.load(sys.stdin)
        prepare(book["items"])
        json.dump(book, sys.stdout)
        problems = []
    case [site]:
        problems = list(check_site(site))
    case []:
        problems = list(check_sources())
sys.exit("\n".join(problems) or None)
