package cli_test

import (
	"strings"
	"testing"
)

func TestWrongUsageShowsHowTheCommandIsMeant(t *testing.T) {
	for command, want := range map[string]string{
		"farm show":              "an argument is missing: write sluice farm show FARM\n",
		"farm show a b":          `"b" is one argument too many: write sluice farm show FARM`,
		"farm list x":            `"x" is one argument too many: write sluice farm list`,
		"backend set a":          "write sluice backend set FARM [SERVICE] BACKEND NAME=VALUE",
		"backend set a web 0":    "nothing to set: give NAME=VALUE",
		"backend set a b 0 d":    `"d" is not a setting`,
		"conn list a b":          `"b" is one argument too many: write sluice conn list [FARM]`,
		"conn flush --backend 1": "--backend needs the farm",
		"diff 1 2 3":             `"3" is one argument too many: write sluice diff [FROM] [TO]`,
		"completion":             "a sub-command is missing: bash, fish",
		"completion tcsh":        `unknown command "tcsh"`,
		"farm":                   "a sub-command is missing: create",
		"backend delete shop":    "write sluice backend delete FARM [SERVICE] BACKEND",
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
		{[]string{"--key", "wrong"}, "the key is none of this appliance"},
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
