package timeseries

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// openWithLog returns a database and its log.
func openWithLog(t *testing.T) (*DB, *logtest.Log) {
	t.Helper()
	var log logtest.Log
	d, err := Open(t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d, &log
}

// of returns known values of series.
func of(names ...string) (values []Value) {
	for _, name := range names {
		values = append(values, Value{Series: name, Value: 7})
	}
	return values
}

// reopened reopens the file of an object read-only or write-only.
func reopened(t *testing.T, d *DB, name string, flag int) {
	t.Helper()
	o := d.object(name)
	f, err := os.OpenFile(d.path(name), flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = o.file.f.Close()
	o.file.f = f
}

// Later versions must read the file, so the layout of the header is fixed.
func TestTheHeaderOfAFileHasItsLayout(t *testing.T) {
	longest := "a series of a name of 38 bytes, as is "
	got := encodeHeader([]column{{name: "p99", kind: Max, since: 0x0102030405060708}, {name: longest, since: 9}})
	want := make([]byte, 4096)
	copy(want, "sluice timeseries 1\n")
	copy(want[24:], "\x02\x00\x00\x00"+"\x01\x03p99")
	copy(want[28+2+38:], "\x08\x07\x06\x05\x04\x03\x02\x01"+"\x00\x26"+longest+"\x09")
	binary.LittleEndian.PutUint32(want[20:], crc32.ChecksumIEEE(want[24:]))
	if !bytes.Equal(got, want) {
		t.Errorf("got %q", bytes.TrimRight(got, "\x00"))
	}
	columns, err := decodeHeader(want)
	if err != nil || fmt.Sprint(columns) != fmt.Sprintf("[{p99 1 %d} {%s 0 9}]", 0x0102030405060708, longest) {
		t.Errorf("read as %v, %v", columns, err)
	}
	for columns, size := range map[int]int64{0: 4096, 84: 4096, 85: 8192} {
		if got := headerSize(columns); got != size {
			t.Errorf("of %d series it has %d bytes", columns, got)
		}
	}
}

func TestImpossibleHeaderIsDamaged(t *testing.T) {
	for _, c := range []column{{name: "a", kind: Max + 1}, {name: fmt.Sprintf("%039d", 0)}} {
		if columns, err := decodeHeader(encodeHeader([]column{{name: "good"}, c})); !errors.Is(err, errDamaged) {
			t.Errorf("%v is read as %v, %v", c, columns, err)
		}
	}
	for n, may := range map[uint32]bool{65536: true, 65537: false} {
		prefix := append([]byte(magic), make([]byte, 8)...)
		binary.LittleEndian.PutUint32(prefix[24:], n)
		if got, err := decodePrefix(prefix); (err == nil) != may || may && got != int(n) {
			t.Errorf("%d series: %d, %v", n, got, err)
		}
	}
}

func TestTheLargestOfSmallValuesIsOneOfThem(t *testing.T) {
	if got := decode(consolidate(Max, []uint16{encode(0.25), unknown, encode(0.125)})); got != 0.25 {
		t.Errorf("it is %v, want 0.25", got)
	}
}

// A read error does not mean damage: only content that was read can be damaged.
func TestReadErrorIsNotDamage(t *testing.T) {
	d, _ := openWithLog(t)
	d.Write("farm-1", noon, of("a"))
	f := d.object("farm-1").file
	_ = f.f.Close()
	for name, do := range map[string]func() error{
		"read":        f.read,
		"find last":   f.findLast,
		"points":      func() error { _, err := f.points(0, nil, 1, 1); return err },
		"consolidate": func() error { return f.consolidate(noon, noon.Add(time.Hour)) },
		"write":       func() error { return f.write(noon, nil) },
		"fill":        func() error { return f.fill(nil) },
	} {
		if err := do(); !errors.Is(err, os.ErrClosed) || errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := d.Read("farm-1", noon, noon, noon, "a"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read %v, %v", p, err)
	}
}

// Errors of consolidation and writing are logged, and the work is not marked as done.
func TestPartialWritesAreLogged(t *testing.T) {
	for name, c := range map[string]struct {
		flag   int
		at     time.Time
		series []string
	}{
		"a row":                  {os.O_RDONLY, noon, []string{"a", "b"}},
		"another series":         {os.O_RDONLY, noon, []string{"a", "c"}},
		"a minute that ended":    {os.O_WRONLY, noon.Add(time.Minute), []string{"a", "b"}},
		"the rows of the others": {os.O_WRONLY, noon, []string{"a", "b", "c"}},
	} {
		d, log := openWithLog(t)
		d.Write("farm-1", noon, of("a", "b"))
		reopened(t, d, "farm-1", c.flag)
		d.Write("farm-1", c.at, of(c.series...))
		if len(log.Lines("are not kept")) != 1 {
			t.Errorf("%s: logged %s", name, log)
		}
		reopened(t, d, "farm-1", os.O_RDWR)
		if p, err := d.Read("farm-1", noon, noon, noon, "a", "b"); err != nil || fmt.Sprint(p.Values) != "[[7] [7]]" {
			t.Errorf("%s: later %v, %v", name, p.Values, err)
		}
		if left, _ := filepath.Glob(d.path("*") + ".new"); len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// A damaged file is not overwritten if it cannot be renamed.
func TestUnrenamableDamagedFileIsKept(t *testing.T) {
	d, log := openWithLog(t)
	if err := errors.Join(os.WriteFile(d.path("farm-1"), []byte("damaged"), 0o600), os.MkdirAll(d.path("farm-1")+".damaged/full", 0o700)); err != nil {
		t.Fatal(err)
	}
	d.Write("farm-1", noon, of("a"))
	if b, err := os.ReadFile(d.path("farm-1")); err != nil || string(b) != "damaged" || len(log.Lines("are not kept")) != 1 {
		t.Errorf("%q, %v, logged %s", b, err, log)
	}
	if _, err := d.Read("farm-1", noon, noon, noon, "a"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("read: %v", err)
	}
}

func TestAFileIsOpenedAndDescribedOnce(t *testing.T) {
	d, _ := openWithLog(t)
	d.Write("farm-1", noon, of("a", "b"))
	first := d.object("farm-1").file
	d.Write("farm-1", noon, of("b", "a"))
	if d.object("farm-1").file != first {
		t.Error("it was opened again")
	}
	if _, changed, _ := fit(first, noon, of("b")); changed {
		t.Error("it gets a header for series it has")
	}
	d.Write("farm-1", noon, of("a", "c"))
	if d.object("farm-1").file != first || len(first.columns) != 2 {
		t.Errorf("the file was created again for a series in the place of another: %v", first.columns)
	}
	if columns, _, _ := fit(first, noon, of("d", "c", "e")); fmt.Sprint(first.place) != "map[a:0 c:1]" || first.columns[0].name != "a" || len(columns) != 3 {
		t.Errorf("fit changed the file: %v", first.columns)
	}
	if columns, _, same := fit(first, noon, of("d", "e")); !same || columns[0].name != "d" || columns[1].name != "e" {
		t.Errorf("two new ones in the places of two: %v", columns)
	}
	d.Write("farm-1", noon, of("a", "c", "e"))
	if _, err := first.f.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the smaller file is open still: %v", err)
	}
}

func TestAnObjectWithoutValuesIsKept(t *testing.T) {
	d, log := openWithLog(t)
	d.Write("farm-1", noon, nil)
	if p, err := d.Read("farm-1", noon, noon, noon, "a"); err != nil || !math.IsNaN(p.Values[0][0]) || log.String() != "" {
		t.Errorf("%v, %v, logged %s", p, err, log)
	}
}

// A waiting writer continues after the file is closed.
func TestClosedFilesAreFreeAndTheirObjectsNotHeld(t *testing.T) {
	for name, end := range map[string]func(d *DB){
		"close": func(d *DB) { d.Close() },
		"sweep": func(d *DB) { d.Sweep(time.Now().Add(sweepAge+time.Hour), func(string) bool { return false }) },
	} {
		d, _ := openWithLog(t)
		d.Write("farm-1", noon, of("a"))
		o := d.object("farm-1")
		f := o.file.f
		end(d)
		if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) || o.file != nil {
			t.Errorf("%s: it is open still: %v", name, err)
		}
		if !o.mu.TryLock() {
			t.Errorf("%s: the lock is still held", name)
		}
	}
}

func TestFolderInPlaceOfAFileIsAnError(t *testing.T) {
	d, log := openWithLog(t)
	if err := os.Mkdir(d.path("farm-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read("farm-1", noon, noon, noon, "a"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("read: %v", err)
	}
	if d.Write("farm-1", noon, of("a")); len(log.Lines("are not kept")) != 1 {
		t.Errorf("logged %s", log)
	}
	if _, err := Open(filepath.Join(d.dir, "none", "none"), slog.Default()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder in none: %v", err)
	}
}

// A file in use stays open. Others are closed, and reopened on use.
func TestIdleFilesAreClosed(t *testing.T) {
	d, log := openWithLog(t)
	d.Write("farm-1", noon, of("a"))
	d.Write("farm-2", noon, of("a"))
	first, second := d.object("farm-1"), d.object("farm-2")
	d.CloseIdle()
	if first.file == nil || second.file == nil {
		t.Error("a file is closed that was written just now")
	}
	idle := second.file.f
	for range 3 {
		if _, err := d.Read("farm-1", noon, noon, noon, "a"); err != nil {
			t.Fatal(err)
		}
		d.CloseIdle()
	}
	if _, err := idle.Stat(); !errors.Is(err, os.ErrClosed) || second.file != nil || first.file == nil {
		t.Errorf("the idle file: %v; the file being read is open: %t", err, first.file != nil)
	}
	d.Write("farm-2", noon.Add(5*time.Second), of("b"))
	if p, err := d.Read("farm-2", noon, noon.Add(10*time.Second), noon.Add(10*time.Second), "b"); err != nil || len(p.Values[0]) == 0 || log.String() != "" {
		t.Errorf("%v, %v, logged %s", p, err, log)
	}
}
