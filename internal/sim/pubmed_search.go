package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const searchProlog = `<?xml version="1.0" encoding="UTF-8" ?>` + "\n" +
	`<!DOCTYPE eSearchResult PUBLIC "-//NLM//DTD esearch 20060628//EN" "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20060628/esearch.dtd">` + "\n"

// searchAnswer is what ESearch has to say, in either form.
type searchAnswer struct {
	count, start int
	ids          []uint32
	key          int
	webenv       string
	term         termResult
	messages     []string
	countOnly    bool
	untold       bool // JSON: the count is left out
}

// esearch answers a search. Beyond the wall only the first ids can be had,
// whatever the count says.
func (p *pubmed) esearch(q *request) *reply {
	if db := q.get("db"); db != "pubmed" {
		return searchError(q, "Invalid db name specified: "+db)
	}
	webenv := q.get("WebEnv")
	if q.fault == WebEnvLost {
		delete(p.sessions, webenv)
	}
	if webenv != "" {
		if _, ok := p.recall(webenv, queryKey(q)); !ok {
			return searchError(q, "Unable to obtain query #"+strconv.Itoa(queryKey(q)))
		}
	}
	term := strings.TrimSpace(q.get("term"))
	if term == "" && webenv == "" {
		return searchError(q, "Empty term and query_key - nothing todo")
	}
	out := searchAnswer{countOnly: q.get("rettype") == "count"}
	ids := p.hits(q, term, webenv, &out)
	out.count = len(ids)
	if q.get("usehistory") == "y" {
		out.webenv, out.key = p.store(webenv, ids)
	}

	start, most := number(q, "retstart", 0), number(q, "retmax", 20)
	if start >= p.wall && out.count > p.wall {
		wall := strconv.Itoa(p.wall)
		return searchError(q, "Search Backend failed: Exception:\n'retstart' cannot be larger than "+strconv.Itoa(p.wall-1)+
			". For PubMed, ESearch can only retrieve the first "+thousands(wall)+" records matching the query. To obtain more than "+thousands(wall)+
			" PubMed records, consider using EDirect that contains additional logic to batch PubMed search results automatically"+
			" so that an arbitrary number can be retrieved. For details see https://www.ncbi.nlm.nih.gov/books/NBK25499/")
	}
	if out.count > p.wall && start+most > p.wall {
		most = p.wall - start
		out.messages = append(out.messages, "Restrictions achieved. start and count adjusted to "+strconv.Itoa(start)+", "+strconv.Itoa(most))
	}
	most = min(most, p.wall)
	out.start = start
	from := min(start, len(ids))
	out.ids = ids[from:min(from+most, len(ids))]
	if out.count == 0 || len(out.ids) == 0 && most > 0 {
		out.messages = append(out.messages, "No items found.")
	}
	if q.fault == TotalWrong {
		out.count += 2 + out.count/50
	}
	out.untold = q.fault == TotalDropped
	if q.fault == Errorlist {
		out.term.phrases = append(out.term.phrases, firstWord(term))
	}
	rep := &reply{status: http.StatusOK}
	if q.get("retmode") == "json" {
		rep.kind, rep.head = "application/json; charset=UTF-8", p.searchJSON(&out)
	} else {
		rep.kind, rep.head = xmlType, p.searchXML(&out)
	}
	return rep
}

// hits evaluates the query and puts what it finds in order.
func (p *pubmed) hits(q *request, term, webenv string, out *searchAnswer) []uint32 {
	var frozen []uint32
	if webenv != "" {
		frozen, _ = p.recall(webenv, queryKey(q))
		if term == "" {
			return frozen
		}
	}
	if field := q.get("field"); field != "" && !strings.Contains(term, "[") {
		term += "[" + field + "]"
	}
	out.term = p.parseTerm(term, func(key int) match {
		ids, ok := p.recall(webenv, key)
		if !ok {
			return nil
		}
		return among(ids)
	})
	test := out.term.match
	if test == nil {
		return nil
	}
	tests := []match{test}
	if webenv != "" && q.get("query_key") != "" {
		tests = append(tests, among(frozen))
	}
	if m := p.window(q); m != nil {
		tests = append(tests, m)
	}
	if q.fault == Errorlist { // the query is widened without a word
		tests = nil
	}
	var ids []uint32
next:
	for i := range p.people.records {
		r := &p.people.records[i]
		if !r.shown() {
			continue
		}
		for _, test := range tests {
			if !test(uint32(i), r) {
				continue next
			}
		}
		ids = append(ids, uint32(i))
	}
	p.order(ids, q.get("sort"))
	return ids
}

// window is the range of mindate and maxdate or of reldate. One end alone, or one
// that is empty, is dropped without a message.
func (p *pubmed) window(q *request) match {
	field, ok := fieldOf[strings.ToLower(q.get("datetype"))]
	if !ok {
		field = "pdat"
	}
	if days, err := strconv.Atoi(q.get("reldate")); err == nil {
		now := p.sim.now.In(eastern)
		const layout = "2006/01/02"
		return p.dated(field, now.AddDate(0, 0, -days).Format(layout), now.Format(layout))
	}
	from, to := q.get("mindate"), q.get("maxdate")
	if from == "" || to == "" {
		return nil
	}
	return p.dated(field, from, to)
}

func among(ids []uint32) match {
	set := make(map[uint32]struct{}, len(ids))
	for _, i := range ids {
		set[i] = struct{}{}
	}
	return func(i uint32, _ *record) bool { _, ok := set[i]; return ok }
}

// order sorts by publication date or number; relevance, the default, is another
// order at every call.
func (p *pubmed) order(ids []uint32, by string) {
	switch strings.ToLower(strings.ReplaceAll(by, "+", "_")) {
	case "", "relevance":
		p.calls++
		shuffled(ids, roll(p.articles.seed, 10, p.calls))
	case "pub_date", "pub date":
		keys := make([]uint64, len(ids))
		for k, i := range ids {
			day := p.articles.facts(i, p.people.records[i].created).published.number()
			keys[k] = uint64(99999999-day)<<32 | uint64(^i)
		}
		slices.Sort(keys)
		for k := range ids {
			ids[k] = ^uint32(keys[k])
		}
	default:
		slices.Sort(ids)
		slices.Reverse(ids)
	}
}

func (p *pubmed) searchJSON(a *searchAnswer) []byte {
	b := []byte(`{"header":{"type":"esearch","version":"0.3"},"esearchresult":{`)
	if !a.untold {
		b = append(b, `"count":"`...)
		b = appendInt(b, a.count)
		b = append(b, '"')
	}
	if a.countOnly {
		return append(b, "}}"...)
	}
	if !a.untold {
		b = append(b, ',')
	}
	b = append(b, `"retmax":"`...)
	b = appendInt(b, len(a.ids))
	b = append(b, `","retstart":"`...)
	b = appendInt(b, a.start)
	b = append(b, `",`...)
	if a.webenv != "" {
		b = append(b, `"querykey":"`...)
		b = appendInt(b, a.key)
		b = append(b, `","webenv":"`...)
		b = append(b, a.webenv...)
		b = append(b, `",`...)
	}
	b = append(b, `"idlist":[`...)
	for k, i := range a.ids {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = appendInt(b, p.articles.pmid(i))
		b = append(b, '"')
	}
	b = append(b, `],"translationset":[],"querytranslation":`...)
	b = append(b, quoted(a.term.translation)...)
	if len(a.term.phrases)+len(a.term.fields) > 0 {
		b = append(b, `,"errorlist":{"phrasesnotfound":`...)
		b = append(b, quotedList(a.term.phrases)...)
		b = append(b, `,"fieldsnotfound":`...)
		b = append(b, quotedList(a.term.fields)...)
		b = append(b, '}')
	}
	if len(a.messages) > 0 {
		b = append(b, `,"warninglist":{"phrasesignored":[],"quotedphrasesnotfound":[],"outputmessages":`...)
		b = append(b, quotedList(a.messages)...)
		b = append(b, '}')
	}
	return append(b, "}}\n"...)
}

func (p *pubmed) searchXML(a *searchAnswer) []byte {
	b := []byte(searchProlog + "<eSearchResult><Count>")
	b = appendInt(b, a.count)
	b = append(b, "</Count>"...)
	if a.countOnly {
		return append(b, "</eSearchResult>\n"...)
	}
	b = append(b, "<RetMax>"...)
	b = appendInt(b, len(a.ids))
	b = append(b, "</RetMax><RetStart>"...)
	b = appendInt(b, a.start)
	b = append(b, "</RetStart>"...)
	if a.webenv != "" {
		b = append(b, "<QueryKey>"...)
		b = appendInt(b, a.key)
		b = append(b, "</QueryKey><WebEnv>"+a.webenv+"</WebEnv>"...)
	}
	if len(a.ids) == 0 {
		b = append(b, "<IdList/>"...)
	} else {
		b = append(b, "<IdList>\n"...)
		for _, i := range a.ids {
			b = append(b, "<Id>"...)
			b = appendInt(b, p.articles.pmid(i))
			b = append(b, "</Id>\n"...)
		}
		b = append(b, "</IdList>"...)
	}
	b = append(b, "<TranslationSet/><QueryTranslation>"+escaped(a.term.translation)+"</QueryTranslation>"...)
	if len(a.term.phrases)+len(a.term.fields) > 0 {
		b = append(b, "<ErrorList>"...)
		for _, s := range a.term.phrases {
			b = append(b, "<PhraseNotFound>"+escaped(s)+"</PhraseNotFound>"...)
		}
		for _, s := range a.term.fields {
			b = append(b, "<FieldNotFound>"+escaped(s)+"</FieldNotFound>"...)
		}
		b = append(b, "</ErrorList>"...)
	}
	if len(a.messages) > 0 {
		b = append(b, "<WarningList>"...)
		for _, s := range a.messages {
			b = append(b, "<OutputMessage>"+escaped(s)+"</OutputMessage>"...)
		}
		b = append(b, "</WarningList>"...)
	}
	return append(b, "</eSearchResult>\n"...)
}

// searchError is ESearch's failure with status 200. A line break in the message
// goes into the JSON as it is, which strict parsers refuse, as the real one does.
func searchError(q *request, message string) *reply {
	if q.get("retmode") == "json" {
		safe := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(message)
		head := `{"header":{"type":"esearch","version":"0.3"},"esearchresult":{"ERROR":"` + safe + `"}}` + "\n"
		return &reply{status: http.StatusOK, failed: true, kind: "application/json; charset=UTF-8", head: []byte(head)}
	}
	head := searchProlog + "<eSearchResult><ERROR>" + escaped(message) + "</ERROR></eSearchResult>\n"
	return &reply{status: http.StatusOK, failed: true, kind: xmlType, head: []byte(head)}
}

// einfo describes the database; its build follows the clock.
func (p *pubmed) einfo(q *request) *reply {
	now := p.sim.now.In(eastern)
	built := time.Date(now.Year(), now.Month(), now.Day(), 6, 33, 0, 0, eastern)
	if built.After(now) {
		built = built.AddDate(0, 0, -1)
	}
	build, updated := built.Format("Build-2006.01.02.15.04"), built.Format("2006/01/02 15:04")
	count := strconv.Itoa(len(p.people.index()))
	fields := []string{"ALL", "UID", "FILT", "TITL", "TIAB", "MESH", "AUTH", "JOUR", "LANG", "PTYP", "PDAT", "EDAT", "MDAT", "CRDT"}
	if q.get("retmode") == "json" {
		var b bytes.Buffer
		b.WriteString(`{"header":{"type":"einfo","version":"0.3"},"einforesult":{"dbinfo":[{"dbname":"pubmed","menuname":"PubMed","description":"PubMed bibliographic record","dbbuild":"` +
			build + `","count":"` + count + `","lastupdate":"` + updated + `","fieldlist":[`)
		for k, f := range fields {
			if k > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`{"name":"` + f + `"}`)
		}
		b.WriteString("]}]}}\n")
		return &reply{status: http.StatusOK, kind: "application/json; charset=UTF-8", head: b.Bytes()}
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" ?>` + "\n" +
		`<!DOCTYPE eInfoResult PUBLIC "-//NLM//DTD einfo 20190110//EN" "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20190110/einfo.dtd">` + "\n<eInfoResult>\n")
	if db := q.get("db"); db != "pubmed" && db != "" {
		b.WriteString("\t<ERROR>Can not retrieve DbInfo for db=" + escaped(db) + "</ERROR>\n</eInfoResult>\n")
		return &reply{status: http.StatusOK, failed: true, kind: xmlType, head: b.Bytes()}
	}
	b.WriteString("\t<DbInfo>\n\t\t<DbName>pubmed</DbName>\n\t\t<MenuName>PubMed</MenuName>\n\t\t<Description>PubMed bibliographic record</Description>\n\t\t<DbBuild>" +
		build + "</DbBuild>\n\t\t<Count>" + count + "</Count>\n\t\t<LastUpdate>" + updated + "</LastUpdate>\n\t\t<FieldList>\n")
	for _, f := range fields {
		b.WriteString("\t\t\t<Field><Name>" + f + "</Name></Field>\n")
	}
	b.WriteString("\t\t</FieldList>\n\t</DbInfo>\n</eInfoResult>\n")
	return &reply{status: http.StatusOK, kind: xmlType, head: b.Bytes()}
}

func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s)
	return strings.TrimSpace(b.String())
}

func quotedList(list []string) string {
	out := make([]string, len(list))
	for k, s := range list {
		out[k] = quoted(s)
	}
	return "[" + strings.Join(out, ",") + "]"
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escaped(s string) string { return xmlEscapes.Replace(strings.ToValidUTF8(s, "?")) }

// thousands writes 9999 as 9,999.
func thousands(s string) string {
	for k := len(s) - 3; k > 0; k -= 3 {
		s = s[:k] + "," + s[k:]
	}
	return s
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}
