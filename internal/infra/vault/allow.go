package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/papertrace/patra/internal/app/keyring"
)

// What references to secrets may point at in this process. They are rows of a
// store that others may write to: without a limit, whoever can write there could
// have any variable and any file of this process sent to an address of theirs.
const (
	// EnvVariables lists variables, a star at the end standing for any end, with
	// commas between. Without it every variable is allowed that is not patra's own.
	EnvVariables = "PATRA_CREDENTIAL_ENV"
	// EnvFolders lists folders, separated as in PATH. Without it a file may be
	// anywhere.
	EnvFolders = "PATRA_CREDENTIAL_DIRS"
)

// own begins the names of variables that are patra's own settings, its sealing
// key among them.
const own = "PATRA_"

// variable reads an environment variable that a credential refers to.
func (v *Vault) variable(name string) (string, error) {
	if strings.HasPrefix(strings.ToUpper(name), own) {
		return "", fmt.Errorf("environment variable %s is a setting of patra itself and never a credential", name)
	}
	if list, limited := v.getenv(EnvVariables); limited && !listed(list, name) {
		return "", fmt.Errorf("environment variable %s is not in %s, which lists those that credentials may refer to", name, EnvVariables)
	}
	text, ok := v.getenv(name)
	text = strings.TrimSpace(text)
	if !ok || text == "" {
		return "", fmt.Errorf("environment variable %s is not set: %w", name, keyring.ErrAbsent)
	}
	return text, nil
}

func listed(list, name string) bool {
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		front, open := strings.CutSuffix(entry, "*")
		if entry == name || open && strings.HasPrefix(name, front) {
			return true
		}
	}
	return false
}

// file reads a file that a credential refers to.
func (v *Vault) file(name string) ([]byte, error) {
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("file %s: no such file: %w", name, keyring.ErrAbsent)
	}
	if err != nil {
		return nil, err
	}
	if list, limited := v.getenv(EnvFolders); limited && !within(list, real) {
		return nil, fmt.Errorf("file %s is in none of the folders of %s, where credentials may be", name, EnvFolders)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Mode().Perm()&0o002 != 0:
		return nil, fmt.Errorf("file %s can be written by everybody, so anybody may have put that secret there; chmod o-w it", name)
	case !trusted(info):
		return nil, fmt.Errorf("file %s belongs to another user, neither to the one patra runs as nor to root", name)
	}
	for _, setting := range []string{EnvKeyFile, EnvPreviousFile} {
		path, _ := v.getenv(setting)
		if key, err := os.Stat(path); err == nil && os.SameFile(key, info) {
			return nil, fmt.Errorf("file %s holds patra's sealing key (%s) and is never a credential", name, setting)
		}
	}
	return readFile(real)
}

func within(list, path string) bool {
	for _, dir := range filepath.SplitList(list) {
		if dir == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
