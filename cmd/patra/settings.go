package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// settingsFile is read from the folder in which patra is started, if it is there and
// no other is named.
const settingsFile = "patra.env"

// written is a setting as a file says it.
type written struct {
	value string
	at    string // the file and the line
}

// readSettings reads the settings that stand in a file: lines of NAME=value, as units
// of systemd and compose files read them too. A path in it begins at the folder of the
// file. Without a name the file of this folder is read if there is one.
func readSettings(name string) (map[string]written, error) {
	named := name != ""
	if !named {
		name = settingsFile
	}
	b, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("settings cannot be read: %w", err)
	}
	out := map[string]written{}
	lines := bufio.NewScanner(strings.NewReader(string(b)))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := fmt.Sprintf("%s:%d", name, n)
		key, value, is := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !is {
			return nil, fmt.Errorf("%s: %q is not NAME=value", at, line)
		}
		if err := isSetting(key); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("%s: %s is set twice", at, key)
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		out[key] = written{value: fromFolder(filepath.Dir(name), key, value), at: at}
	}
	return out, lines.Err()
}

// isSetting refuses a name that the file cannot set, and says where it can be set.
func isSetting(key string) error {
	var known []string
	for _, s := range shared {
		known = append(known, s.env)
	}
	switch {
	case slices.Contains(known, key):
		return nil
	case isOutsideFiles(key):
		return fmt.Errorf("%s is read from the environment only", key)
	default:
		return fmt.Errorf("%s is not a setting: use %s", key, strings.Join(known, ", "))
	}
}

// fromFolder is a value whose path begins at a folder.
func fromFolder(folder, key, value string) string {
	if value == "" || folder == "." {
		return value
	}
	begin := func(path string) string {
		if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, ":") {
			return path
		}
		return filepath.Join(folder, path)
	}
	switch key {
	case "PATRA_DB":
		if path, is := strings.CutPrefix(value, "sqlite:"); is {
			return "sqlite:" + begin(path)
		}
	case "PATRA_SOURCES", "PATRA_ARCHIVE":
		return begin(value)
	}
	return value
}
