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
            "date": text(r.get("date")),
            "first": text(r.get("start_page")),
            "last": text(r.get("end_page")),
            "language": text(r.get("language")),
            "urls": r.get("urls", []),
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

    # Commands are no part of an address, and a percent sign begins no comment there.
    addresses = {e.key: e["url"] for e in bibtexparser.parse_file(str(folder / "corpus.bib")).entries if "url" in e}

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
            "type": e.entry_type,
            "journal": field(e, "journal") or field(e, "booktitle"),
            "date": field(e, "date"),
            "pages": field(e, "pages"),
            "keywords": field(e, "keywords"),
            "language": field(e, "language"),
            "url": text(addresses.get(e.key)),
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
            "pages": text(r.get("pages")),
            "language": text(r.get("language")),
            "keywords": r.get("keywords", []),
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

    def joined(info):
        if info is None:
            return ""
        sub = info.findtext("m:subTitle", "", ns)
        lead = info.findtext("m:nonSort", "", ns)
        return " ".join((lead + " " + text(info.findtext("m:title", "", ns)) + (": " + sub if sub else "")).split())

    def part(mods, kind):
        for at in mods.iter("{%s}detail" % ns["m"]):
            if at.get("type") == kind:
                return text(at.findtext("m:number", "", ns))
        return ""

    found = []
    for mods in tree.parse(folder / name).getroot().findall("m:mods", ns):
        doi = [i.text for i in mods.findall("m:identifier", ns) if i.get("type") == "doi"]
        host = mods.find("m:relatedItem[@type='host']", ns)
        extent = next(mods.iter("{%s}extent" % ns["m"]), None)
        issued = [text(d.text) for d in mods.iter("{%s}dateIssued" % ns["m"])] + [text(d.text) for d in mods.iter("{%s}date" % ns["m"])]
        found.append(
            {
                "title": joined(mods.find("m:titleInfo", ns)),
                "abstract": text(mods.findtext("m:abstract", "", ns)),
                "doi": doi[0] if doi else "",
                "year": issued[0][:4] if issued else "",
                "journal": joined(host.find("m:titleInfo", ns)) if host is not None else "",
                "volume": part(mods, "volume"),
                "issue": part(mods, "issue") or part(mods, "number"),
                "first": (text(extent.findtext("m:start", "", ns)) if extent is not None else "") or part(mods, "page"),
                "last": text(extent.findtext("m:end", "", ns)) if extent is not None else "",
                "language": text(mods.findtext("m:language/m:languageTerm", "", ns)),
                "urls": [text(u.text) for u in mods.iter("{%s}url" % ns["m"])],
            }
        )
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
