package control

import (
	"bytes"
	"encoding/json"
	"regexp"
)

var mailAddress = regexp.MustCompile(`[\pL\pN._%+'-]+(@|%40)[\pL\pN-]+(\.[\pL\pN-]+)+`)

// MaskMail takes mail addresses out of a text.
func MaskMail(text string) string { return mailAddress.ReplaceAllString(text, "***@***") }

// clean takes the secrets that this process knows, and mail addresses, out of a text
// that upstreams or people wrote.
func (c *Control) clean(text string) string {
	if c.redact != nil {
		text = c.redact(text)
	}
	return MaskMail(text)
}

// cleanJSON takes them out of the texts of a document. The keys of its objects may
// change their order.
func (c *Control) cleanJSON(doc []byte) (json.RawMessage, error) {
	in := json.NewDecoder(bytes.NewReader(doc))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	return marshalPlain(c.cleanValue(v))
}

func (c *Control) cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return c.clean(v)
	case []any:
		for i := range v {
			v[i] = c.cleanValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = c.cleanValue(v[k])
		}
	}
	return v
}
