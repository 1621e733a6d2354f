package store_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/store"
)

// rootless returns a content whose newest transaction lost its root page with the list of
// parts.
func rootless(content []byte) []byte {
	out := bytes.Clone(content)
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(out[at:]) }
	head := 0
	if word(4096+64) > word(64) { // the number of the transaction
		head = 4096
	}
	root := int(word(head+32)) * 4096
	clear(out[root : root+4096])
	return out
}

// If the root page of the last change is lost, a revision is found without it, and other losses
// are reported.
func TestTheLastChangeIsFoundOrReportedWithoutItsRootPage(t *testing.T) {
	content, _ := healthy(t)
	last := func(change func(*store.Store) error) []byte {
		dir := place(t, content)
		s := open(t, dir)
		if err := change(s); err != nil {
			t.Fatal(err)
		}
		s.Close()
		changed, err := os.ReadFile(filepath.Join(dir, store.FileName))
		if err != nil {
			t.Fatal(err)
		}
		return rootless(changed)
	}
	for name, c := range map[string]struct {
		spoiled  []byte
		revision int
		lost     string
	}{
		"revision": {last(func(s *store.Store) error { commit(t, s, 41); return nil }), 41, "the list entry of revision 41, which is in force"},
		"key":      {last(func(s *store.Store) error { _, _, err := s.CreateKey("more", ""); return err }), 40, "perhaps the last change of API keys"},
		"certificate": {last(func(s *store.Store) error {
			return s.ChangeCertificates([]store.Certificate{certificate("new.pem", 1)})
		}), 40, "perhaps the last change of certificates"},
		"setting": {last(func(s *store.Store) error { return s.SetSetting("language", "de") }), 40, "perhaps the last change of settings"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, place(t, c.spoiled))
			cfg, rev := s.Current()
			if rev.Number != uint64(c.revision) || !reflect.DeepEqual(cfg, numberedConfig(c.revision)) {
				t.Errorf("revision %d is in force", rev.Number)
			}
			if d := s.Repaired(); d == nil || !strings.Contains(d.String(), c.lost) {
				t.Errorf("reported %v", d)
			}
			if got := commit(t, s, 50); got.Number != uint64(c.revision)+1 {
				t.Errorf("the next revision is %d", got.Number)
			}
		})
	}
}

// appendPages appends to content the leaf pages of other that content does not have.
func appendPages(content, other []byte) []byte {
	out := bytes.Clone(content)
	for at := 2 * 4096; at+4096 <= len(other); at += 4096 {
		page := bytes.Clone(other[at : at+4096])
		if binary.LittleEndian.Uint16(page[8:]) != 2 || at+4096 <= len(content) && bytes.Equal(page, content[at:at+4096]) {
			continue
		}
		binary.LittleEndian.PutUint64(page, uint64(len(out)/4096))
		out = append(out, page...)
	}
	return out
}

// A page may hold a change that was never confirmed, beside the confirmed one of that number.
func TestLaterOfTwoEqualRevisionNumbersWins(t *testing.T) {
	content, _ := healthy(t)
	with := func(n int) []byte {
		dir := place(t, content)
		s := open(t, dir)
		if rev := commit(t, s, n); rev.Number != 41 {
			t.Fatalf("it is revision %d, want 41", rev.Number)
		}
		s.Close()
		changed, err := os.ReadFile(filepath.Join(dir, store.FileName))
		if err != nil {
			t.Fatal(err)
		}
		return rootless(changed)
	}
	earlier, later := with(41), with(42)
	for name, spoiled := range map[string][]byte{"earlier first": appendPages(earlier, later), "later first": appendPages(later, earlier)} {
		if cfg, rev := open(t, place(t, spoiled)).Current(); rev.Number != 41 || !reflect.DeepEqual(cfg, numberedConfig(42)) {
			t.Errorf("%s: the change of %v is in force", name, rev.Time)
		}
	}
}
