package apply_test

import (
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/probe/all"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func init() { all.Use() }

// check adds or changes a check.
func check(name, command string) func(*farm.Config) error {
	return func(c *farm.Config) error {
		if at := farm.CheckAt(c.Checks, name); at >= 0 {
			c.Checks[at].Command = command
			return nil
		}
		c.Checks = append(c.Checks, farm.Check{Name: name, Command: command})
		return nil
	}
}

// salted is a vault whose seals differ each time, like seals by the node key.
type salted struct {
	vault
	times *atomic.Int32
}

func newSalted(word string) salted { return salted{vault{word}, &atomic.Int32{}} }

func (s salted) SealSecret(purpose string, plain []byte) ([]byte, error) {
	sealed, err := s.vault.SealSecret(purpose, plain)
	return append([]byte{byte(s.times.Add(1))}, sealed...), err
}

func (s salted) OpenSecret(purpose string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, errors.New("nothing is sealed")
	}
	return s.vault.OpenSecret(purpose, sealed[1:])
}

var token = regexp.MustCompile(`sealed-[A-Za-z0-9_-]+`)

func TestPasswordsOfCommandsAreKeptSealed(t *testing.T) {
	v := newSalted("here")
	h := newHouse(t, apply.WithSecrets(v))
	r := h.must(check("db", "check_mysql -H HOST -u mon -p s3cret"))
	kept := r.Config.Checks[0].Command
	if token.ReplaceAllString(kept, "TOKEN") != "check_mysql -H HOST -u mon -p TOKEN" || strings.Contains(r.Diff, "s3cret") || !strings.Contains(r.Diff, kept) {
		t.Errorf("kept %s, difference\n%s", kept, r.Diff)
	}
	// Sending the stored form or the password itself again is no change.
	for _, again := range []string{kept, "check_mysql -H HOST -u mon -p s3cret"} {
		if r := h.must(check("db", again)); !r.Unchanged {
			t.Errorf("%s again is a change:\n%s", again, r.Diff)
		}
		if !apply.SameCommand(v, again, kept) {
			t.Errorf("%s is not %s", again, kept)
		}
	}
	exported, _ := document.Encode(r.Config)
	cfg, err := document.Load(exported, validate.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.Replace(t.Context(), root, "", 0, cfg); err != nil || !again.Unchanged {
		t.Errorf("apply of an export: %v\n%s", err, again.Diff)
	}
	// Another password alone is a visible change; another option keeps the token.
	r = h.must(check("db", "check_mysql -H HOST -u mon -p other"))
	if now := r.Config.Checks[0].Command; r.Unchanged || now == kept || !strings.Contains(r.Diff, "-    command: \""+kept) || !strings.Contains(r.Diff, "+    command: \""+now) || strings.Contains(r.Diff, "other") || apply.SameCommand(v, kept, now) {
		t.Errorf("another password is %s, difference\n%s", now, r.Diff)
	}
	now := r.Config.Checks[0].Command
	if r = h.must(check("db", "check_mysql -H HOST -u mon -d x -p other")); r.Config.Checks[0].Command != strings.Replace(now, "-p", "-d x -p", 1) {
		t.Errorf("with another option it is %s, was %s", r.Config.Checks[0].Command, now)
	}
	// A copy has the token, too, and a rollback restores the token of its revision.
	if r = h.must(check("copy", now)); r.Config.Checks[1].Command != now {
		t.Errorf("the copy is %s, want %s", r.Config.Checks[1].Command, now)
	}
	if r, err := h.Rollback(t.Context(), root, "", 0, 1); err != nil || r.Config.Checks[0].Command != kept {
		t.Errorf("rollback: %v", err)
	}
	if _, err := apply.ParseCommand(v, kept); err != nil {
		t.Errorf("it is not run: %v", err)
	}
	if _, err := apply.ParseCommand(newSalted("there"), kept); err == nil || !strings.Contains(err.Error(), "sealed by another appliance") {
		t.Errorf("elsewhere: %v", err)
	}
}

func TestCommandsWithUnsealablePasswordsAreRefused(t *testing.T) {
	foreign := string(farm.NewSealedSecret("c2VhbGVk"))
	h := newHouse(t, apply.WithSecrets(newSalted("here")))
	ours := token.FindString(h.must(check("db", "check_mysql -H HOST -p s3cret")).Config.Checks[0].Command)
	for name, c := range map[string]struct {
		options       []apply.Option
		command, want string
	}{
		"sealed elsewhere":     {[]apply.Option{apply.WithSecrets(newSalted("there"))}, "check_mysql -p " + ours, "check \"db\": command has a password that was sealed by another appliance, or for another program than check_mysql, and cannot be read here: write the password itself"},
		"for another program":  {[]apply.Option{apply.WithSecrets(newSalted("here"))}, "check_http -a ann:" + ours, "for another program than check_http"},
		"no seal at all":       {[]apply.Option{apply.WithSecrets(newSalted("here"))}, "check_mysql -p " + foreign, "cannot be read here"},
		"nothing to seal with": {nil, "check_mysql -p s3cret", "command has a password that cannot be kept"},
		"no key":               {[]apply.Option{apply.WithSecrets(vault{})}, "check_mysql -p s3cret", "command has a password that cannot be sealed: no key"},
		"too long":             {[]apply.Option{apply.WithSecrets(newSalted("here"))}, "check_mysql -p " + strings.Repeat("s3cret", 600), "bytes long with its passwords sealed, 4096 at most"},
	} {
		h := newHouse(t, c.options...)
		_, err := h.Change(t.Context(), root, "", 0, check("db", c.command))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A password that was sealed with a lost key does not block other changes.
	later := apply.New(h.store, h.pub, apply.WithSecrets(newSalted("there")), apply.WithNames(&h.names), apply.WithRules(validate.Rules{}))
	if _, err := later.Change(t.Context(), root, "", 0, check("other", "check_tcp -H HOST -p PORT")); err != nil {
		t.Error(err)
	}
}

// Older releases stored commands without sealing.
func TestPasswordsOfAnEarlierReleaseAreSealedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	cfg := &farm.Config{}
	commit := func(edit func(*farm.Config) error) {
		t.Helper()
		cfg = cfg.Clone()
		if err := edit(cfg); err != nil {
			t.Fatal(err)
		}
		if err := st.GiveIDs(cfg); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Commit(cfg.Clone(), store.Meta{Author: "root"}); err != nil {
			t.Fatal(err)
		}
	}
	commit(check("db", "check_mysql -H HOST -p s3cret"))                                          // 1
	commit(check("web", "check_tcp -H HOST -p PORT"))                                             // 2: another check
	commit(func(c *farm.Config) error { c.Checks[0].Interval = 3; return nil })                   // 3
	commit(check("db", "check_mysql -H HOST -p 's3cret two'"))                                    // 4: only the password
	commit(func(c *farm.Config) error { c.System.NTP.Server = "ntp.example"; return nil })        // 5: checks are context
	commit(func(c *farm.Config) error { c.Farms = append(c.Farms, shop("a", 8080)); return nil }) // 6
	commit(check("db", "check_mysql -H HOST -d x -p 's3cret two'"))                               // 7: beside it
	before, _ := st.Current()
	log := &logtest.Log{}
	v := newSalted("here")
	names := &newHouse(t).names
	start := func() *apply.Applier {
		return apply.New(st, nil, apply.WithSecrets(v), apply.WithNames(names), apply.WithLog(slog.New(slog.NewTextHandler(log, nil))), apply.WithRules(validate.Rules{}))
	}
	a := start()
	now, rev := a.Current()
	if rev.Number != 7 || len(now.Farms) != 1 || now.Farms[0].Name != before.Farms[0].Name || !apply.SameCommand(v, now.Checks[0].Command, "check_mysql -H HOST -d x -p 's3cret two'") {
		t.Errorf("revision %d: %+v", rev.Number, now.Checks)
	}
	list, err := st.History(100, 0)
	if err != nil || len(list) != 7 {
		t.Fatal(len(list), err)
	}
	for i := range list {
		n := list[i].Number
		cfg, full, err := st.Get(n)
		if err != nil {
			t.Fatal(err)
		}
		if all := text(t, cfg) + full.Diff + list[i].Diff; strings.Contains(all, "s3cret") || !strings.Contains(text(t, cfg), "sealed-") {
			t.Errorf("revision %d:\n%s", n, all)
		}
		if again, err := st.Diff(n-1, n); err != nil || again != full.Diff || again == "" {
			t.Errorf("the difference of revision %d is\n%s, kept is\n%s (%v)", n, again, full.Diff, err)
		}
	}
	first, _, _ := st.Get(1)
	third, _, _ := st.Get(3)
	sixth, _, _ := st.Get(6)
	if token.FindString(sixth.Checks[0].Command) != token.FindString(now.Checks[0].Command) {
		t.Error("the token changes where the password does not")
	}
	if first.Checks[0].Command != third.Checks[0].Command || third.Checks[0].Command == now.Checks[0].Command {
		t.Error("tokens changed without the passwords, or the reverse")
	}
	if !strings.Contains(log.String(), "backups that were made before have them as they are") || strings.Contains(log.String(), "s3cret") {
		t.Error(log.String())
	}
	said := log.String()
	if again, _ := start().Current(); log.String() != said || again.Checks[0].Command != now.Checks[0].Command {
		t.Error("it is done at every start")
	}
	st.Close()
	if st, err = store.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if kept, rev := st.Current(); rev.Number != 7 || kept.Checks[0].Command != now.Checks[0].Command {
		t.Errorf("after a restart: %+v", kept.Checks)
	}
}
