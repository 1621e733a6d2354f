package rdata_test

import (
	"bytes"
	"testing"

	"github.com/sluicelb/sluice/core/rdata"
)

// Stored A6 data may be malformed, because the generic format was kept unchecked.
func TestMalformedA6DataIsComparedAsBytes(t *testing.T) {
	for _, data := range [][]byte{{}, {40}, {0xc0, 0, 2, 1}, {129, 'A'}, {64, 1, 2, 3}, {128}, {255}} {
		other := append(bytes.Clone(data), 'A')[1:]
		if got := rdata.Canonical(rdata.TypeA6, bytes.Clone(data)); !bytes.Equal(got, data) {
			t.Errorf("%v became %v", data, got)
		}
		if rdata.Same(rdata.TypeA6, data, other) != bytes.Equal(data, other) {
			t.Errorf("%v is the same as %v", data, other)
		}
	}
	// A prefix of 128 bits leaves the name only.
	if got := rdata.Canonical(rdata.TypeA6, []byte{128, 1, 'A', 0}); !bytes.Equal(got, []byte{128, 1, 'a', 0}) {
		t.Errorf("got %v", got)
	}
	if got := rdata.Canonical(rdata.TypeA6, []byte{120, 'B', 1, 'A', 0}); !bytes.Equal(got, []byte{120, 'B', 1, 'a', 0}) {
		t.Errorf("got %v", got)
	}
}
