package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ends runs the appliance with a file until it exits, and returns its output.
func ends(t *testing.T, who identity, data, file string) (text string, code int) {
	t.Helper()
	return endsIn(t, who, data, surroundings{}, "--config", file)
}

func endsIn(t *testing.T, who identity, data string, in surroundings, args ...string) (text string, code int) {
	t.Helper()
	a := &appliance{t: t, who: who, data: data, in: in}
	cmd := a.command(append([]string{"run", "--data", data, "--api", "127.0.0.1:0"}, args...)...)
	late := time.AfterFunc(40*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// An appliance without a configuration exits if its file is invalid. With a previous
// configuration it runs with that.
func TestInvalidConfigurationFileEndsAFreshStart(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		file := filepath.Join(t.TempDir(), "sluice.yaml")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(filepath.Dir(filepath.Dir(file)), 0o755)
		data := dataDir(t, who)
		farm := fmt.Sprintf("farms:\n- {name: a, profile: http, vip: 127.0.0.1, vport: %d}\n", freePort(t))
		write(farm + "- {name: b, profile: http, vip: 127.0.0.1, vport: 0, contimout: 3}\n")
		text, code := ends(t, who, data, file)
		if code != 1 || !strings.Contains(text, "line 3, column 54") || !strings.Contains(text, "contimeout") || !strings.Contains(text, "vport must be") {
			t.Errorf("status %d:\n%s", code, text)
		}
		if strings.Contains(text, "sluice serves") || strings.Count(text, "role started") > 4 {
			t.Errorf("the start was not aborted:\n%s", text)
		}
		write(farm)
		a := start(t, who, data, "--config", file)
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		write("farms: x\n")
		a = start(t, who, data, "--config", file)
		if out := a.must("farm", "list"); !strings.Contains(out, "127.0.0.1") {
			t.Errorf("the stored farms do not run:\n%s", out)
		}
	})
}
