package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/control"
)

// serveChange makes a change: once for each key it comes with, and only while what
// it is about is as whoever sends it has seen it.
func (d *Door) serveChange(out *answer, r *http.Request, body []byte) {
	if kind := r.Header.Get("Content-Type"); !isJSON(kind) {
		refusal(http.StatusUnsupportedMediaType, "usage", "a change is sent as application/json", "send Content-Type: application/json").write(out)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		d.makeChange(out, r)
		return
	}
	if len(key) > 255 || !utf8.ValidString(key) {
		refusal(http.StatusUnprocessableEntity, "usage", "an Idempotency-Key has at most 255 characters", "send a shorter one").write(out)
		return
	}
	who := callerOf(r.Context()).Actor
	hash := requestHash(r, body)
	old, mine, err := d.control.ClaimReply(r.Context(), who, key, hash)
	switch {
	case err != nil:
		explain(r.Context(), err, "", d.log).write(out)
		return
	case !mine:
		replay(out, old, hash)
		return
	}
	came := new(outcome)
	d.makeChange(out, r.WithContext(context.WithValue(r.Context(), outcomeKey{}, came)))
	// Whoever waits may be gone; what was done is to be remembered all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	defer cancel()
	if out.status == http.StatusOK {
		err = d.control.KeepReply(ctx, who, key, out.status, out.body.Bytes())
	} else if out.status < http.StatusInternalServerError || came.refused {
		err = d.control.DropReply(ctx, who, key)
	}
	if err != nil {
		d.log.WarnContext(ctx, "the answer to a change is not remembered", "err", err)
	}
}

// outcome is what is known of a change that ended with an error.
type outcome struct {
	// refused: somebody knows what was wrong, be it the source or the disk, and nothing
	// was changed.
	refused bool
}

// outcomeKey is where the context of a change has its outcome.
type outcomeKey struct{}

// noteRefusal notes that the change that ctx belongs to, if it does, has changed nothing.
func noteRefusal(ctx context.Context) {
	if came, is := ctx.Value(outcomeKey{}).(*outcome); is {
		came.refused = true
	}
}

// replay answers a change that came before.
func replay(out *answer, old control.Reply, hash string) {
	switch {
	case old.Hash != hash:
		refusal(http.StatusConflict, "key_reused", "the Idempotency-Key stands for another request", "send another key with another request").write(out)
	case old.Status == 0:
		refusal(http.StatusConflict, "in_hand", "the same request is in hand, or nobody knows what came of it",
			"look whether it was done (GET /api/v1/audit); if it was not, send it with another key").write(out)
	default:
		out.Header().Set("Content-Type", "application/json")
		out.Header().Set("Idempotent-Replayed", "true")
		out.WriteHeader(old.Status)
		out.body.Write(old.Body)
	}
}

// requestHash stands for what is asked for.
func requestHash(r *http.Request, body []byte) string {
	h := sha256.New()
	for _, part := range []string{r.Method, r.URL.Path, r.URL.RawQuery} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// makeChange makes a change if what it is about has the ETag that is wanted.
func (d *Door) makeChange(out *answer, r *http.Request) {
	wanted := r.Header.Get("If-Match")
	if wanted != "" && !d.stands(r, wanted) {
		refusal(http.StatusPreconditionFailed, "moved", "what is to be changed is not as If-Match says", "look at it again; nothing was changed").write(out)
		return
	}
	d.mux.ServeHTTP(out, r)
}

// stands reports whether the thing that a change is about, which stands one step
// above in the path, has one of the wanted tags.
func (d *Door) stands(r *http.Request, wanted string) bool {
	get := r.Clone(r.Context())
	get.Method = http.MethodGet
	// As it was sent: a name may hold a slash, written %2F.
	above := path.Dir(r.URL.EscapedPath())
	get.URL.Path, _ = url.PathUnescape(above) // it came of a path
	get.URL.RawPath = above
	get.URL.RawQuery = ""
	get.Body = http.NoBody
	_, pattern := d.mux.Handler(get)
	if !d.routes[pattern].single {
		return false
	}
	is := newAnswer()
	d.mux.ServeHTTP(is, get)
	return is.status == http.StatusOK && matches(wanted, is.etag())
}

func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}
