package control

import "context"

// Finding is a place where the store breaks one of its invariants. Invariant is
// a code for programs, Rule says in words what should hold.
type Finding struct {
	Invariant string `json:"invariant"`
	Rule      string `json:"rule"`
	Object    string `json:"object"`
	Detail    string `json:"detail"`
}

// DeepCheck is how far a check of every stored body has come.
type DeepCheck struct {
	// Bodies were unpacked and compared, of quarantined items too.
	Bodies int64 `json:"bodies"`
	// After is the version up to which all were: the next check may begin there.
	After int64 `json:"after"`
	// Of is the newest version there is.
	Of int64 `json:"of"`
}

// Verified is what came of a check.
type Verified struct {
	Clean    bool       `json:"clean"`
	Findings []Finding  `json:"findings"`
	Store    string     `json:"store"`
	Deep     *DeepCheck `json:"deep,omitempty"`
	// Damaged: the file itself is, and nothing else was looked at.
	Damaged bool `json:"-"`
}

// Damaged is what came of a check that ended with the file.
func Damaged(dsn string, found []Finding) *Verified {
	return &Verified{Findings: found, Store: dsn, Damaged: true}
}

// VerifyRequest says how much is checked.
type VerifyRequest struct {
	// Deep unpacks every record as it came and holds it against its hash, those
	// behind the version After, and calls Progress now and then.
	Deep     bool
	After    int64
	Progress func(DeepCheck)
}

// Verify holds the store against its own rules, then the bodies. What was found is
// returned also if it was interrupted in the last.
func (c *Control) Verify(ctx context.Context, req VerifyRequest) (*Verified, error) {
	found, err := c.store.Verify(ctx)
	if err != nil {
		return nil, err
	}
	v := &Verified{Findings: append([]Finding{}, found...), Store: c.store.DSN()}
	if req.Deep {
		found, at, err := c.store.VerifyBodies(ctx, req.After, req.Progress)
		v.Findings = append(v.Findings, found...)
		v.Deep = &at
		if err != nil {
			return v, err
		}
	}
	if err := c.store.CheckFile(); err != nil {
		return nil, err
	}
	found, err = c.checkArchives(ctx, req.Deep)
	if err != nil {
		return nil, err
	}
	v.Findings = append(v.Findings, found...)
	v.Clean = len(v.Findings) == 0
	return v, nil
}
