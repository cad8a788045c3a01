package sim

import (
	"net/http"
	"strconv"
	"strings"
)

// sheet is one page to be put into the envelope of a style.
type sheet struct {
	ids    []uint32
	total  int
	first  bool     // page of its walk
	pos    int      // of the first item
	fields []string // of the envelope, beside items and total
	links  string   // the Link header
}

// sheet writes a page.
func (g *generic) sheet(q *request, st GenericStyle, p sheet) *reply {
	rep := &reply{status: http.StatusOK, kind: jsonType, rows: g.rows(st, p.ids), between: ",", write: g.shape(st).row}
	rep.records = len(rep.rows)
	if q.fault == TotalDropped {
		st.Total = "absent"
	}
	if st.Total == "wrong" || q.fault == TotalWrong {
		p.total += 3 + p.total/50
	}
	if st.Total == "header" || st.Paging == "link" && st.Total != "absent" {
		rep.set("X-Total-Count", strconv.Itoa(p.total))
	}
	if p.links != "" {
		rep.set("Link", p.links)
	}
	before, key := "", "items"
	switch st.Envelope {
	case "array":
		rep.head, rep.tail = []byte("["), "]"
		return rep
	case "messages":
		before, key = message(q, st, p, len(rep.rows)), "collection"
	default:
		if total := totalField(st, p); total != "" {
			p.fields = append([]string{total}, p.fields...)
		}
	}
	rep.wrap(st, before, key, p.fields)
	return rep
}

// wrap puts an object around the rows: what stands before, the list, the fields.
func (r *reply) wrap(st GenericStyle, before, key string, fields []string) {
	list := quoted(key) + ":"
	if len(r.rows) == 0 {
		switch st.Empty {
		case "missing":
			list = ""
		case "null":
			list += "null"
		case "error-item":
			list += `[{"error":"Result set was empty"}]`
		default:
			list += "[]"
		}
	} else {
		list += "["
	}
	head := "{" + before
	if before != "" && list != "" {
		head += ","
	}
	head += list
	tail := strings.Join(fields, ",")
	if len(fields) > 0 && (len(r.rows) > 0 || head != "{") {
		tail = "," + tail
	}
	if len(r.rows) > 0 {
		tail = "]" + tail
	}
	r.head, r.tail = []byte(head), tail+"}"
}

func totalField(st GenericStyle, p sheet) string {
	n := strconv.Itoa(p.total)
	switch st.Total {
	case "absent", "header":
		return ""
	case "first":
		if !p.first {
			return ""
		}
	case "text":
		n = quoted(thousands(n))
	case "stats":
		return `"_stats":{"total_count":` + n + `}`
	}
	return `"total":` + n
}

// message is bioRxiv's report on a page. Its total is a string.
func message(q *request, st GenericStyle, p sheet, count int) string {
	if count == 0 {
		return `"messages":[{"status":"no posts found"}]`
	}
	b := `"messages":[{"status":"ok"`
	if parts := strings.Split(q.path, "/"); len(parts) == 5 {
		b += `,"interval":` + quoted(parts[2]+":"+parts[3])
	}
	b += `,"cursor":` + strconv.Itoa(p.pos) + `,"count":` + strconv.Itoa(count)
	n := strconv.Itoa(p.total)
	if st.Total == "text" {
		n = thousands(n)
	}
	if st.Total != "absent" && st.Total != "header" && (st.Total != "first" || p.first) {
		b += `,"total":` + quoted(n)
	}
	return b + "}]"
}
