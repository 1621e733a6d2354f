package backup

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/store"
)

// Reading arbitrary bytes terminates, and any accepted archive can be written again.
func FuzzRead(f *testing.F) {
	a := &archive{Manifest: Manifest{Format: format, Product: product, Version: "1", Layout: store.Layout, Date: time.Unix(1, 0).UTC(), Node: "n"},
		Config: []byte("farms: []\n"), Hooks: []Hook{{Name: "on-any", Content: []byte("#!/bin/sh\n")}, {Folder: "plugins", Name: "check_own", Content: []byte("#!/bin/sh\n")}}}
	for _, passphrase := range []string{"", "correct horse battery"} {
		var out bytes.Buffer
		if err := a.write(&out, passphrase); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := manifestOf(bytes.NewReader(b)); err == nil && m.check() != nil {
			t.Error("a manifest that is wrong is shown")
		}
		got, err := read(bytes.NewReader(b), "")
		if err != nil {
			return
		}
		if err := got.write(io.Discard, ""); err != nil {
			t.Errorf("read, and cannot be written: %v", err)
		}
	})
}
