package program_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/program"
)

func TestProgramsRunningOthersAreUnfit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: plugins must belong to root")
	}
	dir, elsewhere := folder(t, "check_x", ""), folder(t, "check_far", "")
	for _, name := range []string{"check_nrpe", "check_apt", "check_multi.pl"} {
		put(t, filepath.Join(dir, name), "")
	}
	given := filepath.Join(dir, "check_given")
	put(t, given, "")
	for name, target := range map[string]string{"check_near": "check_x", "check_far": filepath.Join(elsewhere, "check_far"), "check_python": "/usr/bin/python3", "check_negate": "negate", "check_lost": "none"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "negate"), "")
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "check_shell"), shell, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(given, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "plugins")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, folders := range []program.Folders{{dir}, {link}} {
		for command, why := range map[string]string{
			"check_x -H HOST":              "",
			"check_near -H HOST":           "",
			"check_none -H HOST":           "", // it is refused because it does not exist
			"check_nrpe -H HOST -c load":   "",
			"check_nrpe -H HOST -a x":      "with -a",
			"check_nrpe -H HOST -ax":       "with -a",
			"check_nrpe -H HOST --args=x":  "with -a",
			"check_nrpe --args x -H HOST":  "with -a",
			"check_apt -u":                 "apt",
			"check_multi.pl -x id":         "runs what its words say",
			"check_far":                    "it is a link to",
			"check_python -c x":            "no plugin",
			"check_negate /bin/false":      "no plugin",
			"negate /bin/false":            "no plugin",
			"check_shell -c id":            "the same as",
			dir + "/negate /bin/false":     "no plugin",
			"/bin/sh -c id":                "no plugin",
			"perl5.36.0 -e x":              "no plugin",
			"ld-linux-x86-64.so.2 /bin/sh": "no plugin",
		} {
			words := strings.Fields(command)
			err := folders.Unfit(words[0], words[1:])
			if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", command, err, why)
			}
		}
	}
}
