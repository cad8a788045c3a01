package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// admit lets a request through the gates, with who sends it in its context.
func (d *Door) admit(r *http.Request) (route, *Problem) {
	_, pattern := d.mux.Handler(r)
	rt, known := d.routes[pattern]
	if !known {
		return rt, d.noRoute(r)
	}
	if rt.probe { // asked by machines that know an address and no name, and tells nothing of what is kept
		return rt, nil
	}
	if no := d.checkHost(r); no != nil {
		return rt, no
	}
	if d.origins.Check(r) != nil {
		return rt, refusal(http.StatusForbidden, "cross_origin", "a page of another site may not change anything here",
			"send the request from a program, or from a page of this host")
	}
	if rt.needs == "" {
		return rt, nil
	}
	who, no := d.caller(r)
	if no != nil {
		return rt, no
	}
	if !who.Role.Covers(rt.needs) {
		return rt, tooLow(who, rt.needs)
	}
	if rt.change && d.readOnly {
		return rt, refusal(http.StatusForbidden, "read_only", "this patra is served read-only, so nothing can be changed here", "use the patra command, or a server without --read-only")
	}
	*r = *r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
	return rt, nil
}

func tooLow(who control.Caller, needs control.Access) *Problem {
	return refusal(http.StatusForbidden, "role", "this needs the role "+string(needs)+"; "+who.Actor+" is "+string(who.Role),
		"ask an admin for a token: patra token new NAME --role "+string(needs))
}

// noRoute says that nothing is at a path, or nothing for the method.
func (d *Door) noRoute(r *http.Request) *Problem {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := d.mux.Handler(other); d.routes[pattern].path != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return refusal(http.StatusNotFound, "not_found", "there is nothing at this path", "GET /api/v1/openapi.json lists what there is")
	}
	no := refusal(http.StatusMethodNotAllowed, "usage", "this path takes "+strings.Join(allowed, " and "), "GET /api/v1/openapi.json lists what there is")
	no.headers = http.Header{"Allow": {strings.Join(allowed, ", ")}}
	return no
}

// checkHost refuses a request for a name that is not ours: a page of a stranger whose
// name was made to lead here would be taken for one of our own by the browser. A
// plain address cannot be made so.
func (d *Door) checkHost(r *http.Request) *Problem {
	name := hostName(r.Host)
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || d.hosts[name] {
		return nil
	}
	return refusal(http.StatusForbidden, "host", "this patra is not called by that name", "use its address, or serve with --allow-host NAME")
}

// hostName is a host without its port, in the one way of writing it.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// isLocal reports whether an address can be reached from this machine only.
func isLocal(addr net.Addr) bool {
	tcp, is := addr.(*net.TCPAddr)
	return is && tcp.IP.IsLoopback()
}

// local is whoever comes without a token where none is needed.
var local = control.Caller{Actor: "api/local", Role: control.Admin}

// open reports whether whoever can reach the door may do everything without a token:
// only from this machine, under no name but its own, and while no token is in use.
func (d *Door) open(ctx context.Context) (bool, error) {
	if !d.local || len(d.hosts) > 0 {
		return false, nil
	}
	needed, err := d.control.NeedsToken(ctx)
	return !needed, err
}

// caller finds out who sends a request.
func (d *Door) caller(r *http.Request) (control.Caller, *Problem) {
	ctx := r.Context()
	secret, given := bearer(r)
	if !given {
		open, err := d.open(ctx)
		switch {
		case err != nil:
			return control.Caller{}, explain(ctx, err, "", d.log)
		case open:
			return local, nil
		}
		return control.Caller{}, unauthorised("no token was sent")
	}
	from := remote(r)
	if wait, barred := d.logins.Barred(from, secret); barred {
		return control.Caller{}, tooMany(wait)
	}
	who, err := d.control.Authenticate(ctx, secret)
	switch {
	case errors.Is(err, control.ErrNoCaller):
		d.logins.Failed(from, secret)
		d.log.WarnContext(ctx, "token refused", "from", from)
		return who, unauthorised("the token is not known, has expired or was revoked")
	case err != nil:
		return who, explain(ctx, err, "", d.log)
	}
	d.logins.Passed(secret)
	return who, nil
}

func bearer(r *http.Request) (string, bool) {
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if kind == "" {
		return "", false
	}
	if !strings.EqualFold(kind, "Bearer") {
		return "", true // somebody tries something, and it is no token
	}
	return strings.TrimSpace(secret), true
}

// remote is the address that a request came from. What it says of itself is not
// believed.
func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func unauthorised(title string) *Problem {
	no := refusal(http.StatusUnauthorized, "token", title, "send Authorization: Bearer TOKEN; `patra token new NAME --role ROLE` makes one")
	no.headers = http.Header{"Www-Authenticate": {`Bearer realm="patra"`}}
	return no
}

type callerKey struct{}

// callerOf is who sends the request of a context.
func callerOf(ctx context.Context) control.Caller {
	who, _ := ctx.Value(callerKey{}).(control.Caller)
	return who
}

// matches reports whether a list of entity tags holds one.
func matches(list, tag string) bool {
	if strings.TrimSpace(list) == "*" {
		return true
	}
	return slices.ContainsFunc(strings.Split(list, ","), func(t string) bool {
		return strings.TrimPrefix(strings.TrimSpace(t), "W/") == tag
	})
}
