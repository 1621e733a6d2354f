package health_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Pick calls Usable for every candidate; a function call would cost more than its loads.
func TestHotPathIsInlined(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool to ask")
	}
	out, err := exec.Command(tool, "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"(*Slot).Usable", "(*Table).Slot", "(*Table).Version"} {
		if !strings.Contains(string(out), "can inline "+name) {
			t.Errorf("the compiler does not inline %s", name)
		}
	}
}
