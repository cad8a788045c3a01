package source_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestCompile_Auth: every mistake in how a source is authorised, with its place.
func TestCompile_Auth(t *testing.T) {
	base := func() source.Definition { return *def() }
	ok := source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"}
	for name, c := range map[string]struct {
		auth source.Auth
		want string // empty: compiles
	}{
		"key in a header":         {ok, ""},
		"bearer by default":       {source.Auth{Type: "bearer"}, ""},
		"basic":                   {source.Auth{Type: source.AuthBasic}, ""},
		"none":                    {source.Auth{Type: source.AuthNone}, ""},
		"none with more":          {source.Auth{Type: source.AuthNone, Name: "x"}, "auth: type NONE has no other keys"},
		"two secrets":             {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "k", Also: []source.AuthPlace{{In: "query", Name: "i"}}}, ""},
		"beside a signature":      {source.Auth{Type: source.AuthCustom, Hook: "h", Also: []source.AuthPlace{{In: source.InHeader, Name: "i"}}}, ""},
		"second without a place":  {source.Auth{Type: source.AuthBearer, Also: []source.AuthPlace{{Name: "i"}}}, "auth.also[0].in: is required"},
		"second without a name":   {source.Auth{Type: source.AuthBearer, Also: []source.AuthPlace{{In: source.InHeader}}}, "auth.also[0].name: is required"},
		"second in the first":     {source.Auth{Type: source.AuthBearer, Also: []source.AuthPlace{{In: source.InHeader, Name: "authorization"}}}, "auth.also[0].name: authorization carries another"},
		"third in the second":     {source.Auth{Type: source.AuthBearer, Also: []source.AuthPlace{{In: source.InHeader, Name: "i"}, {In: source.InHeader, Name: "i"}}}, "auth.also[1].name: i carries another"},
		"second in a cookie":      {source.Auth{Type: source.AuthBearer, Also: []source.AuthPlace{{In: source.InHeader, Name: "cookie"}}}, "auth.also[0].name: cookie cannot carry"},
		"unknown type":            {source.Auth{Type: "KERBEROS"}, "auth.type: KERBEROS is not known"},
		"no name":                 {source.Auth{Type: source.AuthAPIKey, In: source.InQuery}, "auth.name: is required"},
		"no place":                {source.Auth{Type: source.AuthAPIKey, Name: "k"}, "auth.in: is required"},
		"bearer in the query":     {source.Auth{Type: source.AuthBearer, In: source.InQuery}, "auth.in: a BEARER goes into a HEADER"},
		"bearer with a prefix":    {source.Auth{Type: source.AuthBearer, Prefix: "Token "}, "auth.prefix"},
		"a host header":           {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "host"}, "auth.name: host cannot carry"},
		"no header name":          {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "a b"}, "auth.name"},
		"line break in prefix":    {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "k", Prefix: "a\nb"}, "auth.prefix"},
		"body of a GET":           {source.Auth{Type: source.AuthAPIKey, In: source.InBody, Name: "k"}, "auth.in: endpoint"},
		"restricted, not open":    {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "k", Restricted: []string{"search"}}, "auth.restricted"},
		"restricted, not there":   {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "k", Open: true, Restricted: []string{"nope"}}, "auth.restricted[0]: nope is not an endpoint"},
		"pool that is no source":  {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "k", Pool: "A B"}, "auth.pool"},
		"rate above the limit":    {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "k", Rate: &source.Rate{Limit: 5, QPS: 10}}, "auth.rateLimit: 10 a second"},
		"taken away":              {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Gone"}, "auth.name: X-Gone is taken away by endpoints.works.headers.x-gone"},
		"parameter already taken": {source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "TAKEN"}, "auth.name: TAKEN is already sent as"},
	} {
		d := base()
		d.Auth = &c.auth
		if name == "parameter already taken" {
			d.Endpoints[0].Query = map[string]string{"taken": "1"}
			maps.Copy(d.Endpoints[0].Query, base().Endpoints[0].Query)
		}
		d.Endpoints[0].Headers = source.Headers{"x-gone": nil}
		spec, _, err := source.Compile(d, source.Trigger{Operation: harvest.Harvest})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case c.want == "" && c.auth.Type != source.AuthNone && (spec.Auth == nil || spec.Auth.Pool != d.Source):
			t.Errorf("%s: %+v", name, spec.Auth)
		}
	}
}

// TestCompile_AuthInABody: the credential goes where the body has a place for it,
// in every body and nowhere else.
func TestCompile_AuthInABody(t *testing.T) {
	in := func(name string) *source.Auth {
		return &source.Auth{Type: source.AuthAPIKey, In: "body", Name: name}
	}
	for name, c := range map[string]struct {
		auth       *source.Auth
		body, next string
		change     func(e *source.Endpoint)
		want       string // empty: compiles
	}{
		"in JSON":            {in("key"), `{"k":"${secret.key}"}`, "", nil, ""},
		"in both":            {in("key"), `{"k":"${secret.key}"}`, `{"t":"${page.token}","k":${ secret.key }}`, nil, ""},
		"no place":           {in("key"), `{"k":1}`, "", nil, "auth.in: the body of endpoint works has no ${secret.key}"},
		"no place later":     {in("key"), `{"k":"${secret.key}"}`, `{"k":1}`, nil, "auth.in: the body of endpoint works has no ${secret.key}"},
		"another name":       {in("key"), `{"k":"${secret.kee}","l":"${secret.key}"}`, "", nil, "endpoints.works.body: no credential of auth is in: BODY with the name kee"},
		"no credential":      {nil, `{"k":"${secret.key}"}`, "", nil, "endpoints.works.body: no credential of auth"},
		"in a header":        {&source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "key"}, `{"k":"${secret.key}"}`, "", nil, "endpoints.works.body: no credential of auth"},
		"made something of":  {in("key"), `{"k":"${lower(secret.key)}"}`, "", nil, "endpoints.works.body: ${lower(secret.key)}: a secret stands alone"},
		"in a query":         {in("key"), `{"k":"${secret.key}"}`, "", func(e *source.Endpoint) { e.Query["body"] = "${secret.key}" }, "endpoints.works.query.body: secret.key stands in a body only"},
		"in a path":          {in("key"), `{"k":"${secret.key}"}`, "", func(e *source.Endpoint) { e.Path = "/${secret.key}" }, "endpoints.works.path: secret.key stands in a body only"},
		"second of them too": {&source.Auth{Type: source.AuthBearer, Also: []source.AuthPlace{{In: "body", Name: "inst"}}}, `{"k":"${secret.inst}"}`, "", nil, ""},
	} {
		d := *def()
		d.Auth = c.auth
		e := &d.Endpoints[0]
		e.Method = "POST"
		e.Body = c.body
		e.Query = maps.Clone(e.Query)
		if c.next != "" {
			e.Next = &source.NextConfig{Body: c.next}
		}
		if c.change != nil {
			c.change(e)
		}
		d.Endpoints = d.Endpoints[:1]
		_, _, err := source.Compile(d, source.Trigger{Operation: harvest.Harvest})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestR47_SpecNamesAPoolOnly: a snapshot can hold no secret and no key.
func TestR47_SpecNamesAPoolOnly(t *testing.T) {
	d := *def()
	d.Auth = &source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key", Pool: "other", Open: true}
	s, _, err := source.Compile(d, source.Trigger{Operation: harvest.Harvest})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"auth":{"type":"API_KEY","in":"QUERY","name":"api_key","pool":"other","open":true}`) {
		t.Errorf("snapshot: %s", b)
	}
	if !s.Anonymous(source.ForSearch) {
		t.Error("an open endpoint may be asked without")
	}
	s.Auth.Restricted = []string{s.Search.Name}
	if s.Anonymous(source.ForSearch) {
		t.Error("a restricted endpoint may not")
	}
}
