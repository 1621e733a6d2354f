package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

func TestRecordsBecomeLinesOfTheFarmsFile(t *testing.T) {
	a := newAppliance(t, config(nil))
	for i := range 100 {
		a.put(func(e *accesslog.Entry) { e.Status = uint16(100 + i) })
	}
	for i, line := range a.lines("shop.log", 100) {
		if !strings.Contains(line, fmt.Sprintf(`"status":%d,`, 100+i)) {
			t.Fatalf("line %d is %s", i, line)
		}
	}
	st, err := os.Stat(filepath.Join(a.dir, Folder, "shop.log"))
	if err != nil || st.Mode() != 0o640 {
		t.Errorf("mode %v, %v, want 0o640", st.Mode(), err)
	}
	if st, err = os.Stat(filepath.Join(a.dir, Folder)); err != nil || st.Mode().Perm() != 0o750 {
		t.Errorf("mode of the folder %v, %v", st.Mode(), err)
	}
	if got := a.pump.Stats(); got != (Stats{Recorded: 100, Written: 100}) {
		t.Errorf("%+v", got)
	}
}

// Whether an output runs soon enough for all records depends on the machine. Lines dropped
// because its queue was full are counted; all others must be written.
func TestManyRecordsWakeThePumpAndAllAreWrittenOrCounted(t *testing.T) {
	a := newAppliance(t, config(nil))
	const n = 20_000 // enough to fill about seven rings
	done := func() uint64 { s := a.pump.Stats(); return s.Written + s.Queue }
	for i := range uint64(n) {
		eventually(t, func() bool { usual(&a.entry); return a.writer.Put(&a.entry) })
		if i%1000 == 0 {
			eventually(t, func() bool { return i-min(i, done()) < 4000 })
		}
	}
	eventually(t, func() bool { return done() == n })
	a.lines("shop.log", int(a.pump.Stats().Written))
}

func TestFullRingIsWrittenAtOnce(t *testing.T) {
	a := newAppliance(t, config(nil))
	a.stop()
	n := 0
	for usual(&a.entry); a.writer.Put(&a.entry); usual(&a.entry) {
		n++
	}
	a.run()
	a.lines("shop.log", n)
	if got := a.pump.Stats(); got != (Stats{Recorded: uint64(n), Full: 1, Written: uint64(n)}) {
		t.Errorf("%+v of %d", got, n)
	}
}

func TestOnlyLoggedRecordsOfKnownFarmsAreWritten(t *testing.T) {
	a := newAppliance(t, config(nil))
	a.put(func(e *accesslog.Entry) { e.Flags = accesslog.Watched })
	a.put(func(e *accesslog.Entry) { e.Farm = 99 })
	a.put(nil)
	a.lines("shop.log", 1)
	a.stop()
	if l := a.segment.Reader().Lost(); l != (accesslog.Lost{}) {
		t.Errorf("the next reader finds %+v missing", l)
	}
}

func TestChangesOfTheConfigurationCountForTheNextRecord(t *testing.T) {
	a := newAppliance(t, config(nil))
	a.put(nil)
	a.lines("shop.log", 1)
	a.cfg.Store(config(func(l *farm.AccessLog) { l.File, l.Format = "other", farm.LogCombined }))
	a.put(nil)
	if l := a.lines("other.log", 1); !strings.HasPrefix(l[0], "198.51.100.7 - - [") {
		t.Errorf("line %s", l[0])
	}
	off := config(nil)
	off.Farms[0].HTTP.Logs = false
	a.cfg.Store(off)
	a.put(nil)
	eventually(t, func() bool { return a.segment.Totals().Pushed == 3 && a.pump.Stats().Written == 2 })
	a.stop()
	a.lines("shop.log", 1)
	a.lines("other.log", 1)
}

func TestFarmsMayShareAFile(t *testing.T) {
	cfg := config(func(l *farm.AccessLog) { l.File = "all" })
	second := cfg.Farms[0].Clone()
	second.ID, second.Name = 2, "blog"
	cfg.Farms = append(cfg.Farms, second)
	a := newAppliance(t, cfg)
	a.put(nil)
	a.put(func(e *accesslog.Entry) { e.Farm = 2 })
	l := a.lines("all.log", 2)
	if !strings.Contains(l[0], `"farm":"shop"`) || !strings.Contains(l[1], `"farm":"blog"`) {
		t.Errorf("lines %q", l)
	}
}

func TestPumpDrainsAtTheEndAndResumes(t *testing.T) {
	a := newAppliance(t, config(nil))
	for range 10 {
		a.put(nil)
	}
	a.stop()
	a.lines("shop.log", 10)
	for range 5 {
		a.put(nil) // mgmt is down
	}
	a.run()
	a.lines("shop.log", 15)
	a.stop()
	if got := a.pump.Stats(); got.Restart != 0 || got.Engine != 0 || got.Damaged != 0 {
		t.Errorf("%+v", got)
	}
}

func TestRecordsTakenByAKilledMgmtAreCounted(t *testing.T) {
	a := newAppliance(t, config(nil))
	a.stop()
	for range 7 {
		a.put(nil)
	}
	if n := a.segment.Reader().Drain(func(*accesslog.Record) {}); n != 7 { // and was killed
		t.Fatalf("%d records", n)
	}
	a.run()
	a.put(nil)
	a.lines("shop.log", 1)
	if got := a.pump.Stats(); got.Restart != 7 || got.Written != 1 {
		t.Errorf("%+v", got)
	}
}

func TestDamageIsCountedAndTheRestIsWritten(t *testing.T) {
	a := newAppliance(t, config(nil))
	a.put(nil)
	a.lines("shop.log", 1)
	a.stop()
	a.put(func(e *accesslog.Entry) { e.Host(nil) }) // its texts are now inconsistent
	a.run()
	a.put(nil)
	a.lines("shop.log", 2)
	if got := a.pump.Stats(); got.Damaged != 1 || got.Recorded != 3 {
		t.Errorf("%+v", got)
	}
	a.stop()
	if l := a.segment.Reader().Lost(); l != (accesslog.Lost{}) {
		t.Errorf("the next reader finds %+v missing", l)
	}
}

func TestTheFileOfARenamedFarmIsRenamedWithItsOlderOnes(t *testing.T) {
	a := newAppliance(t, config(nil))
	a.put(func(e *accesslog.Entry) { e.Status = 201 })
	a.lines("shop.log", 1)
	if err := os.WriteFile(filepath.Join(a.dir, Folder, "shop.log.1"), []byte("older\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	rename := func(name string) {
		cfg := config(nil)
		cfg.Farms[0].Name = name
		// A farm forwarded by the kernel has no such log and must not rename files.
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: 2, Name: "of-" + name, Profile: farm.ProfileL4, L4: &farm.L4{DataPath: farm.DataPathKernel}})
		a.cfg.Store(cfg)
	}
	rename("store")
	a.put(func(e *accesslog.Entry) { e.Status = 202 })
	if l := a.lines("store.log", 2); !strings.Contains(l[0], `"status":201`) || !strings.Contains(l[1], `"status":202`) {
		t.Errorf("%q", l)
	}
	if got := content(t, a.dir, "store.log.1"); got != "older\n" {
		t.Errorf("the older file holds %q, want %q", got, "older\n")
	}
	if _, err := os.Stat(filepath.Join(a.dir, Folder, "shop.log")); !os.IsNotExist(err) {
		t.Errorf("the old name: %v", err)
	}
	// An existing file with the name is continued, and nothing is lost.
	if err := os.WriteFile(filepath.Join(a.dir, Folder, "last.log"), []byte("foreign\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	rename("last")
	a.put(nil)
	if l := a.lines("last.log", 2); l[0] != "foreign" {
		t.Errorf("%q", l)
	}
	a.lines("store.log", 2)
	// A configured file name does not change with the name of the farm.
	a.cfg.Store(config(func(l *farm.AccessLog) { l.File = "given" }))
	a.put(nil)
	a.lines("given.log", 1)
	a.lines("last.log", 2)
}
