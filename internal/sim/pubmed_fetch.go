package sim

import (
	"net/http"
	"strconv"
	"strings"
)

const fetchProlog = `<?xml version="1.0" ?>` + "\n" +
	`<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">` +
	"\n<PubmedArticleSet>\n"

// efetch serves records by id or from a history. Ids that are not there are left
// out without a word.
func (p *pubmed) efetch(q *request) *reply {
	if db := q.get("db"); db != "pubmed" {
		return fetchError(http.StatusBadRequest, "Invalid db name specified: "+db)
	}
	ids, label, problem := p.asked(q)
	if problem != nil {
		return problem
	}
	q.place = label
	rows := p.people.rows(ids)
	if q.get("retmode") == "text" {
		rep := &reply{
			status: http.StatusOK, kind: "text/plain; charset=UTF-8", rows: rows, records: len(rows), between: "\n", tail: "\n",
			write: func(b []byte, r *row) []byte { return appendInt(b, p.articles.pmid(r.index)) },
		}
		return rep
	}
	rows = spoilRows(q, p.sim.injector, p.people, p.appendID, rows)
	return &reply{
		status: http.StatusOK, kind: xmlType, head: []byte(fetchProlog), rows: rows, records: len(rows),
		write: func(b []byte, r *row) []byte { return p.articles.write(b, r.index, &r.record, !r.bad) },
		tail:  "</PubmedArticleSet>",
	}
}

// asked works out which records a fetch is about.
func (p *pubmed) asked(q *request) (ids []uint32, label string, problem *reply) {
	if webenv := q.get("WebEnv"); webenv != "" {
		return p.fromHistory(q, webenv)
	}
	var list []string
	for _, value := range q.form["id"] {
		for id := range strings.SplitSeq(value, ",") {
			id = strings.TrimSpace(id)
			if id != "" {
				list = append(list, id)
			}
		}
	}
	if len(list) == 0 {
		return nil, "", fetchError(http.StatusOK, "Supplied id parameter is empty.")
	}
	if len(list) > 10_000 {
		return nil, "", fetchError(http.StatusBadRequest, "Too many UIDs in request. Maximum number of UIDs is 10000.")
	}
	wellFormed := false
	seen := map[uint32]bool{}
	for _, id := range list {
		if _, err := strconv.ParseUint(id, 10, 64); err != nil {
			continue
		}
		wellFormed = true
		if i, ok := p.articles.find(id); ok && int(i) < len(p.people.records) && !seen[i] {
			seen[i] = true
			ids = append(ids, i)
		}
	}
	if !wellFormed {
		return nil, "", fetchError(http.StatusBadRequest, "ID list is empty! Possibly it has no correct IDs.")
	}
	from := min(number(q, "retstart", 0), len(ids))
	return ids[from:min(from+number(q, "retmax", len(ids)), len(ids))], "", nil
}

func (p *pubmed) fromHistory(q *request, webenv string) (ids []uint32, label string, problem *reply) {
	key := queryKey(q)
	if q.fault == WebEnvLost {
		delete(p.sessions, webenv)
	}
	all, ok := p.recall(webenv, key)
	if !ok {
		return nil, "", fetchError(http.StatusOK, "Unable to obtain query #"+strconv.Itoa(key))
	}
	start, most := number(q, "retstart", 0), number(q, "retmax", 10_000)
	if start >= p.wall {
		return nil, "", fetchError(http.StatusBadRequest, "Search backend cannot retrieve history data. Reason: Exception: 'retstart' cannot be larger than "+
			strconv.Itoa(p.wall-1)+". For PubMed, ESearch can only retrieve the first "+thousands(strconv.Itoa(p.wall))+" records matching the query.")
	}
	if start >= len(all) && start > 0 {
		return nil, "", fetchError(http.StatusBadRequest, "Cannot retrieve history data: OUT OF RANGE. Parameter retstart="+strconv.Itoa(start)+
			" + 1 is greater than number of records available in history. History includes "+strconv.Itoa(len(all))+" IDs.")
	}
	return all[start:min(start+most, len(all), p.wall)], webenv + "#" + strconv.Itoa(key), nil
}

// epost stores ids in a history.
func (p *pubmed) epost(q *request) *reply {
	ids, _, problem := p.asked(q)
	const prolog = `<?xml version="1.0" encoding="UTF-8" ?>` + "\n" +
		`<!DOCTYPE ePostResult PUBLIC "-//NLM//DTD epost 20090526//EN" "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20090526/epost.dtd">` + "\n<ePostResult>\n"
	if problem != nil {
		return &reply{status: http.StatusBadRequest, kind: xmlType, head: []byte(prolog + "\t<ERROR>Wrong UID list</ERROR>\n</ePostResult>\n")}
	}
	webenv, key := p.store("", ids)
	return &reply{status: http.StatusOK, kind: xmlType, head: []byte(prolog + "\t<QueryKey>" + strconv.Itoa(key) + "</QueryKey>\n\t<WebEnv>" + webenv + "</WebEnv>\n</ePostResult>\n")}
}

func fetchError(status int, message string) *reply {
	return &reply{status: status, failed: true, kind: xmlType, head: []byte(`<?xml version="1.0" encoding="UTF-8" ?>` + "\n" +
		`<!DOCTYPE eEfetchResult PUBLIC "-//NLM//DTD efetch 20131226//EN" "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20131226/efetch.dtd">` +
		"\n<eFetchResult>\n\t<ERROR>" + escaped(message) + "</ERROR>\n</eFetchResult>\n")}
}
