package patratest

import (
	"os"
	"testing"
	"time"
)

// BrowserDir is a folder for what a browser keeps. Children of a browser that has ended write
// there for a moment longer, so that it is removed again until it is gone.
func BrowserDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "patra-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		const tries = 200
		for range tries {
			err = os.RemoveAll(dir)
			if err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("the folder of a browser stays: %v", err)
	})
	return dir
}
