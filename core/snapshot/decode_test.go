package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
)

// example returns a configuration that passes Check.
func example() *farm.Config {
	h := farm.DefaultHTTP()
	h.Services = []farm.Service{{
		ID: 1, Name: "web", VHost: "www", Policy: farm.PolicyRoundRobin,
		Backends: []farm.Backend{
			{ID: 1, Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80, Weight: 3},
			{ID: 2, Host: "fe80::1%eth0", Addr: netip.MustParseAddr("fe80::1%eth0"), Port: 8080},
		},
	}, {ID: 2, Name: "other", Redirect: "https://example.org/"}}
	return &farm.Config{Farms: []farm.Farm{
		{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("0.0.0.0"), VPort: 80, HTTP: h},
		{ID: farm.MaxFarmID, Name: "six", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("::1"), VPort: 81, Stopped: true, HTTP: farm.DefaultHTTP()},
	}}
}

func encoded(t testing.TB, generation uint64, cfg *farm.Config) []byte {
	t.Helper()
	b, err := snapshot.Encode(generation, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncodingRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, generation := anyConfig().Draw(t, "config"), rapid.Uint64().Draw(t, "generation")
		b, err := snapshot.Encode(generation, cfg)
		if err != nil {
			t.Fatal(err)
		}
		again, err := snapshot.Encode(generation, cfg.Clone())
		if err != nil || !bytes.Equal(b, again) {
			t.Fatalf("the same configuration has two encodings (%v)", err)
		}
		gotGeneration, got, err := snapshot.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		clear(b) // the result must not share memory with b
		if gotGeneration != generation || !reflect.DeepEqual(got, cfg) {
			t.Fatalf("generation %d: got %d and %+v, want %+v", generation, gotGeneration, got, cfg)
		}
	})
}

func TestEveryTruncationIsRefused(t *testing.T) {
	b := encoded(t, 7, example())
	for n := range len(b) {
		if _, _, err := snapshot.Decode(b[:n]); !errors.Is(err, snapshot.ErrTruncated) {
			t.Fatalf("first %d of %d bytes: got %v", n, len(b), err)
		}
	}
	if _, _, err := snapshot.Decode(append(b, 0)); !errors.Is(err, snapshot.ErrTruncated) {
		t.Errorf("one byte more: got %v", err)
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	b := encoded(t, 7, example())
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		_, _, err := snapshot.Decode(b)
		want := flipError(bit / 8)
		beyondLimit := want == snapshot.ErrTruncated && errors.Is(err, snapshot.ErrBody)
		if !errors.Is(err, want) && !beyondLimit {
			t.Fatalf("bit %d of byte %d: got %v, want %v", bit%8, bit/8, err, want)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	if _, _, err := snapshot.Decode(b); err != nil {
		t.Fatal(err)
	}
}

// flipError returns the expected error if the byte at offset changes.
func flipError(offset int) error {
	switch {
	case offset < 8:
		return snapshot.ErrMagic
	case offset < 12:
		return snapshot.ErrLayout
	case offset >= 24 && offset < 32:
		return snapshot.ErrTruncated
	}
	return snapshot.ErrChecksum
}

func TestOtherLayoutIsRefusedNamingBothVersions(t *testing.T) {
	b := encoded(t, 7, example())
	binary.LittleEndian.PutUint32(b[8:], 4711)
	snapshot.Reseal(b)
	_, _, err := snapshot.Decode(b)
	if !errors.Is(err, snapshot.ErrLayout) {
		t.Fatalf("got %v", err)
	}
	for _, version := range []string{"4711", fmt.Sprint("version ", snapshot.Layout)} {
		if !strings.Contains(err.Error(), version) {
			t.Errorf("%q does not name %q", err, version)
		}
	}
}

func TestForeignBytesAreRefused(t *testing.T) {
	for _, b := range []string{"x", "SLUICE\x00T", "SLUICE.....", strings.Repeat("\x7fELF", 100)} {
		if _, _, err := snapshot.Decode([]byte(b)); !errors.Is(err, snapshot.ErrMagic) {
			t.Errorf("%.10q: got %v", b, err)
		}
	}
}

func TestLengthBeyondTheLimitIsRefusedBeforeReading(t *testing.T) {
	b := encoded(t, 7, example())
	for _, length := range []uint64{snapshot.MaxBody + 1, math.MaxUint64} {
		binary.LittleEndian.PutUint64(b[24:], length)
		if _, _, err := snapshot.Decode(b); !errors.Is(err, snapshot.ErrBody) {
			t.Errorf("length %d: got %v", length, err)
		}
	}
}

func TestInvalidBodyIsRefused(t *testing.T) {
	for name, body := range badBodies() {
		if _, cfg, err := snapshot.Decode(snapshot.Frame(1, body)); !errors.Is(err, snapshot.ErrBody) {
			t.Errorf("%s: got %+v, %v", name, cfg, err)
		}
	}
}

// badBodies returns CBOR bodies that must be refused despite a correct header.
func badBodies() map[string][]byte {
	text := func(s string) []byte { return append([]byte{0x60 + byte(len(s))}, s...) }
	farms := append([]byte{0xa1}, text("farms")...)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	return map[string][]byte{
		"empty":             {},
		"null":              {0xf6},
		"a number":          {0x01},
		"a list":            {0x80},
		"two items":         {0xa0, 0xa0},
		"unknown name":      join([]byte{0xa1}, text("pools"), []byte{0x80}),
		"other case":        join([]byte{0xa1}, text("Farms"), []byte{0x80}),
		"doubled name":      join([]byte{0xa2}, text("farms"), []byte{0x80}, text("farms"), []byte{0x80}),
		"wrong type":        join(farms, []byte{0x01}),
		"port too large":    join(farms, []byte{0x81, 0xa1}, text("vport"), []byte{0x1a, 0, 1, 0, 0}),
		"address too short": join(farms, []byte{0x81, 0xa1}, text("vip"), []byte{0x43, 1, 2, 3}),
		"tag":               join(farms, []byte{0xc1, 0x80}),
		"indefinite list":   join(farms, []byte{0x9f, 0xff}),
		"cut list":          join(farms, []byte{0x9b, 0, 0, 0, 1, 0, 0, 0, 0}),
		"list of 2^64-1":    join(farms, []byte{0x9b, 255, 255, 255, 255, 255, 255, 255, 255}),
		"text of 2^63":      join(farms, []byte{0x7b, 128, 0, 0, 0, 0, 0, 0, 0}),
		"deep lists":        bytes.Repeat([]byte{0x81}, 1<<20),
		"deep farms":        join(farms, bytes.Repeat([]byte{0x81}, 100), []byte{0x80}),
		"deep maps":         bytes.Repeat([]byte{0xa1, 0x61, 'a'}, 1<<18),
		"many names":        join([]byte{0xb9, 0, 200}, bytes.Repeat([]byte{0x61, 'a', 0}, 200)),
		"too many farms":    join(farms, list(most(len(farms))+1), bytes.Repeat([]byte{0xa0}, most(len(farms))+1)),
		"too many services": manyServices(text),
	}
}

// most returns the maximum number of one-byte elements of a list that follows before
// bytes.
func most(before int) int {
	n := snapshot.MaxElements
	for n+1 <= snapshot.MaxElements+(before+len(list(0))+n+1)/snapshot.RecordSize {
		n++
	}
	return n
}

func TestElementsAreCountedUpToTheirLimit(t *testing.T) {
	for _, beyond := range []int{0, 1} {
		n := most(len("\xa1\x65pools")) + beyond
		body := bytes.Join([][]byte{{0xa1, 0x65}, []byte("pools"), list(n), make([]byte, n)}, nil)
		_, _, err := snapshot.Decode(snapshot.Frame(1, body))
		if err == nil || strings.Contains(err.Error(), "elements") != (beyond > 0) {
			t.Errorf("%d beyond the limit: got %v", beyond, err)
		}
	}
}

// The low five bits of a head are the argument up to 23, otherwise the number of its bytes
// (RFC 8949 §3).
func TestElementsOfAllListsAreCounted(t *testing.T) {
	for _, c := range []struct {
		body string
		want uint64
	}{
		{"", 0}, {"\x80", 0}, {"\x82\x01\x02", 2}, {"\x82\x81\x01\x80", 3}, {"\x97", 23},
		{"\x98\x18", 24}, {"\x99\x01\x02", 0x102}, {"\x9a\x01\x02\x03\x04", 0x1020304}, {"\x9b\x01\x02\x03\x04\x05\x06\x07\x08", 0x102030405060708},
		{"\xa1\x01\x81\x02", 1}, {"\x18\x81\x81", 1}, // a map of a list; a number that looks like one
		{"\x42\x81\x81\x83", 3}, {"\x62\x81\x81\x83", 3}, {"\x58\x01\x81\x83", 3}, // strings that look like lists
		{"\x83\x45\x81", 3}, {"\x98", 0}, {"\x9b\x01\x02\x03", 0}, // cut
	} {
		if got := snapshot.Elements([]byte(c.body)); got != c.want {
			t.Errorf("%x: %d elements, want %d", c.body, got, c.want)
		}
	}
}

// manyServices returns a body that exceeds only the limit for all lists together.
func manyServices(text func(string) []byte) []byte {
	const perFarm, farms = 1 << 15, 9
	body := append(append([]byte{0xa1}, text("farms")...), list(farms)...)
	for range farms {
		body = append(append(append(body, 0xa1), text("http")...), 0xa1)
		body = append(append(body, text("services")...), list(perFarm)...)
		body = append(body, bytes.Repeat([]byte{0xa0}, perFarm)...)
	}
	return body
}

func list(n int) []byte {
	return binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(n))
}
