package archtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Who executes templates calls methods by names the linker does not know, so it
// keeps all there are: 5 MB of program, which four processes have in memory.
func TestProgramExecutesNoTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	file := filepath.Join(t.TempDir(), "sluice")
	build := exec.Command("go", "build", "-o", file, "./cmd/sluice")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	symbols, err := exec.Command("go", "tool", "nm", file).Output()
	if err != nil || !strings.Contains(string(symbols), "main.main") {
		t.Fatalf("no symbols: %v", err)
	}
	for line := range strings.Lines(string(symbols)) {
		if strings.HasSuffix(strings.TrimSpace(line), " text/template.(*Template).Execute") {
			t.Fatalf("templates are executed: %s", line)
		}
	}
}
