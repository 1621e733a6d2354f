package witness_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/poll"
	"github.com/sluicelb/sluice/bench/witness"
)

const ms = int64(time.Millisecond)

func TestRequestsTouchingAStallAreExcluded(t *testing.T) {
	// Stalls of two witnesses: 10–12 ms (shadow to 14), 13–15 (to 17), 100–101 (to 102).
	stalls := []witness.Stall{{100 * ms, 101 * ms}, {13 * ms, 15 * ms}, {10 * ms, 12 * ms}}
	for _, c := range []struct {
		name     string
		due, end int64
		out      bool
	}{
		{"ends before", 8 * ms, 9 * ms, false},
		{"ends in it", 9 * ms, 11 * ms, true},
		{"spans it", 9 * ms, 20 * ms, true},
		{"is due in it", 11 * ms, 13 * ms, true},
		{"is due in the shadow", 16 * ms, 18 * ms, true},
		{"is due after the shadow", 18 * ms, 19 * ms, false},
		{"between", 50 * ms, 51 * ms, false},
		{"is due in the last shadow", 101*ms + ms/2, 103 * ms, true},
		{"comes last", 103 * ms, 104 * ms, false},
	} {
		kept, left := witness.Sift([]witness.Sample{{Due: c.due, Took: c.end - c.due}}, stalls)
		if got := kept.Count() == 0; got != c.out || (left == 1) != c.out {
			t.Errorf("%s: left out %v (share %v), want %v", c.name, got, left, c.out)
		}
	}
}

func TestWithoutStallsEverySampleCounts(t *testing.T) {
	kept, left := witness.Sift([]witness.Sample{{Due: 1, Took: 5}, {Due: 2, Took: 7}}, nil)
	if kept.Count() != 2 || kept.Max() != 7 || left != 0 {
		t.Errorf("kept %d, longest %v, left out %v", kept.Count(), kept.Max(), left)
	}
	if kept, left := witness.Sift(nil, nil); kept.Count() != 0 || left != 0 {
		t.Errorf("without measurements: kept %d, left out %v", kept.Count(), left)
	}
}

func TestWitnessEndsWithItsPipeAndCountsItsOwnTime(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("real-time priority needs root")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	done := make(chan error, 1)
	before := poll.Monotonic()
	go func() { done <- witness.Main(int(r.Fd()), &out) }() // its thread ends with it
	time.Sleep(50 * time.Millisecond)
	_ = w.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	after := poll.Monotonic()
	var seen witness.Testimony
	if err := json.Unmarshal(out.Bytes(), &seen); err != nil {
		t.Fatal(err)
	}
	for _, s := range seen.Stalls {
		if s.From < before || s.To > after || s.To <= s.From {
			t.Errorf("stall %v lies outside the time of the witness", s)
		}
	}
}
