package snapshot_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sluicelb/sluice/core/snapshot"
)

// FuzzDecode uses its input as a whole snapshot, and as a body under a correct header so
// that mutations get past the checksum.
func FuzzDecode(f *testing.F) {
	valid := encoded(f, 7, example())
	f.Add(valid)
	f.Add(valid[snapshot.HeaderSize:])
	for _, n := range []int{0, 7, 8, 40, snapshot.HeaderSize, len(valid) - 1} {
		f.Add(valid[:n])
	}
	for _, offset := range []int{0, 9, 17, 25, 40, 80, len(valid) - 1} {
		flipped := bytes.Clone(valid)
		flipped[offset] ^= 0x10
		f.Add(flipped)
	}
	for _, body := range badBodies() {
		if len(body) < 4096 { // large ones only slow down mutation
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		survives(t, b)
		survives(t, snapshot.Frame(1, b))
	})
}

// survives fails the test unless b is refused with a known error or yields a configuration
// that survives another round.
func survives(t *testing.T, b []byte) {
	t.Helper()
	generation, cfg, err := snapshot.Decode(b)
	if err != nil {
		for _, known := range []error{snapshot.ErrTruncated, snapshot.ErrMagic, snapshot.ErrLayout, snapshot.ErrChecksum, snapshot.ErrBody} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Fatalf("unknown error %v", err)
	}
	_ = snapshot.Check(cfg)
	again, err := snapshot.Encode(generation, cfg)
	if err != nil {
		t.Fatalf("a decoded snapshot cannot be encoded: %v", err)
	}
	g2, cfg2, err := snapshot.Decode(again)
	if err != nil || g2 != generation {
		t.Fatalf("second round: generation %d, %v, want %d", g2, err, generation)
	}
	third, err := snapshot.Encode(generation, cfg2)
	if err != nil || !bytes.Equal(again, third) {
		t.Fatalf("second round changed the configuration: %+v, %+v, %v", cfg, cfg2, err)
	}
}
