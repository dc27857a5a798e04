#!/usr/bin/env python3
# links.py - every link of the HTML pages in a folder leads somewhere, without asking the network.
#
#   tools/doc/links.py build/doc
#
# A link to a file: it is below the folder; one with a #name: that page has it as an id, once.
# Pictures and style sheets are links too. A link to the network must be http or https and name a
# host. A page must be reached from index.html, and have a title and a heading. Prints what is
# wrong, or how much there is.
import argparse
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.twice, self.heads, self.titles = set(), [], [], 0, 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if "id" in attributes:
            if attributes["id"] in self.ids:
                self.twice.append(attributes["id"])
            self.ids.add(attributes["id"])
        self.heads += tag == "h1"
        self.titles += tag == "title"
        for name in ("href", "src"):
            if attributes.get(name) is not None:
                self.links.append((attributes[name], self.getpos()[0]))


def read(folder):
    pages, files = {}, set()
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(base, name), folder)
            files.add(path)
            if name.endswith(".html"):
                with open(os.path.join(folder, path), encoding="utf-8") as file:
                    pages[path] = Page(file.read())
    return pages, files


def check(folder):
    pages, files = read(folder)
    errors, inside, outside, leads = [], 0, set(), {path: set() for path in pages}
    for path, page in sorted(pages.items()):
        errors += [f"{path}: the id {name} is there twice" for name in page.twice]
        if page.heads != 1 or page.titles != 1:
            errors.append(f"{path}: {page.heads} first headings, {page.titles} titles")
        for link, line in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("http", "https") or not parts.netloc:
                    errors.append(f"{path}:{line}: a strange link: {link}")
                outside.add(link)
                continue
            inside += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path),
                                                   urllib.parse.unquote(parts.path))) \
                if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not link or target not in files or parts.path.startswith("/"):
                errors.append(f"{path}:{line}: leads nowhere: {link or '(empty)'}")
            elif anchor and (target not in pages or anchor not in pages[target].ids):
                errors.append(f"{path}:{line}: {target} has no #{anchor}")
            elif target in pages:
                leads[path].add(target)
    reached, next_ = set(), {"index.html"} & set(pages)
    while next_:
        reached |= next_
        next_ = set().union(*(leads[path] for path in next_)) - reached
    errors += [f"{path}: no link leads to it" for path in sorted(set(pages) - reached)]
    return errors, len(pages), inside, len(outside)


def main():
    parser = argparse.ArgumentParser(description="Checks the links of HTML pages in a folder.")
    parser.add_argument("folder")
    errors, pages, inside, outside = check(parser.parse_args().folder)
    if errors or not pages:
        print("\n".join(errors) or "there is no page")
        return 1
    print(f"doc: {pages} pages, {inside} links that lead somewhere, {outside} to the network, not tried")
    return 0


if __name__ == "__main__":
    sys.exit(main())
