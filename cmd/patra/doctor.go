package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) doctorCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look whether this patra and its surroundings are well, and say how to mend what is not",
		Long: "Doctor looks at the build, the settings and where each came from, the source packs, the database and its schema, the\n" +
			"clock, who works, stuck leases, the disk and the credentials. It changes nothing and asks no source anything. Where\n" +
			"something is broken it names that and leaves out what depends on it. It ends with 1 if anything has to be mended.",
		Example: "  patra doctor\n  patra doctor --json", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.doctor(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.showList(d, "groups", func() { c.printDoctor(d) }); err != nil {
				return err
			}
			if d.Ill() {
				return exitError(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// doctor looks first whether there is a database, then whether its schema is the one
// that is needed, then at the rest.
func (c *cli) doctor(ctx context.Context) (control.Doctor, error) {
	cfg := c.config()
	packs := node.Shelf(cfg)
	s, err := c.schema(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return control.Doctor{}, err
		}
		missing := errors.Is(err, fs.ErrNotExist) && c.from["db"] == ""
		return control.DoctorWithoutStore(cfg.Instance, packs, c.explain(ctx, err).Problem, missing), nil
	}
	if s.Have != s.Need {
		return control.DoctorOfSchema(cfg.Instance, packs, s), nil
	}
	var out control.Doctor
	err = c.reading(ctx, func(ctl *control.Control) error {
		out, err = ctl.Doctor(ctx, nil)
		return err
	})
	return out, err
}

// instance is which program this is and what it was told, without secrets.
func (c *cli) instance() control.Instance {
	limits := c.database.Filled()
	value := map[string]string{
		"db-wait": limits.Wait.String(), "db-slow": limits.Write.String(),
		"db": withoutPassword(cmp.Or(c.db, node.DefaultDB())), "sources": c.packs,
		"lease": c.lease.String(), "instances": fmt.Sprint(c.instances), "log-format": c.logFormat,
		"registry-cache": cmp.Or(c.registryCache, node.DefaultRegistryCache).String(),
		"apply-packs":    strconv.FormatBool(!c.leavesPacks),
		"archive":        c.keep.dir, "keep-trail": c.keep.trail, "keep-versions": c.keep.versions, "keep-events": c.keep.events,
	}
	if c.events != "" {
		value["events"] = "not shown, since it may hold a password; patra outbox target list has the targets"
	}
	if c.lease == 0 {
		value["lease"] = "1m0s"
	}
	if c.instances == 0 {
		value["instances"] = "not known"
	}
	out := control.Instance{Build: build(), Proxy: proxyVariable()}
	for _, s := range shared {
		out.Settings = append(out.Settings, control.Setting{Name: s.flag, Value: value[s.flag], From: cmp.Or(c.from[s.flag], control.FromDefault)})
	}
	return out
}

// proxyVariable is the first variable that names a proxy to programs that follow it.
func proxyVariable() string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// withoutPassword is the address of a database as it may be shown.
func withoutPassword(dsn string) string {
	if !strings.Contains(dsn, "@") {
		return dsn
	}
	u, err := url.Parse(dsn)
	if err != nil || u.User == nil {
		return "not shown, since it may hold a password"
	}
	u.User = url.User(u.User.Username())
	return u.String()
}

func (c *cli) printDoctor(d control.Doctor) {
	for i, g := range d.Groups {
		if i > 0 {
			c.printf("\n")
		}
		c.printf("%s\n", g.Name)
		c.printChecks(g.Checks)
	}
	s := d.Summary
	c.printf("\n%s %d ok, %d for information, %s, %d failed, %d skipped\n",
		c.glyph(control.CheckFamily(d.Status)), s.OK, s.Info, control.Count(s.Warnings, "warning"), s.Failed, s.Skipped)
}
