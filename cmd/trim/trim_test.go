package trim

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

const maps = `00400000-00500000 r-xp 00000000 08:01 77 /opt/with a blank/sluice
00500000-00600000 r--p 00100000 08:01 77 /opt/with a blank/sluice
00600000-00610000 rw-p 00200000 08:01 77 /opt/with a blank/sluice
00610000-00620000 rw-p 00000000 00:00 0
c000000000-c000400000 rw-p 00000000 00:00 0 [anon: Go: heap]
7f0000000000-7f0000001000 r--s 00000000 08:01 78 /var/lib/sluice/store.db
7f0000002000-7f0000003000 r-xp 00000000 08:02 77 /lib/libc.so.6
7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0 [vdso]
zz-00700000 r--p 00200000 08:01 77 /opt/with a blank/sluice
00700000-zz r--p 00200000 08:01 77 /opt/with a blank/sluice
broken
`

func TestOnlyPagesOfTheProgramFileAreUnmapped(t *testing.T) {
	program := []span{{0x400000, 0x500000}, {0x500000, 0x600000}}
	for _, c := range []struct {
		name string
		at   uintptr
		want []span
	}{
		{"its code", 0x400000, program},
		{"last byte of it", 0x4fffff, program},
		{"between mappings", 0x700000, nil},
		{"memory without a file", 0xc000000000, nil},
	} {
		if got := readOnly(maps, c.at); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %x, want %x", c.name, got, c.want)
		}
	}
	if got := readOnly("", 0x400000); got != nil {
		t.Errorf("without information: got %x", got)
	}
}

var written = []byte("may change") // in a writable mapping of the program

func TestPagesOfTheProgramAreUnmapped(t *testing.T) {
	for name, trim := range map[string]func(time.Duration){"all": After, "program alone": ProgramAfter} {
		program := own(t)
		sum := 0
		for _, s := range program {
			for at := s.start; at < s.end; at += 4096 {
				sum += int(*(*byte)(pointerTo(at)))
			}
		}
		before := resident(t, program)
		written[0] = 'M'
		trim(time.Millisecond)
		after := before
		for end := time.Now().Add(20 * time.Second); after > before*9/10 && time.Now().Before(end); { // the check itself maps some pages
			time.Sleep(20 * time.Millisecond)
			after = resident(t, program)
		}
		t.Logf("%s: %d KiB of the program were mapped, %d are now (sum %d)", name, before, after, sum)
		if before == 0 || after > before*9/10 {
			t.Errorf("%s: %d KiB of the program were mapped before, %d after", name, before, after)
		}
		if string(written) != "May change" {
			t.Errorf("%s: a variable became %q", name, written)
		}
	}
}

func TestGarbageIsReturnedToTheSystem(t *testing.T) {
	garbage := make([]byte, 64<<20)
	for i := 0; i < len(garbage); i += 4096 {
		garbage[i] = 1
	}
	runtime.KeepAlive(garbage)
	garbage = nil
	var m runtime.MemStats
	After(time.Millisecond)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.ReadMemStats(&m); m.HeapReleased > 48<<20 {
			return
		}
	}
	t.Errorf("%d KiB idle, %d of them released", m.HeapIdle>>10, m.HeapReleased>>10)
}

func TestAProcessWithLittleOrMuchGarbageIsTrimmedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times atomic.Int32
		var held, garbage, resident atomic.Uint64
		held.Store(Little + 1)
		garbage.Store(Much - 1)
		repeat(5*time.Second, func() usage { return usage{held.Load(), garbage.Load(), resident.Load()} }, func() { times.Add(1) })
		after := func(d time.Duration, want int32) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := times.Load(); got != want {
				t.Errorf("trimmed %d times, want %d", got, want)
			}
		}
		after(4*time.Second, 0)
		after(time.Second, 1) // garbage of the start, whatever the heap size
		after(2*Every, 1)     // the heap is too large for a worthwhile collection
		held.Store(Little)
		after(Every, 2)
		after(Every, 3)
		held.Store(Little + 1)
		after(Every, 3)
		garbage.Store(Much)
		after(Every, 4)
		garbage.Store(0)
		resident.Store(Much - 1)
		after(Every, 4)
		resident.Store(Much) // the heap has grown: what a change left may be garbage
		after(Every, 5)
		after(2*Every, 5) // it is in use
		resident.Add(Much)
		after(Every, 6)
		resident.Store(0) // it shrinks without a trim
		after(Every, 6)
		resident.Store(Much) // and grows again
		after(Every, 7)
		after(2*Every, 7)
	})
}

// own returns the mappings of this program that may be unmapped.
func own(t *testing.T) []span {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	code := reflect.ValueOf(After).Pointer()
	program := readOnly(string(b), code)
	has := func(p uintptr) bool {
		return slices.ContainsFunc(program, func(s span) bool { return s.start <= p && p < s.end })
	}
	if !has(code) || !has(uintptr(unsafe.Pointer(unsafe.StringData(maps)))) {
		t.Fatalf("code or constants are not in %x", program)
	}
	if has(uintptr(unsafe.Pointer(&written))) {
		t.Fatalf("a variable is in %x", program)
	}
	return program
}

// resident returns the resident size of the mappings in KiB.
func resident(t *testing.T, parts []span) (sum int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	var counts bool
	for line := range strings.Lines(string(b)) {
		var start, end uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 {
			counts = slices.Contains(parts, span{start, end})
			continue
		}
		var kib int
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); n == 1 && counts {
			sum += kib
		}
	}
	return sum
}

// pointerTo returns an address outside Go memory.
func pointerTo(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// sized returns the Stat result of a file with the size.
func sized(t *testing.T, size int64) (os.FileInfo, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return os.Stat(name)
}

// The collector runs less often while a large file is read, and as before afterwards. A
// small file changes nothing.
func TestGCRunsLessOftenForAWhile(t *testing.T) {
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	if done := While(os.Stat("none")); debug.SetGCPercent(70) != 70 {
		t.Error("a file that is not there is large")
	} else {
		done()
	}
	for size, want := range map[int64]int{0: 70, Large: 70, Large + 1: seldom} {
		done := While(sized(t, size))
		meanwhile := debug.SetGCPercent(70)
		debug.SetGCPercent(meanwhile)
		if done(); meanwhile != want || debug.SetGCPercent(70) != 70 {
			t.Errorf("%d bytes: meanwhile it is %d, want %d, and afterwards as before", size, meanwhile, want)
		}
	}
}

// The collector would otherwise wait until the heap has doubled.
func TestGarbageOfLargeWorkIsReturned(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	before := heap().held
	done := While(sized(t, Large+1))
	debug.SetGCPercent(-1)
	for u := (usage{}); u.garbage < Much; u = heap() { // another test may trigger a collection meanwhile
		runtime.KeepAlive(make([]byte, 2*Much))
	}
	done()
	for u := heap(); u.held > before+Much/2 || u.garbage > Much/2; u = heap() {
		time.Sleep(10 * time.Millisecond)
	}
}

// Even if done is never called, the collector returns to its previous setting. A later
// done changes nothing.
func TestGCRunsNormallyAfterAMinute(t *testing.T) {
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	percent := func() int {
		now := debug.SetGCPercent(70)
		debug.SetGCPercent(now)
		return now
	}
	synctest.Test(t, func(t *testing.T) {
		done := While(sized(t, Large+1))
		time.Sleep(Longest - 1)
		synctest.Wait()
		if got := percent(); got != seldom {
			t.Errorf("just before it is %d, want %d", got, seldom)
		}
		time.Sleep(1 * time.Nanosecond)
		synctest.Wait()
		if got := percent(); got != 70 {
			t.Errorf("after %v it is %d, want 70", Longest, got)
		}
		debug.SetGCPercent(90)
		if done(); percent() != 90 {
			t.Errorf("a late call sets it to %d", percent())
		}
		debug.SetGCPercent(70)
		While(sized(t, Large+1))()
		debug.SetGCPercent(90)
		time.Sleep(2 * Longest)
		synctest.Wait()
		if got := percent(); got != 90 {
			t.Errorf("after a call in time it is %d, want 90", got)
		}
	})
}
