package sourcecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// fewDetails is how many ids are asked for unless more records are wanted.
const fewDetails = 10

// reading is the test read: a count, a page, and if a search yields ids only, a
// few details.
type reading struct {
	*job
	up Upstream

	cal     harvest.Calendar
	span    harvest.Window // what is read
	ids     harvest.Range  // what is read of a source that is harvested by ids
	horizon time.Time      // no window is closed past it
	traffic source.Traffic
	// upstreamAt is the upstream's clock, skew how far it is ahead of ours.
	upstreamAt time.Time
	skew       time.Duration
	// wild: that clock is too far off to be believed.
	wild  bool
	moved bool // the window was moved by what the upstream's clock says

	counted *int64
	pages   []*harvest.Page
	next    harvest.Position
	end     harvest.EndProof
	stepErr error // why the walk cannot go on
	// found is how many ids or items the search pages had; asked are the ids
	// whose details were asked for.
	found   int
	asked   []string
	items   []harvest.Item
	missing []string

	root  string
	err   error
	fault harvest.Fault
}

// run reads. What goes wrong is kept; an error means that the check is over.
func (r *reading) run(ctx context.Context) error {
	var err error
	r.cal, err = r.Spec.Window.Calendar()
	if err != nil {
		r.root, r.err = TestRead, err
		return nil
	}
	r.skew = r.Skew
	r.place()
	spec := r.Spec
	ok := true
	if spec.ByID() {
		ok = r.head(ctx)
	}
	if ok && spec.Count != nil && !spec.TwoPhase() {
		ok = r.count(ctx)
	}
	if ok && r.search(ctx) && spec.TwoPhase() {
		r.details(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// head asks for the greatest id, and takes as many ids before it as a page may hold.
func (r *reading) head(ctx context.Context) bool {
	p := r.ask(ctx, source.ForHead, harvest.Position{}, nil)
	if p == nil {
		return false
	}
	if p.Total == nil {
		r.root = TestRead
		r.err = fmt.Errorf("endpoint %s tells no id at %s", r.Spec.Head.Name, r.Spec.Head.Response.Total)
		return false
	}
	r.ids = harvest.NewRange(r.Spec.Window.Key, max(0, *p.Total+1-int64(r.Spec.Paging.Size)), *p.Total+1)
	return true
}

// day is how much is read if nothing is asked for.
const day = 24 * time.Hour

// place works the window out: what was asked for, or the last closed day.
func (r *reading) place() {
	w := r.Spec.Window
	r.horizon = r.Now.Add(min(0, r.skew)).Add(-w.SafetyLag.D())
	if a := w.Align.D(); a > 0 && w.Precision != harvest.PrecisionDay {
		r.horizon = r.horizon.Truncate(a)
	}
	from, to := r.From, r.To
	switch {
	case from.IsZero() && to.IsZero():
		to = r.cal.Floor(r.horizon)
		from = r.back(to)
	case from.IsZero():
		to = r.cal.Ceil(to)
		from = r.back(to)
	case to.IsZero():
		from = r.cal.Floor(from)
		to = r.cal.Add(from, day)
	}
	r.span = harvest.Window{From: r.cal.Floor(from), To: r.cal.Ceil(to)}
	r.rep.Window = &r.span
}

// back is a day before a boundary.
func (r *reading) back(to time.Time) time.Time {
	if r.cal.Precision == harvest.PrecisionDay {
		return r.cal.Step(to, -1)
	}
	return r.cal.Floor(to.Add(-day))
}

// ask puts one question, without repeating it, and keeps what went wrong.
func (r *reading) ask(ctx context.Context, p source.Purpose, pos harvest.Position, ids []string) *harvest.Page {
	ans, err := r.up.Ask(ctx, r.once(), source.Call{
		Purpose: p, Window: r.span, Range: r.ids, Position: pos, IDs: ids, BaseURL: r.BaseURL, Correlation: "check-" + string(p),
	})
	r.traffic = r.traffic.Add(ans.Traffic)
	if at := ans.UpstreamAt; !at.IsZero() {
		r.upstreamAt = at
		r.skew = at.Sub(r.Now)
		r.wild = !harvest.ClockBelieved(r.skew, r.Spec.StandsIn(r.BaseURL))
		if r.wild {
			r.skew = 0
		}
	}
	r.err = err
	r.fault = harvest.Fault{}
	r.root = ""
	if err != nil {
		r.fault, _ = harvest.FaultOf(err)
		r.root = r.blame(r.fault, ans.Traffic.Sent)
		return nil
	}
	return ans.Page
}

// once is the spec with one attempt a request: a check shows a fault, it does
// not sit it out. A spec is frozen, so it is the same every time.
func (r *reading) once() *source.Spec {
	if r.Spec.Retry.Attempts != 1 {
		s := *r.Spec
		s.Retry.Attempts = 1
		r.Spec = &s
	}
	return r.Spec
}

// behind reports whether the upstream's clock, as its reply told it, has not
// reached the window's end; the window is then moved, once.
func (r *reading) behind() bool {
	if r.Spec.ByID() || r.moved || r.wild || r.upstreamAt.IsZero() || !r.From.IsZero() || !r.To.IsZero() || !r.upstreamAt.Before(r.span.To) {
		return false
	}
	r.moved = true
	r.place()
	return true
}

func (r *reading) count(ctx context.Context) bool {
	p := r.ask(ctx, source.ForCount, harvest.Position{}, nil)
	if r.behind() { // it counted a window that is not read
		return true
	}
	if p == nil {
		return false
	}
	r.counted = p.Total
	return true
}

func (r *reading) search(ctx context.Context) bool {
	seen := map[uint64]struct{}{}
	var pos harvest.Position
	paging := r.Spec.Paging
	for {
		p := r.ask(ctx, source.ForSearch, pos, nil)
		if len(r.pages) == 0 && r.behind() {
			continue
		}
		if p == nil {
			return false
		}
		r.pages = append(r.pages, p)
		facts := p.Facts()
		paging.Window = r.span
		paging.Calendar = r.cal
		r.next, r.end, r.stepErr = paging.Step(pos, facts, func(h uint64) bool { _, ok := seen[h]; return ok })
		for i, id := range facts.IDs {
			h := harvest.IDHash(id)
			if _, twice := seen[h]; twice {
				continue
			}
			seen[h] = struct{}{}
			r.found++
			if r.Spec.TwoPhase() {
				r.asked = append(r.asked, p.Items[i].ID)
			} else {
				r.items = append(r.items, p.Items[i])
			}
		}
		if r.over() || r.stepErr != nil || r.found >= r.Records || len(p.Items) == 0 {
			return true
		}
		pos = r.next
	}
}

// over reports whether the last page read seems to be the last there is.
func (r *reading) over() bool { return r.end != "" || r.next.Tail != nil }

func (r *reading) details(ctx context.Context) {
	ids := slices.DeleteFunc(slices.Clone(r.asked), func(id string) bool { return id == "" })
	ids = ids[:min(len(ids), cmp.Or(r.Records, fewDetails))]
	r.asked = nil
	for some := range slices.Chunk(ids, max(1, r.Spec.Batching.IDs)) {
		p := r.ask(ctx, source.ForDetail, harvest.Position{}, some)
		if p == nil {
			return
		}
		r.asked = append(r.asked, some...)
		r.items = append(r.items, p.Items...)
	}
	for _, id := range r.asked {
		if !slices.ContainsFunc(r.items, func(it harvest.Item) bool { return it.ID == id }) {
			r.missing = append(r.missing, id)
		}
	}
}

// told is how many the window holds, if the source says so.
func (r *reading) told() *int64 {
	if r.counted != nil {
		return r.counted
	}
	for _, p := range r.pages {
		if p.Total != nil {
			return p.Total
		}
	}
	return nil
}

// total is how many the window holds, by what was told or, if all was read, seen.
func (r *reading) total() *int64 {
	if n := r.told(); n != nil || !r.over() || r.stepErr != nil {
		return n
	}
	return new(int64(r.found))
}

// testRead: does the source answer as the pack says?
func (j *job) testRead(l *lines) {
	if j.read == nil && j.root == "" {
		*l = append(*l, Check{Status: Skipped, Text: "skipped: " + string(j.Operation) + " of this source has no window to read; check HARVEST or BACKFILL"})
		return
	}
	if j.read == nil {
		l.skip(j.root)
		return
	}
	r := j.read
	if r.counted != nil {
		l.ok("count: %s in the window", count(*r.counted, "record"))
	}
	if len(r.pages) > 0 {
		j.searched(l)
	}
	if len(r.asked) > 0 {
		if len(r.missing) > 0 {
			l.warn("a few may have been withdrawn; if it is all of them, look at the DETAIL endpoint's response.id", "details: %d of %d ids did not come back, such as %s", len(r.missing), len(r.asked), r.missing[0])
		} else {
			l.ok("details: all of %s came back", count(int64(len(r.asked)), "id"))
		}
	}
	switch {
	case j.root == TestRead:
		j.unanswered(l)
	case j.root != "":
		l.skip(j.root)
	}
}

// searched tells of the search pages and of the way to the next one.
func (j *job) searched(l *lines) {
	r, paging := j.read, j.Spec.Paging
	what := "item"
	if j.Spec.TwoPhase() {
		what = "id"
	}
	page := ""
	if len(r.pages) > 1 {
		page = fmt.Sprintf(" on %d pages", len(r.pages))
	}
	of, total := "", r.told()
	if total != nil && *total != int64(r.found) {
		of = " of " + number(*total)
	}
	l.ok("search: %s%s%s, pages of %d", count(int64(r.found), what), page, of, paging.Size)
	if stated := r.pages[0].Total; stated != nil && r.counted != nil && *stated != *r.counted {
		l.warn("look at response.total of both endpoints, and whether they filter alike", "the count says %s, the search %s", number(*r.counted), number(*stated))
	}
	if !slices.ContainsFunc(paging.End, func(e harvest.EndProof) bool { return r.reachable(e) }) {
		l.fail("correct response."+proofKey(paging.End)+" of endpoint "+j.Spec.Search.Name+", or declare another pagination.end",
			"no page can prove the end: %s needs what the reply does not tell", proofs(paging.End))
		return
	}
	short := r.over() && total != nil && int64(r.found) < *total
	full := r.next.Tail != nil && total == nil && len(r.pages[len(r.pages)-1].Items) >= paging.Size
	key, found := j.way()
	f, _ := harvest.FaultOf(r.stepErr)
	switch {
	case r.stepErr != nil && f.Reaction == harvest.CutSlice:
		l.ok("next page: none, a harvest would cut this window into smaller ones (%s)", f.Code)
	case r.stepErr != nil:
		l.fail(fmt.Sprintf("look at %s in the pack; --show http shows the reply", key), "next page: the walk cannot go on: %s", explainStep(f.Code, j.Spec))
	case short:
		l.fail(fmt.Sprintf("correct %s, which finds nothing, or pagination.end", key), "next page: the walk would end by %s after %d of %s", cmp.Or(string(r.end), proofs(paging.End)), r.found, count(*total, "record"))
	case full:
		l.warn(fmt.Sprintf("make sure that %s is right: if it finds nothing, all after the first page is lost", key), "next page: the page is full and yet is the last by %s", proofs(paging.End))
	case r.next.Tail != nil:
		l.ok("next page: none told, and nothing else proves the end by %s; a harvest asks for the page once more, then believes it", proofs(paging.End))
	case r.end != "":
		l.ok("next page: none, the end is proven by %s", r.end)
	default:
		l.ok("next page: %s; the walk ends by %s", found, proofs(paging.End))
	}
}

// way is where the next page is told, and what was found there.
func (j *job) way() (key, found string) {
	e, next := &j.Spec.Search, j.read.next
	at := "endpoints." + e.Name + ".response."
	switch j.Spec.Paging.Type {
	case harvest.PageToken, harvest.PageScroll:
		return fmt.Sprintf("%snextToken (%s)", at, e.Response.Token), "token found"
	case harvest.PageURL:
		return fmt.Sprintf("%snextUrl (%s)", at, e.Response.URL), "address found"
	case harvest.PageOffset:
		return "pagination", fmt.Sprintf("at offset %d", next.Offset)
	case harvest.PageKeyset:
		return "pagination", fmt.Sprintf("after %s of %s", next.LastID, harvest.FormatInstant(next.At))
	case harvest.PageNumber:
		return "pagination", fmt.Sprintf("page number %d", next.Page+j.Spec.Paging.PageBase)
	}
	return "pagination", "none is needed"
}

// reachable reports whether a page of this kind can ever give the proof.
func (r *reading) reachable(e harvest.EndProof) bool {
	p := r.pages[0]
	switch e {
	case harvest.EndTotal:
		return p.Total != nil
	case harvest.EndHasMore:
		return p.HasMore != nil
	}
	return true
}

func proofKey(all []harvest.EndProof) string {
	if slices.Contains(all, harvest.EndHasMore) {
		return "hasMore"
	}
	return "total"
}

func proofs(all []harvest.EndProof) string {
	text := make([]string, len(all))
	for i, e := range all {
		text[i] = string(e)
	}
	return strings.Join(text, " or ")
}

func explainStep(code harvest.Code, s *source.Spec) string {
	switch code {
	case harvest.CodeTokenMissing:
		return "no token at " + s.Search.Response.Token
	case harvest.CodeNextURLMissing:
		return "no address at " + s.Search.Response.URL
	case harvest.CodeTotalMissed:
		return "it ends before the total is reached"
	case harvest.CodeEmptyPage:
		return "a page has no items, and nothing says that it is the last"
	case harvest.CodeOffsetShift:
		return "rows shifted between two pages"
	case harvest.CodePageRepeats:
		return "the same page comes again and again"
	}
	return string(code)
}

// unanswered says what the upstream made of the request that failed.
func (j *job) unanswered(l *lines) {
	r := j.read
	e := j.last()
	purpose := "request"
	if e != nil {
		purpose = e.Label
	}
	ep := j.Spec.Endpoint(source.Purpose(purpose))
	if ep == nil {
		ep = &j.Spec.Search
	}
	at := "endpoints." + ep.Name
	if shape, ok := errors.AsType[*Shape](r.err); ok {
		l.fail(fmt.Sprintf("correct %s in the pack, or see what the provider changed; --show http shows the reply", responseKey(ep, shape.Path)),
			"%s: the reply has another shape: %s %s", purpose, shape.Path, shape.Detail)
		return
	}
	switch status := r.fault.Status; {
	case e == nil:
		l.fail("mend "+at+" in the pack", "%s: nothing was sent: %s", purpose, r.err)
	case e.Failure == FailFixture:
		l.fail("run the check online once more with --save", "%s: %s", purpose, e.Error)
	case slices.ContainsFunc(j.Spec.Faults, func(u source.FaultRule) bool { return harvest.Code(u.Code) == r.fault.Code }):
		l.fail(fmt.Sprintf("see what faults says about %s in the pack; --show http shows request and reply", r.fault.Code), "%s: %s%s", purpose, r.fault.Code, j.said(", "))
	case status == 200:
		l.fail("--show http shows the reply; look at format and signals of "+at, "%s: %s%s", purpose, r.fault.Code, j.said(", "))
	case status >= 500:
		l.fail("the upstream is not well: try again later", "%s: %s%s", purpose, r.fault.Code, j.said(", "))
	case status == 404:
		l.fail(fmt.Sprintf("look for a slip in baseUrl and in %s.path (%s)", at, ep.Path), "%s: not found%s", purpose, j.said(", "))
	case status == 401 || status == 403:
		l.fail("does the source want a credential or another one? see auth in the pack and `patra credential list "+j.Source+"`", "%s: refused%s", purpose, j.said(", "))
	case status >= 300 && status < 400:
		l.fail("put the address it leads to into baseUrl", "%s: redirected%s to %s", purpose, j.said(", "), shorten(e.Header.Get("Location"), 120))
	case status != 0:
		l.fail("look at the parameters of "+at+"; --show http shows the request", "%s: %s%s", purpose, r.fault.Code, j.said(", "))
	default:
		l.fail("look at "+at+" in the pack", "%s: %s", purpose, r.err)
	}
}

// responseKey finds which part of a response names a path.
func responseKey(e *source.Endpoint, path string) string {
	at := "endpoints." + e.Name + ".response"
	r := e.Response
	for _, p := range []struct{ key, path string }{{"root", r.Root}, {"total", r.Total}, {"hasMore", r.HasMore}, {"nextToken", r.Token}, {"nextUrl", r.URL}} {
		if p.path != "" && p.path == path {
			return at + "." + p.key
		}
	}
	for _, p := range r.Items {
		if strings.Contains(path, p) {
			return at + ".items"
		}
	}
	return at
}
