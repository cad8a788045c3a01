package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"strings"

	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) initCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "init FOLDER",
		Short: "Make a folder to work in: settings and an example of a source",
		Long: "Init makes a folder with patra.env, which says where the database is and which address upstreams may write to,\n" +
			"and sources/example.yaml, a description of a source to begin with, with the schema that helps editors. Whatever is started in that folder uses them.\n" +
			"It changes nothing that is there already.",
		Example: "  patra init lit --contact you@example.org\n  cd lit && patra source check pubmed",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse(cmd, "name one folder, such as: patra init lit")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			contact, err := c.askContact(cmd)
			if err != nil {
				return err
			}
			return c.makeFolder(cmd, args[0], contact)
		},
	}
}

// askContact is the address that upstreams are told: as the command line or the
// environment says, or as somebody at a terminal does.
func (c *cli) askContact(cmd *cobra.Command) (string, error) {
	contact := c.contact
	if contact == "" && isTerminal(cmd.InOrStdin()) && isTerminal(c.err) {
		c.notef("The e-mail address by which upstreams can reach you (they ask for one): ")
		line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("read the address: %w", err)
		}
		contact = strings.TrimSpace(line)
	}
	if contact == "" {
		return "", misuse(cmd, "say by which e-mail address upstreams can reach you: --contact you@example.org")
	}
	if a, err := mail.ParseAddress(contact); err != nil || a.Address != contact {
		return "", misuse(cmd, "--contact %q is not an e-mail address", contact)
	}
	return contact, nil
}

// makeFolder writes the files of a new folder, none of which may be there.
func (c *cli) makeFolder(cmd *cobra.Command, folder, contact string) error {
	for _, f := range []struct{ name, text string }{
		{settingsFile, strings.ReplaceAll(firstSettings, "ADDRESS", contact)},
		{filepath.Join("sources", "source.schema.json"), string(node.PackSchema())},
		{filepath.Join("sources", "example.yaml"), schemaLine + strings.ReplaceAll(exampleNote+skeleton, "NAME", "example")},
	} {
		at := filepath.Join(folder, f.name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := writeNew(at, f.text); err != nil {
			if errors.Is(err, os.ErrExist) {
				return misuse(cmd, "%s is there already, and was left as it is: name a new folder", at)
			}
			return err
		}
		c.printf("%s\n", at)
	}
	c.notef("next: cd %s && patra source check pubmed\n", folder)
	return nil
}

// writeNew writes a file that must not be there.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

const firstSettings = `# Settings of patra for everything that is started in this folder; what the command line
# or the environment says goes before. Secrets do not belong here: see patra credential.
PATRA_DB=sqlite:patra.db
PATRA_CONTACT=ADDRESS
# A folder of further sources, of which each is known by itself once its description is
# whole. Until then: patra source check NAME --file sources/NAME.yaml
#PATRA_SOURCES=sources
`

const exampleNote = `# An example to begin with: fill it in, look at it with
#   patra source lint sources/NAME.yaml
#   patra source check NAME --file sources/NAME.yaml
# and make it known by
#   patra source apply sources/NAME.yaml --reason "first try"

`
