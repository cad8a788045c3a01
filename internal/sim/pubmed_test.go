package sim

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestESearchWall(t *testing.T) {
	s := open(t, Config{Sources: []string{PubMed}, PubMedWall: 50})
	term := []string{"term", "all[sb]", "sort", "pub_date"}
	ask := func(pairs ...string) searchResult { t.Helper(); return esearch(t, s, append(pairs, term...)...) }

	r := ask("retmax", "10000")
	if r.Count != "300" || r.Retmax != "50" || len(r.Idlist) != 50 || r.Warninglist.Outputmessages[0] != "Restrictions achieved. start and count adjusted to 0, 50" {
		t.Errorf("retmax above the wall: %+v", r)
	}
	r = ask("retstart", "49", "retmax", "10")
	if len(r.Idlist) != 1 || r.Warninglist.Outputmessages[0] != "Restrictions achieved. start and count adjusted to 49, 1" {
		t.Errorf("page across the wall: %+v", r)
	}
	a := get(s, "/pubmed/esearch.fcgi", append([]string{"db", "pubmed", "retmode", "json", "retstart", "50"}, term...)...)
	if a.Code != 200 || json.Valid(a.Body.Bytes()) || !strings.Contains(a.Body.String(), "Exception:\n'retstart' cannot be larger than 49.") {
		t.Errorf("beyond the wall: %d %s", a.Code, a.Body)
	}
	a = get(s, "/pubmed/esearch.fcgi", append([]string{"db", "pubmed", "retstart", "50"}, term...)...)
	if a.Code != 200 || !strings.Contains(a.Body.String(), "<ERROR>Search Backend failed") {
		t.Errorf("beyond the wall in XML: %d %s", a.Code, a.Body)
	}
	r = ask("retmax", "0")
	if r.Count != "300" || len(r.Idlist) != 0 || r.ERROR != "" {
		t.Errorf("count alone: %+v", r)
	}
	r = esearch(t, s, "term", ask("retmax", "1").Idlist[0]+"[uid]", "retstart", "5")
	if r.Count != "1" || len(r.Idlist) != 0 || r.Warninglist == nil {
		t.Errorf("beyond a smaller count: %+v", r)
	}

	r = ask("usehistory", "y", "retmax", "0")
	history := []string{"db", "pubmed", "WebEnv", r.Webenv, "query_key", r.Querykey}
	a = get(s, "/pubmed/efetch.fcgi", append([]string{"retstart", "45", "retmax", "20"}, history...)...)
	if n := len(articlesIn(t, a.Body.Bytes())); n != 5 {
		t.Errorf("fetch across the wall: %d records", n)
	}
	a = get(s, "/pubmed/efetch.fcgi", append([]string{"retstart", "50"}, history...)...)
	if a.Code != 400 || !strings.Contains(a.Body.String(), "'retstart' cannot be larger than 49") {
		t.Errorf("fetch beyond the wall: %d %s", a.Code, a.Body)
	}
}

func TestESearchPartsAddUp(t *testing.T) {
	s := open(t, Config{Sources: []string{PubMed}})
	count := func(pairs ...string) int {
		t.Helper()
		r := esearch(t, s, append(pairs, "retmax", "0")...)
		n, err := strconv.Atoi(r.Count)
		if err != nil || r.Errorlist != nil {
			t.Fatalf("%v: %+v", pairs, r)
		}
		return n
	}
	for _, field := range []string{"crdt", "mdat", "edat"} {
		sum := 0
		for d := s.Now().AddDate(0, 0, -1000); !d.After(s.Now().AddDate(0, 0, 1)); d = d.AddDate(0, 0, 1) {
			day := d.Format("2006/01/02")
			sum += count("term", day+":"+day+"["+field+"]")
		}
		if sum != 300 {
			t.Errorf("%s: days add up to %d", field, sum)
		}
	}
	middle := firstPMID + 450
	low, high := count("term", "1:"+strconv.Itoa(middle)+"[uid]"), count("term", strconv.Itoa(middle+1)+":99999999[uid]")
	if low == 0 || high == 0 || low+high != 300 {
		t.Errorf("uid ranges: %d and %d", low, high)
	}
	from, to := s.Now().AddDate(0, 0, -10).Format("2006/01/02"), s.Now().Format("2006/01/02")
	window := count("term", from+":"+to+"[crdt]")
	for what, n := range map[string]int{
		"parameters":      count("term", "all[sb]", "datetype", "crdt", "mindate", from, "maxdate", to),
		"quoted":          count("term", `"`+from+`"[Date - Create] : "`+to+`"[Date - Create]`),
		"open end":        count("term", "("+from+":3000[crdt])"),
		"reldate":         count("term", "all[sb]", "datetype", "crdt", "reldate", "10"),
		"NOT the rest":    count("term", "all[sb] NOT 1900:"+s.Now().AddDate(0, 0, -11).Format("2006/01/02")+"[crdt]"),
		"OR of two parts": count("term", "("+from+"[crdt]) OR ("+s.Now().AddDate(0, 0, -9).Format("2006/01/02")+":"+to+"[crdt])"),
	} {
		if n != window {
			t.Errorf("%s: %d, want %d", what, n, window)
		}
	}
	words, titles := count("term", "cardiac[tiab]"), count("term", "cardiac[title]")
	if words == 0 || titles == 0 || titles > words || count("term", "CARDIAC fibrosis") == 0 {
		t.Errorf("words: %d in title or abstract, %d in title", words, titles)
	}
}

func TestESearchWidensInSilence(t *testing.T) {
	s := open(t, Config{Sources: []string{PubMed}})
	r := esearch(t, s, "term", "cardiac[nofield] AND all[sb]")
	if r.Count != "300" || r.Errorlist == nil || !slices.Contains(r.Errorlist.Fieldsnotfound, "nofield") {
		t.Errorf("unknown field: %+v", r)
	}
	r = esearch(t, s, "term", "fleegle AND all[sb]")
	if r.Count != "300" || r.Errorlist == nil || !slices.Contains(r.Errorlist.Phrasesnotfound, "fleegle") {
		t.Errorf("unknown word: %+v", r)
	}
	r = esearch(t, s, "term", "1990[mdat]")
	if r.Count != "0" || r.Errorlist != nil || r.Warninglist.Outputmessages[0] != "No items found." {
		t.Errorf("no hits: %+v", r)
	}
}

func TestESearchOrder(t *testing.T) {
	s := open(t, Config{Sources: []string{PubMed}})
	a, b := esearch(t, s, "term", "all[sb]", "retmax", "300"), esearch(t, s, "term", "all[sb]", "retmax", "300")
	if slices.Equal(a.Idlist, b.Idlist) {
		t.Error("relevance gave the same order twice")
	}
	a, b = esearch(t, s, "term", "all[sb]", "retmax", "300", "sort", "pub_date"), esearch(t, s, "term", "all[sb]", "retmax", "300", "sort", "pub_date")
	if !slices.Equal(a.Idlist, b.Idlist) {
		t.Error("pub_date gave two orders")
	}
}

func TestHistoryFreezesIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Sources: []string{PubMed}, WebEnvLife: time.Hour})
		r := esearch(t, s, "term", "all[sb]", "usehistory", "y", "retmax", "1")
		s.Advance(48 * time.Hour)
		again := esearch(t, s, "WebEnv", r.Webenv, "query_key", r.Querykey, "retmax", "1000")
		if again.Count != "300" {
			t.Errorf("history grew to %s", again.Count)
		}
		if narrowed := esearch(t, s, "term", "#1 AND 1:1[uid]", "WebEnv", r.Webenv); narrowed.Count != "0" {
			t.Errorf("#1 AND nothing: %s", narrowed.Count)
		}
		time.Sleep(2 * time.Hour)
		if lost := esearch(t, s, "WebEnv", r.Webenv, "query_key", "1"); lost.ERROR != "Unable to obtain query #1" {
			t.Errorf("after its life: %+v", lost)
		}
		a := get(s, "/pubmed/efetch.fcgi", "db", "pubmed", "WebEnv", r.Webenv, "query_key", "1")
		if a.Code != 200 || !strings.Contains(a.Body.String(), "Unable to obtain query #1") {
			t.Errorf("fetch after its life: %d %s", a.Code, a.Body)
		}
	})
}

func TestEFetchRules(t *testing.T) {
	s := open(t, Config{Sources: []string{PubMed}})
	id := string(s.upstreams[PubMed].appendID(nil, 9))
	for _, c := range []struct {
		ids, contains string
		status, count int
	}{
		{"", "Supplied id parameter is empty.", 200, -1},
		{"abc,x", "ID list is empty! Possibly it has no correct IDs.", 400, -1},
		{"1,2", "<PubmedArticleSet>", 200, 0},
		{"1," + id + ",abc", "<PubmedArticleSet>", 200, 1},
	} {
		a := post(s, "/pubmed/entrez/eutils/efetch.fcgi", url.Values{"db": {"pubmed"}, "id": {c.ids}})
		if a.Code != c.status || !strings.Contains(a.Body.String(), c.contains) {
			t.Errorf("id=%s: %d %s", c.ids, a.Code, a.Body)
		}
		if c.count >= 0 && len(articlesIn(t, a.Body.Bytes())) != c.count {
			t.Errorf("id=%s: want %d records", c.ids, c.count)
		}
	}
	a := get(s, "/pubmed/efetch.fcgi", "db", "pubmed", "id", "1", "api_key", "secret-1")
	if a.Code != 400 || !strings.Contains(a.Body.String(), "secret-1") {
		t.Errorf("bad key: %d %s", a.Code, a.Body)
	}
	a = get(s, "/pubmed/einfo.fcgi", "db", "pubmed")
	if a.Code != 200 || !strings.Contains(a.Body.String(), "<Count>300</Count>") {
		t.Errorf("einfo: %d %s", a.Code, a.Body)
	}
}
