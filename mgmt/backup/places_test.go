package backup_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/geoip/geoiptest"
)

// upload installs a GeoIP database of that kind.
func (h *house) upload(kind string) {
	h.t.Helper()
	_, err := h.places.Upload("ann", bytes.NewReader(geoiptest.Database(h.t, kind, geoiptest.Place{Net: "192.0.2.0/24", Country: "DE"})), now)
	h.must(err)
}

// kind returns the kind of the installed database, also after a restart; "" for none.
func (h *house) kind() string {
	h.t.Helper()
	was, _ := h.places.Info()
	h.open()
	info, err := h.places.Info()
	if err != nil && !errors.Is(err, geoip.ErrNone) || was != info {
		h.t.Fatalf("after a restart there is %+v, before %+v: %v", info, was, err)
	}
	return info.Kind
}

func TestTheGeoIPDatabaseIsInBackups(t *testing.T) {
	h := newHouse(t)
	_, err := h.Create(root, "none", "")
	h.must(err)
	h.upload("One")
	for name, phrase := range map[string]string{"open": "", "sealed": passphrase} {
		_, err = h.Create(root, name, phrase)
		h.must(err)
	}
	h.upload("Two")
	for _, r := range []backup.Request{{Name: "open"}, {Name: "sealed", Passphrase: passphrase, Root: true}} {
		h.upload("Two")
		r, err := h.Apply(t.Context(), root, r)
		h.must(err)
		if got := h.kind(); got != "One" || strings.Contains(strings.Join(r.Left, " "), "GeoIP") {
			t.Errorf("restored is %q, left %q", got, r.Left)
		}
	}
	if info, err := h.places.Info(); err != nil || info.By != "ann" || !info.Uploaded.Equal(now) {
		t.Errorf("restored is %+v, %v", info, err)
	}
	_, err = h.Apply(t.Context(), root, backup.Request{Name: "none"})
	h.must(err)
	if got := h.kind(); got != "One" {
		t.Errorf("a backup without one leaves %q, want %q", got, "One")
	}
	h.must(h.places.Remove())
	_, err = h.Apply(t.Context(), root, backup.Request{Name: "open"})
	h.must(err)
	if got := h.kind(); got != "One" {
		t.Errorf("where there is none, restored is %q, want %q", got, "One")
	}
}

func TestAFactoryResetRemovesTheGeoIPDatabase(t *testing.T) {
	h := newHouse(t)
	h.upload("One")
	_, err := h.Factory(t.Context(), root, false, false)
	h.must(err)
	if got := h.kind(); got != "" {
		t.Errorf("%q is still there", got)
	}
	if _, err := os.Stat(filepath.Join(h.dir, geoip.FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its file: %v", err)
	}
	_, err = h.Factory(t.Context(), root, false, false) // without a database
	h.must(err)
	h.upload("Two")
	_, err = h.Factory(t.Context(), root, false, false)
	h.must(err)
	_, err = h.Apply(t.Context(), root, backup.Request{Name: backup.Before})
	h.must(err)
	if got := h.kind(); got != "Two" {
		t.Errorf("after the rollback: got %q, want %q", got, "Two")
	}
}

// sized is a database of that size in bytes, which cannot be restored.
type sized int

var errFull = errors.New("the disk is full")

func (s sized) Saved() ([]byte, error) { return bytes.Repeat([]byte("x"), int(s)), nil }
func (sized) Restore([]byte) error     { return errFull }
func (sized) Remove() error            { return nil }

func TestUnrestoredDatabaseIsReported(t *testing.T) {
	h := newHouse(t)
	h.upload("One")
	_, err := h.Create(root, "a", "")
	h.must(err)
	o := h.options
	o.Places = sized(0)
	r, err := backup.New(o).Apply(t.Context(), root, all)
	if err != nil || strings.Join(r.Left, " ") != "The GeoIP database stays as it is: the disk is full." {
		t.Errorf("left %q, %v", r.Left, err)
	}
}
