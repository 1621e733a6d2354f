package cli_test

import (
	"strings"
	"testing"
)

func TestVersionPrintsTheLicencesOfTheLibraries(t *testing.T) {
	r := execute("", "--data", t.TempDir(), "version", "--licences")
	if r.code != 0 {
		t.Fatalf("%d %s", r.code, r.stderr)
	}
	for _, want := range []string{"Copyright 2009 The Go Authors", "github.com/spf13/cobra", "Apache License", "Mozilla Public License", "@mantine/core"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing", want)
		}
	}
}
