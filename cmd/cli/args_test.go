package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
)

func TestWrongUsageShowsHowTheCommandIsMeant(t *testing.T) {
	for command, want := range map[string]string{
		"farm show":              "missing argument; usage: sluice farm show FARM\n",
		"farm show a b":          `unexpected argument "b"; usage: sluice farm show FARM`,
		"farm list x":            `unexpected argument "x"; usage: sluice farm list`,
		"backend set a":          "usage: sluice backend set FARM [SERVICE] BACKEND NAME=VALUE",
		"backend set a web 0":    "nothing to set: give NAME=VALUE",
		"backend set a b 0 d":    `"d" is not a setting`,
		"backend create a=b":     `missing farm before "a=b"`,
		"backend create a b c d": `"d" is not a setting: write NAME=VALUE`,
		"farm set a ab":          `"ab" is not a setting: write NAME=VALUE`,
		"farm create a =1":       `"=1" is not a setting: write NAME=VALUE`,
		"backend set a weight=3": "usage: sluice backend set FARM [SERVICE] BACKEND NAME=VALUE",
		"service create a b c":   `"c" is not a setting: write NAME=VALUE`,
		"service set a b c":      `"c" is not a setting: write NAME=VALUE`,
		"system config a":        `"a" is not a setting: write NAME=VALUE`,
		"frm":                    "unknown command \"frm\" for \"sluice\"",
		"farm lst":               "unknown command \"lst\" for \"sluice farm\" (did you mean list?)\nSee 'sluice farm --help'.\n",
		"list farms":             "(did you mean sluice farm list?)",
		"farms list":             "(did you mean sluice farm list?)",
		"farm shop show":         "(did you mean sluice farm show shop?)",
		"create farm x vport=1":  "(did you mean sluice farm create x vport=1?)",
		"shop farm show":         "(did you mean sluice farm show shop?)",
		"stop shop":              "(did you mean sluice farm stop?)",
		"delete":                 "(did you mean sluice farm delete?)",
		"flush":                  "(did you mean sluice conn flush",
		"import":                 "(did you mean sluice zone import?)",
		"upgrade":                "unknown command \"upgrade\" for \"sluice\"\n",
		"logs --lines -1":        "--lines must be 0 or more, got -1",
		"conn list a b":          `unexpected argument "b"; usage: sluice conn list [FARM]`,
		"conn flush --backend 1": "--backend needs a farm",
		"diff 1 2 3":             `unexpected argument "3"; usage: sluice diff [FROM] [TO]`,
		"completion":             "missing sub-command: bash, fish",
		"completion tcsh":        `unknown command "tcsh"`,
		"farm":                   "missing sub-command: copy, create",
		"backend delete shop":    "usage: sluice backend delete FARM [SERVICE] BACKEND",
	} {
		r := execute("", strings.Fields(command)...)
		if r.code != 2 || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("sluice %s: exit %d, %q%q, want %q", command, r.code, r.stdout, r.stderr, want)
		}
	}
	if r := execute("", "completion", "bash"); r.code != 0 || !strings.Contains(r.stdout, "complete") {
		t.Errorf("completion bash: exit %d %q", r.code, r.stderr)
	}
}

func TestAWrongKeyIsNotAMissingOne(t *testing.T) {
	a := start(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "give a key with SLUICE_KEY or --key"},
		{[]string{"--key", "wrong"}, "this appliance does not know the key"},
	} {
		r := execute("", append([]string{"farm", "list", "--url", a.address, "--cacert", a.cacert}, c.args...)...)
		if r.code != 1 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d %q", c.args, r.code, r.stderr)
		}
	}
}

func TestJSONOfADocumentThatChangesNothingIsNoDryRun(t *testing.T) {
	a := start(t)
	a.shop()
	document := a.must("export")
	r := a.feed(document, "apply", "-f", "-", "--json")
	if r.code != 0 || !strings.Contains(r.stdout, `"dry_run": "false"`) || !strings.Contains(r.stdout, `"unchanged": "true"`) {
		t.Errorf("%+v", r)
	}
	r = a.feed(document, "apply", "-f", "-", "--json", "--dry-run")
	if r.code != 0 || !strings.Contains(r.stdout, `"dry_run": "true"`) {
		t.Errorf("%+v", r)
	}
}

func TestAppliancesThatCannotBeReachedAreExplained(t *testing.T) {
	a := start(t)
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	nothing := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(nothing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stale := dataDirectory(t)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(stale, client.Socket), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	other := strings.Replace(a.address, "127.0.0.1", "127.0.0.2", 1)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--url ftp://a", 2, `"ftp://a" must be https://host:port`}, {"--url https://", 2, "must be https"}, {"--url https://a/b", 2, "must be https"}, {"--url https://a?b=c", 2, "must be https"},
		{"--url https://a@b", 2, "must be https"}, {"--url https://%zz", 2, "must be https"}, {"--url " + a.address + "/ --insecure --key " + a.key, 0, ""},
		{"--url " + a.address + " --cacert /nonexistent", 1, "--cacert: open /nonexistent"}, {"--url " + a.address + " --cacert " + nothing, 1, "no certificate in " + nothing},
		{"--url https://" + dead.Addr().String(), 1, "https://" + dead.Addr().String() + " cannot be reached: "},
		{"--url " + other + " --cacert " + a.cacert, 1, "cannot be reached"},
		{"--data " + stale, 1, "no running sluice in " + stale},
		{"--data " + nothing, 1, "not a directory"},
	} {
		for _, command := range []string{"farm list", "trace shop --count 1"} {
			if c.code == 0 && command != "farm list" {
				continue
			}
			r := execute("", append(strings.Fields(command), strings.Fields(c.args)...)...)
			if r.code != c.code || !strings.Contains(r.stderr, c.want) || c.code == 1 && strings.Contains(r.stderr, "--help") {
				t.Errorf("%s %s: exit %d %q, want %q", command, c.args, r.code, r.stderr, c.want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := cli.Root()
	root.SetArgs([]string{"farm", "list", "--data", a.data})
	if err := root.ExecuteContext(ctx); err == nil || err.Error() != "interrupted" {
		t.Errorf("interrupted: %v", err)
	}
}

func TestTooMuchToReadIsRefused(t *testing.T) {
	a := start(t)
	for _, c := range []struct {
		args []string
		most int
	}{{[]string{"apply", "-f", "-"}, 16 << 20}, {[]string{"check", "-f", "-"}, 16 << 20}, {[]string{"certificate", "upload", "shop", "-"}, 8 << 20}} {
		want := fmt.Sprintf("- has more than %d bytes", c.most)
		if r := a.feed(strings.Repeat("#", c.most+1), c.args...); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: %d %q", c.args, r.code, r.stderr)
		}
		var out bytes.Buffer
		if code := cli.Execute(append([]string{"--data", a.data}, c.args...), iotest.ErrReader(errors.New("torn")), &out, &out); code != 1 || !strings.Contains(out.String(), "read -: torn") {
			t.Errorf("%v from an input that fails: %d %q", c.args, code, &out)
		}
		if c.args[0] == "apply" || c.args[0] == "check" {
			continue // maximum lengths take long to read
		}
		if r := a.feed(strings.Repeat("#", c.most), c.args...); strings.Contains(r.stderr, want) {
			t.Errorf("%v of exactly as much: %q", c.args, r.stderr)
		}
	}
}

// Leftovers of a stopped appliance are shown and removed as if it ran.
func TestLeftoversOfAStoppedApplianceAreShown(t *testing.T) {
	t.Cleanup(func() { cli.Leftovers = nil })
	var asked []bool
	var cause error
	dir := t.TempDir()
	for _, c := range []struct {
		command  string
		cause    error
		code     int
		out, err string
	}{
		{"system kernel", nil, 0, "KIND   NAME  DETAIL\ntable  a     -\n", ""},
		{"system clean", nil, 0, "KIND   NAME  DETAIL\ntable  a     -\nRemoved 1 objects from the kernel.\n", ""},
		{"system kernel --json", nil, 0, `{"description":"List the appliance's kernel objects: tables, addresses, settings","params":[{"kind":"table","name":"a"}]}`, ""},
		{"system kernel", fs.ErrNotExist, 1, "", "no running sluice"}, {"system clean", errors.New("not root"), 1, "", "cannot be read: not root"},
	} {
		asked, cause = nil, c.cause
		cli.Leftovers = func(_ context.Context, data string, named, clean bool) ([]cli.KernelObject, error) {
			if asked = append(asked, clean); data != dir || !named {
				t.Errorf("question for %s, named: %v", data, named)
			}
			return []cli.KernelObject{{Kind: "table", Name: "a"}}, cause
		}
		r := execute("", append(strings.Fields(c.command), "--data", dir)...)
		if r.code != c.code || r.stdout != c.out || !strings.Contains(r.stderr, c.err) || len(asked) != 1 || asked[0] != strings.Contains(c.command, "clean") {
			t.Errorf("%s: %v %+v", c.command, asked, r)
		}
	}
}
