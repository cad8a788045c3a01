package sim

import (
	"net/http"
	"strconv"
)

const htmlType = "text/html"

// misbehave is the answer of a fault that happens instead of the request.
func (s *Sim) misbehave(q *request, up upstream, a allowance, v verdict, faults Faults) *reply {
	seconds := strconv.Itoa(int(faults.retryAfter().Seconds()))
	switch q.fault {
	case HTTP500:
		return gatewayPage(http.StatusInternalServerError, "500 Internal Server Error")
	case HTTP502HTML:
		return gatewayPage(http.StatusBadGateway, "502 Bad Gateway")
	case HTTP504HTML:
		return gatewayPage(http.StatusGatewayTimeout, "504 Gateway Time-out")
	case HTTP503:
		rep := gatewayPage(http.StatusServiceUnavailable, "503 Service Temporarily Unavailable")
		rep.set("Retry-After", seconds)
		return rep
	case HTTP503Date:
		rep := gatewayPage(http.StatusServiceUnavailable, "503 Service Temporarily Unavailable")
		rep.set("Retry-After", s.Now().Add(faults.retryAfter()).Format(http.TimeFormat))
		return rep
	case HTTP429:
		return up.tooMany(q, a, v)
	case HTTP429RetryAfter:
		rep := up.tooMany(q, a, v)
		rep.set("Retry-After", seconds)
		return rep
	case HTML200:
		rep := gatewayPage(http.StatusOK, "Scheduled maintenance")
		rep.failed = true
		return rep
	case Empty200:
		return &reply{status: http.StatusOK, kind: "text/plain", failed: true}
	case Error200, Viewer400:
		rep := up.failure(q, q.fault)
		rep.failed = true
		up.limits(q, rep, a, v)
		return rep
	}
	return &reply{} // the connection is dropped before anything is written
}

// gatewayPage is what a balancer in front of the service says.
func gatewayPage(status int, title string) *reply {
	return &reply{status: status, kind: htmlType, head: []byte("<html>\r\n<head><title>" + title +
		"</title></head>\r\n<body>\r\n<center><h1>" + title + "</h1></center>\r\n</body>\r\n</html>\r\n")}
}

// spoilRows plays the faults of a detail request on what it found.
func spoilRows(q *request, in *injector, p *population, appendID func([]byte, uint32) []byte, rows []row) []row {
	if len(rows) == 0 {
		return rows
	}
	switch q.fault {
	case DetailMissing, DetailBadItem:
		for k := range rows {
			victim := (k + q.number) % len(rows)
			if !in.spoil(string(appendID(nil, rows[victim].index))) {
				continue
			}
			if q.fault == DetailMissing {
				return append(rows[:victim:victim], rows[victim+1:]...)
			}
			rows[victim].bad = true
			return rows
		}
	case DetailExtra:
		asked := map[uint32]bool{}
		for _, r := range rows {
			asked[r.index] = true
		}
		for k := range p.records {
			i := uint32((k + q.number) % len(p.records))
			if p.records[i].shown() && !asked[i] {
				return append(rows, row{index: i, record: p.records[i]})
			}
		}
	}
	return rows
}
