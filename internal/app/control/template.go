package control

import (
	"context"

	"github.com/papertrace/patra/internal/app/oaipmh"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// PackFromOAI asks an OAI-PMH repository about itself and writes a pack for it, or
// for one of its sets. Without a code its host gives one. Nothing is stored.
func (c *Control) PackFromOAI(ctx context.Context, code, address, set string) (string, error) {
	a, err := oaipmh.ParseAddress(address)
	if err != nil {
		return "", err
	}
	if code == "" {
		code = a.Code()
	}
	questions, err := a.Questions(code, c.packs.Vars())
	if err != nil {
		return "", err
	}
	up, _ := c.tester.Wire(&sourcecheck.Subject{Source: code, Operation: harvest.Backfill, Spec: questions[0]}, nil)
	defer up.Close()
	r, err := oaipmh.Ask(ctx, up, questions)
	if err != nil {
		return "", err
	}
	return r.Pack(a, code, set), nil
}

// PackSkeleton is a pack with everything still to be said, of a source called NAME. What
// stands empty is not given; lint asks for it by name.
const PackSkeleton = `# patra source schema > source.schema.json    gives editors completion and help.
# patra source lint NAME.yaml                 says what is missing or wrong.

source: NAME
name:
homepage:
baseUrl:              # https://api.example.org
zone: UTC             # whose days the source means
recordType: work      # what a record is: article, work, trial ...
identity: TEXT        # form of ids: TEXT, DOI or NUMBER

# What the provider allows: limit requests per window. What we use of it: qps,
# evenly spaced, about nine tenths of it if left out. Leave all of it out for
# one request a second.
rateLimit:
  limit:
  window:
  qps:
  burst:

# Which date the source is harvested by, and how its filter understands time.
window:
  key:                # name of the date, such as updated
  filters:            # which word of the request filters by which date:
                      #   from: updated
                      #   until: updated
  precision:          # DAY, SECOND, MILLI or MICRO
  bound:              # CLOSED if the upper bound sent includes itself, else OPEN
  safetyLag: 10m
  baseline: 30d       # where a first harvest begins

# How pages follow each other, and what proves that there are no more.
pagination:
  type:               # OFFSET, PAGE, TOKEN, URL, SCROLL, TIME or KEYSET
  pageSize:
  end:                # EMPTY_PAGE, NO_TOKEN, NO_URL, HAS_MORE_FALSE, TOTAL_REACHED ...

endpoints:
  list:
    usage: SEARCH
    path:             # /works
    format: JSON      # or XML
    query:            # parameters, with templates:
                      #   from: ${iso(window.from)}
                      #   until: ${iso(window.to)}      ${window.last} if the bound is CLOSED
                      #   rows: ${page.size}
                      #   offset: ${page.offset}        or ${page.no}, ${page.token}, ${page.after} and ${page.afterId}
    response:
      items:          # path of the list of items
      id:             # path of the id within an item
      updatedAt:      # {path: updated, format: RFC3339, key: updated}

# Fields of the standard record, each a path within an item.
mapping:
  fields:
    title:
    # authors, journal, published, doi ...: patra source schema, or sources/crossref.yaml
`
