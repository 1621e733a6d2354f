package program_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// The operator's own plugins are in the data directory, where mgmt restores them.
func TestPluginsOfTheDataDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(hook.Plugins, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"check_own", "lib.sh", "bash", "copy"} {
		put(t, filepath.Join(hook.Plugins, name), "echo own")
	}
	if err := os.Symlink("/bin/sh", filepath.Join(hook.Plugins, "check_link")); err != nil {
		t.Fatal(err)
	}
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hook.Plugins, "copy"), shell, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // as it would if it belonged to mgmt
		for _, name := range []string{hook.Plugins, filepath.Join(hook.Plugins, "lib.sh")} {
			if err := os.Chown(name, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	folders := program.Folders(program.All)
	if err := folders.Unfit("check_own", nil); err != nil {
		t.Errorf("it is refused: %v", err)
	}
	for name, says := range map[string]string{"bash": "is no plugin", "copy": "the same as", "check_link": "is a link to"} {
		if err := folders.Unfit(name, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if said, err := run(t, time.Minute, "check_own", folders...); err != nil || said != "own" {
		t.Errorf("got %q, %v, want %q", said, err, "own")
	}
	s := &starter{end: programs.End{}}
	program.StartBy(s, func(string) bool { return false })
	t.Cleanup(func() { program.StartBy(nil, nil) })
	if _, err := run(t, time.Minute, "check_own", folders...); err != nil || s.files < 2 || !slices.Contains(s.beside, "lib.sh") {
		t.Errorf("%d files, %v, %v", s.files, s.beside, err)
	}
}
