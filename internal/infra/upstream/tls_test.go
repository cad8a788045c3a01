package upstream

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestTLS_AsTheSourceDeclares: a source with an authority of its own is believed by that
// one and no other, and one that asks for a version of TLS is not spoken to in an older.
func TestTLS_AsTheSourceDeclares(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, goodReply) })
	newest := httptest.NewTLSServer(answers)
	defer newest.Close()
	older := httptest.NewUnstartedServer(answers)
	older.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	older.StartTLS()
	defer older.Close()
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: newest.Certificate().Raw}))
	for _, c := range []struct {
		name   string
		server *httptest.Server
		tls    *source.TLSConfig
		works  bool
	}{
		{"its own authority", newest, &source.TLSConfig{CA: own}, true},
		{"nothing declared", newest, nil, false},
		{"a version alone", newest, &source.TLSConfig{MinVersion: "1.3"}, false},
		{"another authority", newest, &source.TLSConfig{CA: otherAuthority}, false},
		{"the version asked for", newest, &source.TLSConfig{CA: own, MinVersion: "1.3"}, true},
		{"an older one", older, &source.TLSConfig{CA: own, MinVersion: "1.3"}, false},
		{"an older one that will do", older, &source.TLSConfig{CA: own, MinVersion: "1.2"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := newClient(Config{}, new(free), jsonDecoder{})
			defer client.Close()
			spec := testSpec()
			spec.Retry.Attempts = 1
			spec.HTTP.TLS = c.tls
			_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: c.server.URL})
			if (err == nil) != c.works {
				t.Errorf("asked with %v", err)
			}
		})
	}
}

// otherAuthority is a certificate that vouches for nobody here; its key was thrown away.
const otherAuthority = `-----BEGIN CERTIFICATE-----
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
