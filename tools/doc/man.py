#!/usr/bin/env python3
# man.py - the manual pages: section 3 from the public headers, axo(7), axo-restart-bench(1).
#
#   tools/doc/man.py [--root folder] [--list] build/man
#
# Writes man1, man3 and man7 below the folder, and `list`, the names of all pages. A page of
# section 3 is a header; each function and type has a page of one line that leads to its header's.
# axo(7) has the README's opening and limits, axo-restart-bench(1) its own --help and the first
# sections of bench/RESTART.md: an option that one has and the other lacks is an error. The date is
# that of SOURCE_DATE_EPOCH, or of the youngest file that was read.
import argparse
import datetime
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
import headers
from headers import CODE, HEADER, NAME, PATH, ROOT, Wrong

WIDTH = 72
MADE = ("{", "AXO_INIT(")
INIT_MACRO = "The size, and what is named; the rest is zero."
INIT_FUNCTION = "The size, and zeros."


# ---- roff --------------------------------------------------------------------------------------


def escape(text, code=False):
    text = text.replace("\\", "\\e").replace("^", "\\(ha").replace("~", "\\(ti")
    if code:
        return text.replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = re.sub(r"(?<![\w-])-(?=[A-Za-z])", r"\\%\\-", text)       # an option is not hyphenated
    return re.sub(r"(?<![\w%\\-])-(?=[\w-])|-(?=-)|(?<=-)-", r"\\-", text)


def guard(line):
    """A line of text that roff must not take for a request."""
    return "\\&" + line if line.startswith((".", "'")) else line


def bold(text):
    text = re.sub(r",(?=\S)", r",\\:", escape(text, True))     # where a long one may be broken
    return f"\\%\\fB{text}\\fP"


def italic(text):
    return f"\\%\\fI{escape(text, True)}\\fP"


class Page:
    def __init__(self, name, section, date, version):
        self.name, self.section = name, section
        self.lines = [f'.TH {name} {section} {date} "axo {version}" "axo manual"', ".ad l", ".nh"]

    def request(self, word, *arguments):
        quoted = ['"' + a.replace('"', "\\(dq") + '"' if " " in a or not a else a for a in arguments]
        self.lines.append(" ".join(["." + word] + quoted))

    def tag(self, tag, width=None):
        self.lines += [".TP" + (f" {width}" if width else ""), guard(tag)]

    def text(self, text):
        """Escaped text; each sentence begins a line."""
        for line in re.split(r"(?<=[.:;?!])\s+(?=[\"(]?(?:\\%)?(?:\\f[BI])?[A-Z])", " ".join(text.split())):
            if line:
                self.lines.append(guard(line))

    def display(self, text, indent=4):
        self.lines += [".sp", f".RS {indent}", ".EX"]
        self.lines += [guard(escape(line, True)) for line in text.rstrip("\n").split("\n")]
        self.lines += [".EE", ".RE"]

    def tidied(self):
        """Without what begins nothing: an empty block, a paragraph below a head or before a tag."""
        out = []
        for line in self.lines:
            word, last = line.split(" ")[0], out[-1].split(" ")[0] if out else ""
            if word == ".RE" and last == ".RS":
                out.pop()
                continue
            if last in (".PP", ".IP") and out[-1] == last and \
                    word in (".PP", ".IP", ".TP", ".SS", ".SH", ".RS", ".sp"):
                out.pop()
                last = out[-1].split(" ")[0]
            if word in (".PP", ".sp") and last in (".SH", ".SS", ".PP"):
                continue
            out.append(line)
        return out

    def write(self, folder):
        os.makedirs(os.path.join(folder, f"man{self.section}"), exist_ok=True)
        path = f"man{self.section}/{self.name}.{self.section}"
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write("\n".join(self.tidied()) + "\n")
        return path


# ---- section 3 ---------------------------------------------------------------------------------


class Section3:
    def __init__(self, library):
        self.library = library

    def inline(self, text, parameters=()):
        out = []
        for kind, word, piece in self.library.words(text):
            if kind == CODE:
                out.append(italic(word) if re.fullmatch(r"\w+", word) else bold(word))
            elif kind == NAME:
                base = word.partition(".")[0]
                declared = self.library.home.get(base)
                function = declared and declared[1].kind == "function"
                rest = piece[len(word):]
                out.append((bold if function or word.isupper() else italic)(word) + escape(rest))
            elif kind == HEADER:
                out.append(bold(self.library.header(word).page) +
                           ("(7)" if word == "axo" else "(3)"))
            elif kind == PATH:
                out.append(italic(word))
            else:
                text = escape(piece)
                out.append(re.sub(r"(?<!\w)\*(\w+)", lambda m: italic(m.group(0))
                                  if m.group(1) in parameters else m.group(0), text))
        return "".join(out)

    def prose(self, page, blocks, first, parameters=()):
        """Paragraphs, lists and displays; `first`: what begins every paragraph but one below a tag."""
        began = False
        for block in blocks:
            if block.kind == "para":
                if began or first == "PP":
                    page.request(first)
                page.text(self.inline(block.text, parameters))
            elif block.kind == "list":
                page.request("IP", "\\(bu", "3")
                page.text(self.inline(block.text, parameters))
            elif block.kind == "display":
                page.display(block.text)
            began = True

    def prototype(self, each):
        """A declaration in lines of WIDTH, parameters in italics."""
        text = each.text.rstrip(";")
        if each.kind == "typedef" and "(*" in text:
            at = text.index(")(") + 1
        else:
            at = text.index("(") if "(" in text else len(text)
        if at == len(text):
            return [bold(text + ";")]
        pieces, depth, last = [], 0, at + 1
        inside = text[at + 1:text.rindex(")")]
        for offset, character in enumerate(inside + ","):
            depth += (character in "(") - (character in ")")
            if character == "," and depth == 0:
                pieces.append(text[last:at + 1 + offset].strip())
                last = at + 2 + offset
        lines, line, length = [], bold(text[:at + 1]), at + 1
        indent = at + 1 if at < 40 else 8
        for number, piece in enumerate(pieces):
            end = ");" if number == len(pieces) - 1 else ","
            size = len(piece) + len(end)
            if number and length + 1 + size > WIDTH:
                lines.append(line)
                line, length = " " * indent, indent
            elif number:
                line, length = line + " ", length + 1
            line += self.parameter(piece) + bold(end)
            length += size
        return lines + [line]

    @staticmethod
    def parameter(piece):
        match = re.search(r"\(\*(\w+)\)", piece) or re.search(r"(\w+)(?:\[\w*\])?$", piece)
        if not match or piece in ("void", "..."):
            return bold(piece)
        begin, end = match.span(1)
        return bold(piece[:begin]) + italic(piece[begin:end]) + (bold(piece[end:])
                                                                 if piece[end:] else "")

    def synopsis(self, page, header):
        page.request("SH", "LIBRARY")
        page.text("axo, an actor runtime (" + italic("libaxo") + ", " + italic("\\-laxo".replace(
            "\\", "")) + "; pkg-config: " + italic("axo") + ")")
        page.request("SH", "SYNOPSIS")
        page.request("nf")
        page.lines.append(bold(f"#include <axo/{header.name}.h>"))
        long = True
        for part in header.parts:
            shown = [self.prototype(each) for each in part.declarations
                     if each.kind == "function" or (each.kind == "typedef" and "(*" in each.text)]
            if shown and (long or len(shown) > 1 or len(shown[0]) > 1):
                page.request("PP")
            if shown:
                long = len(shown) > 1 or len(shown[0]) > 1
            for lines in shown:
                page.lines += lines
        page.request("fi")

    def member(self, page, each, value):
        declared = each.text
        if value:
            declared = each.name + (f" = {each.value}" if re.match(r"-?\d", each.value) else
                                    f' "{each.value}"' if each.value else "")
            page.tag(bold(declared))
        else:
            at = re.search(rf"\b{each.name}\b(?=[\[)]|$)", declared)
            page.tag(bold(declared[:at.start()]) + italic(each.name) +
                     (bold(declared[at.end():]) if declared[at.end():] else ""))
        page.text(self.inline(each.says) if each.says else "\\&")

    def declared(self, page, part):
        """One entry: names, what the comment says, members, the lines of the contract."""
        kinds = {each.kind for each in part.declarations}
        functions = part.functions()
        values = [each for each in part.declarations if each.kind == "macro"]
        if kinds == {"macro"} and (len(values) > 1 or not part.blocks):
            self.prose(page, part.blocks, "PP")
            for each in values:
                self.macro(page, each)
            return
        names = functions or [each for each in part.declarations
                              if each.kind not in ("macro", "function") or kinds == {"macro"}]
        tag = ", ".join(bold(each.name) + ("()" if each.kind == "function" else "")
                        for each in unique(names))
        if kinds == {"macro"}:
            tag = bold(values[0].text)
            if self.shown(values[0]) and "(" not in values[0].text:
                tag += " " + escape(self.shown(values[0]), True)
        page.tag(tag)
        parameters = [name for each in functions for name in each.parameters]
        if part.blocks:
            self.prose(page, part.blocks, "IP", parameters)
        else:
            page.lines.append("\\&")
        page.request("RS")
        for block in part.blocks:
            if block.kind == "line" and block.key not in ("thread", "returns", "after"):
                page.tag(italic(block.key), 10)
                page.text(self.inline(block.text, parameters))
        for each in part.declarations:
            if each.kind in ("struct", "enum", "list"):
                self.members(page, each)
            elif each.kind == "macro" and kinds != {"macro"}:
                self.macro(page, each)
            elif each in part.inits():
                page.tag(bold(each.name) + "()")
                page.text(INIT_FUNCTION)
            elif each.kind == "typedef" and functions and "(*" in each.text:
                page.request("PP")
                page.lines += self.prototype(each)
        page.request("RE")

    def members(self, page, each):
        if each.members and each.members[0].before == "list":
            page.request("PP")
            page.text("The words of " + bold(each.members[0].name) + ", above.")
            return
        for member in each.members:
            if member.before:
                page.request("PP")
                page.text(self.inline(member.before))
            self.member(page, member, each.kind != "struct")

    @staticmethod
    def shown(each):
        value = each.members[0].value
        return "" if value.startswith(MADE) or "static_cast" in value or len(value) > 60 or \
            value.startswith("__attribute__") else value

    def macro(self, page, each):
        value = self.shown(each)
        page.tag(bold(each.text) + (" " + escape(value, True) if value and "(" not in each.text
                                    else ""))
        says = each.members[0].says
        if says:
            page.text(self.inline(says))
        elif each.text.endswith("(...)") and each.members[0].value.startswith(MADE):
            page.text(INIT_MACRO)
        else:
            page.lines.append("\\&")

    def results(self, page, header):
        parts = [part for part in header.parts
                 if part.kind == "declared" and (part.lines("returns") or part.lines("after"))]
        if not parts:
            return
        page.request("SH", "RETURN VALUE")
        for part in parts:
            functions = part.functions()
            parameters = [name for each in functions for name in each.parameters]
            page.tag(", ".join(bold(each.name) + "()" for each in functions))
            blocks = part.lines("returns") + part.lines("after")
            for number, block in enumerate(blocks):
                if number:
                    page.request("IP")
                text = block.text
                if block.key == "after" and not text.startswith("on "):
                    text = "After that " + text
                page.text(self.inline(text[0].upper() + text[1:] if block.key == "after" else text,
                                      parameters) + ("" if text.endswith(".") else "."))

    def errors(self, page, header):
        said = " ".join(block.text for part in header.parts for block in part.blocks
                        if part.kind == "declared" and header.declarations("function"))
        used = [name for name in self.library.statuses
                if name != "AXO_OK" and re.search(rf"\b{name}\b", said)]
        if not used or header.name == "status":
            return
        page.request("SH", "ERRORS")
        page.text("What a status means in general; each function's own reasons are above.")
        for name in used:
            page.tag(bold(name))
            page.text(escape(self.library.statuses[name]) + ".")

    def attributes(self, page, header):
        by_thread = {}
        for part in header.parts:
            for each in part.declarations:
                if each.kind != "function":
                    continue
                lines = part.lines("thread")
                if lines:
                    text = lines[0].text
                elif "axo_ctx *" in each.text:
                    text = "only the callback that was given `ctx`"
                elif "axo_system *" in each.text:
                    text = "any, actors too, unless the description says otherwise"
                elif each.inline:
                    text = "any"
                else:
                    text = "as the description says"
                by_thread.setdefault(text, []).append(each.name)
        if not by_thread:
            return
        page.request("SH", "ATTRIBUTES")
        page.text("Which thread may call:")
        for text, names in by_thread.items():
            page.tag(self.inline(text))
            page.text(", ".join(bold(name) + "()" for name in names))

    def see_also(self, page, header):
        texts = [block.text for block in header.head] + \
            [block.text for part in header.parts for block in part.blocks]
        pages = set()
        for text in texts:
            for kind, word, _ in self.library.words(text):
                home = self.library.home.get(word.partition(".")[0]) if kind == NAME else None
                other = self.library.header(word) if kind == HEADER else home and home[0]
                if other and other is not header and other.name not in ("axo", "status"):
                    pages.add(other.page)
        page.request("SH", "SEE ALSO")
        entries = [f".BR {name} (3)" for name in sorted(pages)] + [".BR axo (7)"]
        page.lines += [entry + " ," for entry in entries[:-1]] + entries[-1:]
        page.lines = [re.sub(r"\((\d)\) ,$", r"(\1),", line) for line in page.lines]

    def page(self, header, date, version):
        page = Page(header.page, 3, date, version)
        names = unique_names([header.page] +
                             [each.name for each in header.declarations("function")])
        page.request("SH", "NAME")
        page.lines.append(", ".join(names) + " \\- " + escape(header.summary))
        self.synopsis(page, header)
        page.request("SH", "DESCRIPTION")
        first = True
        for block in header.head:
            if block.kind == "para" and not first:
                page.request("PP")
            if block.kind == "para":
                page.text(self.inline(block.text))
            else:
                self.prose(page, [block], "PP")
            first = False
        if not header.head:
            page.text("What " + italic(f"<axo/{header.name}.h>") + " declares:")
        for part in header.parts:
            if part.kind == "section":
                page.request("SS", escape(part.title[0].upper() + part.title[1:]))
                if part.blocks:
                    self.prose(page, part.blocks, "PP")
            elif part.kind == "prose":
                self.prose(page, part.blocks, "PP")
            else:
                self.declared(page, part)
        self.results(page, header)
        self.errors(page, header)
        self.attributes(page, header)
        self.see_also(page, header)
        return page


def unique_names(names):
    return list(dict.fromkeys(names))


def unique(declarations):
    return list({each.name: each for each in declarations}.values())


# ---- Markdown, as far as the pages that are quoted use it --------------------------------------


def markdown_inline(text):
    out = []
    pattern = r"`[^`]+`|\*\*[^*]+\*\*|(?<![\w*])\*[^*\s][^*]*\*(?!\w)|\[((?:[^\]`]|`[^`]*`)+)\]\([^)]*\)"
    at = 0
    for match in re.finditer(pattern, text):
        piece = match.group(0)
        out.append(plain(text[at:match.start()]))
        if piece.startswith("`"):
            out.append(bold(piece[1:-1]))
        elif piece.startswith("**"):
            out.append(bold(piece[2:-2]))
        elif piece.startswith("*"):
            out.append(italic(piece[1:-1]))
        else:
            out.append(markdown_inline(match.group(1)))
        at = match.end()
    return "".join(out) + plain(text[at:])


def plain(text):
    if re.search(r"`|\*\*|\]\(|<[a-z/!]", text):
        raise Wrong(f"Markdown that is not understood: {text}")
    return escape(text)


def markdown(page, text):
    """Paragraphs, lists, numbered lists, fenced code, tables of two columns."""
    for number, block in enumerate(re.split(r"^```.*\n?", text, flags=re.M)):
        if number % 2:
            page.display(block)
            continue
        for piece in re.split(r"\n\s*\n", block):
            if piece.strip():
                markdown_piece(page, piece.strip("\n"))


def markdown_piece(page, piece):
    if piece.startswith("#"):
        raise Wrong(f"a heading inside of a section: {piece}")
    if piece.startswith("|"):
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
                for line in piece.split("\n")]
        for row in rows[2:]:
            if len(row) != 2:
                raise Wrong(f"a table of {len(row)} columns")
            page.tag(markdown_inline(row[0]))
            page.text(markdown_inline(row[1]))
        return
    items = re.split(r"\n(?=- |\d+\. )", piece)
    for item in items:
        match = re.match(r"(- |\d+\. )", item)
        if match:
            page.request("IP", "\\(bu" if match.group(1) == "- " else match.group(1).strip(), "3")
            page.text(markdown_inline(item[match.end():]))
        else:
            page.request("PP")
            page.text(markdown_inline(item))


def markdown_section(text, title):
    match = re.search(rf"^#+ (?:\d+\. )?{re.escape(title)}\n(.*?)(?=^#+ |\Z)", text, re.M | re.S)
    if not match:
        raise Wrong(f"there is no section \"{title}\"")
    return match.group(1)


# ---- axo(7) ------------------------------------------------------------------------------------


def overview(library, readme, example, date, version):
    page = Page("axo", 7, date, version)
    writer = Section3(library)
    header = library.header("axo")
    page.request("SH", "NAME")
    page.lines.append("axo \\- actors in C, with supervision")
    page.request("SH", "SYNOPSIS")
    page.lines += [".nf", bold("#include <axo/axo.h>"), ".PP",
                   bold("cc app.c $(pkg-config --cflags --libs axo)"), ".fi"]
    page.request("SH", "DESCRIPTION")
    opening = re.match(r"# axo\n\n(.*?)(?=^\||^## )", readme, re.S | re.M).group(1)
    markdown(page, opening)
    page.request("SS", "What happens when an actor fails")
    markdown(page, markdown_section(readme, "What happens when an actor fails"))
    page.request("SS", "What holds everywhere")
    for block in header.head:
        if block.kind == "para" and block.text.startswith("What holds everywhere"):
            continue
        writer.prose(page, [block], "PP")
    page.request("SH", "HEADERS")
    for each in sorted(library.headers, key=lambda each: each.name):
        if each is not header:
            page.tag(f"\\fB{each.page}\\fP(3)")
            page.text(escape(each.summary) + ".")
    page.request("SH", "NOTES")
    markdown(page, markdown_section(readme, "Supported, and limits"))
    page.request("SH", "EXAMPLES")
    page.text("A supervisor whose child fails, whole; every header names a program for what it "
              "declares.")
    page.display(example, 0)
    page.request("SH", "SEE ALSO")
    page.lines += [".BR axo_actor (3),", ".BR axo_supervision (3),", ".BR axo_system (3),",
                   ".BR axo\\-restart\\-bench (1)"]
    return page


# ---- axo-restart-bench(1) ----------------------------------------------------------------------


def help_of(source):
    body = re.search(r"static const char help_text\[\] =\n(.*?);\n", source, re.S).group(1)
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', body))
    return text.replace("\\n", "\n").replace('\\"', '"')


def options_of(source):
    """The names that getopt knows."""
    names = re.findall(r"LIST_(?:WORDS|NUMBERS)\((\w+),", source)
    names += re.findall(r'^    \{"([\w-]+)", (?:required|no)_argument', source, re.M)
    if len(names) < 10:
        raise Wrong("cannot find the tool's options")
    return [name for name in names if name != "field"]


def bench_options(page, help_text):
    """The groups of --help; returns the options that were written."""
    written = []
    for group in help_text.split("\n\n")[1:]:
        lines = group.split("\n")
        if not any(line.startswith("  --") for line in lines):
            continue
        head = []
        while lines and not lines[0].startswith("  --"):
            head.append(lines.pop(0))
        intro = " ".join(head).rstrip(":")
        title, _, rest = intro.partition("; ")
        page.request("SS", escape(title))
        if rest:
            page.text(escape(rest[0].upper() + rest[1:] + "."))
        entries = []
        for line in lines:
            match = re.match(r"  (--[\w-]+(?: [A-Z]+)?(?:  --[\w-]+)?)(?:\s{2,}(\S.*))?$", line)
            if match and not re.match(r"  --\w+ +--", line):
                said = match.group(2) or ""
                second = re.match(r"(.*?\S)\s{2,}(--[\w-]+ [A-Z]+)\s{2,}(\S.*)$", said)
                if second:
                    entries += [[match.group(1), second.group(1)], [second.group(2),
                                                                    second.group(3)]]
                else:
                    entries.append([match.group(1), said])
            elif re.match(r"(?:  --\w+)+$", line):
                entries += [[word, ""] for word in line.split()]
            elif line.startswith("      ") and entries:
                entries[-1][1] += " " + line.strip()
            else:
                raise Wrong(f"--help: {line}")
        said = {"--help": "Lists the options.", "--version": "Prints the version."}
        for option, text in entries:
            name, _, argument = option.partition(" ")
            written.append(name[2:])
            page.tag(bold(name) + (" " + italic(argument) if argument else ""))
            text = text or said.get(name) or ""
            if not text:
                raise Wrong(f"--help says nothing of {name}")
            page.text(escape(text))
    return written


def bench_page(source, restart, date, version):
    page = Page("axo-restart-bench", 1, date, version)
    page.lines[0] = page.lines[0].replace("axo-restart-bench", "axo\\-restart\\-bench", 1)
    help_text = help_of(source)
    page.request("SH", "NAME")
    page.lines.append("axo\\-restart\\-bench \\- measures how long a failed actor takes to go on")
    page.request("SH", "SYNOPSIS")
    page.lines += [".SY axo\\-restart\\-bench", ".RI [ option ...]", ".YS"]
    page.request("SH", "DESCRIPTION")
    page.text(escape(" ".join(help_text.split("\n\n", maxsplit=1)[0].split("\n")[1:])
                     .replace("bench/RESTART.md says what each figure is.", "")))
    markdown(page, markdown_section(restart, "What is measured"))
    page.request("SH", "OPTIONS")
    written = bench_options(page, help_text)
    known = options_of(source)
    for name in sorted(set(known) ^ set(written)):
        raise Wrong(f"--{name} is " + ("in no line of --help" if name in known
                                       else "an option of --help that getopt does not know"))
    page.request("SH", "EXIT STATUS")
    status = re.search(r"Exit code: (.*)$", help_text, re.S).group(1)
    for piece in re.split(r"[;.]\s+(?=\d)", " ".join(status.split())):
        number, _, text = piece.partition(" ")
        page.tag(bold(number))
        page.text(escape(text[0].upper() + text[1:].rstrip(".") + "."))
    page.request("SH", "REPORTS")
    page.request("SS", "Marks and phases")
    markdown(page, markdown_section(restart, "Marks and phases"))
    page.request("SS", "Clocks")
    markdown(page, markdown_section(restart, "Clocks"))
    page.request("SS", "Storms")
    markdown(page, markdown_section(restart, "Storms"))
    page.request("SS", "Fields")
    markdown(page, markdown_section(restart, "Reports"))
    page.request("SH", "NOTES")
    page.request("SS", "Comparing")
    markdown(page, markdown_section(restart, "Comparing"))
    page.request("SS", "Traps")
    markdown(page, markdown_section(restart, "Traps"))
    page.request("SH", "EXAMPLES")
    page.display("\n".join(line for line in markdown_section(restart, "The tool").split("\n")
                           if line.startswith("axo-restart-bench")))
    page.request("SH", "SEE ALSO")
    page.lines += [".BR axo_supervision (3),", ".BR axo_trace (3),", ".BR axo (7)"]
    return page


# ---- all ---------------------------------------------------------------------------------------


def read(root, *path):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


def date_of(root, library):
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        paths = [header.path for header in library.headers] + ["README.md", "bench/RESTART.md"]
        epoch = max(os.path.getmtime(os.path.join(root, path)) for path in paths)
    return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%d")


def version_of(root):
    return ".".join(re.findall(r"#define AXO_VERSION_\w+ (\d+)",
                               read(root, "include", "axo", "version.h")))


def pages_of(root, library):
    date, version = date_of(root, library), version_of(root)
    writer = Section3(library)
    for header in library.headers:
        if header.name != "axo":
            yield writer.page(header, date, version)
    yield overview(library, read(root, "README.md"),
                   read(root, "test", "example", "hello_supervisor.c"), date, version)
    yield bench_page(read(root, "bench", "restart", "options.c"),
                     read(root, "bench", "RESTART.md"), date, version)


def links_of(library):
    """Names that have no page of their own, each with the page that it leads to."""
    pages = {header.page for header in library.headers}
    links = {"axo.h": "man7/axo.7"}
    for name, (header, each) in library.home.items():
        if each.kind in ("function", "struct", "enum", "typedef") and each.name == name and \
                name not in pages:
            links[name] = f"man3/{header.page}.3"
    return links


def main():
    parser = argparse.ArgumentParser(description="Writes the manual pages.")
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("folder")
    options = parser.parse_args()
    library = headers.read_or_die(options.root)
    for section in ("man1", "man3", "man7"):
        shutil.rmtree(os.path.join(options.folder, section), ignore_errors=True)
    try:
        written = [page.write(options.folder) for page in pages_of(options.root, library)]
    except Wrong as error:
        sys.exit(f"man.py: {error}")
    for name, target in sorted(links_of(library).items()):
        path = f"man3/{name}.3"
        with open(os.path.join(options.folder, path), "w", encoding="utf-8") as file:
            file.write(f".so {target}\n")
        written.append(path)
    with open(os.path.join(options.folder, "list"), "w", encoding="utf-8") as file:
        file.writelines(path + "\n" for path in sorted(written))
    return 0


if __name__ == "__main__":
    sys.exit(main())
