package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

func TestTablesForPeople(t *testing.T) {
	a := start(t)
	a.shop()
	a.health[1], a.health[2] = farm.StatusUp, farm.StatusDown
	for _, command := range []string{
		"farm list", "farm show shop", "service list shop", "service show shop web", "backend list shop web",
		"backend show shop web 1", "status", "stats", "stats shop", "history", "diff 3", "export", "key list",
	} {
		golden(t, strings.ReplaceAll(command, " ", "_"), a.must(strings.Fields(command)...))
	}
}

func TestJSONIsTheAnswerOfTheAPI(t *testing.T) {
	a := start(t)
	a.shop()
	for _, command := range []string{
		"farm list", "farm show shop", "service list shop", "service show shop web", "backend list shop web", "backend show shop web 0",
		"status", "stats", "stats shop", "history", "diff", "export", "key list", "key create x", "version", "farm stop shop", "rollback --yes",
	} {
		out := a.must(append(strings.Fields(command), "--json")...)
		if !json.Valid([]byte(out)) {
			t.Errorf("%s --json:\n%s", command, out)
		}
	}
	r := a.run("farm", "show", "none", "--json")
	if r.code != 1 || !json.Valid([]byte(r.stderr)) || r.stdout != "" {
		t.Errorf("a rejection as JSON: %+v", r)
	}
}

func TestAFarmThatCouldNotBeStartedShowsWhy(t *testing.T) {
	const reason = "cannot listen on 192.0.2.10:80: another program uses this address and port already"
	a := start(t)
	a.shop()
	a.must("farm", "stop", "shop")
	a.pub.Answer(func(cfg *farm.Config) (apply.Outcome, error) {
		if f := cfg.Farm("shop"); !f.Stopped {
			return apply.Outcome{FarmErrors: map[uint32]string{f.ID: reason}}, nil
		}
		return apply.Outcome{}, nil
	})
	if r := a.run("farm", "start", "shop"); r.code != 1 || !strings.Contains(r.stderr, reason) {
		t.Errorf("the start: %+v", r)
	}
	for _, command := range []string{"farm list", "farm show shop", "status"} {
		if out := a.must(strings.Fields(command)...); !strings.Contains(out, "the last start was refused: "+reason) || !strings.Contains(out, "start the farm again") {
			t.Errorf("the output of %s lacks the reason:\n%s", command, out)
		}
	}
}

func TestFarmServiceAndBackendCommandsDoWhatTheySay(t *testing.T) {
	a := start(t)
	a.shop()
	for _, c := range []struct{ command, shows, want string }{
		{"farm set shop contimeout=5 resurrectime=9 --reqtimeout 7", "farm show shop", "reqtimeout           7"},
		{"farm set shop trusted=10.0.0.0/8 --trusted ::1 trusted=192.0.2.7 maxbody=1000000", "farm show shop", "trusted              ::1, 10.0.0.0/8, 192.0.2.7"},
		{"farm set shop trusted=null ignore_100_continue=true", "farm show shop", "ignore_100_continue  ignore"},
		{"farm create twin --vip 192.0.2.10 --vport 81 --copy-from shop", "farm show twin", "contimeout           5"},
		{"farm create fast vip=192.0.2.10 vport=82 contimeout=2", "farm show fast", "contimeout           2"},
		{"farm create tls --profile https vip=192.0.2.10 vport=443", "farm show tls", "listener             https"},
		{"farm stop twin", "farm list", "twin  down"},
		{"farm start twin", "farm list", "twin  up"},
		{"farm restart twin shop", "farm list", "shop  up"},
		{"farm delete twin", "farm list", "shop"},
		{"service create shop api urlp=^/api/ routingpolicy=LEAST_CONNECTIONS", "service list shop", "^/api/"},
		{"service move shop api 0", "service list shop", "api"},
		{"service set shop web persistence=COOKIE sessionid=SID", "service show shop web", "SID"},
		{"service delete shop api", "service list shop", "web"},
		{"backend set shop web 0 weight=null --connection-limit 9", "backend show shop web 0", "connection_limit  9"},
		{"backend maintenance shop web 0", "backend list shop web", "maintenance"},
		{"backend maintenance shop web 0 --mode cut", "backend show shop web 0", "cut"},
		{"backend maintenance shop web 0 --off", "backend show shop web 0", "undefined"},
		{"backend delete shop web 0", "backend list shop web", "10.0.0.2"},
		{"backend create shop web [::ffff:10.0.0.7]:80", "backend list shop web", "10.0.0.7"},
	} {
		if strings.Contains(c.command, "ffff") {
			a.run(strings.Fields(c.command)...) // the rules may refuse the mapped form: only parsing counts
			continue
		}
		if out := a.must(strings.Fields(c.command)...); strings.TrimSpace(out) == "" {
			t.Errorf("%s has no output", c.command)
		}
		if out := a.must(strings.Fields(c.shows)...); !strings.Contains(out, c.want) {
			t.Errorf("after %q, %q does not show %q:\n%s", c.command, c.shows, c.want, out)
		}
	}
}

func TestARefusedSettingLeavesNothingCreated(t *testing.T) {
	a := start(t)
	a.shop()
	r := a.run("service", "create", "shop", "api", "urlp=(")
	if r.code != 1 || !strings.Contains(r.stderr, "urlp") {
		t.Errorf("%+v", r)
	}
	if out := a.must("service", "list", "shop"); strings.Contains(out, "api") {
		t.Errorf("the service is still there:\n%s", out)
	}
}

// An invalid farm never takes effect, and a rollback must not restore it.
func TestACreationWithSettingsIsOneChangeOrNone(t *testing.T) {
	a := start(t)
	a.shop()
	lines := func() int { return strings.Count(a.must("history"), "\n") }
	published, before := a.pub.Published(), lines()
	a.must("farm", "create", "fast", "vip=192.0.2.10", "vport=82", "contimeout=2", "--reqtimeout", "7")
	a.must("service", "create", "fast", "web", "urlp=^/api/", "served_by=X-Backend")
	if a.pub.Published() != published+2 || lines() != before+2 {
		t.Errorf("two creations were %d publications and %d revisions", a.pub.Published()-published, lines()-before)
	}
	published, before = a.pub.Published(), lines()
	for _, refused := range []string{
		"farm create tls vip=192.0.2.10 vport=443 listener=https certificates=none.pem",
		"farm create tls vip=192.0.2.10 vport=443 contimeout=9 resurrectime=8",
		"farm create l4 --profile l4xnat vip=192.0.2.10 vport=443 algorithm=leastconn nattype=dsr",
		"service create shop api sts_status=true",
	} {
		if r := a.run(strings.Fields(refused)...); r.code != 1 || r.stderr == "" {
			t.Errorf("%s: %+v", refused, r)
		}
	}
	if a.pub.Published() != published || lines() != before {
		t.Errorf("refused creations were published %d times and left %d revisions", a.pub.Published()-published, lines()-before)
	}
}

func TestExitStatusTellsRefusedFromWrongUsage(t *testing.T) {
	a := start(t)
	a.shop()
	for _, c := range []struct {
		command string
		code    int
		says    string
	}{
		{"farm show none", 1, "none"},
		{"farm show ../keys", 1, "is not a valid name"},
		{"farm set shop contimeout=abc", 1, "contimeout"},
		{"backend delete shop web 9", 1, "9"},
		{"backend show shop web 9", 1, "backend list"},
		{"rollback 99", 1, "99"},
		{"key delete 99", 1, "99"},
		{"reload", 1, "--config"},
		{"apply -f /nonexistent", 1, "/nonexistent"},
		{"farm", 2, "list"},
		{"farm lst", 2, "list"},
		{"frm", 2, "frm"},
		{"farm show", 2, "arg"},
		{"farm set shop", 2, "contimeout"},
		{"farm set shop contimout=5", 2, "contimeout"},
		{"farm set shop contimeout", 2, "NAME=VALUE"},
		{"farm set shop contimeout=5 contimeout=6", 2, "twice"},
		{"farm set shop --nonsense 5", 2, "nonsense"},
		{"backend maintenance shop web 0 --mode kill", 2, "drain"},
		{"backend maintenance shop web 0 --mode cut --off", 2, "off"},
		{"backend create shop web 10.0.0.1", 2, "ADDRESS:PORT"},
		{"backend create shop web", 2, "nothing to set: give NAME=VALUE, the names are ip, port,"},
		{"backend create shop .. 10.0.0.1:80", 1, `".." is not a valid name`},
		{"diff --color pink", 2, "never"},
		{"farm create shop vip=192.0.2.10 vport=99", 1, "sluice: FARM: a farm named shop exists already"},
		{"farm create a/b vip=192.0.2.10 vport=99", 1, "sluice: FARM must be a name of letters"},
		{"farm create new --vip 192.0.2.10 --vport 0", 1, "sluice: --vport must be a port"},
		{"farm create new vip=192.0.2.10 vport=0", 1, "sluice: vport must be a port"},
		{"farm create new --vip 192.0.2.10", 1, "sluice: vport is required"},
		{"farm create new --vip 192.0.2.10 --vport 99 --listener https --certificates none.pem", 1, `sluice: farm "new": --certificates: the certificate "none.pem"`},
		{"farm set shop --disable_http2 7", 1, "sluice: --disable-http2 "},
		{"farm copy shop a/b --vport 99", 1, "sluice: NAME must be a name"},
		{"farm rename shop a/b", 1, "sluice: NAME must be a name"},
		{"farm set shop newfarmname=a/b", 1, "sluice: newfarmname must be a name"},
		{"service create shop web", 1, "sluice: SERVICE: a service named web exists already"},
		{"service create shop a/b", 1, "sluice: SERVICE must be a name"},
		{"service move shop web 9", 1, "sluice: POSITION: 9"},
		{"rewrite create shop web ( x", 1, "sluice: PATTERN must be a valid regular expression"},
		{"check create a/b", 1, "sluice: CHECK must be a name"},
		{"check copy check_tcp a/b", 1, "sluice: NAME must be a name"},
		{"check create new --interval 0", 1, "sluice: --interval must be a number"},
		{"check create new interval=0", 1, "sluice: interval must be a number"},
		{"group create a/b", 1, `sluice: NAME: "a/b" is not allowed`},
		{"audit --limit 0", 1, `sluice: --limit: "0"`},
		{"farm set shop contimeout=5 --confirm abc", 1, `sluice: --confirm: "abc"`},
		{"explain shop", 2, "missing URL or name: give a path or URL (sluice explain shop /)"},
		{"explain none", 1, "sluice: the farm none does not exist"},
		{"apply", 2, "file"},
		{"diff ../x", 2, "revision"},
		{"stats --interval 1ms", 2, "interval"},
		{"farm list --color pink", 2, "never"},
		{"farm list --url http://x", 2, "https"},
	} {
		r := a.run(strings.Fields(c.command)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.says) || !strings.HasPrefix(r.stderr, "sluice: ") {
			t.Errorf("%s: exit %d, want %d saying %q\n%s%s", c.command, r.code, c.code, c.says, r.stdout, r.stderr)
		}
	}
}

func TestWithoutAnApplianceTheErrorSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	r := execute("", "--data", dir, "farm", "list")
	if r.code != 1 || !strings.Contains(r.stderr, "no running sluice in "+dir) || !strings.Contains(r.stderr, "sluice run") {
		t.Errorf("%+v", r)
	}
	if r := execute("", "--data", dir, "version"); r.code != 0 || !strings.Contains(r.stdout, client.Version) {
		t.Errorf("version: %+v", r)
	}
	t.Setenv("SLUICE_DATA", filepath.Join(dir, "other"))
	if r := execute("", "farm", "list"); !strings.Contains(r.stderr, filepath.Join(dir, "other")) {
		t.Errorf("SLUICE_DATA: %+v", r)
	}
}

func TestKeyCreatePrintsTheKeyAloneOnTheLastLine(t *testing.T) {
	a := start(t)
	lines := strings.Split(strings.TrimSuffix(a.must("key", "create", "for", "tests"), "\n"), "\n")
	key := lines[len(lines)-1]
	if len(key) < 32 || strings.ContainsAny(key, " \t") {
		t.Fatalf("last line %q", key)
	}
	t.Setenv("SLUICE_KEY", key)
	if r := execute("", "--url", a.address, "--cacert", a.cacert, "farm", "list"); r.code != 0 {
		t.Errorf("over the network with the key: %+v", r)
	}
	if out := a.must("key", "list"); !strings.Contains(out, "for tests") || strings.Contains(out, key) {
		t.Errorf("list:\n%s", out)
	}
}

func TestARemoteApplianceNeedsAKeyAndATrustedCertificate(t *testing.T) {
	a := start(t)
	t.Setenv("SLUICE_KEY", "")
	r := execute("", "--url", a.address, "--key", a.key, "farm", "list")
	if r.code != 1 || !strings.Contains(r.stderr, "--cacert") {
		t.Errorf("unknown certificate: %+v", r)
	}
	if r := execute("", "--url", a.address, "--key", a.key, "--insecure", "farm", "list"); r.code != 0 {
		t.Errorf("insecure: %+v", r)
	}
	if r := execute("", "--url", a.address, "--cacert", a.cacert, "farm", "list"); r.code != 1 || !strings.Contains(r.stderr, "SLUICE_KEY") {
		t.Errorf("no key: %+v", r)
	}
	t.Setenv("SLUICE_KEY", "wrongkey")
	a.must("farm", "list") // the key in the environment applies to --url only
}

const document = `farms:
- name: shop
  profile: http
  vip: 192.0.2.10
  vport: 80
`

func TestApplyShowsTheDifferenceFirst(t *testing.T) {
	a := start(t)
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	out := a.must("apply", "-f", file, "--dry-run")
	golden(t, "apply_dry_run", out)
	if out := a.must("farm", "list"); strings.Contains(out, "shop") {
		t.Fatal("a dry run changed something")
	}
	golden(t, "apply", a.must("apply", "-f", file, "--comment", "first"))
	golden(t, "apply_unchanged", a.must("apply", "-f", file))
	if r := a.feed(document+"  contimeout: 5\n", "apply", "-f", "-", "--color", "always"); r.code != 0 || !strings.Contains(r.stdout, "\x1b[32m+") {
		t.Errorf("coloured, from standard input: %+v", r)
	}
	if r := a.feed("farms:\n- name: [\n", "apply", "-f", "-"); r.code != 1 || !strings.Contains(r.stderr, "line") {
		t.Errorf("broken document: %+v", r)
	}
	exported := a.must("export")
	if r := a.feed(exported, "apply", "-f", "-"); !strings.Contains(r.stdout, "Nothing to change") {
		t.Errorf("an export applied again: %+v", r)
	}
	a.must("rollback", "1", "--yes")
	if out := a.must("export"); strings.Contains(out, "contimeout") {
		t.Errorf("after the rollback:\n%s", out)
	}
	if out := a.must("history"); !strings.Contains(out, "first") {
		t.Errorf("history:\n%s", out)
	}
}

func TestCompletionWorksInEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := execute("", "completion", shell); r.code != 0 || !strings.Contains(r.stdout, "sluice") {
			t.Errorf("no completion for %s: %+v", shell, r)
		}
	}
	if r := execute("", "--data", t.TempDir(), cobra.ShellCompRequestCmd, "farm", "show", ""); r.code != 0 || r.stdout != ":4\n" {
		t.Errorf("without an appliance: %+v", r)
	}
}

func TestEveryCommandExplainsItselfWithAnExample(t *testing.T) {
	extra := &cobra.Command{Use: "run", Short: "Run", Example: "sluice run", Run: func(*cobra.Command, []string) {}}
	root := cli.Root(extra)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s has no short text or no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if cmd, _, err := root.Find([]string{"run"}); err != nil || cmd != extra {
		t.Errorf("the added command is not found: %v", err)
	}
}

// A command that uses no appliance has no dry run.
func TestAnAddedCommandHasNoDryRun(t *testing.T) {
	extra := &cobra.Command{Use: "run", Short: "Run", Example: "sluice run", RunE: func(*cobra.Command, []string) error { return nil }}
	cli.Root(extra)
	for _, name := range []string{"dry-run", "yes"} {
		if extra.Flags().Lookup(name) != nil {
			t.Errorf("it has --%s", name)
		}
	}
}

func TestTextOfTheApplianceCannotDriveTheTerminal(t *testing.T) {
	a := start(t)
	a.shop()
	if r := a.run("backend", "set", "shop", "web", "0", "alias=a\x1b[2Jb"); r.code != 1 || strings.Contains(r.stderr, "\x1b") {
		t.Errorf("%+v", r)
	}
}
