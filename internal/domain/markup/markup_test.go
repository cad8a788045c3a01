package markup

import "testing"

// TestPlain_OneListOfWhatIsMarkup: elements that sources use go, escaped once or twice;
// signs of less and greater stay, and what stands apart does not become one word.
func TestPlain_OneListOfWhatIsMarkup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "H<sub>2</sub>O": "H2O", "a<br/>b": "a b", "<jats:p>One</jats:p><jats:p>two": " One  two",
		"p<a and b>c": "p<a and b>c", "p < 0.05 and q > 3": "p < 0.05 and q > 3", "if a<b": "if a<b", "x <unknown> y": "x <unknown> y",
		`<a href="x">y</a>`: "y", `<mml:mi mathvariant="bold">k</mml:mi>`: "k", "&lt;i&gt;x&lt;/i&gt;": "x", "&amp;lt;i&amp;gt;x": "x",
		"a &amp; b": "a & b", "caf&eacute;": "café", "a<!-- no -->b": "ab", "a <!-- never ends": "a <!-- never ends", "<": "<", "</": "</", "<i": "<i",
		"<I>x</I >": "x", "1<i<2": "1<i<2", "<emph>x</emph>": "x",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestCut_GivesEveryByteOnce: text and tags together are all of the text, whatever it is.
func TestCut_GivesEveryByteOnce(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "<i>", "a<i>b</i>c", "<<i>>", "a<", "<p><p>", "<i <b>x"} {
		var asBytes, asText string
		Cut([]byte(s), func(b []byte) { asBytes += string(b) }, func(Tag) { asBytes += "|" })
		Cut(s, func(b string) { asText += b }, func(Tag) { asText += "|" })
		if asBytes != asText {
			t.Errorf("%q is cut into %q and %q", s, asBytes, asText)
		}
	}
}
