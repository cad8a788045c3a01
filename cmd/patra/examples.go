package main

import "github.com/spf13/cobra"

// examples are those of the commands that have none of their own, by what they are called.
var examples = map[string]string{
	"patra alert ack":            "patra alert ack 12 --reason \"looking into it\"",
	"patra alert list":           "patra alert list --source pubmed",
	"patra alert show":           "patra alert show 12",
	"patra alert snooze":         "patra alert snooze 12 --for 2h --reason \"maintenance until noon\"",
	"patra alert test":           "patra alert test --reason \"does it arrive?\"",
	"patra report search":        "patra report search insulin --format html --out insulin.html",
	"patra search report":        "patra search report insulin --format svg --out flow.svg",
	"patra coverage":             "patra coverage pubmed",
	"patra credential disable":   "patra credential disable pubmed main --reason \"leaked\"",
	"patra credential list":      "patra credential list",
	"patra credential rotate":    "patra credential rotate pubmed main --env NCBI_KEY --reason \"yearly\"",
	"patra cursor events":        "patra cursor events 3",
	"patra cursor list":          "patra cursor list --source pubmed",
	"patra cursor show":          "patra cursor show 3",
	"patra cursor skip":          "patra cursor skip 3 --to 2026-01-31 --reason \"the source lost those days\" --dry-run",
	"patra db archive list":      "patra db archive list",
	"patra db migrate":           "patra db migrate --db sqlite:patra.db",
	"patra db status":            "patra db status",
	"patra deploy alerts":        "patra deploy alerts > patra.rules.yml",
	"patra deploy compose":       "patra deploy compose > compose.yaml",
	"patra deploy grafana":       "patra deploy grafana > patra.json",
	"patra deploy kubernetes":    "patra deploy kubernetes | kubectl apply -f -",
	"patra error ack":            "patra error ack 7 --reason \"told the publisher\"",
	"patra error resolve":        "patra error resolve 7 --reason \"the pack is mended\"",
	"patra error show":           "patra error show 7",
	"patra outbox list":          "patra outbox list --parked",
	"patra outbox retry":         `patra outbox retry 17 --reason "the topic takes larger messages now"`,
	"patra outbox show":          "patra outbox show 17",
	"patra outbox target add":    `patra outbox target add lake --events file:/data/events.jsonl#lake --everything --reason "a new consumer"`,
	"patra outbox target list":   "patra outbox target list",
	"patra outbox target remove": `patra outbox target remove lake --reason "nobody reads it"`,
	"patra plan accept-gap":      "patra plan accept-gap 41 --reason \"the source lost that day\" --dry-run",
	"patra plan cancel":          "patra plan cancel 12 --reason \"wrong window\" --dry-run",
	"patra plan gaps":            "patra plan gaps pubmed",
	"patra plan slices":          "patra plan slices 12 --state FAILED",
	"patra plan list":            "patra plan list --source pubmed -o csv",
	"patra plan retry":           "patra plan retry pubmed --reason \"the source is back\"",
	"patra plan show":            "patra plan show 12",
	"patra quarantine discard":   "patra quarantine discard 5 --name pubmed/40000001 --reason \"a test record\"",
	"patra quarantine show":      "patra quarantine show 5",
	"patra queue show":           "patra queue show",
	"patra rate show":            "patra rate show crossref",
	"patra record history":       "patra record history pubmed 40000001",
	"patra record show":          "patra record show pubmed 40000001 -o yaml",
	"patra run show":             "patra run show 31",
	"patra run why":              "patra run why 31",
	"patra schedule list":        "patra schedule list",
	"patra schedule pause":       "patra schedule pause nightly --reason \"holidays\"",
	"patra schedule remove":      "patra schedule remove nightly --reason \"no longer wanted\"",
	"patra schedule resume":      "patra schedule resume nightly --reason \"back at work\"",
	"patra schedule show":        "patra schedule show nightly",
	"patra sim":                  "patra sim --sources pubmed,crossref --listen 127.0.0.1:9000",
	"patra source history":       "patra source history crossref",
	"patra source list":          "patra source list",
	"patra source pause":         "patra source pause crossref --reason \"they asked us to\"",
	"patra source resume":        "patra source resume crossref --reason \"checked: it answers\"",
	"patra source rollback":      "patra source rollback crossref --reason \"too fast\" --dry-run",
	"patra task show":            "patra task show 31",
	"patra task why":             "patra task why 31",
	"patra token list":           "patra token list",
	"patra token revoke":         "patra token revoke ci --reason \"not used\"",
	"patra version":              "patra version",
}

// giveExamples gives every command of the tree the example it has here.
func giveExamples(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		giveExamples(sub)
	}
	if text, has := examples[cmd.CommandPath()]; has && cmd.Example == "" {
		cmd.Example = "  " + text
	}
}
