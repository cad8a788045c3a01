package source

import (
	"encoding/json"
	"fmt"
)

// The words of a snapshot are those of a pack. Before version 5 some keys had other
// words there, and plans with such snapshots are read for ever.

// wordsBefore are these words by the part they stood in, each with today's; what is
// not in any part is under the empty name.
var wordsBefore = map[string]map[string]string{
	"": {
		"provenanceCode": "source",
	},
	"window": {
		"watermarkKey":          "key",
		"targetRecordsPerSlice": "target",
		"recordsPerDay":         "perDay",
		"maxOpenSlices":         "maxOpen",
		"pagesPerSlice":         "pages",
	},
	"pagination": {
		"pageBase": "firstPage",
	},
}

// part is a JSON object whose values were not looked at.
type part map[string]json.RawMessage

// inTodaysWords returns a snapshot of any version as one of today's.
func inTodaysWords(snapshot []byte) ([]byte, error) {
	var version struct {
		Version int `json:"specVersion"`
	}
	err := json.Unmarshal(snapshot, &version)
	if err != nil || version.Version >= specOneWord {
		return snapshot, err
	}
	var whole part
	err = json.Unmarshal(snapshot, &whole)
	if err != nil {
		return nil, err
	}
	whole.rename(wordsBefore[""])
	err = whole.change("window", func(window part) error {
		window.rename(wordsBefore["window"])
		return window.boundBefore()
	})
	if err != nil {
		return nil, err
	}
	err = whole.change("pagination", func(pagination part) error {
		pagination.rename(wordsBefore["pagination"])
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = whole.identityBefore()
	if err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// rename gives keys today's words.
func (p part) rename(words map[string]string) {
	for old, today := range words {
		value, has := p[old]
		if !has {
			continue
		}
		delete(p, old)
		p[today] = value
	}
}

// change changes a part within p, if there is one.
func (p part) change(name string, change func(part) error) error {
	if p[name] == nil {
		return nil
	}
	var inner part
	err := json.Unmarshal(p[name], &inner)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if inner == nil {
		return nil
	}
	err = change(inner)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p[name], err = json.Marshal(inner)
	return err
}

// boundBefore says by a word what was a truth: whether the bound is closed.
func (p part) boundBefore() error {
	closed := false
	if p["closed"] != nil {
		err := json.Unmarshal(p["closed"], &closed)
		if err != nil {
			return fmt.Errorf("closed: %w", err)
		}
	}
	bound := BoundOpen
	if closed {
		bound = BoundClosed
	}
	delete(p, "closed")
	var err error
	p["bound"], err = json.Marshal(bound)
	return err
}

// identityBefore takes the form of ids out of the object that it was alone in.
func (p part) identityBefore() error {
	if p["identity"] == nil {
		return nil
	}
	var identity part
	err := json.Unmarshal(p["identity"], &identity)
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	delete(p, "identity")
	if form := identity["form"]; form != nil {
		p["identity"] = form
	}
	return nil
}

// nameUsages says of each endpoint what its place in the snapshot told before, and
// of the update times that they are the date of the window, which had been checked.
func (s *Spec) nameUsages() {
	for usage, e := range map[Usage]*Endpoint{UsageSearch: &s.Search, UsageCount: s.Count, UsageDetail: s.Detail, UsageLookup: s.Lookup, UsageHead: s.Head} {
		if e == nil || e.Usage != "" {
			continue
		}
		e.Usage = usage
		for i := range e.Response.UpdatedAt {
			e.Response.UpdatedAt[i].Key = s.Window.Key
		}
	}
}
