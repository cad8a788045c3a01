// Reads what was exported with citation-js, and prints what it found as one JSON object.
// usage: readers.js FOLDER, a folder with corpus.ris and so on; citation-js is found by NODE_PATH.
const fs = require('fs')
const path = require('path')
const { plugins, Cite } = require('@citation-js/core')
require('@citation-js/plugin-ris')
require('@citation-js/plugin-bibtex')
plugins.config.get('@bibtex').parse.sentenceCase = 'never'

const read = (name) => fs.readFileSync(path.join(process.argv[2], name), 'utf8')
const found = (name, type) =>
  new Cite(read(name), type ? { forceType: type } : {}).data.map((r) => ({
    title: r.title || '',
    abstract: r.abstract || '',
    doi: r.DOI || '',
    year: r.issued && r.issued['date-parts'] ? String(r.issued['date-parts'][0][0]) : '',
    date: r.issued && r.issued['date-parts'] ? r.issued['date-parts'][0].map(Number) : [],
    journal: r['container-title'] || '',
    volume: r.volume === undefined ? '' : String(r.volume),
    issue: r.issue === undefined ? '' : String(r.issue),
    pages: r.page === undefined ? '' : String(r.page),
    keywords: r.keyword || '',
    url: r.URL || '',
    language: r.language || '',
    pmid: r.PMID || '',
    type: r.type || '',
    authors: (r.author || []).map((a) => a.literal || [[a['non-dropping-particle'], a['dropping-particle'], a.family].filter(Boolean).join(' '), a.given, a.suffix].filter(Boolean).join(', '))
  }))

process.stdout.write(JSON.stringify({ 'citation-js ris': found('corpus.ris'), 'citation-js bibtex': found('corpus.bib'), 'citation-js csl': found('corpus.json') }))
