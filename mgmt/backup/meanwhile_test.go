package backup_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Until the restart, the process holds the users and settings from before. It must not write them
// over the restored ones.
func TestWritesBeforeTheRestartKeepRestoredData(t *testing.T) {
	for name, restore := range map[string]func(h *house) error{
		"a backup":        func(h *house) error { _, err := h.Apply(t.Context(), root, all); return err },
		"a factory reset": func(h *house) error { _, err := h.Factory(t.Context(), root, false, false); return err },
	} {
		h := newHouse(t)
		h.fill()
		_, err := h.Create(root, "a", "")
		h.must(err)
		h.must(h.users.RemoveUser("anna"))
		h.must(restore(h))
		restored := h.state()
		for what, err := range map[string]error{
			"a user":      h.users.AddUser("eve", rbac.Local, "correct horse 1"),
			"a setting":   h.store.SetSetting("acme.settings", "old"),
			"a document":  h.store.WriteDocument("mail", "old"),
			"a deletion":  h.store.DeleteDocument("rbac"),
			"a new value": h.store.WriteDocument("new", "old"),
		} {
			if !errors.Is(err, store.ErrRestored) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		h.must(h.store.WriteDocument("events.engine", 1)) // concerns the running process
		h.must(h.farmless())
		h.open()
		got := h.state()
		for _, document := range []string{"rbac", "mail", "new"} {
			if got.document(document) != restored.document(document) {
				t.Errorf("%s: %s is %s", name, document, got.document(document))
			}
		}
		if got.setting("acme.settings") != restored.setting("acme.settings") {
			t.Errorf("%s: the settings are %+v", name, got.contents.Settings)
		}
		if _, err := h.users.User("eve"); err == nil {
			t.Errorf("%s: eve exists", name)
		}
		h.must(h.users.AddUser("eve", rbac.Local, "correct horse 1"))
	}
}

// busyStore is a store in which others replace the keys whenever somebody has read it.
type busyStore struct {
	*store.Store
	replace func()
}

func (b busyStore) Whole() (*farm.Config, store.Revision, store.Contents, error) {
	defer b.replace()
	return b.Store.Whole()
}

func TestNonRootRestoreKeepsConcurrentWrites(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, err := h.Create(root, "a", "")
	h.must(err)
	replaced := 0
	var id uint64
	h.options.Store = busyStore{h.store, func() {
		replaced++
		for _, key := range h.store.Keys() {
			h.must(h.store.DeleteKey(key.ID))
		}
		_, key, err := h.store.CreateKey(rbac.Root, "")
		h.must(err)
		id = key.ID
		h.must(h.store.SetSetting("acme.settings", strings.Repeat("x", replaced)))
		h.must(h.store.WriteDocument("mail", replaced))
	}}
	_, err = backup.New(h.options).Apply(t.Context(), root, backup.Request{Name: "a"})
	h.must(err)
	if keys := h.store.Keys(); replaced == 0 || len(keys) != 1 || keys[0].ID != id {
		t.Errorf("the keys are %+v, want %d", keys, id)
	}
	got := h.state()
	if len(got.setting("acme.settings")) != replaced || got.document("mail") != string(rune('0'+replaced)) {
		t.Errorf("after %d writes: %+v", replaced, got.contents)
	}
	h.must(h.store.SetSetting("acme.settings", "later")) // nothing in memory is outdated
}

// An archive contains the keys of its node. They are trusted only if it is restored.
func TestOnlyARestoredArchiveIsTrustedWithItsNodeKey(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	h.fill()
	_, err := h.Create(root, "a", passphrase)
	h.must(err)
	keys, err := h.certs.NodeKeys()
	h.must(err)
	b := h.bytes("a")
	_, err = other.Upload(root, "a", strings.NewReader(string(b)), int64(len(b)))
	other.must(err)
	trusted := func(what string, want bool) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(other.dir, "node-*.key"))
		known := other.certs.KnowsNodeKey(certs.NodeKeyID(keys[0]))
		if err != nil || known != want || (len(files) == 1) != want {
			t.Errorf("%s: the key is known: %v, files %v, %v", what, known, files, err)
		}
	}
	q := all
	q.Passphrase, q.Dry = passphrase, true
	if _, err := other.Apply(apply.DryRun(t.Context()), root, q); !errors.Is(err, apply.ErrDryRun) {
		t.Errorf("%v", err)
	}
	trusted("a dry run", false)
	q.Dry = false
	refuse := func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, &apply.Refused{Reason: "no"} }
	other.pub.Answer(refuse)
	if _, err := other.Apply(t.Context(), root, q); err == nil {
		t.Error("restored")
	}
	trusted("a refusal by the engine", false)
	other.pub.Answer(nil)
	o := other.options
	o.Store = fullStore{other.store}
	if _, err := backup.New(o).Apply(t.Context(), root, q); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	trusted("a refusal by the disk", false)
	other.version = "2.0"
	other.open()
	_, err = other.Apply(t.Context(), root, q)
	other.wants(err, "release")
	trusted("another release", false)
	q.Force = true
	_, err = other.Apply(t.Context(), root, q)
	other.must(err)
	trusted("a restoration", true)
}

// fullStore is a store on a full disk.
type fullStore struct{ *store.Store }

func (fullStore) Restore(*farm.Config, store.Meta, store.Replacement) (store.Revision, error) {
	return store.Revision{}, errFull
}

// After a reset the process must restart, even if something was left.
func TestIncompleteFactoryResetIsReported(t *testing.T) {
	h := newHouse(t)
	h.fill()
	o := h.options
	o.Places = stuck{}
	_, err := backup.New(o).Factory(t.Context(), root, false, false)
	if partly := new(backup.Incomplete); !errors.As(err, &partly) || !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	if cfg, _ := h.applier.Current(); len(cfg.Farms) != 0 {
		t.Error("nothing was reset")
	}
}

// stuck is a database that cannot be removed.
type stuck struct{ sized }

func (stuck) Remove() error { return errFull }
