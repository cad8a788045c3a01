"""Reads what was exported with programs that others wrote, and prints what they found as one JSON object.

usage: readers.py FOLDER RISPY09, a folder with corpus.ris and so on, and one with an old version of rispy.
"""
import importlib
import json
import pathlib
import sys
import xml.etree.ElementTree as tree

folder = pathlib.Path(sys.argv[1])


def text(value):
    return "" if value is None else str(value)


def read_rispy():
    import rispy

    with open(folder / "corpus.ris", encoding="utf-8") as file:
        found = rispy.load(file)
    return [
        {
            "title": text(r.get("title")),
            "abstract": text(r.get("abstract")),
            "year": text(r.get("year")),
            "journal": text(r.get("secondary_title")),
            "doi": text(r.get("doi")),
            "volume": text(r.get("volume")),
            "issue": text(r.get("number")),
            "accession": text(r.get("accession_number")),
            "type": r["type_of_reference"],
            "authors": r.get("authors", []),
            "keywords": r.get("keywords", []),
        }
        for r in found
    ]


def read_rispy_09():
    for name in [m for m in sys.modules if m.split(".")[0] == "rispy"]:
        del sys.modules[name]
    sys.path.insert(0, sys.argv[2])
    importlib.invalidate_caches()
    import rispy

    if rispy.__version__ != "0.9.0":
        raise SystemExit("this is rispy " + rispy.__version__)
    return read_rispy()


def read_bibtexparser():
    import bibtexparser
    from bibtexparser import middlewares
    from pylatexenc.latex2text import LatexNodes2Text

    library = bibtexparser.parse_file(
        str(folder / "corpus.bib"),
        append_middleware=[middlewares.SeparateCoAuthors(), middlewares.LatexDecodingMiddleware(keep_braced_groups=False)],
    )
    plain = LatexNodes2Text(keep_braced_groups=False, strict_latex_spaces=True).latex_to_text
    if library.failed_blocks or library.comments or library.strings or library.preambles:
        raise SystemExit("bibtexparser could not read all: " + repr(library.failed_blocks[:1]) + repr(library.comments[:1]))

    def field(e, name):
        return text(e[name]) if name in e else ""

    return [
        {
            "key": e.key,
            "title": field(e, "title"),
            "abstract": field(e, "abstract"),
            "year": field(e, "year"),
            "doi": field(e, "doi"),
            "pmid": field(e, "pmid"),
            "volume": field(e, "volume"),
            "issue": field(e, "number"),
            "authors": [plain(name) for name in e["author"]] if "author" in e else [],
        }
        for e in library.entries
    ]


def read_nbib():
    import nbib

    def authors(r):
        return [a["author"] for a in r.get("authors", []) if "author" in a]

    return [
        {
            "title": text(r.get("title")),
            "abstract": text(r.get("abstract")),
            "pmid": text(r.get("pubmed_id")),
            "doi": text(r.get("doi")),
            "journal": text(r.get("journal")),
            "volume": text(r.get("journal_volume")),
            "issue": text(r.get("journal_issue")),
            "authors": authors(r),
            "types": r.get("publication_types", []),
        }
        for r in nbib.read_file(str(folder / "corpus.nbib"))
    ]


def read_pyarrow():
    import pyarrow.parquet as parquet

    rows = parquet.read_table(folder / "corpus.parquet").to_pylist()
    for r in rows:
        for name in ("updated_at", "indexed_at"):
            r[name] = r[name].isoformat() if r[name] else None
    return rows


def read_csv():
    import csv

    with open(folder / "corpus.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_mods(name):
    """What bibutils made of a file."""
    ns = {"m": "http://www.loc.gov/mods/v3"}
    found = []
    for mods in tree.parse(folder / name).getroot().findall("m:mods", ns):
        info = mods.find("m:titleInfo", ns)
        title = text(info.findtext("m:title", "", ns)) if info is not None else ""
        sub = info.findtext("m:subTitle", "", ns) if info is not None else ""
        lead = info.findtext("m:nonSort", "", ns) if info is not None else ""
        doi = [i.text for i in mods.findall("m:identifier", ns) if i.get("type") == "doi"]
        found.append({"title": " ".join((lead + " " + title + (": " + sub if sub else "")).split()), "abstract": text(mods.findtext("m:abstract", "", ns)), "doi": doi[0] if doi else ""})
    return found


json.dump(
    {
        "rispy 0.10": read_rispy(),
        "bibtexparser": read_bibtexparser(),
        "nbib": read_nbib(),
        "pyarrow": read_pyarrow(),
        "csv": read_csv(),
        "rispy 0.9": read_rispy_09(),
        "ris2xml": read_mods("ris.mods"),
        "bib2xml": read_mods("bib.mods"),
        "endx2xml": read_mods("endx.mods"),
    },
    sys.stdout,
)
