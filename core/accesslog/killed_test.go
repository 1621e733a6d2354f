package accesslog_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/shm"
)

// childVariable makes the test binary a loop that writes until it is killed.
const childVariable = "SLUICE_TEST_ACCESSLOG"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		if err := writeForEver(os.NewFile(3, "segment")); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func writeForEver(f *os.File) error {
	m, err := shm.MapShared(f, true)
	if err != nil {
		return err
	}
	s, err := accesslog.OpenSegment(m.Bytes())
	if err != nil {
		return err
	}
	w := s.Writer(0, new(bell))
	var e accesslog.Entry
	for n := uint64(1); ; n++ {
		fillNumbered(&e, n, int(n*7919%700))
		w.Put(&e)
	}
}

// An engine killed at any point leaves complete records, and its successor continues
// after them. The same holds for readers.
func TestKilledProcessesLeaveNoTornRecord(t *testing.T) {
	f, err := shm.Shared("accesslog", accesslog.SegmentSize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := open(t, m.Bytes())
	r := s.Reader()
	var read, missing uint64
	for range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"=1")
		cmd.ExtraFiles = []*os.File{f}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for before, end := read, time.Now().Add(5*time.Second); read < before+20_000 && time.Now().Before(end); {
			// Only after a record of this writer was seen. The loss caused by killing
			// the previous writer shows as a gap to a reader that saw both.
			if read > before && rand.IntN(50) == 0 {
				missing += r.Lost().Missing + r.Lost().Damaged
				r = s.Reader() // mgmt was killed, too
			}
			r.Drain(func(rec *accesslog.Record) {
				n := check(t, rec)
				if n <= last && read > before+10_000 {
					t.Fatalf("record %d after %d", n, last)
				}
				last = n
				read++
				s.Acknowledge(1)
			})
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for r.Drain(func(rec *accesslog.Record) { check(t, rec); read++; s.Acknowledge(1) }) > 0 {
		}
	}
	var e accesslog.Entry // reveals the loss of the last kill
	fillNumbered(&e, 1, 1)
	s.Writer(0, new(bell)).Put(&e)
	r.Drain(func(rec *accesslog.Record) { check(t, rec); read++ })
	if missing += r.Lost().Missing + r.Lost().Damaged; missing > 12 { // one per kill, between its two stores
		t.Errorf("%d records are missing after 12 kills", missing)
	}
	if got := s.Totals().Pushed; read+missing != got {
		t.Errorf("%d records read and %d missing of %d", read, missing, got)
	}
	if read < 12*20_000 {
		t.Errorf("only %d records arrived: the test would check too little", read)
	}
}
