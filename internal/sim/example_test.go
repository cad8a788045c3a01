package sim_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// A Sim serves upstreams and knows what they hold, so that what was harvested can
// be compared with the truth. Its clock stands still until it is told to go on.
func ExampleNew() {
	s, err := sim.New(sim.Config{
		Sources: []string{sim.Crossref}, Records: 20, Seed: 1, Now: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
	})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	res, err := http.Get(server.URL + "/crossref/works?rows=0")
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	held := 0
	for range s.Truth(sim.Crossref) {
		held++
	}
	fmt.Println(res.Status, held)
	s.Advance(24 * time.Hour)
	fmt.Println(s.Now().Format(time.DateOnly), s.Stats().Sources[sim.Crossref].Breaches == sim.Breaches{})
	// Output:
	// 200 OK 20
	// 2026-02-01 true
}
