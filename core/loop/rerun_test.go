package loop_test

import (
	"os"
	"os/exec"
	"testing"
)

// rerun runs the calling test alone in a process of its own, with env added:
// for what would disturb the others.
func rerun(t *testing.T, env string) {
	t.Helper()
	rerunThese(t, "^"+t.Name()+"$", env)
}

// rerunThese runs the tests the pattern names.
func rerunThese(t *testing.T, pattern, env string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run="+pattern, "-test.v")
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
