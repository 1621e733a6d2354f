package sysctl

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func written(t *testing.T, all ...[]held) (*os.File, *journal) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "journal"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	j, _, err := openJournal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if err := j.write(h); err != nil {
			t.Fatal(err)
		}
	}
	return f, j
}

func forward(old string) []held { return []held{{Name: "ipv4/ip_forward", Old: old, Set: "1"}} }

func TestTornWriteLeavesTheRecordBefore(t *testing.T) {
	for _, cut := range []int64{slotHead - 1, slotHead + 5} {
		f, _ := written(t, forward("0"), forward("3"), forward("4"))
		// Number 3 lies in the second slot, number 2 in the first.
		if err := f.Truncate(slotSize + cut); err != nil {
			t.Fatal(err)
		}
		_, h, err := openJournal(f)
		if err != nil || len(h) != 1 || h[0].Old != "3" {
			t.Errorf("cut at %d: %+v, %v", cut, h, err)
		}
	}
}

func TestRecordOfAnotherBootOrNamespaceIsNotFollowed(t *testing.T) {
	for _, elsewhere := range []place{{Boot: "another"}, {Namespace: 1 << 62}} {
		f, j := written(t, forward("0"))
		if elsewhere.Boot == "" {
			elsewhere.Boot = j.place.Boot
		} else {
			elsewhere.Namespace = j.place.Namespace
		}
		j.place = elsewhere
		if err := j.write(forward("0")); err != nil {
			t.Fatal(err)
		}
		if _, h, err := openJournal(f); err != nil || len(h) != 0 {
			t.Errorf("%+v: %+v, %v", elsewhere, h, err)
		}
	}
}

func TestJournalCannotNameWhatIsNotOnTheList(t *testing.T) {
	for _, h := range []held{
		{Name: "core/somaxconn", Old: "1", Set: "2"}, {Name: "ipv4/ip_forward", Old: "; reboot", Set: "1"},
		{Name: "ipv4/ip_forward", Old: "0", Set: "1", Carried: map[string]string{"../kernel/panic": "1"}},
	} {
		f, _ := written(t, []held{h})
		if _, got, err := openJournal(f); err == nil {
			t.Errorf("taken: %+v", got)
		}
	}
}

func FuzzSlot(f *testing.F) {
	file, _ := os.CreateTemp(f.TempDir(), "")
	j := &journal{file: file}
	if err := j.write(forward("0")); err != nil {
		f.Fatal(err)
	}
	b := make([]byte, slotHead+200)
	n, _ := file.ReadAt(b, slotSize)
	f.Add(b[:n])
	f.Add([]byte(slotMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, ok := parseSlot(b); !ok {
			return
		}
		for _, at := range []int{0, 8, 16, 20, slotHead} {
			changed := bytes.Clone(b)
			changed[at] ^= 1
			if _, _, ok := parseSlot(changed); ok {
				t.Errorf("a slot is taken although byte %d is another one", at)
			}
		}
	})
}
