package sysctl

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func writeJournal(t *testing.T, all ...[]held) (*os.File, *journal) {
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

func TestTornWriteLeavesThePreviousRecord(t *testing.T) {
	for _, cut := range []int64{slotHead - 1, slotHead + 5} {
		f, _ := writeJournal(t, forward("0"), forward("3"), forward("4"))
		// Number 3 is in the second slot, number 2 in the first.
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
	for _, elsewhere := range []scope{{Boot: "another"}, {Namespace: 1 << 62}} {
		f, j := writeJournal(t, forward("0"))
		if elsewhere.Boot == "" {
			elsewhere.Boot = j.scope.Boot
		} else {
			elsewhere.Namespace = j.scope.Namespace
		}
		j.scope = elsewhere
		if err := j.write(forward("0")); err != nil {
			t.Fatal(err)
		}
		if _, h, err := openJournal(f); err != nil || len(h) != 0 {
			t.Errorf("%+v: %+v, %v", elsewhere, h, err)
		}
	}
}

func TestJournalRefusesUnlistedSysctls(t *testing.T) {
	for _, h := range []held{
		{Name: "core/somaxconn", Old: "1", Set: "2"}, {Name: "ipv4/ip_forward", Old: "; reboot", Set: "1"},
		{Name: "ipv4/ip_forward", Old: "0", Set: "1", Carried: map[string]string{"../kernel/panic": "1"}},
	} {
		f, _ := writeJournal(t, []held{h})
		if _, got, err := openJournal(f); err == nil {
			t.Errorf("accepted: %+v", got)
		}
	}
}

func TestJournalSlotsAlternate(t *testing.T) {
	f, j := writeJournal(t)
	for _, old := range []string{"1", "2", "3", "4"} { // by one process each
		var h []held
		var err error
		if j, h, err = openJournal(f); err != nil || old != "1" && (len(h) != 1 || h[0].Old != string(old[0]-1)) {
			t.Fatalf("before %s: %+v, %v", old, h, err)
		}
		if err := j.write(forward(old)); err != nil {
			t.Fatal(err)
		}
	}
	fits := forward("4")
	fits[0].Set = ""
	room := slotSize - slotHead
	if b, err := json.Marshal(record{j.scope, fits}); err == nil {
		fits[0].Set = strings.Repeat("1", room-len(b))
	}
	long := slices.Clone(fits)
	long[0].Set += "1"
	if err := j.write(long); err == nil || err.Error() != fmt.Sprintf("journal of sysctls: %d bytes are more than it holds", room+1) {
		t.Errorf("one byte too many: %v", err)
	}
	if err := j.write(fits); err != nil {
		t.Errorf("as many as it holds: %v", err)
	}
	b := make([]byte, slotSize)
	if n, err := f.ReadAt(b, slotSize); n != slotSize { // number 5
		t.Fatalf("%d bytes, %v", n, err)
	}
	if number, r, ok := parseSlot(b); !ok || number != 5 || len(r.Held) != 1 || r.Held[0].Set != fits[0].Set {
		t.Errorf("read as number %d, %v", number, ok)
	}
	if _, _, err := openJournal(f); err == nil { // the value is invalid
		t.Error("a value of thousands of digits is accepted")
	}
	_ = f.Close()
	if err := j.write(forward("5")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("written to a closed file: %v", err)
	}
	if _, _, err := openJournal(f); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read from a closed file: %v", err)
	}
}

func TestInvalidSlotsAreNotRead(t *testing.T) {
	slot := func(number uint64, body string) []byte {
		b := make([]byte, slotHead)
		copy(b, slotMagic)
		binary.LittleEndian.PutUint64(b[8:], number)
		binary.LittleEndian.PutUint32(b[16:], uint32(len(body)))
		sum := slotSum(b[8:20], []byte(body))
		copy(b[20:], sum[:])
		return append(b, body...)
	}
	if number, _, ok := parseSlot(append(slot(7, "{}"), "older"...)); !ok || number != 7 {
		t.Errorf("a good one: %d, %v", number, ok)
	}
	with := func(at int, c byte) []byte { b := slot(7, "{}"); b[at] = c; return b }
	for name, b := range map[string][]byte{
		"nothing": nil, "half a head": slot(7, "")[:slotHead-1], "no JSON": slot(7, "{"), "cut": slot(7, "{}")[:slotHead+1],
		"another magic": with(7, '2'), "another number": with(8, 8), "another length": with(16, 1), "a length beyond": with(18, 1), "another sum": with(51, 0),
	} {
		if _, r, ok := parseSlot(b); ok {
			t.Errorf("%s: read as %+v", name, r)
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
				t.Errorf("a slot is accepted although byte %d differs", at)
			}
		}
	})
}

func TestScopeIsBootAndNamespace(t *testing.T) {
	_, j := writeJournal(t)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || j.scope.Boot == "" || j.scope.Boot != strings.TrimSpace(string(boot)) {
		t.Errorf("boot %q, %v; want %q", j.scope.Boot, err, boot)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err == nil && j.scope.Namespace != cookie || j.scope.Namespace == 0 {
		t.Errorf("namespace %d, want %d", j.scope.Namespace, cookie)
	}
}
