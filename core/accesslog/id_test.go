package accesslog_test

import (
	"encoding/hex"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
)

func TestRequestIDsAreHexadecimalAndDiffer(t *testing.T) {
	a, b := accesslog.NewIDs(), accesslog.NewIDs()
	seen, bits := map[string]bool{}, [16]byte{}
	for range 2000 {
		for _, g := range []*accesslog.IDs{a, b} {
			id := string(g.Append(nil))
			raw, err := hex.DecodeString(id)
			if err != nil || len(id) != accesslog.RequestIDSize || seen[id] || hex.EncodeToString(raw) != id {
				t.Fatalf("id %q: %v, seen %v", id, err, seen[id])
			}
			seen[id] = true
			for i := range raw {
				bits[i] |= raw[i]
			}
		}
	}
	for i, b := range bits {
		if b != 0xff {
			t.Errorf("byte %d of 4000 ids never had all bits: %08b", i, b)
		}
	}
}

func TestOnlyHarmlessRequestIDsAreKept(t *testing.T) {
	for id, want := range map[string]bool{
		"": false, "a": true, "7d0a6a80-8a0e-4f9e-9d0e-1c4d5b6a7f80": true, "Root=1-67891233-abcdef012345678912345678": true,
		"a b": false, "a\"b": false, "a\nb": false, "a,b": false, "ä": false, "<x>": false, "a;b": false, "\x00": false,
		string(make([]byte, 65)): false,
	} {
		if accesslog.ValidID([]byte(id)) != want {
			t.Errorf("%q: want %v", id, want)
		}
	}
}

func TestSamplingTakesItsShare(t *testing.T) {
	g := accesslog.NewIDs()
	for _, n := range []uint32{0, 1, 2, 10, 100} {
		taken := 0
		for range 100_000 {
			if g.OneIn(n) {
				taken++
			}
		}
		if want := 100_000 / int(max(n, 1)); taken < want*8/10 || taken > want*12/10 {
			t.Errorf("one in %d: %d of 100000", n, taken)
		}
	}
}
