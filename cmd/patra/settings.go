package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// settingsFile is what the file of settings is called, unless another is named.
const settingsFile = "patra.env"

// settingsPlaces are the files of which the first that is there is read, if none is named: that of the
// folder in which patra is started, that of the user, and that of the machine.
func settingsPlaces() []string {
	places := []string{settingsFile}
	if own, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(own, "patra", settingsFile))
	}
	return append(places, filepath.Join("/etc/patra", settingsFile))
}

// findSettings reads the file of settings: the one that is named, or the first that is there.
func findSettings(name string) (found string, b []byte, err error) {
	if name != "" {
		b, err = os.ReadFile(name)
		return name, b, err
	}
	for _, found = range settingsPlaces() {
		b, err = os.ReadFile(found)
		if !errors.Is(err, fs.ErrNotExist) {
			return found, b, err
		}
	}
	return "", nil, nil
}

// The file that holds the address of the database, in place of PATRA_DB: the address of a server may
// have a password in it.
const databaseFile = "PATRA_DB_FILE"

// databaseFromFile reads the address that stands in the file of the database, empty if none is named.
func databaseFromFile() (string, error) {
	name := os.Getenv(databaseFile)
	switch {
	case name == "":
		return "", nil
	case os.Getenv("PATRA_DB") != "":
		return "", fmt.Errorf("PATRA_DB and %s are both given: use one of them", databaseFile)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", databaseFile, err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("%s: %s is to hold the address of the database in one line", databaseFile, name)
	}
	return text, nil
}

// written is a setting as a file says it.
type written struct {
	value string
	at    string // the file and the line
}

// readSettings reads the settings that stand in a file: lines of NAME=value, as units
// of systemd and compose files read them too. A path in it begins at the folder of the
// file. Without a name the first of [settingsPlaces] is read that is there.
func readSettings(name string) (map[string]written, error) {
	name, b, err := findSettings(name)
	if err != nil {
		return nil, fmt.Errorf("settings cannot be read: %w", err)
	}
	out := map[string]written{}
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(b, []byte(byteOrderMark))))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
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
		value, err := unquote(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", at, key, err)
		}
		out[key] = written{value: fromFolder(filepath.Dir(name), key, value), at: at}
	}
	return out, lines.Err()
}

// byteOrderMark stands before the text in files of some editors.
const byteOrderMark = "\ufeff"

// unquote is a value without the quotes around it. What others who read such a file take
// differently is refused: a comment behind a value is a part of it for systemd, and none for
// Compose.
func unquote(value string) (string, error) {
	const apart = "a comment needs a line of its own"
	if value == "" || value[0] != '"' && value[0] != '\'' {
		if strings.Contains(value, " #") || strings.Contains(value, "\t#") {
			return "", errors.New(apart + "; a value with # in it needs quotes")
		}
		return value, nil
	}
	quote := value[:1]
	inside, behind, closed := strings.Cut(value[1:], quote)
	if !closed {
		return "", fmt.Errorf("the quote %s is not closed", quote)
	}
	if behind != "" {
		return "", fmt.Errorf("there is more behind the quote %s; %s", quote, apart)
	}
	return inside, nil
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
	case "PATRA_EVENTS":
		// A target is an address, in which a folder is written as addresses are.
		at := (&url.URL{Path: folder}).EscapedPath()
		return relativeTarget.ReplaceAllStringFunc(value, func(target string) string {
			before, path, _ := strings.Cut(target, fileTarget)
			return before + fileTarget + filepath.Join(at, path)
		})
	}
	return value
}

// fileTarget is how a target of events begins that is a file.
const fileTarget = "file:"

// relativeTarget is a target of events that is a file whose path has no root, as far as its
// path goes.
var relativeTarget = regexp.MustCompile(`(^|\s)` + fileTarget + `[^/\s?#][^\s?#]*`)
