package httpapi

import (
	"context"
	"net"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/problem"
)

// API says where a door stands and who may come to it.
type API struct {
	Listener net.Listener
	// Hosts are the names by which it may be called beside localhost and its address.
	Hosts []string
	// ReadOnly refuses every change.
	ReadOnly bool
	// Base is the path below which the pages stand, such as /patra; empty: at the root.
	Base  string
	Build control.Build
}

// errNoToken says that an API would be open to everybody who can reach it.
var errNoToken = problem.New("whoever reaches that address, or those names, could change everything: no token is in use", problem.Problem{
	Code: "no_token", Kind: problem.Usage, Next: "make one first: patra token new NAME --role admin; or listen on 127.0.0.1 without --allow-host",
})

// Check refuses an API that others than this machine's users could reach, unless they
// need a token.
func (a *API) Check(ctx context.Context, ctl *control.Control) error {
	if isLocal(a.Listener.Addr()) && len(a.Hosts) == 0 {
		return nil
	}
	needed, err := ctl.NeedsToken(ctx)
	if err == nil && !needed {
		err = errNoToken
	}
	return err
}

// Door makes the door that stands there. What the API itself says is filled in.
func (a *API) Door(c Config) (*Door, error) {
	c.Build = a.Build
	c.Local = isLocal(a.Listener.Addr())
	c.Hosts = a.Hosts
	c.ReadOnly = a.ReadOnly
	c.Base = a.Base
	return New(c)
}
