package cli_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// everyWrite returns one command of each kind that changes something.
func everyWrite(t *testing.T) []string {
	t.Helper()
	return slices.Concat(everyCommand(newPapers(t, "shop.example")), furtherCommands, writesOfRules(), moreWrites, []string{"notification password", "user totp confirm 123456", "user totp recovery"})
}

// With --dry-run every request that a command sends is a dry run, and the output shows what
// the command would do.
func TestEveryCommandThatChangesSomethingCanBeTried(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	var sent []call
	r.sees = bodySeer(&sent)
	before := a.must("export")
	tried := map[string]bool{}
	for _, command := range everyWrite(t) {
		words := strings.Fields(command)
		cmd, _, err := cli.Root().Find(words)
		if err != nil {
			t.Fatal(err)
		}
		has := cmd.Flags().Lookup("dry-run") != nil
		sent = nil
		if has {
			command += " --dry-run"
			tried[cmd.CommandPath()] = true
		}
		said, _ := r.run(-1, nil, command)
		shown, is := strings.CutSuffix(said.stdout, "Dry run: nothing was changed.\n")
		if plain := !strings.Contains(command, " --show") && !strings.Contains(command, " --json") && !strings.Contains(command, " --quiet"); has && plain && said.code == 0 && shown == "" || is && !has {
			t.Errorf("%s shows no difference: %q", command, said.stdout)
		}
		for _, c := range sent {
			if c.method == "GET" || strings.Contains(c.address, "dry_run=true") || !has && isQuestion(c.address) {
				continue
			}
			t.Errorf("%s: sent %s %s", command, c.method, c.address)
		}
	}
	if after := a.must("export"); after != before {
		t.Errorf("the configuration was changed:\n%s", after)
	}
	var look func(path []string)
	look = func(path []string) {
		cmd, _, _ := cli.Root().Find(path)
		for _, sub := range cmd.Commands() {
			look(append(slices.Clone(path), sub.Name()))
		}
		if cmd.Flags().Lookup("dry-run") != nil && !tried[cmd.CommandPath()] {
			t.Errorf("%s has --dry-run, and no command of this test uses it", cmd.CommandPath())
		}
	}
	look(nil)
}

// Changes outside the document have their own difference, without secrets.
func TestADryRunShowsWhatIsNotInTheDocument(t *testing.T) {
	a := ready(t)
	a.must("tag", "create", "fair")
	a.must("group", "create", "ops")
	a.must("role", "create", "own", "--copy-from", "monitoring")
	a.must("farm", "set", "shop", "contimeout=7")
	for command, want := range map[string]string{
		"tag delete fair":                                           "Delete a tag\n-fair\n",
		"key create monitoring":                                     "Create an API key\n+comment: monitoring\n",
		"group role ops monitoring":                                 "Modify a group\n-role: \n+role: monitoring\n",
		"group add-farm ops shop":                                   "Add a farm to a group\n+name: shop\n",
		"role set own farm.create=true":                             "Modify a role\n-farm.create: false\n+farm.create: true\n",
		"system config resolve_min_ttl=7":                           "Change the settings of the appliance\n-resolve_min_ttl: 5\n+resolve_min_ttl: 7\n",
		"system config resolve_min_ttl=5":                           "Change the settings of the appliance\nThe settings would stay the same.\n",
		"notification webhook create ops url=https://hooks.test/in": "Create a webhook\n+name: ops\n+secret: <secret>\n+url: https://hooks.test/in\n",
		"conn flush mail":                                           "End the connections of l4xnat farms\n-connections farm=mail\n",
		"farm set shop contimeout=7":                                "The configuration would stay the same.\n",
		"farm start shop":                                           "The configuration would stay the same.\n",
	} {
		r := a.feed("a-secret-of-20-bytes\n", append(strings.Fields(command), "--dry-run")...)
		if r.code != 0 || r.stdout != want+"Dry run: nothing was changed.\n" {
			t.Errorf("%s: %+v, want %q", command, r, want)
		}
	}
	if r := a.run("system", "factory", "--dry-run"); strings.Contains(r.stderr, "--force") {
		t.Errorf("a dry run needs no --force: %+v", r)
	}
	if r := a.run("farm", "stop", "shop", "mail", "--dry-run"); r.code != 0 || !strings.Contains(r.stdout, "Stops farm shop") || !strings.Contains(r.stdout, "Stops farm mail") || strings.Count(r.stdout, "Dry run: nothing was changed.\n") != 1 {
		t.Errorf("two farms: %+v", r)
	}
	if r := a.run("tag", "delete", "fair", "--dry-run", "--json"); r.code != 0 || !strings.HasPrefix(r.stdout, "{") {
		t.Errorf("%+v", r)
	}
}

// isQuestion reports whether a POST changes nothing.
func isQuestion(address string) bool {
	return strings.HasSuffix(address, "/explain") || strings.Contains(address, "/test") || strings.HasPrefix(address, "/rbac/ldap/actions") || strings.Contains(address, "/run") || strings.Contains(address, "rehears")
}

const onlyMail = "farms:\n  - name: mail\n    profile: http\n    vip: 192.0.2.10\n    vport: 81\n"

func savedAs(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDeletionsThatNobodyNamedNeedYes(t *testing.T) {
	a := start(t)
	a.shop()
	file := savedAs(t, "mail.yaml", onlyMail)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"apply", "-f", file}, "nothing was changed, because this deletes farm shop: 4 open connections: add --yes to confirm, or --merge to keep what the document does not name"},
		{[]string{"rollback", "1"}, "nothing was changed, because this deletes service web of farm shop: 4 open connections: add --yes to confirm"},
	} {
		if r := a.run(c.args...); r.code != command.ExitRefused || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: %+v, want %q", c.args, r, c.want)
		}
	}
	if got := a.must("farm", "list"); !strings.Contains(got, "shop") {
		t.Errorf("the farm is gone:\n%s", got)
	}
	r := a.run("apply", "-f", file, "--dry-run")
	if r.code != 0 || !strings.Contains(r.stdout, "Deletes farm shop: 4 open connections\n") || !strings.HasSuffix(r.stdout, "Dry run: nothing was changed.\n") {
		t.Errorf("dry run: %+v", r)
	}
	a.must("apply", "-f", file, "--yes")
	if got := a.must("farm", "list"); strings.Contains(got, "shop") || !strings.Contains(got, "mail") {
		t.Errorf("applied:\n%s", got)
	}
	if r := a.run("farm", "delete", "mail"); r.code != 0 {
		t.Errorf("a named object needs no --yes without a terminal: %+v", r)
	}
}

func TestDocumentsThatDeleteNothingAreAppliedAtOnce(t *testing.T) {
	a := start(t)
	a.shop()
	changed := strings.Replace(a.must("export"), "weight: 3", "weight: 4", 1)
	if r := a.feed(changed, "apply", "-f", "-"); r.code != 0 || !strings.Contains(r.stdout, "Applied as revision") {
		t.Errorf("%+v", r)
	}
}

func TestAPartIsMergedAndFilesAreJoined(t *testing.T) {
	a := start(t)
	a.shop()
	file := savedAs(t, "mail.yaml", onlyMail)
	a.must("apply", "-f", file, "--merge")
	if got := a.must("farm", "list"); !strings.Contains(got, "shop") || !strings.Contains(got, "mail") {
		t.Errorf("merged:\n%s", got)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": onlyMail, "b.yml": strings.NewReplacer("mail", "news", "81", "82").Replace(onlyMail), "c.json": `{"farms": []}`, "readme.txt": "no document", ".hidden.yaml": "no: document",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.must("check", "-f", dir)
	a.must("apply", "-f", dir, "--yes")
	if got := a.must("farm", "list"); strings.Contains(got, "shop") || !strings.Contains(got, "mail") || !strings.Contains(got, "news") {
		t.Errorf("a directory:\n%s", got)
	}
	broken := savedAs(t, "broken.yaml", strings.NewReplacer("mail", "fax", "vport: 81", "vportt: 83").Replace(onlyMail))
	for _, command := range []string{"apply", "check"} {
		r := a.run(command, "-f", dir, "-f", broken)
		if r.code == 0 || !strings.Contains(r.stderr, broken+": line 5, column 5") {
			t.Errorf("%s: %+v", command, r)
		}
	}
	if r := a.run("apply", "-f", t.TempDir()); r.code == 0 || !strings.Contains(r.stderr, "contains no file *.yaml, *.yml or *.json") {
		t.Errorf("an empty directory: %+v", r)
	}
}

// On a terminal, deletions are shown with their cost and need confirmation.
func TestOnATerminalDeletionsAreAskedAbout(t *testing.T) {
	file := savedAs(t, "mail.yaml", onlyMail)
	for _, c := range []struct {
		command, answer, asked string
		done                   bool
	}{
		{"apply -f " + file, "n", "Deletes farm shop: 4 open connections\nDelete 1 object? [y/N] ", false},
		{"apply -f " + file, "", "Delete 1 object? [y/N] ", false},
		{"apply -f " + file, "y", "Delete 1 object? [y/N] ", true},
		{"rollback 0", "no", "Delete 1 object? [y/N] ", false},
		{"rollback 0", "YES", "-  - name: shop", true},
		{"farm delete shop", "n", "Deletes farm shop: 4 open connections\nfarm delete shop: are you sure? [y/N] ", false},
		{"farm delete shop", "y", "farm delete shop: are you sure? [y/N] ", true},
		{"farm delete shop --yes", "", "", true},
		{"session flush shop web", "n", "session flush shop web: are you sure? [y/N] ", false},
	} {
		a := start(t)
		a.shop()
		t.Setenv("TERM", "dumb")
		var steps []step
		if c.asked != "" {
			steps = []step{{"[y/N] ", c.answer + "\r"}}
		}
		code := 0
		shown := talk(t, steps, func(tty *os.File) {
			code = cli.Execute(append([]string{"--data", a.data}, strings.Fields(c.command)...), tty, tty, tty)
		})
		shown = strings.ReplaceAll(shown, "\r\n", "\n")
		kept := strings.Contains(a.must("farm", "list"), "shop")
		if kept == c.done || (code == 0) != c.done || !strings.Contains(shown, c.asked) {
			t.Errorf("%s, answered %q: status %d, farm shop exists: %v\n%s", c.command, c.answer, code, kept, shown)
		}
		if !c.done && !strings.Contains(shown, "nothing was changed") {
			t.Errorf("%s: %s", c.command, shown)
		}
	}
}

// On a terminal the user must confirm a kernel farm that takes the port of ssh.
func TestOnATerminalPortsOfTheMachineAreAskedAbout(t *testing.T) {
	const create = "farm create relay profile=l4xnat vip=192.0.2.10 nattype=dnat vport="
	for _, c := range []struct {
		command, answer string
		asked, done     bool
	}{
		{create + "22", "n", true, false},
		{create + "22", "y", true, true},
		{create + "22 --yes", "", false, true},
		{create + "23", "", false, true},
	} {
		a := start(t)
		a.listeners = []apply.Listener{{Addr: netip.MustParseAddrPort("0.0.0.0:22")}}
		t.Setenv("TERM", "dumb")
		var steps []step
		if c.asked {
			steps = []step{{"[y/N] ", c.answer + "\r"}}
		}
		shown := strings.ReplaceAll(talk(t, steps, func(tty *os.File) {
			cli.Execute(append([]string{"--data", a.data}, strings.Fields(c.command)...), tty, tty, tty)
		}), "\r\n", "\n")
		const warning = "Warning: farm \"relay\": vport: another program listens on tcp port 22 of every address (ssh); on 192.0.2.10 it cannot be reached while the farm runs\n"
		if strings.Contains(shown, warning+"farm create relay") != c.asked || strings.Contains(a.must("farm", "list"), "relay") != c.done {
			t.Errorf("%s, answered %q:\n%s", c.command, c.answer, shown)
		}
	}
	a := start(t)
	a.listeners = []apply.Listener{{Addr: netip.MustParseAddrPort("0.0.0.0:22")}}
	a.must(strings.Fields(create + "22")...) // a script goes ahead, and is warned
}
