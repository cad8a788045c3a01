package httpapi

import "net/http"

// serveChange makes a change.
func (d *Door) serveChange(out *answer, r *http.Request, rt route, body []byte) {
	d.mux.ServeHTTP(out, r)
}
