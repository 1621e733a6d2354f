package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/hook"
)

const passphrase = "correct horse battery"

var all = backup.Request{Name: "a", Root: true, Local: true}

func TestRestoreReturnsTheSavedState(t *testing.T) {
	h := newHouse(t)
	key := h.fill()
	before := h.state()
	v, err := h.Create(root, "a", "")
	h.must(err)
	if v.Name != "a" || v.Manifest.Version != "1.0" || !v.Date.Equal(now) || v.Manifest.Encrypted || v.Size == 0 || v.Problem != "" || len(v.Manifest.Members) != 4 {
		t.Errorf("made %+v", v)
	}
	// Everything changes.
	_, _, err = h.certs.Upload(t.Context(), root, "other", []byte(certstest.NewAuthority(t, "x", now).Issue("other.example").FullPEM()), certs.Create)
	h.must(err)
	h.must(h.farm("second", 8444))
	h.must(h.store.SetSetting("acme.settings", "changed"))
	h.must(h.store.SetSetting("api_names", "two.example"))
	h.must(h.store.WriteDocument("mail", 1))
	h.must(h.store.WriteDocument("new", 1))
	h.must(h.users.RemoveUser("anna"))
	h.must(h.store.DeleteKey(1))
	program := filepath.Join(h.dir, hook.Folder, "on-any")
	h.must(os.WriteFile(program, []byte("changed"), 0o600))
	h.must(os.Remove(filepath.Join(h.dir, hook.Plugins, "check_own")))
	r, err := h.Apply(t.Context(), root, all)
	h.must(err)
	if r.Before != backup.Before || len(r.Left) != 0 || r.Revision.Number != before.revision+2 || r.Revision.Comment != "restore the backup a" || !strings.Contains(r.Diff, "-  - name: second") {
		t.Errorf("restored: %+v", r)
	}
	h.open()
	after := h.state()
	if after.config != before.config || after.inForce != before.config || after.hooks != before.hooks || !reflect.DeepEqual(after.names, before.names) {
		t.Errorf("after it:\n%+v\nwant\n%+v", after, before)
	}
	if after.setting("api_names") != "two.example" || after.setting("acme.settings") != "kept" || after.document("mail") != before.document("mail") || after.document("new") != "" || after.document("rbac") != before.document("rbac") {
		t.Errorf("after it: %+v", after.contents)
	}
	if _, found := h.store.FindKey(key); !found {
		t.Error("the key is gone")
	}
	if info, err := os.Stat(program); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the program: %v, %v", info.Mode(), err)
	}
	// The previous state can be restored in the same way.
	_, err = h.Apply(t.Context(), root, backup.Request{Name: backup.Before, Root: true})
	h.must(err)
	h.open()
	if again := h.state(); !strings.Contains(again.config, "name: second") || again.document("new") != "1" || len(again.names) != 2 {
		t.Errorf("after the rollback: %+v", again)
	}
}

func TestAnEncryptedBackupIsRestoredOnAnotherNode(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	h.fill()
	sealed, err := h.certs.SealSecret("mail", []byte("word"))
	h.must(err)
	h.must(h.store.WriteDocument("secret", sealed))
	v, err := h.Create(root, "a", passphrase)
	h.must(err)
	if !v.Manifest.Encrypted || len(v.Manifest.Members) != 1 {
		t.Errorf("made %+v", v.Manifest)
	}
	b := h.bytes("a")
	keys, err := h.certs.NodeKeys()
	h.must(err)
	for _, secret := range [][]byte{keys[0], []byte("shop"), []byte("anna"), []byte("mail.example")} {
		if bytes.Contains(b, secret) {
			t.Errorf("it shows %q", secret)
		}
	}
	_, err = other.Upload(root, "a", bytes.NewReader(b), int64(len(b)))
	other.must(err)
	other.must(other.farmless())
	before := other.state()
	for _, wrong := range []string{"", "correct horse batterz"} {
		q := all
		q.Passphrase = wrong
		_, err = other.Apply(t.Context(), root, q)
		other.wants(err, "passphrase")
	}
	q := all
	q.Passphrase = passphrase
	q.Dry = true
	if _, err := other.Apply(apply.DryRun(t.Context()), root, q); !errors.Is(err, apply.ErrDryRun) {
		t.Errorf("only tried: %v", err)
	}
	if !reflect.DeepEqual(other.state(), before) {
		t.Error("something changed")
	}
	left, err := filepath.Glob(filepath.Join(other.dir, "node-*.key"))
	if list, _ := other.List(); err != nil || len(left) != 0 || len(list) != 1 {
		t.Errorf("only tried, and there are %v and %d backups", left, len(list))
	}
	q.Dry = false
	_, err = other.Apply(t.Context(), root, q)
	other.must(err)
	other.open()
	if got, want := other.state(), h.state(); got.config != want.config || got.hooks != want.hooks || !reflect.DeepEqual(got.names, want.names) {
		t.Errorf("restored:\n%+v\nwant\n%+v", got, want)
	}
	cfg, _ := other.applier.Current()
	if g, err := other.users.Group("shops"); err != nil || !slices.Equal(g.Farms, []uint32{cfg.Farm("shop").ID}) || g.Farms[0] == 1 {
		t.Errorf("the group has %v: %v", g.Farms, err)
	}
	if plain, err := other.certs.OpenSecret("mail", sealed); err != nil || string(plain) != "word" {
		t.Errorf("a secret: %q, %v", plain, err)
	}
	if got := other.state().setting("api_names"); got != "" {
		t.Errorf("it has the other appliance's names: got %q, want \"\"", got)
	}
}

func TestABackupOfAnotherNodeNeedsItsKey(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	h.fill()
	_, err := h.Create(root, "a", "")
	h.must(err)
	b := h.bytes("a")
	_, err = other.Upload(root, "a", bytes.NewReader(b), -1)
	other.must(err)
	before := other.state()
	_, err = other.Apply(t.Context(), root, all)
	other.wants(err, "sealed with that node's key: make one with a passphrase there")
	if !reflect.DeepEqual(other.state(), before) {
		t.Error("something changed")
	}
	keys, err := h.certs.NodeKeys()
	h.must(err)
	other.must(os.WriteFile(filepath.Join(other.dir, "node-"+certs.NodeKeyID(keys[0])+".key"), keys[0], 0o600))
	_, err = other.Apply(t.Context(), root, all)
	other.must(err)
}

func TestABackupOfAnotherReleaseNeedsForce(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, err := h.Create(root, "a", "")
	h.must(err)
	h.version = "2.0"
	h.open()
	before := h.state()
	_, err = h.Apply(t.Context(), root, all)
	h.wants(err, "made by release 1.0, this is 2.0: restore it with force")
	if !reflect.DeepEqual(h.state(), before) {
		t.Error("something changed")
	}
	q := all
	q.Force = true
	_, err = h.Apply(t.Context(), root, q)
	h.must(err)
}

func TestOnlyRootRestoresUsersAndPrograms(t *testing.T) {
	h := newHouse(t)
	key := h.fill()
	_, err := h.Create(root, "a", "")
	h.must(err)
	h.must(h.users.RemoveUser("anna"))
	h.must(h.store.DeleteKey(1))
	h.must(h.store.WriteDocument("mail", 1))
	program := filepath.Join(h.dir, hook.Folder, "on-any")
	h.must(os.WriteFile(program, []byte("mine"), 0o700))
	before := h.state()
	r, err := h.Apply(t.Context(), root, backup.Request{Name: "a"})
	h.must(err)
	after := h.state()
	if after.document("rbac") != before.document("rbac") || len(after.contents.Keys) != 0 || after.hooks != before.hooks || after.document("mail") != "1" || after.setting("acme.settings") != before.setting("acme.settings") {
		t.Errorf("restored: %+v", after)
	}
	if _, found := h.store.FindKey(key); found || len(r.Left) != 2 {
		t.Errorf("left %q", r.Left)
	}
}

// A restoration interrupted between its step and its programs is completed at the next
// start.
func TestProgramsAreRestoredAfterAnInterruption(t *testing.T) {
	h := newHouse(t)
	h.fill()
	program := filepath.Join(h.dir, hook.Folder, "on-any")
	h.must(h.store.WriteDocument("backup.pending-hooks", []backup.Hook{{Name: "on-any", Content: []byte("noted")}, {Name: "../x", Content: []byte("no")}, {Folder: "..", Name: "x", Content: []byte("no")}}))
	h.open()
	if b, _ := os.ReadFile(program); string(b) != "noted" {
		t.Errorf("it is %q", b)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "x")); err == nil || len(h.log.Lines("was not restored")) != 2 {
		t.Errorf("a path was accepted: %s", h.log)
	}
	h.must(os.WriteFile(program, []byte("edited"), 0o700))
	h.open()
	if b, _ := os.ReadFile(program); string(b) != "edited" {
		t.Error("it was restored twice")
	}
	// The recorded programs are in no archive.
	h.must(h.store.WriteDocument("backup.pending-hooks", []backup.Hook{{Name: "on-any"}}))
	_, err := h.Create(root, "a", "")
	h.must(err)
	_, err = h.Apply(t.Context(), root, backup.Request{Name: "a", Root: true})
	h.must(err)
	if got := h.state().document("backup.pending-hooks"); got != "" {
		t.Errorf("noted: got %s, want \"\"", got)
	}
}

func TestRestoreRefusedByTheEngineChangesNothing(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, err := h.Create(root, "a", "")
	h.must(err)
	h.must(h.farm("second", 8444))
	before := h.state()
	h.pub.Answer(func(cfg *farm.Config) (apply.Outcome, error) {
		if len(cfg.Farms) == 1 {
			return apply.Outcome{}, &apply.Refused{Reason: "no"}
		}
		return apply.Outcome{}, nil
	})
	if _, err := h.Apply(t.Context(), root, all); err == nil {
		t.Error("restored")
	}
	if got := h.state(); !reflect.DeepEqual(got, before) {
		t.Errorf("after it:\n%+v\nwant\n%+v", got, before)
	}
	if _, err := h.Get(backup.Before); !errors.Is(err, backup.ErrNone) {
		t.Errorf("the archive of the previous state exists: %v", err)
	}
}

// The archive of the state before a restoration is the way back. Neither a refused restoration
// nor a dry run may replace it.
func TestARefusedRestorationKeepsTheWayBack(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, err := h.Create(root, "a", "")
	h.must(err)
	h.must(h.farm("second", 8444))
	_, err = h.Apply(t.Context(), root, all)
	h.must(err)
	path := h.dir + "/backup/" + backup.Before + ".tar.gz"
	kept, err := os.ReadFile(path)
	h.must(err)
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, &apply.Refused{Reason: "no"} })
	tries := map[string]func() error{
		"a backup": func() error { _, err := h.Apply(t.Context(), root, all); return err },
		"the way back": func() error {
			_, err := h.Apply(t.Context(), root, backup.Request{Name: backup.Before, Root: true})
			return err
		},
		"a factory reset": func() error { _, err := h.Factory(t.Context(), root, false, false); return err },
		"a dry run":       func() error { _, err := h.Factory(t.Context(), root, false, true); return err },
	}
	for name, try := range tries {
		if try() == nil {
			t.Errorf("%s: it was not refused", name)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, kept) {
			t.Errorf("%s: the saved state changed: %v", name, err)
		}
		if entries, _ := os.ReadDir(h.dir + "/backup"); len(entries) != 2 {
			t.Errorf("%s: left are %v", name, entries)
		}
	}
}

func TestMachineSettingsCanBeKept(t *testing.T) {
	h := newHouse(t)
	h.fill()
	set := func(server string) {
		t.Helper()
		_, err := h.applier.Change(t.Context(), root, "", 0, func(cfg *farm.Config) error { cfg.System.NTP.Server = server; return nil })
		h.must(err)
	}
	set("one.example")
	_, err := h.Create(root, "a", "")
	h.must(err)
	h.must(h.farm("second", 8444))
	set("two.example")
	q := all
	q.KeepMachine = true
	r, err := h.Apply(t.Context(), root, q)
	h.must(err)
	cfg, _ := h.applier.Current()
	if cfg.System.NTP.Server != "two.example" || cfg.Farm("second") != nil || len(r.Left) != 1 || !strings.Contains(r.Left[0], "settings of the machine") {
		t.Errorf("kept: %+v, %q", cfg.System.NTP, r.Left)
	}
	r, err = h.Apply(t.Context(), root, all)
	h.must(err)
	if cfg, _ := h.applier.Current(); cfg.System.NTP.Server != "one.example" || len(r.Left) != 0 {
		t.Errorf("restored: %+v, %q", cfg.System.NTP, r.Left)
	}
}

func TestRuntimeStateIsNotBackedUp(t *testing.T) {
	h := newHouse(t)
	h.fill()
	h.must(h.store.WriteDocument("notify.waiting", []string{"then"}))
	h.must(h.store.WriteDocument("notify.waiting.ops", []string{"then"}))
	_, err := h.Create(root, "a", "")
	h.must(err)
	h.must(h.store.WriteDocument("notify.waiting", []string{"now"}))
	h.must(h.store.WriteDocument("notify.waiting.ops", []string{"now"}))
	h.must(h.store.WriteDocument("machine.untold", []string{"now"}))
	_, err = h.Apply(t.Context(), root, all)
	h.must(err)
	if s := h.state(); s.document("notify.waiting") != `["now"]` || s.document("notify.waiting.ops") != `["now"]` || s.document("machine.untold") != `["now"]` {
		t.Errorf("restored: %q, %q", s.document("notify.waiting"), s.document("machine.untold"))
	}
	h.must(h.store.WriteDocument("notify.waiting", []string{}))
	_, err = h.Apply(t.Context(), root, backup.Request{Name: backup.Before, Root: true})
	h.must(err)
	if s := h.state(); s.document("notify.waiting") != "[]" {
		t.Errorf("mails that were sent wait again: %q", s.document("notify.waiting"))
	}
}

// A process that is killed between the rename of the archives and the commit leaves the way
// back under a hidden name. The next start returns it.
func TestAStartReturnsTheWayBackOfAnInterruptedRestoration(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, now := h.store.Current()
	for name, c := range map[string]struct {
		revision uint64
		want     string
	}{"interrupted": {now.Number, "old"}, "stored": {now.Number - 1, "new"}} {
		path := h.dir + "/backup/" + backup.Before + ".tar.gz"
		h.must(os.MkdirAll(filepath.Dir(path), 0o700))
		h.must(os.WriteFile(path, []byte("new"), 0o600))
		h.must(os.WriteFile(fmt.Sprintf("%s/backup/.%s.tar.gz.previous-%d", h.dir, backup.Before, c.revision), []byte("old"), 0o600))
		h.open()
		if got, err := os.ReadFile(path); string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if entries, _ := os.ReadDir(h.dir + "/backup"); len(entries) != 1 {
			t.Errorf("%s: left are %v", name, entries)
		}
	}
}
