#!/usr/bin/env python3
# guide.py - the HTML reference and guide, build/doc/index.html.
#
#   tools/doc/guide.py [--root folder] [--man build/man] build/doc
#
# The guide is the project's own pages: README.md, ARCHITECTURE and DESIGN pages, those of bench/
# and test/, and the example programs, each where it lies in the source. The reference is the
# public headers, read by headers.py. pandoc turns both into HTML: the pages are Markdown already,
# and a contract's lines are no markup that doxygen knows. What a page links to comes along: other
# pages, pictures, source files and folders; a name of the library in code leads to its entry in
# the reference. links.py checks the result. `list` in the folder names all files.
import argparse
import concurrent.futures
import html
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import headers
from headers import CODE, HEADER, NAME, PATH, ROOT, Wrong
from man import INIT_FUNCTION, INIT_MACRO, MADE, unique, unique_names, version_of

EMPTY = "<!-- -->"     # nothing, and a definition all the same
NAME_IN_CODE = re.compile(r"\b(?:axo|AXO)_\w+(?:\.[a-z]\w*)?\b")
HEADER_IN_CODE = re.compile(r"^(?:include/)?(?:axo/)?(\w+)\.h$")
# Folder in the guide, title, pages in this order; a * is all others of that kind.
CHAPTERS = (
    ("Guide", ["README.md"]),
    ("Inside", ["runtime/ARCHITECTURE.md", "runtime/*.md"]),
    ("Tests", ["test/README.md"]),
    ("Measurements", ["bench/README.md", "bench/RESTART.md", "bench/RESTART-results.md", "bench/*.md"]),
)


# ---- the reference, in pandoc's Markdown -------------------------------------------------------


def plain(text):
    return re.sub(r"([\\`*_{}\[\]()#+\-.!<>|~^$@'\"=:])", r"\\\1", text)


def code(text):
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


class Reference:
    def __init__(self, library):
        self.library = library

    def inline(self, text):
        out = []
        for kind, word, piece in self.library.words(text):
            if kind == NAME:
                out.append(code(word) + plain(piece[len(word):]))
            elif kind == HEADER:
                out.append(f"[{code(word + '.h')}]({self.file(word)})")
            elif kind == PATH:
                out.append(f"[{code(word)}](../{word})")
            else:
                out.append(code(word) if kind == CODE else plain(piece))
        return "".join(out)

    def file(self, name):
        return f"{self.library.header(name).page}.html" if name != "axo" else "index.html"

    def prose(self, blocks):
        out = []
        for block in blocks:
            if block.kind == "para":
                out.append(self.inline(block.text) + "\n\n")
            elif block.kind == "list":
                out.append(f"- {self.inline(block.text)}\n\n")
            elif block.kind == "display":
                kind = ".c" if re.search(r";\s|;$", block.text) else ".text"
                out.append(f"~~~~~~ {{{kind}}}\n{block.text}\n~~~~~~\n\n")
        return "".join(out)

    def contract(self, part):
        out = []
        for block in part.blocks:
            if block.kind == "line":
                word = block.key.capitalize() if block.key in headers.CONTRACT else code(block.key)
                out.append(f"{word}\n:   {self.inline(block.text)}\n\n")
        return "::: contract\n" + "".join(out) + ":::\n\n" if out else ""

    def members(self, each):
        if each.members and each.members[0].before == "list":
            return f"The words of {code(each.members[0].name)}\\.\n\n"
        out = []
        for member in each.members:
            if member.before:
                out.append(self.inline(member.before) + "\n\n")
            if each.kind == "struct":
                anchor, declared = f"{each.name}.{member.name}", member.text
            else:
                anchor = member.name
                declared = member.name + (f" = {member.value}" if member.value else "")
            out.append(f"[{code(declared)}]{{#{anchor}}}\n:   {self.inline(member.says) or EMPTY}\n\n")
        return "::: members\n" + "".join(out) + ":::\n\n"

    def macros(self, macros):
        out = []
        for each in macros:
            value = each.members[0].value
            shown = each.text + (f" {value}" if "(" not in each.text and len(value) < 60 else "")
            says = each.members[0].says
            if not says and each.text.endswith("(...)") and value.startswith(MADE):
                says = INIT_MACRO
            out.append(f"[{code(shown)}]{{#{each.name}}}\n:   {self.inline(says) or EMPTY}\n\n")
        return "::: members\n" + "".join(out) + ":::\n\n"

    @staticmethod
    def prototypes(declarations):
        lines = []
        for each in declarations:
            if each.kind == "function" or (each.kind == "typedef" and "(*" in each.text):
                lines.append(wrapped(each.text))
        return "~~~~~~ {.c .prototype}\n" + "\n".join(lines) + "\n~~~~~~\n\n" if lines else ""

    def declared(self, part, level):
        macros = [each for each in part.declarations if each.kind == "macro"]
        others = unique([each for each in part.declarations if each.kind != "macro"])
        if not others and len(macros) == 1 and part.blocks and not macros[0].members[0].says:
            said = self.prose(part.blocks).strip().replace("\n", "\n    ")
            return self.macros(macros).replace(f":   {EMPTY}", f":   {said}")
        if not others:
            return self.prose(part.blocks) + self.macros(macros)
        functions = part.functions()
        named = functions or [each for each in others if each.kind != "function"]
        spans = "".join(f"[]{{#{each.name}}}" for each in others
                        if each is not named[0] and each not in part.inits())
        title = ", ".join(each.name for each in named)
        out = [f"{'#' * level} {spans}{code(title)} {{#{named[0].name} .declared}}\n\n",
               self.prototypes(functions or others), self.prose(part.blocks), self.contract(part)]
        out += [self.members(each) for each in part.declarations
                if each.kind in ("struct", "enum", "list")]
        out += [f"::: members\n[{code(each.name + '()')}]{{#{each.name}}}\n:   {INIT_FUNCTION}\n\n"
                ":::\n\n" for each in part.inits()]
        return "".join(out) + (self.macros(macros) if macros else "")

    def page(self, header):
        out = [f"# {code(header.name + '.h')}\n\n", self.inline(header.summary[0].upper() +
                                                               header.summary[1:]) + "\\.\n\n",
               f"~~~~~~ {{.c}}\n#include <axo/{header.name}.h>\n~~~~~~\n\n", self.prose(header.head)]
        level = 2
        for part in header.parts:
            if part.kind == "section":
                title = part.title[0].upper() + part.title[1:]
                out.append(f"## {plain(title)}\n\n" + self.prose(part.blocks))
                level = 3
            elif part.kind == "prose":
                out.append(self.prose(part.blocks))
            else:
                out.append(self.declared(part, level))
        return "".join(out)

    def index(self):
        header = self.library.header("axo")
        out = ["# Reference\n\n", self.prose(header.head), "## Headers\n\n"]
        for each in sorted(self.library.headers, key=lambda each: each.name):
            if each is not header:
                out.append(f"[{code(each.name + '.h')}]({each.page}.html)\n:   "
                           f"{self.inline(each.summary)}\n\n")
        for title, kinds in (("Functions", ("function",)), ("Types", ("struct", "enum", "typedef")),
                             ("Macros and constants", ("macro", "list", "value"))):
            names = sorted(name for name, (_, each) in self.library.home.items()
                           if ("value" if name != each.name else each.kind) in kinds)
            out.append(f"## {title}\n\n::: names\n" +
                       "".join(f"- {code(name)}\n" for name in names) + ":::\n\n")
        return "".join(out)


def wrapped(text):
    """A prototype in lines of at most 88 columns."""
    if len(text) <= 88 or "(" not in text:
        return text
    at = text.index(")(") + 2 if "(*" in text[:text.index(")")] else text.index("(") + 1
    lines, line = [], text[:at]
    for piece in re.split(r"(?<=,) (?![^()]*\))|(?<=,) (?=[^()]*(?:\([^()]*\)[^()]*)*\);$)", text[at:]):
        if len(line) + len(piece) + 1 > 88:
            lines.append(line.rstrip())
            line = " " * min(at, 40)
        line += piece + " "
    return "\n".join(lines + [line.rstrip()])


# ---- pages -------------------------------------------------------------------------------------


class Site:
    """What is written where. A page's path is that of its source, with .html."""

    def __init__(self, root, folder, library):
        self.root, self.folder, self.library = root, folder, library
        self.pages = {}        # path in the site -> (title, kind, text)
        self.copies = set()    # files that come along as they are
        self.folders = {}      # linked folders -> their page
        self.anchors = {}      # name -> page#anchor
        self.errors = []
        for name, (header, each) in library.home.items():
            page = "index" if header.name == "axo" else header.page
            self.anchors[name] = f"reference/{page}.html#{name}"
            if each.kind == "struct" and name == each.name:
                for member in each.members:
                    self.anchors[f"{name}.{member.name}"] = \
                        f"reference/{page}.html#{name}.{member.name}"

    def add(self, path, title, kind, text):
        self.pages.setdefault(path, (title, kind, text))

    def add_source(self, path):
        """A page of the repository, or a file of it as a page; returns where it is."""
        full = os.path.join(self.root, path)
        header = re.fullmatch(r"include/axo/(\w+)\.h", path)
        if path.rstrip("/") == "include/axo":
            return "reference/index.html"
        if header:
            page = "index" if header.group(1) == "axo" else f"axo_{header.group(1)}"
            return f"reference/{page}.html"
        if os.path.isdir(full):
            return self.add_folder(path.rstrip("/"))
        if path.endswith((".svg", ".png")):
            self.copies.add(path)
            return path
        if path.endswith(".md"):
            where = "index.html" if path == "README.md" else path[:-3] + ".html"
            if where not in self.pages:
                text = self.read(path)
                title = re.search(r"^# (.*)$", text, re.M)
                self.add(where, (title.group(1) if title else path).replace("`", ""), "gfm", text)
            return where
        where = path + ".html"
        if where not in self.pages:
            self.add(where, path, "markdown", self.source_text(path))
        return where

    def source_text(self, path):
        language = {"c": ".c", "h": ".c", "py": ".python", "sh": ".bash", "cpp": ".cpp"}.get(
            path.rpartition(".")[2], ".text")
        text = self.read(path)
        fence = "~" * (3 + max([len(run) for run in re.findall(r"~+", text)] + [5]))
        out = f"# {code(path)}\n\n{fence} {{{language}}}\n{text}\n{fence}\n"
        expected = os.path.splitext(path)[0] + ".expected"
        if path.startswith("test/example/") and os.path.exists(os.path.join(self.root, expected)):
            out += f"\nIt prints:\n\n{fence} {{.text}}\n{self.read(expected)}\n{fence}\n"
        return out

    def add_folder(self, path):
        readme = os.path.join(path, "README.md")
        if os.path.exists(os.path.join(self.root, readme)):
            return self.add_source(readme)
        where = f"{path}/index.html"
        if where in self.pages:
            return where
        entries = []
        self.add(where, path + "/", "markdown", "")
        for name in sorted(os.listdir(os.path.join(self.root, path))):
            full = os.path.join(self.root, path, name)
            if name.startswith((".", "__")) or os.path.isdir(full):
                continue
            first = first_words(full, name)
            if path == "test/example" and name.endswith(".c"):
                self.add_source(f"{path}/{name}")
                entries.append(f"[{code(name)}]({name}.html)\n:   {plain(first) or EMPTY}\n\n")
            elif path != "test/example":
                entries.append(f"{code(name)}\n:   {plain(first) or EMPTY}\n\n")
        self.pages[where] = (path + "/", "markdown", f"# {code(path + '/')}\n\n" + "".join(entries))
        return where

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    # ---- from pandoc's HTML to the page's

    def target(self, where, link):
        """Where a link of a page leads in the site; None: it stays as it is."""
        path, mark, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return None
        base = os.path.dirname("README.md" if where == "index.html" else where)
        full = os.path.normpath(os.path.join(base, path)) + ("/" if path.endswith("/") else "")
        if full.rstrip("/") in self.pages:
            return None
        if full.startswith("..") or not os.path.exists(os.path.join(self.root, full)):
            self.errors.append(f"{where}: links to {link}, which is not in the source")
            return None
        found = self.add_source(full)
        return os.path.relpath(found, os.path.dirname(where) or ".") + mark + anchor

    def relink(self, where, fragment):
        def replace(match):
            found = self.target(where, html.unescape(match.group(3)))
            return match.group(1) + match.group(2) + '="' + html.escape(
                found if found is not None else html.unescape(match.group(3)), quote=True) + '"'
        return re.sub(r'(<(?:a|img)\b[^>]*?\s)(href|src)="([^"]*)"', replace, fragment)

    def crosslink(self, where, fragment):
        """Names of the library in code lead to their entries, headers to their pages."""
        up = os.path.relpath(".", os.path.dirname(where) or ".")
        out, inside, link = [], 0, 0
        for piece in re.split(r"(<[^>]*>)", fragment):
            if piece.startswith("<"):
                tag = re.match(r"</?(\w+)", piece)
                if tag and not piece.endswith("/>"):
                    step = -1 if piece.startswith("</") else 1
                    inside += step * (tag.group(1) in ("code", "pre"))
                    link += step * (tag.group(1) in ("a", "h1", "h2", "h3", "title")) \
                        if not re.match(r'<a (?:href="#cb|id)', piece) and \
                        not (step < 0 and tag.group(1) == "a" and link == 0) else 0
                out.append(piece)
                continue
            if inside and not link:
                header = HEADER_IN_CODE.match(piece)
                if header and self.library.header(header.group(1)):
                    page = self.add_source(f"include/axo/{header.group(1)}.h")
                    piece = f'<a href="{up}/{page}">{piece}</a>'
                else:
                    piece = NAME_IN_CODE.sub(lambda m: self.anchor(up, m.group(0)), piece)
            out.append(piece)
        return "".join(out).replace('href="./', 'href="')

    def anchor(self, up, name):
        if name not in self.anchors and "." in name:
            base, _, field = name.partition(".")
            return self.anchor(up, base) + "." + field
        if name not in self.anchors:
            return name
        return f'<a href="{up}/{self.anchors[name]}">{name}</a>'

    def pandoc(self, kind, text):
        found = subprocess.run(["pandoc", "-f", kind, "-t", "html5", "--wrap=preserve"], input=text,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                               universal_newlines=True)
        if found.returncode != 0 or found.stderr:
            raise Wrong(f"pandoc: {found.stderr}")
        return found.stdout

    def navigation(self, where):
        up = os.path.relpath(".", os.path.dirname(where) or ".")
        out = []

        def entry(path, title):
            here = ' aria-current="page"' if path == where else ""
            out.append(f'<li><a href="{up}/{path}"{here}>{html.escape(title)}</a></li>')

        for title, names in self.chapters:
            out.append(f"<h2>{title}</h2><ul>")
            for path in names:
                short = self.pages[path][0]
                if path.startswith("runtime/"):
                    short = os.path.dirname(path) + ("" if path.endswith("DESIGN.html") else ", the map")
                elif path == "test/README.html":
                    short = "How it is tested"
                elif path == "bench/RESTART-results.html":
                    short += ", results"
                entry(path, short if path != "index.html" else "What it is, and how to begin")
            out.append("</ul>")
        out.append("<h2>Examples</h2><ul>")
        for path in sorted(self.pages):
            if path.startswith("test/example/") and path.endswith(".c.html"):
                entry(path, os.path.basename(path)[:-7].replace("_", " "))
        out.append("</ul><h2>Reference</h2><ul>")
        entry("reference/index.html", "All names")
        for path in sorted(path for path in self.pages if path.startswith("reference/axo_")):
            entry(path, os.path.basename(path)[4:-5] + ".h")
        entry("man/axo-restart-bench.1.html", "axo-restart-bench")
        out.append("</ul>")
        return "".join(out).replace('href="./', 'href="')

    def contents(self, fragment):
        heads = re.findall(r'<h2[^>]*\bid="([^"]*)"[^>]*>(.*?)</h2>', fragment, re.S)
        if len(heads) < 3:
            return ""
        entries = "".join(f'<li><a href="#{anchor}">{re.sub("<[^>]*>", "", text)}</a></li>'
                          for anchor, text in heads)
        return f'<details class="contents"><summary>On this page</summary><ul>{entries}</ul></details>'

    def write(self, where, fragment, version):
        up = os.path.relpath(".", os.path.dirname(where) or ".")
        title = html.escape(self.pages[where][0])
        fragment = re.sub(r"<table", '<div class="wide"><table', fragment).replace(
            "</table>", "</table></div>")
        head, mark, rest = fragment.partition("</h1>")
        fragment = head + mark + self.contents(fragment) + rest
        page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}{"" if title == "axo" else " - axo"}</title>
<link rel="stylesheet" href="{up}/axo.css">
</head>
<body>
<nav><p class="name"><a href="{up}/index.html">axo</a> <small>{version}</small></p>
{self.navigation(where)}</nav>
<main>
{fragment}
</main>
</body>
</html>
""".replace('href="./', 'href="')
        path = os.path.join(self.folder, where)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)


def first_words(path, name):
    """What the first line of a file says of it: "name - words"."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = "".join(file.readline() for _ in range(2))
    except UnicodeDecodeError:
        return ""
    match = re.search(rf"{re.escape(name)} - (.*?)(?:\n|\*/)", lines)
    return match.group(1).strip() if match else ""


def collect(site, man):
    """Every page that there is without being linked to."""
    reference = Reference(site.library)
    site.add("reference/index.html", "Reference", "markdown", reference.index())
    for header in site.library.headers:
        if header.name != "axo":
            site.add(f"reference/{header.page}.html", header.name + ".h", "markdown",
                     reference.page(header))
    site.chapters, taken = [], set()
    for title, names in CHAPTERS:
        paths = []
        for name in names:
            if "*" in name:
                folder = name.split("/")[0]
                found = sorted(os.path.relpath(os.path.join(base, file), site.root)
                               for base, _, files in os.walk(os.path.join(site.root, folder))
                               for file in files if file.endswith(".md"))
                paths += [path for path in found if path not in taken]
            else:
                paths.append(name)
            taken.update(paths)
        site.chapters.append((title, [site.add_source(path) for path in unique_names(paths)]))
    site.add_source("test/example")
    site.add_source("test/conformance/entries.txt")
    with open(os.path.join(man, "man1", "axo-restart-bench.1"), encoding="utf-8") as file:
        site.add("man/axo-restart-bench.1.html", "axo-restart-bench", "man",
                 re.sub(r"^\.SY (.*)\n", r"\\fB\1\\fP\n", file.read(), flags=re.M).replace("\n.YS", ""))


def convert(site):
    """Pages bring others with them: until there are no more."""
    done = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while len(done) < len(site.pages):
            paths = [path for path in site.pages if path not in done]
            texts = pool.map(lambda path: site.pandoc(*site.pages[path][1:]), paths)
            for path, fragment in zip(paths, texts):
                if path.startswith("man/"):
                    fragment = f"<h1>{site.pages[path][0]}</h1>\n" + re.sub(
                        r"<(/?)h1\b", r"<\1h2", re.sub(r"<(/?)h2\b", r"<\1h3", fragment))
                done[path] = site.crosslink(path, site.relink(path, fragment))
    return done


def main():
    parser = argparse.ArgumentParser(description="Writes the HTML reference and guide.")
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--man", default=os.path.join(ROOT, "build", "man"))
    parser.add_argument("folder")
    options = parser.parse_args()
    library = headers.read_or_die(options.root)
    site = Site(options.root, options.folder, library)
    shutil.rmtree(options.folder, ignore_errors=True)
    try:
        collect(site, options.man)
        fragments = convert(site)
    except Wrong as error:
        sys.exit(f"guide.py: {error}")
    if site.errors:
        sys.exit("\n".join(site.errors))
    version = version_of(options.root)
    for where, fragment in fragments.items():
        site.write(where, fragment, version)
    for path in site.copies:
        os.makedirs(os.path.dirname(os.path.join(options.folder, path)), exist_ok=True)
        shutil.copy(os.path.join(options.root, path), os.path.join(options.folder, path))
    shutil.copy(os.path.join(ROOT, "tools", "doc", "axo.css"), options.folder)
    names = sorted(list(fragments) + list(site.copies) + ["axo.css"])
    with open(os.path.join(options.folder, "list"), "w", encoding="utf-8") as file:
        file.writelines(name + "\n" for name in names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
