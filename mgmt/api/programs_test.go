package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
)

// plugins makes check commands start programs of these names from a folder of the test.
func plugins(t *testing.T, names ...string) (folder string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: plugins must belong to root")
	}
	folder = t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all.Use(folder)
	t.Cleanup(func() { all.Use() })
	return folder
}

// command returns the body of a check.
func command(name, text string) string {
	return fmt.Sprintf(`{"name":%q,"command":%q}`, name, text)
}

// operators lets ann change everything except program commands. She sees the farm shop,
// which is the only one.
func (a *appliance) operators() {
	a.t.Helper()
	a.shop(1)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
}

func TestOnlyWhoHasTheRightSetsACommandThatStartsAProgram(t *testing.T) {
	plugins(t, "check_own", "check_mail")
	a := newAppliance(t)
	a.operators()
	a.must(200, "POST", fg, command("mine", "check_own -H HOST --word one"))
	had := a.revision()
	a.must(201, "POST", "/system/backup", `{"name":"before"}`)
	a.must(200, "PUT", fg+"/mine", `{"command":"check_own -H HOST --word two"}`)
	document := a.must(200, "GET", "/config?format=json", "").raw
	for _, c := range [][3]string{
		{"POST", fg, command("new", "check_mail -H HOST")},
		{"POST", fg, command("flag", "check_http -H HOST --no-flag-of-ours")},
		{"POST", fg, command("other", "check_own -H HOST --word three")},
		{"PUT", fg + "/mine", `{"command":"check_own -H HOST --word three"}`},
		{"PUT", fg + "/mine?dry_run=true", `{"command":"check_own -H HOST"}`},
		{"POST", "/transactions", transaction("PUT", fg+"/mine", `{"command":"check_own -H HOST"}`)},
		{"PUT", "/config", strings.Replace(document, "--word two", "--word three", 1)},
		{"PUT", "/config?dry_run=true", strings.Replace(document, "--word two", "--word three", 1)},
		{"POST", "/history/rollback", fmt.Sprintf(`{"revision":%d}`, had)},
		{"POST", "/system/backup/before/actions", `{"action":"apply","force":"true"}`},
	} {
		if !strings.Contains(c[2], "flag") { // rejected because no such plugin exists
			a.as(c[0], c[1], c[2]).refused(t, 403, "program.set")
		} else if r := a.as(c[0], c[1], c[2]); r.status < 400 {
			t.Errorf("%s: %d %s", c[2], r.status, r.raw)
		}
	}
	if got := a.must(200, "GET", fg+"/mine", "").at("params.command"); got != "check_own -H HOST --word two" {
		t.Errorf("the command is %v", got)
	}
	// Existing commands stay, and everything except the program can be changed.
	for _, c := range [][3]string{
		{"PUT", fg + "/mine", `{"interval":3}`}, {"PUT", fg + "/mine", `{"command":"check_own -H HOST --word two","interval":4}`},
		{"POST", fg, `{"name":"twin","copy_from":"mine"}`}, {"POST", fg, command("built-in", "check_tcp -H HOST -p PORT -t 3")},
		{"PUT", fg + "/twin", `{"command":"check_tcp -H HOST -p PORT"}`},
	} {
		if r := a.as(c[0], c[1], c[2]); r.status != 200 {
			t.Errorf("%s %s %s: %d %s", c[0], c[1], c[2], r.status, r.raw)
		}
	}
	document = a.must(200, "GET", "/config?format=json", "").raw
	if r := a.as("PUT", "/config", strings.Replace(document, `"interval": 4`, `"interval": 5`, 1)); r.status != 200 {
		t.Errorf("a document with the same commands: %d %s", r.status, r.raw)
	}
	// With the permission everything is allowed.
	a.must(201, "POST", "/rbac/roles", `{"name":"starters","copy_from":"administration"}`)
	a.must(200, "PUT", "/rbac/roles/starters", `{"program":{"set":"true"}}`)
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"starters"}`)
	if r := a.as("PUT", fg+"/mine", `{"command":"check_mail -H HOST"}`); r.status != 200 {
		t.Errorf("with the right: %d %s", r.status, r.raw)
	}
}

func TestAPasswordThatIsSealedChangesNoCommand(t *testing.T) {
	plugins(t, "check_own")
	a := newAppliance(t)
	a.operators()
	a.must(200, "POST", fg, command("mine", "check_own -H HOST --password=s3cr3t"))
	if r := a.as("PUT", fg+"/mine", `{"command":"check_own -H HOST --password=s3cr3t","interval":4}`); r.status != 200 {
		t.Errorf("the same password: %d %s", r.status, r.raw)
	}
	a.as("PUT", fg+"/mine", `{"command":"check_own -H HOST --password=other"}`).refused(t, 403, "program.set")
}

func TestNobodyGivesARightToStartProgramsWithoutHavingIt(t *testing.T) {
	a := newAppliance(t)
	a.operators()
	a.must(201, "POST", "/rbac/roles", `{"name":"starters","copy_from":"administration"}`)
	a.must(200, "PUT", "/rbac/roles/starters", `{"program":{"set":"true"}}`)
	a.must(201, "POST", "/rbac/groups", `{"name":"mighty"}`)
	a.must(200, "PUT", "/rbac/groups/mighty", `{"role":"starters"}`)
	for _, c := range [][3]string{
		{"PUT", "/rbac/roles/ops", `{"program":{"set":"true"}}`},
		{"POST", "/rbac/roles", `{"name":"copy","copy_from":"starters"}`},
		{"PUT", "/rbac/groups/team", `{"role":"starters"}`},
		{"POST", "/rbac/groups/mighty/users", `{"name":"ann"}`},
	} {
		a.as(c[0], c[1], c[2]).refused(t, 403)
	}
	if r := a.must(200, "GET", "/rbac/roles/administration", ""); r.at("params.program.set") != "false" {
		t.Errorf("the predefined role may start programs: %s", r.raw)
	}
}

func TestShellsAndWhatRunsOthersAreNoPlugins(t *testing.T) {
	folder := plugins(t, "negate", "bash", "check_by_ssh", "check_log", "check_own")
	for name, target := range map[string]string{"check_link": "/bin/sh", "check_alias": filepath.Join(folder, "check_own"), "check_hidden": filepath.Join(folder, "negate")} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	a := newAppliance(t)
	a.shop(1)
	for text, why := range map[string]string{
		"negate /bin/sh -c id":          "it is no plugin",
		folder + "/bash -c id":          "it is no plugin",
		"check_by_ssh -H HOST -C id":    "on other machines",
		"check_log -F /etc/x -O /tmp/x": "reads and writes files",
		"check_link -c id":              "it is a link to",
		"check_hidden /bin/sh -c id":    "it is a link to",
	} {
		for _, c := range [][3]string{{"POST", fg, command("new", text)}, {"POST", "/transactions", transaction("POST", fg, command("new", text))}} {
			a.send(c[0], api.Base+c[1], c[2], "ZAPI_KEY", a.key).refused(t, 400, why)
		}
	}
	a.must(200, "POST", fg, command("alias", "check_alias -H HOST"))
	// An older check keeps its command, and lint reports it.
	if _, err := a.applier.Change(context.Background(), apply.Author{Name: "root"}, "of a release before", 0, func(cfg *farm.Config) error {
		cfg.Checks = append(cfg.Checks, farm.Check{Name: "old", Command: "negate /bin/false"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	a.must(200, "PUT", fg+"/old", `{"interval":7}`)
	a.must(200, "POST", web+"/fg", `{"name":"old"}`)
	document := a.must(200, "GET", "/config?format=json", "").raw
	a.must(200, "PUT", "/config", strings.Replace(document, `"interval": 7`, `"interval": 8`, 1))
	if r := a.must(200, "GET", "/lint", ""); !strings.Contains(r.raw, "check-unfit") || !strings.Contains(r.raw, "starts negate") {
		t.Errorf("no findings: %s", r.raw)
	}
	if err := probe.Check("negate /bin/false"); err != nil {
		t.Errorf("it is not run any more: %v", err)
	}
}
