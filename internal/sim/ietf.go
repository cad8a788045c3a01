package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ietfHabits: the history of documents, a row for each change under a number that grows,
// in ranges of these numbers and by offset, at most 1,000 at once. Of each document the
// row of its newest change is shown.
func ietfHabits() habits {
	rows := &sequences{}
	h := habits{
		requests: 10, window: 5 * time.Second, grain: 1_000_000, steps: time.Second, totals: true,
		class: func(path string) string { return only(path, "/api/v1/doc/dochistory/") },
		write: func(b []byte, e *entry) []byte { return writeIETF(b, e, rows.of[e.i].sequence) },
		ask:   askIETF(rows),
		broken: func() *reply {
			return &reply{status: http.StatusInternalServerError, kind: jsonType, head: []byte(`{"error_message":"Sorry, this request could not be processed. Please try again later."}`)}
		},
		page: func(_ *request, s slip) *reply {
			next := "null"
			if !s.last {
				next = quoted("/api/v1/doc/dochistory/?offset=" + strconv.Itoa(s.to))
			}
			return s.around(`{"meta":{"limit":`+strconv.Itoa(s.size)+`,"next":`+next+`,"offset":`+strconv.Itoa(s.from)+`,"previous":null,`+
				strings.TrimSuffix(told("total_count", s.total), ",")+`},"objects":[`, "]}")
		},
		order: func(i uint32, _ *record) uint64 { return uint64(rows.of[i].sequence) },
	}
	h.id, h.index = numberedID("draft-sim-", 1_000_000)
	return h
}

// askIETF reads a request for rows of the history: those between two numbers in their
// order, or with order_by=-id the one with the greatest.
func askIETF(rows *sequences) func(l *library, q *request) (asking, *reply) {
	return func(l *library, q *request) (a asking, refused *reply) {
		rows.number(l.people)
		if q.get("order_by") == "-id" {
			return askNewest(rows, l), nil
		}
		numbers := map[string]int{"id__gte": 0, "id__lte": 0, "limit": 20, "offset": 0}
		for name := range numbers {
			n, err := strconv.Atoi(q.get(name))
			if err != nil {
				return a, ietfRefusal("Invalid resource lookup data provided (mismatched type).")
			}
			numbers[name] = n
		}
		if q.get("order_by") != "id" || q.get("type__slug__in") != "draft,rfc" {
			return a, ietfRefusal("No matching field for ordering on.")
		}
		first, last := int64(numbers["id__gte"]), int64(numbers["id__lte"])
		a.match = func(i uint32, _ *record) bool { n := rows.of[i].sequence; return n >= first && n <= last }
		a.size = min(numbers["limit"], 1000)
		a.at = numbers["offset"]
		return a, nil
	}
}

// askNewest asks for the row of the last change alone.
func askNewest(rows *sequences, l *library) asking {
	greatest := int64(0)
	for _, key := range l.people.index() {
		greatest = max(greatest, rows.of[uint32(key)].sequence)
	}
	return asking{size: 1, match: func(i uint32, _ *record) bool { return rows.of[i].sequence == greatest }}
}

func ietfRefusal(message string) *reply {
	return &reply{status: http.StatusBadRequest, kind: jsonType, head: []byte(`{"error":` + quoted(message) + `}`)}
}

// ietfType is what one in four documents is not: a draft.
func ietfType(e *entry) string {
	if e.i%4 == 0 {
		return "rfc"
	}
	return "draft"
}

func writeIETF(b []byte, e *entry, number int64) []byte {
	o := &jsonObject{append(b, '{')}
	name := "draft-sim-" + strconv.Itoa(1_000_000+int(e.i))
	o.text("abstract", e.plainAbstract())
	o.text("doc", "/api/v1/doc/document/"+name+"/")
	o.int("id", int(number))
	o.strings("keywords", e.keywords)
	o.text("name", name)
	o.int("pages", 3+int(e.i%40))
	o.text("resource_uri", "/api/v1/doc/dochistory/"+strconv.FormatInt(number, 10)+"/")
	o.text("rev", string(appendPadded(nil, int(e.record.number)-1, 2)))
	o.text("time", e.stamp("2006-01-02T15:04:05Z"))
	o.text("title", e.plainTitle())
	o.text("type", "/api/v1/name/doctypename/"+ietfType(e)+"/")
	return append(o.b, '}')
}
