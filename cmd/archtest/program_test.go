package archtest

import (
	"os/exec"
	"strings"
	"testing"
)

// The program does not link code for tests: test helpers, benchmarks, or test packages of the
// standard library.
func TestProgramHoldsNoCodeForTests(t *testing.T) {
	cmd := exec.Command("go", "list", "-pgo=off", "-deps", "./cmd/sluice")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 100 {
		t.Fatalf("only %d packages found: the test would check too little", len(linked))
	}
	for _, p := range linked {
		ours, isOurs := strings.CutPrefix(p, module)
		switch {
		case isOurs && (strings.HasSuffix(ours, "test") || within(ours, []string{"bench", "cmd/mutate", "cmd/testlog", "cmd/fixes", "cmd/prose", "cmd/manual"})),
			p == "testing", strings.HasPrefix(p, "testing/"), p == "net/http/httptest":
			t.Errorf("bin/sluice contains %s (go list -deps ./cmd/sluice; go mod why -m shows the importers)", p)
		}
	}
}
