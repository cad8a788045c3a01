package sourcecheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// soon is when the end of a credential or certificate is worth a warning.
const soon = 14 * 24 * time.Hour

// credential: which one is used, and will it do?
func (j *job) credential(l *lines) {
	if j.Spec == nil {
		l.skip(j.root)
		return
	}
	if j.Spec.Auth == nil {
		j.withoutAuth(l)
		return
	}
	j.refusedKey(l)
	j.missingKeys(l)
	used := j.usedKey()
	for _, k := range j.Keys {
		j.stateOfKey(l, k, used)
		if k.Name == used && j.Refused == "" && len(j.NoKey) == 0 {
			j.useOfKey(l, k)
		}
	}
	if used == "" && len(j.NoKey) == 0 {
		j.noKeySet(l)
	}
}

// setKey is the command that sets a credential of the source.
func (j *job) setKey() string {
	return fmt.Sprintf("patra credential set %s NAME --stdin", j.Spec.Auth.Pool)
}

// rotateKey is the command that puts another secret in the place of one.
func (j *job) rotateKey(name string) string {
	return fmt.Sprintf("patra credential rotate %s %s --stdin", j.Spec.Auth.Pool, name)
}

// withoutAuth says whether a source does that declares no credential.
func (j *job) withoutAuth(l *lines) {
	if j.root == Credential {
		l.fail("ask the provider which credential it wants, and declare it as auth in the pack",
			"the upstream refuses to answer without one%s, and the description declares none", j.said(": it says "))
		return
	}
	l.ok("none is needed")
}

// refusedKey tells of the credential that the test read was refused with.
func (j *job) refusedKey(l *lines) {
	if j.Refused != "" {
		l.fail(j.rotateKey(j.Refused)+", or ask the provider why", "%s was refused by the upstream%s", j.Refused, j.said(" with "))
	}
}

// missingKeys tells what a credential that is needed lacks.
func (j *job) missingKeys(l *lines) {
	fix := j.setKey()
	if j.Withheld && len(j.Keys) > 0 {
		fix = "say --with-credentials if that host may have the key"
	}
	for _, text := range j.NoKey {
		l.fail(fix, "%s", text)
	}
}

// usedKey names the credential that the test read used, or that a harvest would;
// it is empty if there is none.
func (j *job) usedKey() string {
	if sent := cmp.Or(j.Used, j.Refused); sent != "" {
		return sent
	}
	if i := slices.IndexFunc(j.Keys, Key.Usable); i >= 0 {
		return j.Keys[i].Name
	}
	return ""
}

// stateOfKey tells what is the matter with a credential, or that it is in reserve.
func (j *job) stateOfKey(l *lines, k Key, used string) {
	switch {
	case k.Unreadable != "":
		l.warn("put the secret where it is looked for, or "+j.setKey(), "%s cannot be read: %s", k.Name, k.Unreadable)
	case !k.RestingUntil.IsZero():
		l.warn("wait, or "+j.rotateKey(k.Name), "%s was refused and rests until %s", k.Name, stamp(k.RestingUntil))
	case !k.Ends.IsZero() && k.Ends.Sub(j.Now) < soon:
		l.warn(j.setKey(), "%s (%s) ends %s", k.Name, k.Where, stamp(k.Ends))
	case k.Name != used:
		l.ok("%s (%s) stands by", k.Name, k.Where)
	}
}

// useOfKey tells where the credential goes that is used.
func (j *job) useOfKey(l *lines, k Key) {
	if j.Withheld {
		l.ok("%s (%s) is not sent to the host of --base-url; --with-credentials sends it there", k.Name, k.Where)
		return
	}
	a := j.Spec.Auth
	l.ok("%s (%s) is used as %s %s", k.Name, k.Where, strings.ToLower(a.In), a.Name)
}

// noKeySet says whether a source does that wants a credential and has none.
func (j *job) noKeySet(l *lines) {
	if j.root == Credential {
		l.fail(j.setKey(), "none is set, and the upstream refuses to answer without%s", j.said(": it says "))
		return
	}
	l.ok("none is set; the source may be asked without")
}
