package backup_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

func TestAFactoryResetKeepsRootReachable(t *testing.T) {
	h := newHouse(t)
	h.fill()
	mine, _, err := h.store.CreateKey("root", "")
	h.must(err)
	_, err = h.Create(root, "a", "")
	h.must(err)
	before := h.state()
	if _, err := h.Factory(apply.DryRun(t.Context()), root, true, true); !errors.Is(err, apply.ErrDryRun) {
		t.Error(err)
	}
	if list, _ := h.List(); !reflect.DeepEqual(h.state(), before) || len(list) != 1 {
		t.Errorf("only tried: %+v", list)
	}
	r, err := h.Factory(t.Context(), root, false, false)
	h.must(err)
	h.open()
	after := h.state()
	if after.config != "farms: []\n" || r.Revision.Number != before.revision+1 || len(after.names) != 0 || len(after.contents.Authorities) != 0 || len(after.contents.Settings) != 1 || len(after.contents.Documents) != 1 || after.hooks != before.hooks {
		t.Errorf("after it: %+v", after)
	}
	if user, known := h.users.FindKey(strings.Repeat("k", 40)); !known || user != rbac.Root || len(h.users.Users()) != 0 {
		t.Errorf("root's key is %v, users %v", known, h.users.Users())
	}
	if _, found := h.store.FindKey(mine); !found || len(h.store.Keys()) != 1 {
		t.Errorf("keys %v", h.store.Keys())
	}
	if history, err := h.store.History(100, 0); err != nil || len(history) != 1 || strings.Contains(history[0].Comment, "shop") {
		t.Errorf("history %v: %v", history, err)
	}
	if list, _ := h.List(); len(list) != 2 {
		t.Errorf("backups %+v", list)
	}
	_, err = h.Apply(t.Context(), root, backup.Request{Name: backup.Before, Root: true})
	h.must(err)
	if got := h.state().config; got != before.config {
		t.Errorf("after the rollback:\n%s", got)
	}
	_, err = h.Factory(t.Context(), root, true, false)
	h.must(err)
	if list, _ := h.List(); len(list) != 0 {
		t.Errorf("backups %+v", list)
	}
}

func TestBackupsAreListedBoundedAndDeleted(t *testing.T) {
	h := newHouse(t)
	if list, err := h.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	for _, name := range []string{"", "0", "../x", "-rf", "$(id)", "`id`", "a\nb", "a b", "a.b", "ä", strings.Repeat("x", 65), backup.Before} {
		_, err := h.Create(root, name, "")
		h.wants(err, "name")
		_, err = h.Upload(root, name, strings.NewReader(""), 0)
		h.wants(err, "name")
		h.wants(h.Delete(root, name), "does not exist")
		if _, err := h.Get(name); !errors.Is(err, backup.ErrNone) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, text := range []string{"short", strings.Repeat("x", 513)} {
		_, err := h.Create(root, "a", text)
		h.wants(err, "passphrase: 12 to 512")
	}
	if entries, _ := os.ReadDir(h.dir + "/backup"); len(entries) != 0 {
		t.Errorf("there are %v", entries)
	}
	for i := range backup.MaxBackups {
		_, err := h.Create(root, fmt.Sprint("b", i), "")
		h.must(err)
	}
	_, err := h.Create(root, "one-more", "")
	h.wants(err, "32 backups are kept")
	_, err = h.Create(root, "b0", "")
	h.wants(err, "exists")
	if info, err := os.Stat(h.dir + "/backup/b0.tar.gz"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	_, err = h.Apply(t.Context(), root, backup.Request{Name: "b0", Root: true}) // Before always has room
	h.must(err)
	h.must(h.Delete(root, "b0"))
	h.wants(h.Delete(root, "b0"), "does not exist")
	_, err = h.Create(root, "one-more", "")
	h.must(err)
	h.must(os.WriteFile(h.dir+"/backup/broken.tar.gz", []byte("nothing"), 0o600))
	h.must(os.Symlink("/etc/passwd", h.dir+"/backup/link.tar.gz"))
	h.must(os.WriteFile(h.dir+"/backup/.bX.tar.gz.123", nil, 0o600))
	list, err := h.List()
	at := slices.IndexFunc(list, func(v backup.View) bool { return v.Name == "broken" })
	if err != nil || len(list) != 34 || at < 0 || !strings.Contains(list[at].Problem, "damaged") {
		t.Errorf("%v: %d", err, len(list))
	}
	if _, _, err := h.Open("link"); err == nil {
		t.Error("a link is followed")
	}
	h.open()
	if _, err := os.Stat(h.dir + "/backup/.bX.tar.gz.123"); err == nil {
		t.Error("half an upload stays")
	}
}
