package main

import (
	_ "embed"

	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// What is printed for those who run patra as a service. It is made for its users to
// read and change.
var (
	//go:embed deploy/patra.service
	systemdUnit []byte
	//go:embed deploy/compose.yaml
	composeFile []byte
)

func (c *cli) deployCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: "Print what other programs need to run and watch patra",
		Long: "Deploy prints files for those who run patra as a service. It changes nothing and asks nobody: look at what it prints,\n" +
			"and put it where it belongs.",
		Example: "  patra deploy systemd | sudo tee /etc/systemd/system/patra.service\n" +
			"  patra deploy alerts > /etc/prometheus/patra.rules.yml\n  patra deploy grafana > patra.json",
	}
	verbs(cmd,
		c.deployOne("grafana", "Print a dashboard for Grafana over all metrics, to import",
			"The dashboard has every metric of patra (docs/metrics.md), for the sources that are chosen at its top.\n"+
				"Import it as JSON; it asks for a data source of the kind Prometheus.", func() ([]byte, error) { return node.Monitoring("grafana") }),
		c.deployOne("alerts", "Print alert rules for Prometheus",
			"There is one for each rule that patra itself alerts by (patra alert list), and some about patra being away.\n"+
				"Name the file under rule_files of prometheus.yml; a scrape of /metrics needs a token of the role viewer\n"+
				"(patra token new) where patra asks for tokens.", func() ([]byte, error) { return node.Monitoring("alerts") }),
		c.deployOne("systemd", "Print a unit for systemd",
			"The unit runs `patra serve` as a user of its own, told of its readiness, with no rights but to its state directory.\n"+
				"Settings go to /etc/patra/patra.env.", func() ([]byte, error) { return systemdUnit, nil }),
		c.deployOne("compose", "Print a compose file: roles apart over one MySQL",
			"The file has a database, a scheduler with planner, executors in any number, and an API if asked for; each without\n"+
				"root, capabilities and a writable disk. How to begin stands at its top.", func() ([]byte, error) { return composeFile, nil }),
		c.deployManCmd(), c.deployReferenceCmd(),
	)
	return cmd
}

// deployOne is the command that prints one file.
func (c *cli) deployOne(name, short, long string, text func() ([]byte, error)) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			b, err := text()
			if err != nil {
				return err
			}
			c.printf("%s", b)
			return nil
		},
	}
}
