package node

import (
	"context"
	"net"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/infra/httpapi"
)

// API says how a node can be asked over HTTP.
type API struct {
	Listener net.Listener
	// Hosts are the names by which it may be called beside localhost and its address.
	Hosts []string
	// ReadOnly refuses every change.
	ReadOnly bool
	Build    control.Build
}

// ErrNoToken says that an API would be open to everybody who can reach it.
var ErrNoToken = problem.New("whoever reaches that address, or those names, could change everything: no token is in use", problem.Problem{
	Code: "no_token", Kind: problem.Usage, Next: "make one first: patra token new NAME --role admin; or listen on 127.0.0.1 without --allow-host",
})

// CheckAPI refuses an API that others than this machine's users could reach, unless
// they need a token.
func (n *Node) CheckAPI(ctx context.Context, a *API) error {
	if httpapi.IsLocal(a.Listener.Addr()) && len(a.Hosts) == 0 {
		return nil
	}
	needed, err := n.Control.NeedsToken(ctx)
	if err == nil && !needed {
		err = ErrNoToken
	}
	return err
}

// door is the API of the node.
func (n *Node) door(a *API, board *role.Board) (*httpapi.Door, error) {
	return httpapi.New(httpapi.Config{
		Control: n.Control, Board: board, Build: a.Build, Local: httpapi.IsLocal(a.Listener.Addr()), Hosts: a.Hosts, ReadOnly: a.ReadOnly,
		Redact: n.cfg.redact.Text, Metrics: n.Metrics, Logger: n.cfg.Logger,
	})
}
