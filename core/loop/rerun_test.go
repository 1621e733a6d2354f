package loop_test

import (
	"os"
	"os/exec"
	"testing"
)

// rerun runs the calling test alone in another process with env added, because it would
// disturb other tests.
func rerun(t *testing.T, env string) {
	t.Helper()
	rerunThese(t, "^"+t.Name()+"$", env)
}

// rerunThese runs the tests that match pattern in another process.
func rerunThese(t *testing.T, pattern, env string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run="+pattern, "-test.v")
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
