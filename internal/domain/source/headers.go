package source

// Headers are values by name, templates at an endpoint. A nil value takes the
// header away that a wider scope would send: the platform's Accept, or one of
// http.headers (R44).
type Headers map[string]*string

// Texts are those that are sent.
func (h Headers) Texts() map[string]string {
	out := make(map[string]string, len(h))
	for k, v := range h {
		if v != nil {
			out[k] = *v
		}
	}
	return out
}
