package source_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Certificates whose keys were thrown away: of an authority, and of somebody who is none.
const (
	authority = `-----BEGIN CERTIFICATE-----
MIIBkjCCATegAwIBAgIUWUDw1W3qc+FSI9vQOLSGVo3p3yEwCgYIKoZIzj0EAwIw
HTEbMBkGA1UEAwwSTGFrZXNpZGUgQXV0aG9yaXR5MCAXDTI2MTExODE0MjYzN1oY
DzIxMjYxMDI1MTQyNjM3WjAdMRswGQYDVQQDDBJMYWtlc2lkZSBBdXRob3JpdHkw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASMi0k1OBt99SkGEjutG8v91oRA7y3l
Jg0ISDHub+mNOCu8J64zdA2kRtR18BhIeOhoUg7OEzQYxZoFDNz28/xdo1MwUTAd
BgNVHQ4EFgQU8sS0vQH8YYGQ+B8hL0IlcodVnb4wHwYDVR0jBBgwFoAU8sS0vQH8
YYGQ+B8hL0IlcodVnb4wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBG
AiEAvC0rTfgpbKGtilLf1x7fpWKkodlWGkw707oqbtCfBf8CIQDoys9izyDJJSCL
W/fxr+po2DrWSZIh0ddQ/L1Kcrcssg==
-----END CERTIFICATE-----
`
	nobody = `-----BEGIN CERTIFICATE-----
MIIBczCCARigAwIBAgIUeYfIUX1aNB2T6/fnluZH2f8/cgAwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEbGVhZjAgFw0yNjExMTgxNDI2MzdaGA8yMTI2MTAyNTE0MjYz
N1owDzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKLJ
qZDmoYXSrQD2inICqsqYXP0+Iw6UYTjeF9SLAMz3tPoDgEN/ZCGBqT1N2e5QDqfT
YrED2z9xc/5Ubd6W35ajUDBOMB0GA1UdDgQWBBQ3r2UEl7UpDU+NOy4P63MCVKfS
ADAfBgNVHSMEGDAWgBQ3r2UEl7UpDU+NOy4P63MCVKfSADAMBgNVHRMBAf8EAjAA
MAoGCCqGSM49BAMCA0kAMEYCIQDYTPalQoJGhKi7as+SMFR/ErwjbVvOaSBkkHuk
2vSXqQIhAP15QPxyblebeW/YDFmh2xDjw/KR5gyRen29jr36BIq8
-----END CERTIFICATE-----
`
)

// TestCompile_TLSIsNeverLeftOut: a source may name its own authorities, which is said
// aloud, and nothing that would have connections be less secure.
func TestCompile_TLSIsNeverLeftOut(t *testing.T) {
	d := def()
	d.HTTP.TLS = &source.TLSConfig{CA: authority, MinVersion: "1.3"}
	spec, warnings, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
	if err != nil || spec.HTTP.TLS == nil || spec.HTTP.TLS.CA != authority {
		t.Fatalf("%v", err)
	}
	if spec.Version != 8 {
		t.Errorf("version %d: an older process would ask without the source's own authorities", spec.Version)
	}
	var told strings.Builder
	for _, w := range warnings {
		told.WriteString(w.String() + "\n")
	}
	if !strings.Contains(told.String(), "http.tls.ca: whoever has a certificate of these is taken for the source") || !strings.Contains(told.String(), "CN=Lakeside Authority until 21") {
		t.Errorf("who vouches for the source is not told: %s", told.String())
	}
	for _, c := range []struct {
		name  string
		spoil func(*source.HTTP)
		want  string
	}{
		{"no PEM", func(h *source.HTTP) { h.TLS.CA = "lakeside.pem" }, "http.tls.ca: is not certificates as PEM"},
		{"a key", func(h *source.HTTP) {
			h.TLS.CA = authority + "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
		}, "http.tls.ca: holds a private key"},
		{"no authority", func(h *source.HTTP) { h.TLS.CA = nobody }, "http.tls.ca: certificate 1 (CN=leaf) is not that of an authority"},
		{"an old version", func(h *source.HTTP) { h.TLS.MinVersion = "1.0" }, "http.tls.minVersion: 1.0 is not known: known are 1.2, 1.3"},
		{"a proxy over https", func(h *source.HTTP) { h.Proxy = "https://proxy.example.org:3128" }, "http.tls.ca: does not go with a proxy over https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := def()
			d.HTTP.TLS = &source.TLSConfig{CA: authority}
			c.spoil(d.HTTP)
			_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestCompile_ProvidersMaximaAreKept: neither pages nor lists of ids are larger than the
// provider says.
func TestCompile_ProvidersMaximaAreKept(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*source.Definition)
		want string // empty: nothing is wrong
	}{
		{"a page as large as there is", func(d *source.Definition) { d.Pagination.MaxPageSize = 100 }, ""},
		{"a larger page", func(d *source.Definition) { d.Pagination.MaxPageSize = 99 }, "pagination.pageSize: 100 is more than the provider gives per page, which is 99 (maxPageSize)"},
		{"a larger page with a key", func(d *source.Definition) {
			d.Pagination.MaxPageSize = 100
			d.Auth = &source.Auth{Type: "API_KEY", In: "HEADER", Name: "X-Key", Open: true, PageSize: 101}
		}, "auth.pageSize: 101 is more than the provider gives per page, which is 100 (pagination.maxPageSize)"},
		{"as many ids as it takes", func(d *source.Definition) { twoPhase(d); d.Batching.MaxIDs = 200 }, ""},
		{"more ids", func(d *source.Definition) { twoPhase(d); d.Batching.MaxIDs = 199 }, "batching.idBatchSize: 200 is more than the provider takes in one request, which is 199 (maxIdBatchSize)"},
		{"too many at once", func(d *source.Definition) { twoPhase(d); d.Batching.Parallel = 17 }, "batching.parallel: 17 must be from 1 to 16"},
		{"fewer than none at once", func(d *source.Definition) { twoPhase(d); d.Batching.Parallel = -1 }, "batching.parallel: -1 must be from 1 to 16"},
		{"no number of ids", func(d *source.Definition) { twoPhase(d); d.Batching.MaxIDs = -1 }, "batching.maxIdBatchSize: -1 is below zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := def()
			c.set(d)
			_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
