package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"

	"github.com/papertrace/patra/internal/app/sourcecases"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/upstream"
	"github.com/papertrace/patra/sources"
)

// TestedPack is what came of the cases of one pack.
type TestedPack struct {
	Pack    string               `json:"pack"`
	Cases   string               `json:"cases"` // their file
	Results []sourcecases.Result `json:"results"`
}

// caseVars stand for the instance's own values: a case is the same everywhere. The
// contact is masked in what was asked, as in everything that is shown.
var caseVars = map[string]string{"contact": "somebody@example.org", "tool": "patra"}

// TestPack tries a pack, a file or one that comes with patra, on the cases beside
// it; the file of cases stands for its pack. It needs neither a database nor a network.
func TestPack(ctx context.Context, name string) (TestedPack, error) {
	name = sourcefile.PackOf(name)
	out := TestedPack{Pack: name, Cases: sourcefile.CasesOf(name)}
	text, cases, err := readWithCases(name)
	if err != nil {
		return out, err
	}
	pack, err := sourcefile.Parse(name, text)
	if err != nil {
		return out, err
	}
	all, err := sourcefile.ParseCases(out.Cases, cases)
	if err != nil {
		return out, err
	}
	bench := sourcecases.Bench{
		Compile: func(op harvest.Operation, query string) (*source.Spec, error) {
			spec, _, err := pack.Compile(source.Trigger{Operation: op, Query: query, Vars: caseVars})
			return spec, err
		},
		Answering: func(r sourcecases.Reply) sourcecases.Upstream {
			return upstream.New(upstream.Config{Transport: canned(r)}, gate.New(gate.Config{}, nil), &decoders{})
		},
	}
	out.Results, err = bench.Run(ctx, all)
	return out, err
}

// readWithCases reads a pack and the cases beside it.
func readWithCases(name string) (pack, cases []byte, err error) {
	pack, err = sourcefile.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if own, missing := sources.FS.ReadFile(name + ".yaml"); missing == nil {
			cases, err = sources.FS.ReadFile(sourcefile.CasesOf(name))
			return own, cases, err
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read source pack: %w", err)
	}
	cases, err = sourcefile.ReadFile(sourcefile.CasesOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &NoCasesError{Pack: name, File: filepath.Base(sourcefile.CasesOf(name))}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read cases: %w", err)
	}
	return pack, cases, nil
}

// NoCasesError says that there is no file of cases beside a pack.
type NoCasesError struct{ Pack, File string }

func (e *NoCasesError) Error() string {
	return fmt.Sprintf("%s has no cases: there is no %s beside it", e.Pack, e.File)
}

// canned gives one reply to every request.
type canned sourcecases.Reply

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode: c.Status, Status: fmt.Sprintf("%d %s", c.Status, http.StatusText(c.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(c.Body)), ContentLength: int64(len(c.Body)), Request: r,
	}, nil
}
