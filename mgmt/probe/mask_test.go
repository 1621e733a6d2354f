package probe_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
)

func TestProgramOutputHidesSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"no access for tea":          "no access for ***",
		"tea, teapot and tea":        "***, *** and ***",
		"nothing of it":              "nothing of it",
		"*** stands for what is not": "*** stands for what is not",
	} {
		if got := probe.Hide(text, []string{"tea", "teapot"}); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
