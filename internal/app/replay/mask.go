package replay

import (
	"maps"
	"regexp"
)

// address is a mail address as it may stand in a reply: with its sign written out, or
// escaped as JSON, URLs and XML do. An escape before it, such as that of a line end in
// JSON, is no part of it.
var address = regexp.MustCompile(`(\\[^u])?(?:[\pL\pN._%+'-]|\\u[0-9a-fA-F]{4})+(?:@|\\u0040|%40|&#64;|&#[xX]40;|&commat;)[\pL\pN-]+(?:\.[\pL\pN-]+)+`)

const maskedAddress = "${1}***@***"

// MaskAddresses puts a mask in place of every mail address in a text.
func MaskAddresses(s string) string { return address.ReplaceAllString(s, maskedAddress) }

func maskBytes(b []byte) []byte { return address.ReplaceAll(b, []byte(maskedAddress)) }

// maskTexts takes addresses out of everything but the items' own bytes and what the
// request is made from.
func (b *Box) maskTexts() {
	b.Request.Line = MaskAddresses(b.Request.Line)
	b.Request.Body = MaskAddresses(b.Request.Body)
	b.Request.Expression = MaskAddresses(b.Request.Expression)
	b.Request.Position = MaskAddresses(b.Request.Position)
	b.Request.IDs = maskAll(b.Request.IDs)
	b.Reply.Position = MaskAddresses(b.Reply.Position)
	b.Reply.FoundIDs = maskAll(b.Reply.FoundIDs)
	b.Reply.Sample = MaskAddresses(b.Reply.Sample)
	b.Reply.Error = MaskAddresses(b.Reply.Error)
	b.Reply.Headers = maps.Clone(b.Reply.Headers)
	for name, value := range b.Reply.Headers {
		b.Reply.Headers[name] = MaskAddresses(value)
	}
	for i := range b.Items {
		it := &b.Items[i]
		it.ID = MaskAddresses(it.ID)
		if it.Problem != nil {
			p := *it.Problem
			p.Detail = MaskAddresses(p.Detail)
			it.Problem = &p
		}
	}
}

func maskAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, MaskAddresses(s))
	}
	return out
}
