package shm_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

func TestWakerWakesTheReaderOfAnEvent(t *testing.T) {
	f, err := shm.Event("test")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := shm.NewWaker(f)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var b [8]byte
	if err := f.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("without a wake-up a read ended with %v", err)
	}
	_ = f.SetReadDeadline(time.Now().Add(10 * time.Second))
	w.Wake()
	if n, err := f.Read(b[:]); n != 8 || err != nil {
		t.Errorf("woken: got %d, %v, want 8", n, err)
	}
	if n := testing.AllocsPerRun(10, w.Wake); n != 0 {
		t.Errorf("waking allocates %v times", n)
	}
}
