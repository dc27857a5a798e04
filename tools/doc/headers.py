#!/usr/bin/env python3
# headers.py - reads the public headers: what they declare, and what their comments say of it.
#
#   tools/doc/headers.py [--root folder]       only checks; prints what is wrong, or how much there is
#
# man.py and guide.py write what this has read. A comment is understood, or refused:
#
#   head       "name.h - what it is." at the top of a header, then paragraphs
#   section    ---- words ----, at the beginning of a comment
#   contract   the comment straight above a declaration, and those that follow it without a blank line
#   prose      a comment with a blank line below it
#
# and in each: paragraphs; two blanks and "- " a list; two blanks, a word, two blanks or more: a
# line of the contract (thread, blocks, owns, returns, after, or a parameter, or a word in
# capitals); four blanks: as it stands. `so` stands what is said of an argument. A word that begins
# with axo_ or AXO_ is declared somewhere, axo_type.field is a field of it. No comment has the id of
# an entry of test/conformance/entries.txt, or the number of a decision: it says the rule.
import argparse
import os
import re
import sys
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = "\x01"       # no end of a group of lines, as an empty line is
CONTRACT = ("thread", "blocks", "owns", "returns", "after")
DECORATION = re.compile(r"\b(?:AXO_API|AXO_NODISCARD|AXO_NORETURN)\b\s*|\s*\bAXO_PRINTF\([^)]*\)")
WORD = re.compile(r"`[^`]*`|\b(?:test|bench|runtime|tools)/[\w./]*\w\b|\b(?:axo/)?[a-z_]+\.h\b|"
                  r"\b(?:axo|AXO)_(?:\w*\w)?(?:\.[a-z]\w*)?(?:\(\))?\*?")
ENTRY = re.compile(r"\b(?:[A-Z]{2,3}-\d\d+|D\d+|conformance [A-Z]{2,3})\b")
FIELD = re.compile(r"  (\S+)(?: {2,}(\S.*))$")
CODE, NAME, PATH, HEADER, TEXT = "code", "name", "path", "header", "text"

# What a comment is made of: kind is para, list, display or a line of a contract (then with its key).
Block = namedtuple("Block", "kind text key line")
Member = namedtuple("Member", "name text value says before")


class Wrong(Exception):
    pass


class Declaration:
    """kind: function, struct, enum, typedef, macro or list; text as it stands, without comments."""

    def __init__(self, kind, name, text, line):
        self.kind, self.name, self.text, self.line = kind, name, text, line
        self.members, self.parameters, self.inline = [], [], False


class Part:
    """A section's head, a piece of prose, or declarations with the comment that they share."""

    def __init__(self, kind, title, blocks, line):
        self.kind, self.title, self.blocks, self.line = kind, title, blocks, line
        self.declarations = []

    def functions(self):
        """Those that the comment speaks of; a struct's axo_x_init is a part of the struct."""
        structs = {each.name + "_init" for each in self.declarations if each.kind == "struct"}
        return [each for each in self.declarations
                if each.kind == "function" and each.name not in structs]

    def inits(self):
        functions = self.functions()
        return [each for each in self.declarations
                if each.kind == "function" and each not in functions]

    def lines(self, key):
        return [block for block in self.blocks if block.key == key]


class Header:
    def __init__(self, path, name):
        self.path, self.name = path, name
        self.summary, self.head, self.parts = "", [], []

    @property
    def page(self):
        return "axo" if self.name == "axo" else "axo_" + self.name

    def declarations(self, *kinds):
        return [each for part in self.parts for each in part.declarations if each.kind in kinds]


# ---- conditions: a header as a C11 compiler of gcc's family reads it ---------------------------


def condition_holds(text, defined):
    text = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda m: str(int(m.group(1) in defined)), text)
    if re.search(r"\w\s*\(", re.sub(r"\bnot\b", "", text)):
        raise Wrong(f"cannot tell whether this holds: {text}")
    text = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(defined.get(m.group(0), 0)), text)
    text = re.sub(r"(\d)[uUlL]+\b", r"\1", text)
    if not re.fullmatch(r"[\d\s()<>=!&|+-]+", text):
        raise Wrong(f"cannot tell whether this holds: {text}")
    text = text.replace("&&", " and ").replace("||", " or ")
    try:
        return bool(eval(re.sub(r"!(?!=)", " not ", text), {"__builtins__": {}}))
    except (SyntaxError, TypeError):
        raise Wrong("cannot tell whether a condition holds") from None


def chosen(text):
    """The lines; SKIPPED for what another compiler or C++ sees, conditions, includes and the like."""
    defined = {"__GNUC__": 12, "__STDC_VERSION__": 201112}
    out, stack = [], []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(.*?)\s*(?:/\*.*)?$", line)
        if match:
            word, rest = match.groups()
            try:
                if word == "ifdef":
                    stack.append([rest in defined] * 2)
                elif word == "ifndef":
                    stack.append([rest not in defined] * 2)
                elif word == "if":
                    stack.append([condition_holds(rest, defined)] * 2)
                elif word == "elif":
                    now = not stack[-1][1] and condition_holds(rest, defined)
                    stack[-1] = [now, now or stack[-1][1]]
                elif word == "else":
                    stack[-1] = [not stack[-1][1], True]
                else:
                    stack.pop()
            except (Wrong, IndexError) as error:
                raise Wrong(f"{number}: {error or line}") from None
        keep = not match and all(now for now, _ in stack)
        out.append(line if keep else SKIPPED)
        guard = re.match(r"#define (AXO_\w+_H)$", line)
        if guard or re.match(r"#\s*(include|undef)\b", line) or \
                line.strip() in ("AXO_BEGIN_DECLS", "AXO_END_DECLS"):
            out[-1] = SKIPPED
    if stack:
        raise Wrong("a condition is not ended")
    return out


# ---- comments ----------------------------------------------------------------------------------


def comment_lines(text):
    """The lines of a comment without its stars."""
    text = text.strip()[2:-2]
    lines = [re.sub(r"^\s*\*( |$)", "", line) if at else line[1:] if line[:1] == " " else line
             for at, line in enumerate(text.split("\n"))]
    return [line.rstrip() for line in lines]


def flat(text):
    return " ".join(" ".join(comment_lines(text)).split()) if text else ""


def refuse_markup(text, line):
    if "\t" in text or not text.isascii():
        raise Wrong(f"{line}: a tab, or a character that is not ASCII")
    if text.count("`") % 2:
        raise Wrong(f"{line}: a ` without its other one")
    match = re.search(r"(?:^|\s)([@\\][a-z]\w+)|(</?[a-z]+>)|(```|\*\*|__[a-z]+__)", text)
    if match and not match.group(0).strip().startswith("__"):
        raise Wrong(f"{line}: {match.group(0).strip()} is no markup of these headers")


def blocks_of(lines, first, keys):
    """Paragraphs, lists, lines of a contract, displays; `keys`: words that may begin a line."""
    blocks, at = [], 0
    while at < len(lines):
        begin, text = at, lines[at]
        number = first + at
        at += 1
        if not text:
            continue
        indent = len(text) - len(text.lstrip())
        match = FIELD.match(text)
        if indent == 0:
            while at < len(lines) and lines[at] and not lines[at].startswith(" "):
                at += 1
            words = " ".join(lines[begin:at])
            refuse_markup(words, number)
            blocks.append(Block("para", words, None, number))
        elif indent == 2 and text.startswith("  - "):
            while at < len(lines) and re.match(r" {4}\S", lines[at]):
                at += 1
            words = " ".join(line.strip() for line in lines[begin:at])[2:]
            refuse_markup(words, number)
            blocks.append(Block("list", words, None, number))
        elif indent == 2 and match and keys is not None and not tabular(lines, begin):
            key = match.group(1)
            column = text.index(match.group(2), 2 + len(key))
            if not (key in keys or re.fullmatch(r"[A-Z][A-Z_]+", key)):
                raise Wrong(f"{number}: \"{key}\" is neither a parameter nor a word of a contract")
            while at < len(lines) and re.match(rf" {{{column}}}\S", lines[at]):
                at += 1
            words = " ".join(line.strip() for line in [match.group(2)] + lines[begin + 1:at])
            refuse_markup(words, number)
            blocks.append(Block("line", words, key, number))
        elif indent >= 4 or (indent == 2 and tabular(lines, begin)):
            while at < len(lines) and (lines[at].startswith("  ") or not lines[at]):
                at += 1
            while not lines[at - 1]:
                at -= 1
            display = lines[begin:at]
            margin = min(len(line) - len(line.lstrip()) for line in display if line)
            blocks.append(Block("display", "\n".join(line[margin:] for line in display), None,
                                number))
        else:
            raise not_understood(number, text)
        if blocks[-1].kind in ("line", "list") and at < len(lines) and \
                re.match(r" {3,}\S", lines[at]):
            raise not_understood(first + at, lines[at])
    return blocks


def not_understood(number, text):
    return Wrong(f"{number}: neither a paragraph nor a list, a line of a contract, or as it stands: "
                 f"{text.strip()}")


def tabular(lines, at):
    """Whether lines are a table: one of them has gaps at two places, or its first word is several."""
    end = at
    while end < len(lines) and lines[end].startswith("  "):
        end += 1
    block = lines[at:end]
    return any(re.search(r"\S {3,}\S.*\S {3,}\S", line) for line in block) or \
        (bool(re.match(r"  \S+ \S", block[0])) and any(re.search(r"\S {2,}\S", line)
                                                       for line in block))


# ---- declarations ------------------------------------------------------------------------------


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def declaration_end(text, at):
    """Behind the ; or the body's } of what begins at `at`, and behind a comment on the same line."""
    depth, body = 0, False
    inline = text.startswith("static inline", at)
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        character = text[at]
        at += 1
        if character in "({":
            depth += 1
            body = body or (inline and character == "{")
        elif character in ")}":
            depth -= 1
        if depth == 0 and (character == ";" or (body and character == "}")):
            break
    else:
        raise Wrong("a declaration does not end")
    return trailing(text, at)


def trailing(text, at):
    match = re.match(r"[ \t]*/\*.*?\*/", text[at:], re.S)
    return at + match.end() if match else at


def define_end(text, at):
    while at < len(text) and text[at] != "\n":
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
        elif text.startswith("\\\n", at):
            at += 2
        else:
            at += 1
    return at


def members_of(body, line, split):
    """Fields (`split` is ";") or enumerators (",") with what the comments beside and above them say."""
    members, before, piece, at, depth = [], "", "", 0, 0
    body = re.sub(r"^[ \t]*#.*$", "", body, flags=re.M)

    def finish(says):
        nonlocal before, piece
        text = " ".join(piece.split())
        piece = ""
        if not text:
            return
        name = re.match(r"\w+", text) if split == "," else \
            re.search(r"\(\*(\w+)\)", text) or re.search(r"(\w+)(?:\[[^]]*\])*$", text)
        if not name:
            raise Wrong(f"{line}: no name in \"{text}\"")
        value = text.partition("=")[2].strip() if split == "," else ""
        members.append(Member(name.group(name.lastindex or 0), text, value, says, before))
        before = ""

    while at < len(body):
        if body.startswith("/*", at):
            end = body.index("*/", at) + 2
            if piece.strip():             # the last enumerator has no comma
                finish(flat(body[at:end]))
            else:
                before = flat(body[at:end])
            at = end
            continue
        depth += (body[at] in "([{") - (body[at] in ")]}")
        if body[at] == split and depth == 0:
            match = re.match(r"[ \t]*/\*.*?\*/", body[at + 1:], re.S)
            finish(flat(match.group(0)) if match else "")
            at += 1 + (match.end() if match else 0)
            continue
        piece += body[at]
        at += 1
    finish("")
    return members


def define_read(text, line):
    match = re.match(r"#define (\w+)(\([^)]*\))?\s*(.*)$", text, re.S)
    name, arguments, value = match.groups()
    says = flat((re.findall(r"/\*.*?\*/", value, re.S) or [""])[-1])
    if re.search(r"^\s*X\(", value.replace("\\", ""), re.M):
        found = Declaration("list", name, name, line)
        for word, rest, said in re.findall(r"X\((\w+),\s*(.*?)\s*,\s*\"([^\"]*)\"\)", value):
            found.members.append(Member(word, word, rest.strip('"'), said, ""))
        return found
    value = " ".join(without_comments(value).replace("\\\n", " ").split())
    found = Declaration("macro", name, name + (arguments or ""), line)
    found.members = [Member(name, value, value, says, "")]
    return found


def parameters_of(text):
    inside = text[text.index("(") + 1:text.rindex(")")] if "(" in text else ""
    inside = re.sub(r"\(\*(\w+)\)\s*\([^()]*\)", r" \1", inside)
    return [match.group(1) for piece in inside.split(",")
            if (match := re.search(r"(\w+)(?:\[\w*\])?\s*$", piece.strip())) and piece.strip() != "void"]


def declaration_read(raw, line):
    raw = raw.replace(SKIPPED, "")
    text = without_comments(raw)
    says = re.search(r";[ \t]*(/\*.*?\*/)\s*$", raw, re.S)
    match = re.match(r"(?:typedef )?(struct|enum) (\w+) \{", text)
    if match:
        kind, name = match.groups()
        found = Declaration(kind, name, f"{kind} {name}", line)
        body = raw[raw.index("{") + 1:raw.rindex("}")]
        if "_LIST(" in re.sub(r"(?m)^#.*", "", body):
            found.members = [Member(re.search(r"(\w+_LIST)\(", body).group(1), "", "", "", "list")]
        else:
            found.members = members_of(body, line, ";" if kind == "struct" else ",")
        return found
    one_line = " ".join(text.split())
    if one_line.startswith("typedef"):
        match = re.search(r"\(\*(\w+)\)\(", one_line) or re.search(r"(\w+);$", one_line)
        found = Declaration("typedef", match.group(1), one_line, line)
        if "(*" in one_line:
            found.parameters = parameters_of(one_line[one_line.index(")(") + 1:])
    elif re.match(r"struct \w+;$", one_line):
        return None
    elif one_line.startswith("static inline"):
        head = one_line[len("static inline"):one_line.index("{")].strip()
        found = Declaration("function", re.search(r"(\w+)\(", head).group(1), head + ";", line)
        found.inline = True
    else:
        head = DECORATION.sub("", one_line)
        match = re.search(r"\b(axo_\w+)\(", head)
        if not match or not one_line.startswith(("AXO_API", "AXO_N", "AXO_P")):
            raise Wrong(f"{line}: cannot read the declaration: {one_line}")
        found = Declaration("function", match.group(1), head.replace(" ;", ";"), line)
    if found.kind == "function":
        found.parameters = parameters_of(found.text)
    found.members = found.members or ([Member(found.name, "", "", flat(says.group(1)), "")]
                                      if says else [])
    return found


# ---- a header ----------------------------------------------------------------------------------


def header_read(path, text):
    header = Header(path, os.path.basename(path)[:-2])
    text = "\n".join(chosen(text))
    comment, at, part, head = None, 0, None, True
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        if text[at] == "\n":
            if comment:                       # nothing stood below it
                add_comment(header, comment)
            comment, part = None, None
            at += 1
        elif text.startswith(SKIPPED, at):
            at += 2
        elif text.startswith("/*", at):
            end = text.index("*/", at) + 2
            if comment:
                add_comment(header, comment)
            if head:
                head_read(header, comment_lines(text[at:end]), line)
            comment, part, head = (None if head else (text[at:end], line)), None, False
            at = end + (text[end:end + 1] == "\n")
        else:
            define = text.startswith("#define", at)
            if text[at] in " #" and not define:
                raise Wrong(f"{line}: cannot read: {text[at:at + 60].splitlines()[0]}")
            end = define_end(text, at) if define else declaration_end(text, at)
            found = define_read(text[at:end], line) if define else \
                declaration_read(text[at:end], line)
            if found:
                if part is None:
                    part = Part("declared", "", [], comment[1] if comment else line)
                    part.comment, comment = comment, None
                    header.parts.append(part)
                part.declarations.append(found)
            at = end + (text[end:end + 1] == "\n")
    for part in header.parts:
        if part.kind == "declared" and part.comment:
            keys = set(CONTRACT) | {key for each in part.declarations for key in each.parameters}
            part.blocks = blocks_of(comment_lines(part.comment[0]), part.comment[1], keys)
    return header


def head_read(header, lines, line):
    match = re.match(r"(\S+)\.h - (.*)$", lines[0])
    if not match or match.group(1) != header.name:
        raise Wrong(f"{line}: a header begins with \"{header.name}.h - what it is.\"")
    blocks = blocks_of([match.group(2)] + lines[1:], line, None)
    summary, stop, rest = blocks[0].text.partition(". ")
    header.summary = summary.rstrip(".")
    header.head = ([Block("para", rest, None, line)] if stop else []) + blocks[1:]


def add_comment(header, comment):
    lines = comment_lines(comment[0])
    match = re.match(r"-{4} (.*?) -{4,}$", lines[0])
    kind = "section" if match else "prose"
    blocks = blocks_of(lines[1:] if match else lines, comment[1] + bool(match), set(CONTRACT))
    part = Part(kind, match.group(1) if match else "", blocks, comment[1])
    header.parts.append(part)


# ---- all of them, and what must hold -----------------------------------------------------------


class Library:
    """The headers in the order of their dependence, and where each name is."""

    def __init__(self, root):
        self.root, self.headers, self.errors = root, [], []
        self.home, self.fields, self.statuses = {}, {}, {}
        folder = os.path.join(root, "include", "axo")
        texts = {}
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".h"): # the layer of C++ has no contracts of its own
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts[name[:-2]] = file.read()
        for name in dependence(texts):
            path = f"include/axo/{name}.h"
            for number, text in enumerate(texts[name].split("\n"), 1):
                for entry in ENTRY.findall(text):
                    self.errors.append(f"{path}:{number}: {entry} says nothing to a reader of headers")
            try:
                header = header_read(path, texts[name])
            except Wrong as error:
                self.errors.append(f"{path}:{error}")
                continue
            self.headers.append(header)
            self.index(header)
        if not self.errors:
            for header in self.headers:
                self.check(header)

    def index(self, header):
        for each in header.declarations("function", "struct", "enum", "typedef", "macro", "list"):
            self.home.setdefault(each.name, (header, each))
            self.fields.setdefault(each.name, set())
            if each.kind == "struct":
                self.home[each.name] = (header, each)
                self.fields[each.name] |= {member.name for member in each.members}
            elif each.kind in ("enum", "list"):
                for member in each.members:
                    if member.before != "list":
                        self.home.setdefault(member.name, (header, each))
            if each.name == "AXO_STATUS_LIST":
                self.statuses = {member.name: member.says for member in each.members}

    def header(self, name):
        return next((each for each in self.headers if each.name == name), None)

    def wrong(self, header, line, text):
        self.errors.append(f"{header.path}:{line}: {text}")

    def check(self, header):
        if not header.summary:
            self.wrong(header, 1, "the head says nothing")
        texts = [(block.text, block.line) for block in header.head if block.kind != "display"]
        for part in header.parts:
            texts += [(block.text, block.line) for block in part.blocks if block.kind != "display"]
            for each in part.declarations:
                texts += [(member.says, each.line) for member in each.members] + \
                    [(member.before, each.line) for member in each.members]
            self.check_contracts(header, part)
        for text, line in texts:
            self.check_words(header, text, line)

    def check_contracts(self, header, part):
        functions = part.functions()
        said = " ".join(block.text for block in part.blocks)
        for each in functions:
            if not part.blocks:
                self.wrong(header, each.line, f"{each.name} has no comment that says its contract")
            elif each is not functions[0] and not re.search(rf"\b{each.name}\b", said) and \
                    not said.startswith(("The same", "As above")) and \
                    not re.search(rf"\b{each.name.replace('axo_system_', 'axo_')}\b",
                                  said + " " + functions[0].name):
                self.wrong(header, each.line, f"{each.name} shares a comment that does not name it")
        if functions:
            for key in CONTRACT:
                if len(part.lines(key)) > 1:
                    self.wrong(header, part.line, f"\"{key}\" is said twice")

    def check_words(self, header, text, line):
        for kind, word, _ in self.words(text):
            if kind == NAME:
                base, _, field = word.partition(".")
                if base in ("axo_", "AXO_"):
                    continue
                if base not in self.home:
                    self.wrong(header, line, f"{base} is declared nowhere")
                elif field and field not in self.fields[base] | {"h", "c"}:
                    self.wrong(header, line, f"{base} has no field {field}")
            elif kind == HEADER and not self.header(word):
                self.wrong(header, line, f"there is no header {word}.h")
            elif kind == PATH and not os.path.exists(os.path.join(self.root, word)):
                self.wrong(header, line, f"there is no {word}")

    def words(self, text):
        """The text in pieces: (kind, word, as written)."""
        at = 0
        for match in WORD.finditer(text):
            piece, kind = match.group(0), None
            if piece.startswith("`"):
                kind, word = CODE, piece[1:-1]
            elif re.fullmatch(r"(?:axo/)?[a-z_]+\.h", piece):
                kind, word = HEADER, piece[:-2].replace("axo/", "")
            elif "/" in piece:
                kind, word = PATH, piece
            elif piece.endswith("*") or piece in ("AXO_", "axo_"):
                continue
            else:
                kind, word = NAME, piece.replace("()", "")
            if match.start() > at:
                yield TEXT, text[at:match.start()], text[at:match.start()]
            yield kind, word, piece
            at = match.end()
        if at < len(text):
            yield TEXT, text[at:], text[at:]


def dependence(texts):
    """Names of headers, each after those that it includes."""
    order, open_ = [], []

    def visit(name):
        if name in order:
            return
        if name in open_ or name not in texts:
            raise SystemExit(f"include/axo/{(open_ or ['?'])[-1]}.h: includes axo/{name}.h, which "
                             f"{'includes it' if name in texts else 'is not there'}")
        open_.append(name)
        for other in re.findall(r"^#include <axo/(\w+)\.h>", texts[name], re.M):
            visit(other)
        order.append(open_.pop())

    for name in texts:
        visit(name)
    return order


def read_or_die(root):
    library = Library(root)
    if library.errors:
        sys.exit("\n".join(library.errors))
    return library


def main():
    parser = argparse.ArgumentParser(description="Reads the public headers and checks their comments.")
    parser.add_argument("--root", default=ROOT)
    library = read_or_die(parser.parse_args().root)
    functions = sum(len(header.declarations("function")) for header in library.headers)
    print(f"{len(library.headers)} headers, {functions} functions, {len(library.home)} names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
