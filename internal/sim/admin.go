package sim

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// admin serves /_sim/: the truth, the clock, the statistics and the faults.
func (s *Sim) admin(w http.ResponseWriter, r *http.Request, path string) {
	w.Header().Set("Date", s.date())
	want := http.MethodGet
	if path == "advance" || path == "faults" {
		want = http.MethodPost
	}
	if r.Method != want {
		w.Header().Set("Allow", want)
		http.Error(w, "use "+want, http.StatusMethodNotAllowed)
		return
	}
	source, isTruth := strings.CutPrefix(path, "truth/")
	switch {
	case isTruth:
		s.serveTruth(w, r, source)
	case path == "clock":
		writeJSON(w, clockReply{s.Now()})
	case path == "stats":
		writeJSON(w, s.Stats())
	case path == "advance":
		by, err := time.ParseDuration(r.URL.Query().Get("by"))
		if err != nil || by <= 0 {
			http.Error(w, "by must be a positive duration such as 24h", http.StatusBadRequest)
			return
		}
		s.Advance(by)
		writeJSON(w, clockReply{s.Now()})
	case path == "faults":
		s.serveFaults(w, r)
	default:
		http.Error(w, "there are truth/SOURCE, clock, stats, advance and faults", http.StatusNotFound)
	}
}

type clockReply struct {
	Now time.Time `json:"now"`
}

func (s *Sim) serveTruth(w http.ResponseWriter, r *http.Request, source string) {
	if _, ok := s.upstreams[source]; !ok {
		http.Error(w, "no such upstream: "+source, http.StatusNotFound)
		return
	}
	rows := s.Truth(source)
	if params := r.URL.Query(); source == Generic && len(params) > 0 {
		var err error
		rows, err = s.GenericTruth(params)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for row := range rows {
		if err := enc.Encode(row); err != nil {
			return // the client has gone away
		}
	}
	out.Flush()
}

func (s *Sim) serveFaults(w http.ResponseWriter, r *http.Request) {
	var f Faults
	var err error
	if preset := r.URL.Query().Get("set"); preset != "" {
		if preset != "none" && preset != "light" && preset != "heavy" {
			http.Error(w, "set must be none, light or heavy", http.StatusBadRequest)
			return
		}
		f, err = ParseFaults(preset)
	} else {
		var raw []byte
		raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			f, err = decodeFaults(string(raw))
		}
	}
	if err == nil {
		err = s.SetFaults(f)
	}
	if err != nil {
		http.Error(w, "faults: "+err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, f)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(v)
}
