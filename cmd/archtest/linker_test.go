package archtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Templates call methods by name. The linker therefore keeps all methods if any template is
// executed: 5 MB more in each of four processes.
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
