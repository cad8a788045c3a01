// Package oaipmh writes a pack for an OAI-PMH repository from what the repository
// says about itself: its name, the form and the beginning of its datestamps, whether
// it tells of deletions, its formats and sets.
//
// It promises that what it writes passes lint, and that a repository is asked no
// more than three questions, at the pace of a source of which no limit is known.
package oaipmh

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Upstream asks a source a question, within its limits.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
}

// DublinCore is the format that every repository has, and the one a pack is
// written for.
const DublinCore = "oai_dc"

// Repository is what a repository says about itself.
type Repository struct {
	Name     string
	Days     bool   // datestamps are days, not seconds
	Earliest string // day of the earliest datestamp, empty if it cannot be read
	Deleted  string // what it says of deletions: no, transient, persistent
	Formats  []string
	Sets     []Set
	MoreSets bool // than those listed
}

// Set is a part of a repository.
type Set struct{ Spec, Name string }

// Address is where a repository is asked.
type Address struct {
	Base string // scheme and host
	Path string
}

// ErrAddress: what was given is no address of a repository.
var ErrAddress = problem.New("this is not the address of an OAI-PMH repository", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "give its base URL, such as https://zenodo.org/oai2d",
})

// ParseAddress reads the base URL of a repository.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return Address{}, fmt.Errorf("%q: %w", text, ErrAddress)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return Address{}, fmt.Errorf("%q has more than a path, without verb and arguments: %w", text, ErrAddress)
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return Address{Base: u.Scheme + "://" + u.Host, Path: path}, nil
}

// Code is a code for the source, made of its host.
func (a Address) Code() string {
	u, err := url.Parse(a.Base)
	if err != nil {
		return "repository"
	}
	host := strings.TrimPrefix(strings.TrimPrefix(u.Hostname(), "www."), "oai.")
	code := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(host))
	if code == "" || code[0] < 'a' || code[0] > 'z' {
		code = "oai-" + code
	}
	return code[:min(len(code), 64)]
}

// plain reports whether the address is http, local whether it is this machine.
func (a Address) plain() bool { return strings.HasPrefix(a.Base, "http://") }

func (a Address) local() bool {
	u, err := url.Parse(a.Base)
	return err == nil && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1")
}

// verbs are what a repository is asked, and what comes as items.
var verbs = []struct{ verb, items, id string }{
	{"Identify", "OAI-PMH/Identify", "repositoryName"},
	{"ListMetadataFormats", "OAI-PMH/ListMetadataFormats/metadataFormat", "metadataPrefix"},
	{"ListSets", "OAI-PMH/ListSets/set", "setSpec"},
}

// Questions are the contracts by which a repository is asked about itself, in
// their order.
func (a Address) Questions(code string, vars map[string]string) ([]*source.Spec, error) {
	var out []*source.Spec
	for _, v := range verbs {
		def := source.Definition{
			Source: code, BaseURL: a.Base, Zone: "UTC", RecordType: "repository", Identity: "TEXT",
			HTTP: &source.HTTP{AllowHTTP: a.plain(), AllowPrivate: a.local()},
			Window: &source.WindowConfig{
				Key: "none", Precision: harvest.PrecisionSecond, Bound: source.BoundClosed, UpdatedAt: source.UpdatedNever,
				Strategy: harvest.StrategyHash, Split: &source.SplitConfig{Buckets: 2},
			},
			Pagination: &source.PaginationConfig{
				Type: harvest.PageToken, PageSize: 1000, End: []harvest.EndProof{harvest.EndNoToken},
			},
			Endpoints: []source.Endpoint{{
				Name: v.verb, Usage: source.UsageSearch, Path: a.Path, Format: "XML",
				Query: map[string]string{"verb": v.verb, "resumptionToken": "${page.token}", "bucket": "${buckets == 1 ? '' : text(bucket)}"},
				Response: source.Response{
					Items: []string{v.items, "OAI-PMH/error[@code='noSetHierarchy']/set"}, ID: []source.Pick{{Path: v.id}},
					Token: "OAI-PMH/" + v.verb + "/resumptionToken", Signals: map[string]string{"error": "OAI-PMH/error[@code!='noSetHierarchy']"},
				},
			}},
			Faults: []source.FaultRule{{Code: "not_oai", Signal: "error", Level: harvest.Rejected, Reaction: harvest.GiveUp}},
		}
		spec, _, err := source.Compile(def.Canonical(), source.Trigger{Operation: harvest.Backfill, Vars: vars})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Base+a.Path, err)
		}
		out = append(out, spec)
	}
	return out, nil
}

// Ask asks a repository about itself.
func Ask(ctx context.Context, up Upstream, questions []*source.Spec) (r Repository, err error) {
	var pages []*harvest.Page
	for i, spec := range questions {
		answer, err := up.Ask(ctx, spec, source.Call{Purpose: source.ForSearch, Window: anyWindow})
		if err != nil {
			return r, fmt.Errorf("%s: %w", verbs[i].verb, err)
		}
		pages = append(pages, answer.Page)
	}
	if len(pages[0].Items) == 0 {
		return r, fmt.Errorf("the reply to Identify names no repository: %w", ErrAddress)
	}
	if err := r.identify(pages[0].Items[0].Raw); err != nil {
		return r, err
	}
	for _, it := range pages[1].Items {
		r.Formats = append(r.Formats, it.ID)
	}
	for _, it := range pages[2].Items {
		var set struct {
			Spec string `xml:"setSpec"`
			Name string `xml:"setName"`
		}
		if err := xml.Unmarshal(it.Raw, &set); err != nil {
			continue // a set that cannot be read is not offered
		}
		r.Sets = append(r.Sets, Set{strings.TrimSpace(set.Spec), strings.Join(strings.Fields(set.Name), " ")})
	}
	r.MoreSets = pages[2].Token != ""
	if len(r.Formats) > 0 && !slices.Contains(r.Formats, DublinCore) {
		return r, fmt.Errorf("the repository has no %s, only %s: %w", DublinCore, strings.Join(r.Formats, ", "), ErrAddress)
	}
	return r, nil
}

// anyWindow: what is asked has no dates.
var anyWindow = harvest.Window{From: time.Unix(0, 0).UTC(), To: time.Unix(1, 0).UTC()}

// identify reads what Identify says.
func (r *Repository) identify(raw []byte) error {
	var id struct {
		Name        string `xml:"repositoryName"`
		Earliest    string `xml:"earliestDatestamp"`
		Deleted     string `xml:"deletedRecord"`
		Granularity string `xml:"granularity"`
	}
	if err := xml.Unmarshal(raw, &id); err != nil {
		return fmt.Errorf("the reply to Identify cannot be read: %w", err)
	}
	r.Name = strings.Join(strings.Fields(id.Name), " ")
	r.Deleted = strings.TrimSpace(id.Deleted)
	// Some write odd things; whoever names hours means seconds.
	r.Days = !strings.Contains(strings.ToLower(id.Granularity), "hh")
	if day, err := time.Parse(time.DateOnly, strings.TrimSpace(id.Earliest)[:min(len(strings.TrimSpace(id.Earliest)), 10)]); err == nil {
		r.Earliest = day.Format(time.DateOnly)
	}
	return nil
}
