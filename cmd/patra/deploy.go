package main

import (
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) deployCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: "Print what other programs need to run and watch patra",
		Long: "Deploy prints files for those who run patra as a service. It changes nothing and asks nobody: look at what it prints,\n" +
			"and put it where it belongs.",
		Example: "  patra deploy systemd | sudo tee /etc/systemd/system/patra.service\n" +
			"  patra deploy kubernetes | kubectl apply -f -\n" +
			"  patra deploy alerts > /etc/prometheus/patra.rules.yml\n  patra deploy grafana > patra.json",
	}
	verbs(cmd,
		c.deployOne("grafana", "Print a dashboard for Grafana over all metrics, to import",
			"The dashboard has every metric of patra (docs/metrics.md), for the sources that are chosen at its top.\n"+
				"Import it as JSON; it asks for a data source of the kind Prometheus."),
		c.deployOne("alerts", "Print alert rules for Prometheus",
			"There is one for each rule that patra itself alerts by (patra alert list), and some about patra being away.\n"+
				"Name the file under rule_files of prometheus.yml; a scrape of /metrics needs a token of the role viewer\n"+
				"(patra token new) where patra asks for tokens."),
		c.deploySystemdCmd(),
		c.deployOne("compose", "Print a compose file: roles apart over one MySQL, events to NATS",
			"The file has a database, a stream for events, scheduler, planner and relay, executors in any number, and the console if\n"+
				"asked for; each without root, capabilities and a writable disk. How to begin stands at its top."),
		c.deployOne("kubernetes", "Print a manifest for Kubernetes: roles apart over one database",
			"The manifest has a job that brings the schema up to date and a deployment for each role, without root, capabilities and a\n"+
				"writable disk, with probes. Database and broker are yours. How to begin stands at its top."),
		c.deployManCmd(), c.deployReferenceCmd(),
	)
	return cmd
}

// deployOne is the command that prints the file of its name.
func (c *cli) deployOne(name, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return c.printDeployment(name) },
	}
}

// deploySystemdCmd prints the unit of all roles, or the template for one.
func (c *cli) deploySystemdCmd() *cobra.Command {
	var byRole bool
	cmd := c.deployOne("systemd", "Print a unit for systemd",
		"The unit runs `patra serve` as a user of its own, told of its readiness, with no rights but to its state directory.\n"+
			"Settings go to /etc/patra/patra.env. With --by-role it is a template: patra@executor.service runs the role executor, and\n"+
			"reads /etc/patra/executor.env as well.")
	cmd.RunE = func(*cobra.Command, []string) error {
		if byRole {
			return c.printDeployment("systemd-by-role")
		}
		return c.printDeployment("systemd")
	}
	cmd.Example = "  patra deploy systemd > /etc/systemd/system/patra.service\n" +
		"  patra deploy systemd --by-role > /etc/systemd/system/patra@.service"
	cmd.Flags().BoolVar(&byRole, "by-role", false, "print the template with an instance for each role")
	return cmd
}

func (c *cli) printDeployment(name string) error {
	file, err := node.Deployment(name)
	if err != nil {
		return err
	}
	c.printf("%s", file)
	return nil
}
