package backup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/hook"
)

// Missing plugins exist during validation of the configuration. They remain only if it is
// restored, on the machine itself.
func TestPluginsAreRestoredWithTheChecksThatStartThem(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, err := h.Create(root, "a", "")
	h.must(err)
	path := filepath.Join(h.dir, hook.Plugins, "check_own")
	for _, c := range []struct {
		request backup.Request
		there   bool
	}{
		{backup.Request{Name: "a", Root: true, Local: true, Dry: true}, false},
		{backup.Request{Name: "a", Root: true}, false},
		{backup.Request{Name: "a", Root: true, Local: true}, true},
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		_, err := h.Apply(t.Context(), root, c.request)
		h.must(err)
		b, err := os.ReadFile(path)
		if (err == nil) != c.there || c.there && string(b) != "#!/bin/sh\nexit 0\n" {
			t.Errorf("%+v: %q, %v", c.request, b, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}
