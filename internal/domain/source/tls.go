package source

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// TLSConfig is how connections to a source are secured, where it is not as usual. That
// the other side is who it says is always looked at: there is no way to leave that out.
type TLSConfig struct {
	CA         string `yaml:"ca" json:"ca,omitempty" doc:"certificates, as PEM, of those who vouch for the source, in place of the ones that this machine believes; for a source with an authority of its own"`
	MinVersion string `yaml:"minVersion" json:"minVersion,omitempty" doc:"lowest version of TLS that is spoken: 1.2, which is the default, or 1.3"`
}

// tls checks how connections are secured.
func (c *compiler) tls(cfg *TLSConfig) *TLSConfig {
	const path = "http.tls"
	if cfg == nil {
		return nil
	}
	if cfg.MinVersion != "" {
		oneOf(c, path+".minVersion", cfg.MinVersion, "1.2", "1.3")
	}
	if cfg.CA != "" {
		if _, err := Authorities(cfg.CA); err != nil {
			c.fail(path+".ca", "%v", err)
		}
		if h := c.def.HTTP; strings.HasPrefix(h.Proxy, "https:") {
			c.fail(path+".ca", "does not go with a proxy over https, which would have to be vouched for by the same authority")
		}
	}
	out := *cfg
	return &out
}

// Authorities reads the certificates of those who may vouch for a source.
func Authorities(text string) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	rest := []byte(strings.TrimSpace(text))
	for len(rest) > 0 {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			return nil, errors.New("is not certificates as PEM: -----BEGIN CERTIFICATE----- and so on")
		case strings.Contains(block.Type, "PRIVATE KEY"):
			return nil, errors.New("holds a private key, which does not belong into a description: remove it, and take another key")
		case block.Type != "CERTIFICATE":
			return nil, fmt.Errorf("holds a %s, and only certificates belong there", strings.ToLower(block.Type))
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(out)+1, err)
		}
		if !cert.IsCA {
			return nil, fmt.Errorf("certificate %d (%s) is not that of an authority", len(out)+1, cert.Subject)
		}
		out = append(out, cert)
		rest = []byte(strings.TrimSpace(string(rest)))
	}
	return out, nil
}

// vouchers tells who may vouch for the source, and until when.
func (t *TLSConfig) vouchers() string {
	certs, _ := Authorities(t.CA)
	var names []string
	for _, cert := range certs {
		names = append(names, fmt.Sprintf("%s until %s", cert.Subject, cert.NotAfter.UTC().Format(time.DateOnly)))
	}
	return strings.Join(names, ", ")
}
