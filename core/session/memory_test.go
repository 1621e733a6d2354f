package session_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/shm"
)

// shared maps new memory for sessions until the test ends.
func shared(t testing.TB, f *os.File) []byte {
	t.Helper()
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m.Bytes()
}

func segment(t testing.TB) *os.File {
	t.Helper()
	f, err := shm.Shared("sessions-test", session.MemorySize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func open(t testing.TB, mem []byte) *session.Memory {
	t.Helper()
	m, err := session.OpenMemory(mem)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// contents returns the sessions of a table as text.
func contents(table *session.Table) map[string]string {
	out := map[string]string{}
	table.Range(func(s session.Session) bool {
		out[string(s.Key)] = fmt.Sprintf("%d used %d static %t", s.Backend, s.Used, s.Static)
		return true
	})
	return out
}

func same(t interface{ Fatalf(string, ...any) }, what string, got, want map[string]string) {
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("%s: %q is %q, it was %q", what, k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d sessions, there were %d", what, len(got), len(want))
	}
}

// TestSessionsOutliveTheirProcess opens the memory repeatedly, like successive processes.
// Each adds and removes sessions.
func TestSessionsOutliveTheirProcess(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		f := segment(outer)
		mapped, err := shm.MapShared(f, true)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		defer mapped.Close()
		mem := mapped.Bytes()
		left := [2]map[string]string{{}, {}}
		now := int64(0)
		for range rapid.IntRange(1, 4).Draw(t, "processes") {
			m, err := session.OpenMemory(mem)
			if err != nil {
				t.Fatal(err)
			}
			for owner := range left {
				table := session.NewIn(m, uint64(owner)+1, 100_000)
				same(t, fmt.Sprintf("owner %d", owner), contents(table), left[owner])
				for range rapid.IntRange(0, 300).Draw(t, "steps") {
					k, b := key(rapid.IntRange(0, 400).Draw(t, "key")), rapid.Uint32Range(1, 3).Draw(t, "backend")
					now++
					switch rapid.IntRange(0, 5).Draw(t, "step") {
					case 0:
						table.Delete(k)
					case 1:
						table.Get(k, now, time.Hour)
					case 2:
						table.DropBackend(b)
					default:
						table.Put(k, b, now)
					}
				}
				left[owner] = contents(table)
			}
			m.Retain()
		}
	})
}

func TestStaticSessionsAreNotAdopted(t *testing.T) {
	mem := shared(t, segment(t))
	table := session.NewIn(open(t, mem), 7, 100)
	table.Put([]byte("learned"), 1, 1)
	table.PutStatic([]byte("configured"), 2, 1)
	same(t, "taken over", contents(session.NewIn(open(t, mem), 7, 100)), map[string]string{"learned": "1 used 1 static false"})
}

// A session that was being written when its process was killed is invalid. A last use
// in the future means that the clock was set back since.
func TestOnlyValidSessionsAreAdopted(t *testing.T) {
	mem := shared(t, segment(t))
	table := session.NewIn(open(t, mem), 1, 100)
	table.Put([]byte("whole-client"), 7, 1)
	table.Put([]byte("broken-client"), 7, 1)
	table.Put([]byte("future-client"), 7, session.Now()+int64(time.Hour))
	mem[bytes.Index(mem, []byte("broken-client"))] = 'x'
	table = session.NewIn(open(t, mem), 1, 100)
	if all := contents(table); len(all) != 2 || all["whole-client"] == "" {
		t.Errorf("adopted: %v", all)
	}
	if s, ok := table.Peek([]byte("future-client"), session.Now(), time.Minute); !ok || s.Used > session.Now() {
		t.Errorf("one from the future: %+v, %t", s, ok)
	}
}

func TestUnclaimedSessionsAreKeptOnlyIfRetained(t *testing.T) {
	mem := shared(t, segment(t))
	m := open(t, mem)
	for owner := range uint64(3) {
		session.NewIn(m, owner, 100).Put([]byte("client"), uint32(owner)+1, 1)
	}
	m = open(t, mem)
	session.NewIn(m, 0, 100)
	m.Retain(1)
	for owner, want := range []int{0: 1, 1: 1, 2: 0} {
		if n := session.NewIn(open(t, mem), uint64(owner), 100).Len(); n != want {
			t.Errorf("owner %d has %d sessions, want %d", owner, n, want)
		}
	}
}

func TestOwnersDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for _, o := range []uint64{session.Owner(1), session.Owner(2), session.Owner(1, ""), session.Owner(1, "a", "b"), session.Owner(1, "ab"), session.Owner(1, "ab", "")} {
		if seen[o] {
			t.Errorf("%d twice", o)
		}
		seen[o] = true
	}
	// The numbers must not change between releases.
	if got := session.Owner(1, "a", "b"); got != 0x2b6166111ee35707 {
		t.Errorf("%#x", got)
	}
}

func TestMemoryOfDroppedTablesIsReused(t *testing.T) {
	mem := shared(t, segment(t))
	m := open(t, mem)
	fill := func(owner uint64) *session.Table {
		table := session.NewIn(m, owner, 100_000)
		for i := range 20_000 {
			table.Put(key(i), 1, 1)
		}
		return table
	}
	fill(1).Release()
	before := resident(t, mem)
	for owner := range uint64(15) {
		table := fill(owner + 2)
		table.Release()
		table.Put([]byte("late"), 3, 1) // from a caller that still holds the table
		if b, ok := table.Get([]byte("late"), 1, time.Hour); !ok || b != 3 || table.Len() != 1 {
			t.Fatalf("a released table knows backend %d, %v, of %d sessions", b, ok, table.Len())
		}
	}
	if after := resident(t, mem); after > before+before/10 {
		t.Errorf("%d blocks of memory are in use after fifteen tables, %d after the first", after, before)
	}
	session.NewIn(m, 30, 100).Put([]byte("client"), 1, 1) // in a block that belonged to another table
	next := open(t, mem)
	for owner, want := range map[uint64]int{16: 0, 30: 1} {
		if n := session.NewIn(next, owner, 100).Len(); n != want {
			t.Errorf("of table %d, %d sessions were found, want %d", owner, n, want)
		}
	}
}

// resident returns the number of blocks of mem that are not zero.
func resident(t *testing.T, mem []byte) (n int) {
	t.Helper()
	zero := make([]byte, 4096)
	for i := 0; i+4096 <= len(mem) && i < 64<<20; i += 4096 {
		if string(mem[i:i+4096]) != string(zero) {
			n++
		}
	}
	return n
}

func TestForeignMemoryIsRefused(t *testing.T) {
	mem := shared(t, segment(t))
	if _, err := session.OpenMemory(mem); err != nil {
		t.Fatal(err)
	}
	if got := *(*[2]uint64)(unsafe.Pointer(&mem[0])); got != [2]uint64{0x534c534553534e53, 1} { // constants known to other releases
		t.Errorf("it begins with %#x", got)
	}
	mem[0] = 1
	if _, err := session.OpenMemory(mem); !errors.Is(err, session.ErrMemory) {
		t.Errorf("memory that begins with 1 gives %v", err)
	}
	if _, err := session.OpenMemory(mem[:4096]); !errors.Is(err, session.ErrMemory) {
		t.Errorf("a page of memory gives %v", err)
	}
}

// TestSessionsOfAKilledProcessAreRight kills processes that write sessions
// continuously. The sessions found afterwards must be correct.
func TestSessionsOfAKilledProcessAreRight(t *testing.T) {
	if f := os.Getenv("SLUICE_SESSIONS"); f != "" {
		writeUntilKilled(t)
		return
	}
	f := segment(t)
	found := 0
	for range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSessionsOfAKilledProcessAreRight$")
		cmd.Env = append(os.Environ(), "SLUICE_SESSIONS=1")
		cmd.ExtraFiles = []*os.File{f}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bufio.NewScanner(out).Scan() { // it writes
			t.Error("no output of the writer")
		}
		time.Sleep(20 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		table := session.NewIn(open(t, shared(t, f)), 1, 1<<20)
		table.Range(func(s session.Session) bool {
			found++
			if n := number(s.Key); s.Backend != uint32(n%7+1) {
				t.Errorf("%q belongs to backend %d, it was given %d", s.Key, s.Backend, n%7+1)
			}
			return true
		})
		table.Release()
	}
	if found == 0 {
		t.Error("no session of eight killed processes was found")
	}
}

// number is the inverse of key.
func number(k []byte) (n int) {
	if _, err := fmt.Sscanf(string(k), "client-%d", &n); err != nil {
		_, _ = fmt.Sscanf(string(k), "%d", &n)
	}
	return n
}

func writeUntilKilled(t *testing.T) {
	table := session.NewIn(open(t, shared(t, os.NewFile(3, "sessions"))), 1, 1<<20)
	var all sync.WaitGroup
	for w := range 2 {
		all.Go(func() {
			for i := 0; ; i++ {
				n := (i*2 + w) % 20_000
				table.Put(key(n), uint32(n%7+1), int64(i))
				if i%3 == 0 {
					table.Delete(key((i * 7) % 20_000))
				}
				if i == 5000 {
					fmt.Println("writing")
				}
			}
		})
	}
	all.Wait()
}
