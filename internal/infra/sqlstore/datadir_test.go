package sqlstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestDefaultDSN_IsWhereTheUserIsAtHome(t *testing.T) {
	t.Parallel()
	none := func() (string, error) { return "", errors.New("not set") }
	nowhere := func() (string, error) { return ".", nil }
	home := func() (string, error) { return filepath.Join(os.TempDir(), "ada"), nil }
	other := func() (string, error) { return filepath.Join(os.TempDir(), "eve"), nil }
	at := func(parts ...string) string {
		return "sqlite:" + filepath.Join(append([]string{os.TempDir()}, parts...)...)
	}
	for _, c := range []struct {
		name, data string
		homes      []func() (string, error)
		want       string
	}{
		{"the environment names a data directory", filepath.Join(os.TempDir(), "data"), []func() (string, error){home}, at("data", "patra", "patra.db")},
		{"the environment names a home", "", []func() (string, error){home, other}, at("ada", ".local", "share", "patra", "patra.db")},
		{"only the account has a home", "", []func() (string, error){none, other}, at("eve", ".local", "share", "patra", "patra.db")},
		{"nobody knows of a home", "", []func() (string, error){none, nowhere}, ""},
	} {
		if got := defaultDSN(c.data, c.homes...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, err := Connect(t.Context(), "", Options{}); err == nil {
		t.Error("a database was opened that nobody named")
	}
}
