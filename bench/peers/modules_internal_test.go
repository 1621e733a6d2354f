package peers

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestNginxRelaysIfItHasTheStreamModule(t *testing.T) {
	for options, want := range map[string]bool{
		"--with-http_v2_module --with-stream=dynamic": false,
		"--with-stream_ssl_module":                    false,
		"--with-stream --with-debug":                  true,
	} {
		path := filepath.Join(t.TempDir(), "nginx")
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho 'configure arguments: "+options+"' >&2\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := builtWithStream([]byte("configure arguments: " + options + "\n")); got != want {
			t.Errorf("%s: got %v, want %v", options, got, want)
		}
		want = want || (Setup{}).Modules() != "" // Debian's module is installed
		err := Contestant{Name: "nginx", Kind: Nginx, Path: path}.CheckRelay()
		if (err == nil) != want || err != nil && !errors.Is(err, ErrMissing) {
			t.Errorf("nginx built %s: got %v, want a relay: %v", options, err, want)
		}
	}
	if err := (Contestant{Name: "haproxy", Kind: HAProxy}).CheckRelay(); err != nil {
		t.Errorf("HAProxy: got %v, want nil", err)
	}
}
