#!/usr/bin/env python3
"""Measures the scraper's main content on a public benchmark of mixed pages (WCXB), or on one of articles.

Get the benchmark (2,008 pages, CC-BY-4.0; nothing of it is part of this repository):

    git clone https://github.com/Murrough-Foley/web-content-extraction-benchmark wcxb

Build the extractor and measure:

    cargo build --release -p rowmill-providers --example extract
    python3 bench/scrape.py wcxb

Two things are measured, on Markdown as a cell gets it:

- Words: the benchmark's own word F1, by kind of page. Link targets and image targets are no words.
- Structure: of the code blocks, tables, list items, headings and links that a page has inside its reference text, how
  many arrive as such.

Tune on the development split (`--split dev`, the default) only. `--split test` is for a final figure.

`--policies collection` says what rules about kinds of lines (prices, headings, ...) could reach on a kind of page: how
far the reference texts agree on what is content.

The benchmark of articles (181 pages, MIT) is measured with its own figures, on the text without Markdown:

    git clone https://github.com/scrapinghub/article-extraction-benchmark articles
    python3 bench/scrape.py --articles articles

Judge a rule by both halves of its pages, which are printed, and by the other benchmark: one of them alone is small.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

WORD = re.compile(r"\w+")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
SILENT = {"script", "style", "noscript", "template", "svg", "head", "iframe", "select", "textarea"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
# Elements that make a line of text.
LINES = {"p", "li", "td", "th", "dd", "dt", "blockquote", "figcaption"} | HEADINGS
FRAME = {"nav", "footer"}
KINDS = ["code", "table", "item", "heading", "link"]
# A table or code block may lose this much: a caption, a "Copy" button.
SHARE_MIN = 0.9
# A shorter line must be a line of the reference text, too.
LINE_WORDS_MIN = 4


def words(text):
    return WORD.findall(text.lower())


class Page(HTMLParser):
    """The structures of a page: (kind, words of the structure, words of the line it stands in)."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []  # (name, words, own words, links inside, rows, columns)
        self.silent = 0
        self.found = []

    def handle_starttag(self, name, attributes):
        if name in VOID:
            return
        if name in SILENT:
            self.silent += 1
        # End tags that people leave out.
        if name == "li":
            self.end_until("li", {"ul", "ol"})
        elif name in ("td", "th"):
            self.end_until("td", {"tr", "table"}) or self.end_until("th", {"tr", "table"})
        elif name == "tr":
            self.end_until("tr", {"table"})
        elif name in ("p", "div", "ul", "ol", "table", "pre", "section") or name in HEADINGS:
            self.end_until("p", {"div", "li", "td", "section", "article"})
        href = dict(attributes).get("href") or ""
        self.open.append({"name": name, "words": [], "own": [], "links": [], "rows": [], "href": href})

    def end_until(self, name, stops):
        for element in reversed(self.open):
            if element["name"] in stops:
                return False
            if element["name"] == name:
                self.handle_endtag(name)
                return True
        return False

    def handle_endtag(self, name):
        if not any(element["name"] == name for element in self.open):
            return
        while self.open:
            element = self.open.pop()
            if element["name"] in SILENT:
                self.silent -= 1
            self.close(element)
            if element["name"] == name:
                break

    def handle_data(self, data):
        if self.silent:
            return
        found = words(data)
        if not found or not self.open:
            return
        self.open[-1]["own"].extend(found)
        self.open[-1]["words"].extend(found)

    def close(self, element):
        name, text = element["name"], element["words"]
        if self.open and name not in SILENT:
            outer = self.open[-1]
            outer["words"].extend(text)
            # A nested list or line is not part of its item's own line.
            if name not in LINES and name not in ("ul", "ol", "table", "pre", "div", "section"):
                outer["own"].extend(element["own"])
                outer["links"].extend(element["links"])
            outer["rows"].extend(element["rows"] if name != "table" else [])
        if name == "a" and element["href"][:1] not in ("", "#") and not element["href"].startswith("javascript") and text:
            if self.open:
                self.open[-1]["links"].append(text)
        if name == "tr" and self.open:
            self.open[-1]["rows"].append(len(element["rows"]))
            element["rows"] = []
        if name in ("td", "th") and self.open:
            self.open[-1]["rows"].append(name)
        if self.is_framed(name):
            return
        # A column of line numbers is no code.
        if name == "pre" and len(text) >= 3 and not all(word.isdigit() for word in text):
            self.found.append(("code", text, text))
        elif name == "table":
            rows = [row for row in element["rows"] if isinstance(row, int)]
            if len(rows) >= 2 and max(rows) >= 2 and len(text) >= 4:
                self.found.append(("table", text, text))
        elif name in HEADINGS and text:
            self.found.append(("heading", text, text))
        elif name == "li" and len(element["own"]) >= 3:
            self.found.append(("item", element["own"], element["own"]))
        if name in LINES:
            for link in element["links"]:
                self.found.append(("link", link, element["own"]))


    def is_framed(self, name):
        """Whether an element is part of the page's navigation or its footer."""
        return name in FRAME or any(element["name"] in FRAME for element in self.open)


def structures(html, reference):
    """The structures of a page that stand in its reference text."""
    page = Page()
    try:
        page.feed(html)
        page.close_all = [page.handle_endtag(element["name"]) for element in list(page.open)[:1]]
    except (AssertionError, RecursionError):
        return []
    text = " " + " ".join(words(reference)) + " "
    lines = {tuple(words(line)) for line in reference.splitlines()} - {()}
    headings = {tuple(own) for kind, own, _ in page.found if kind == "heading"}
    counts = Counter(words(reference))
    found = []
    for kind, own, line in page.found:
        if kind in ("code", "table"):
            is_inside = share(own, counts) >= SHARE_MIN
        elif kind == "heading" or len(line) < LINE_WORDS_MIN:
            # "Sign in" may be a menu's, and stand in a sentence of the text as well.
            is_inside = tuple(line) in lines
        else:
            is_inside = " " + " ".join(line) + " " in text
        # The entry of a table of contents is not its heading.
        is_entry = kind in ("item", "link") and tuple(line) in headings
        if is_inside and not is_entry:
            found.append((kind, own))
    return found


def share(own, counts):
    mine = Counter(own)
    return sum(min(number, counts[word]) for word, number in mine.items()) / max(1, len(own))


LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]*)\)")


def plain(markdown):
    """Markdown without the targets of its links and without HTML's own marks."""
    markdown = re.sub(r"!\[[^\]]*\]\([^()\s]*\)", " ", markdown)
    markdown = LINK.sub(r"\1", markdown)
    return re.sub(r"</?(?:kbd|br)>", " ", markdown)


def arrived(markdown):
    """The structures of a text in Markdown, each as its words."""
    found = defaultdict(list)
    lines = markdown.split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        bare = re.sub(r"^(?:\s|>|[-*+]\s|\d+[.)]\s|:\s)*", "", line)
        fence = re.match(r"(`{3,})[^`]*$", bare)
        if fence:
            block = []
            place += 1
            while place < len(lines) and lines[place].strip(" >") != fence.group(1):
                block.append(lines[place])
                place += 1
            found["code"].append(words("\n".join(block)))
        elif re.match(r"\s*\|.*\|\s*$", line):
            block = []
            while place < len(lines) and re.match(r"\s*\|.*\|\s*$", lines[place]):
                block.append(lines[place])
                place += 1
            place -= 1
            found["table"].append(words(plain("\n".join(block))))
        else:
            heading = re.match(r"#{1,6}\s+(.*)", bare)
            if heading:
                found["heading"].append(tuple(words(plain(heading.group(1)))))
            if re.match(r"[\s>]*(?:[-*+]|\d+[.)])\s", line):
                found["item"].append(words(plain(line if not heading else bare)))
        place += 1
    for text, _ in LINK.findall(re.sub(r"!\[[^\]]*\]\([^()\s]*\)", " ", markdown)):
        found["link"].append(tuple(words(text)))
    return found


def matches(kind, own, found):
    if kind in ("code", "table"):
        return any(share(own, Counter(block)) >= SHARE_MIN for block in found[kind])
    if kind == "item":
        # The number of a numbered item comes first.
        start = own[:8]
        return any(item[: len(start)] == start or item[1 : len(start) + 1] == start for item in found["item"])
    return tuple(own) in found[kind]


def word_f1(predicted, reference):
    predicted, reference = Counter(words(predicted)), Counter(words(reference))
    if not reference or not predicted:
        return float(not reference and not predicted)
    both = sum((predicted & reference).values())
    return 2 * both / (sum(predicted.values()) + sum(reference.values()))


PRICE = re.compile(r"[$€£¥]\s?\d|\d\s?[€£]")
LINE_KINDS = ["price", "heading", "sentence", "link", "other"]
SENTENCE_CHARS_MIN = 80


def line_kind(line):
    text = plain(line)
    if PRICE.search(text):
        return "price"
    if re.match(r"[\s>\-*\d.]*#{1,6}\s", line):
        return "heading"
    if len(text) >= SENTENCE_CHARS_MIN:
        return "sentence"
    in_links = sum(len(words(link)) for link, _ in LINK.findall(line))
    return "link" if in_links * 2 > len(words(text)) else "other"


def policies(pages):
    """What the best sets of kinds of lines reach, if they alone are kept. `pages` are Markdown and reference text."""
    sets = [kept for size in range(1, len(LINE_KINDS) + 1) for kept in combinations(LINE_KINDS, size)]
    scores = []  # by page, then by set
    for markdown, reference in pages:
        lines = defaultdict(list)
        for line in filter(str.strip, markdown.split("\n")):
            lines[line_kind(line)].append(plain(line))
        scores.append([word_f1("\n".join(line for kind in kept for line in lines[kind]), reference) for kept in sets])
    mean = lambda chosen: sum(max(page[place] for place in chosen) for page in scores) / max(1, len(scores))
    for size in (1, 2, 3):
        best = max(combinations(range(len(sets)), size), key=mean)
        names = " or ".join("+".join(sets[place]) for place in best)
        print(f"best {size} of the sets, the better one known for each page: {mean(best):.3f} ({names})")
    print(f"best set known for each page: {mean(range(len(sets))):.3f}")


def page_kind(truth):
    kind = (truth.get("_internal") or {}).get("page_type", "article")
    kind = kind.get("primary", "article") if isinstance(kind, dict) else kind
    return "collection" if kind == "category" else kind


def extract(program, folder, ids, form="raw"):
    with tempfile.TemporaryDirectory() as chosen:
        for name in ids:
            os.symlink((folder / f"{name}.html.gz").resolve(), Path(chosen) / f"{name}.html.gz")
        run = subprocess.run([program, chosen, form], stdout=subprocess.PIPE, check=True)
    return {name: page["articleBody"] for name, page in json.loads(run.stdout).items()}


def shingles(text):
    """Four words in a row each, as the benchmark of articles counts them."""
    found = WORD.findall(text)
    groups = (tuple(found[start : start + 4]) for start in range(max(1, len(found) - 3)))
    return Counter(group for group in groups if group)


def article_scores(predicted, reference):
    """Precision and recall of a page; none where there is nothing to be right or wrong about."""
    predicted, reference = shingles(predicted), shingles(reference)
    both = sum((predicted & reference).values())
    share = lambda counts: both / sum(counts.values()) if counts else None
    return share(predicted), share(reference)


def measure_articles(arguments):
    """Precision, recall and F1 as the benchmark's `evaluate.py` computes them."""
    truth = json.loads((arguments.articles / "ground-truth.json").read_text())
    names = sorted(truth)[:: arguments.every]
    outputs = extract(arguments.program, arguments.articles / "html", names, "text")
    scores = {name: article_scores(outputs.get(name, ""), truth[name].get("articleBody", "")) for name in names}
    if arguments.pages:
        arguments.pages.write_text(json.dumps(scores, indent=1))
    if arguments.outputs:
        arguments.outputs.write_text(json.dumps(outputs))
    for label, some in (("all", names), ("1st, 3rd, ...", names[::2]), ("2nd, 4th, ...", names[1::2])):
        means = []
        for kind in (0, 1):
            found = [scores[name][kind] for name in some if scores[name][kind] is not None]
            means.append(sum(found) / max(1, len(found)))
        precision, recall = means
        f1 = 2 * precision * recall / ((precision + recall) or 1)
        print(f"{label:<15}F1 {f1:.3f}  precision {precision:.3f}  recall {recall:.3f}  ({len(some)} pages)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="the benchmark's repository")
    parser.add_argument("--articles", metavar="FOLDER", type=Path, help="measure the benchmark of articles in its repository")
    parser.add_argument("--split", default="dev", choices=["dev", "test"])
    parser.add_argument("--every", type=int, default=1, help="measure every N-th page only")
    parser.add_argument("--program", default="target/release/examples/extract")
    parser.add_argument("--pages", type=Path, help="write each page's figures to this file")
    parser.add_argument("--policies", metavar="KIND", help="measure what rules about kinds of lines reach on a kind of page")
    parser.add_argument("--outputs", type=Path, help="write each page's Markdown to this file")
    arguments = parser.parse_args()
    if arguments.articles:
        return measure_articles(arguments)
    if not arguments.folder:
        parser.error("give the benchmark's repository. See the top of this file for how to get it.")
    split = arguments.folder / arguments.split
    names = sorted(file.stem for file in (split / "ground-truth").glob("*.json"))[:: arguments.every]
    if not names:
        sys.exit(f"{split} has no pages. See the top of this file for how to get the benchmark.")
    outputs = extract(arguments.program, split / "html", names)
    scores, counts, pages, texts = defaultdict(list), Counter(), {}, defaultdict(list)
    for name in names:
        truth = json.loads((split / "ground-truth" / f"{name}.json").read_text())
        reference = truth["ground_truth"].get("main_content") or ""
        html = gzip.open(split / "html" / f"{name}.html.gz").read().decode("utf-8", "replace")
        markdown = outputs.get(name, "")
        kind, score = page_kind(truth), word_f1(plain(markdown), reference)
        scores[kind].append(score)
        texts[kind].append((markdown, reference))
        found = arrived(markdown)
        missing = Counter()
        for structure, own in structures(html, reference):
            is_there = matches(structure, own, found)
            counts[structure, is_there] += 1
            missing[structure] += not is_there
        pages[name] = {"kind": kind, "f1": round(score, 3), "missing": dict(+missing)}
    if arguments.pages:
        arguments.pages.write_text(json.dumps(pages, indent=1))
    if arguments.outputs:
        arguments.outputs.write_text(json.dumps(outputs))
    everything = [score for kind in scores.values() for score in kind]
    print(f"{len(everything)} pages of the {arguments.split} split")
    print(f"word F1        {sum(everything) / len(everything):.3f}")
    for kind in sorted(scores, key=lambda kind: -len(scores[kind])):
        print(f"  {kind:<13}{sum(scores[kind]) / len(scores[kind]):.3f}  ({len(scores[kind])} pages)")
    for kind in KINDS:
        there, all_ = counts[kind, True], counts[kind, True] + counts[kind, False]
        print(f"{kind + 's':<15}{there / max(1, all_):.3f}  ({there} of {all_})")
    if arguments.policies:
        policies(texts[arguments.policies])


if __name__ == "__main__":
    main()
