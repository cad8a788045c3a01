package sim

import "slices"

// strings writes a list of texts, nothing for an empty one.
func (o *jsonObject) strings(name string, values []string) {
	o.objects(name, len(values), func(k int) { plainItem(o, values[k]) })
}

// objects writes a list of n things, nothing for an empty one.
func (o *jsonObject) objects(name string, n int, write func(k int)) {
	if n == 0 {
		return
	}
	o.name(name)
	o.b = append(o.b, '[')
	for k := range n {
		write(k)
	}
	o.b = append(o.b, ']')
}

func (o *jsonObject) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

// twoLetters are the languages of papers in the code of two letters.
var twoLetters = map[string]string{"eng": "en", "fre": "fr", "ger": "de", "jpn": "ja", "spa": "es", "chi": "zh"}

func (e *entry) review() bool { return slices.Contains(e.types, "Review") }

// kind is one of two words for what a paper is.
func (e *entry) kind(review, other string) string {
	if e.review() {
		return review
	}
	return other
}

// headings are the subject headings of a paper.
func (e *entry) headings() []string {
	var out []string
	for _, h := range e.mesh {
		out = append(out, h.name)
	}
	return out
}

// luceneLetters are those of fields' names in Elasticsearch and Solr.
const luceneLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789"

func instantOf(e *entry) int64 { return e.moment() }
