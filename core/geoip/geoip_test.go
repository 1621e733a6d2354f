package geoip_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/shm"
)

func place(country, continent string, at ...float32) geoip.Place {
	p := geoip.Place{Country: geoip.CodeOf(country), Continent: geoip.CodeOf(continent)}
	if len(at) == 2 {
		p.Located, p.Latitude, p.Longitude = true, at[0], at[1]
	}
	return p
}

func build(t testing.TB, list ...any) []byte {
	t.Helper()
	b := geoip.NewBuilder()
	for i := 0; i < len(list); i += 2 {
		if err := b.Add(netip.MustParsePrefix(list[i].(string)), list[i+1].(geoip.Place)); err != nil {
			t.Fatalf("%v: %v", list[i], err)
		}
	}
	return b.Memory(1700000000)
}

func open(t testing.TB, mem []byte) *geoip.Table {
	t.Helper()
	table, err := geoip.Open(mem)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

var (
	de = place("de", "EU", 51.3, 9.5)
	fr = place("FR", "EU")
	us = place("US", "NA", 37.75, -97.8)
)

func TestPlacesAreFound(t *testing.T) {
	table := open(t, build(t,
		"1.0.0.0/24", de, "1.0.1.0/24", de, "1.0.2.0/23", fr, "2.0.0.0/8", us, "255.255.255.255/32", fr,
		"2001:db8::/32", de, "2001:db9::/48", us, "2001:db9:1::1/128", fr, "2001:db9:1::2/128", us, "ffff::/16", fr))
	for text, want := range map[string]struct {
		place geoip.Place
		bits  int
	}{
		"0.0.0.0": {geoip.Place{}, 8}, "0.255.255.255": {geoip.Place{}, 8},
		"1.0.0.0": {de, 23}, "1.0.1.255": {de, 23}, "1.0.2.0": {fr, 23}, "1.0.3.255": {fr, 23}, "1.0.4.0": {geoip.Place{}, 22},
		"1.128.0.0": {geoip.Place{}, 9}, "2.0.0.0": {us, 8}, "2.255.255.255": {us, 8}, "3.0.0.0": {geoip.Place{}, 8},
		"255.255.255.254": {geoip.Place{}, 32}, "255.255.255.255": {fr, 32}, "::ffff:2.1.1.1": {us, 8},
		"::": {geoip.Place{}, 3}, "2001:db8::1": {de, 32}, "2001:db8:ffff:ffff::": {de, 32}, "2001:db9::": {us, 48}, "2001:db9:0:1::": {us, 48},
		"2001:db9:1::ffff": {fr, 64}, "2001:db9:1:1::": {geoip.Place{}, 64}, "fffe:ffff::": {geoip.Place{}, 16}, "ffff:ffff::": {fr, 16},
	} {
		if p, bits := table.Find(netip.MustParseAddr(text)); p != want.place || bits != want.bits {
			t.Errorf("%s: %v, %d bits; want %v, %d", text, p, bits, want.place, want.bits)
		}
	}
	if p, bits := table.Find(netip.Addr{}); p != (geoip.Place{}) || bits != 0 {
		t.Errorf("no address: %v, %d", p, bits)
	}
	if v4, v6 := table.Ranges(); v4 != 7 || v6 != 6 {
		t.Errorf("%d and %d ranges", v4, v6)
	}
	if n, located := table.Countries(); n != 3 || !located {
		t.Errorf("%d countries, %v", n, located)
	}
	if table.Built() != 1700000000 || len(table.Key()) != len("geoip/")+32 {
		t.Errorf("%d, %s", table.Built(), table.Key())
	}
	if n := testing.AllocsPerRun(100, func() { table.Find(netip.AddrFrom4([4]byte{1, 0, 2, 3})) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEmptyAndWorldwideTables(t *testing.T) {
	for _, all := range []string{"0.0.0.0/0", "::/0"} {
		table := open(t, build(t, all, us))
		a := netip.MustParsePrefix(all).Addr()
		if p, bits := table.Find(a); p != us || bits != 0 {
			t.Errorf("%s: %v, %d", all, p, bits)
		}
		if p, bits := table.Find(netip.MustParseAddr(map[bool]string{true: "::1", false: "1.1.1.1"}[a.Is4()])); p != (geoip.Place{}) || bits != 0 {
			t.Errorf("the other version: %v, %d", p, bits)
		}
	}
	if n, located := open(t, build(t)).Countries(); n != 0 || located {
		t.Errorf("%d, %v", n, located)
	}
}

// All addresses of the returned net have the same place, compared with a linear search.
func TestLookupHoldsForTheReturnedNet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	places := []geoip.Place{de, fr, us, {}}
	var nets []netip.Prefix
	for at := uint32(0); at < 1<<16; {
		size := min(r.IntN(9), trailing(at))
		nets = append(nets, netip.PrefixFrom(addr4(at<<16), 16-size))
		at += 1 << size
	}
	b, of := geoip.NewBuilder(), make([]geoip.Place, len(nets))
	for i, n := range nets {
		if of[i] = places[r.IntN(len(places))]; of[i] != (geoip.Place{}) || i%2 == 0 {
			if err := b.Add(n, of[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	table := open(t, b.Memory(0))
	holds := func(a netip.Addr) geoip.Place {
		return of[slices.IndexFunc(nets, func(n netip.Prefix) bool { return n.Contains(a) })]
	}
	for range 2000 {
		a := addr4(r.Uint32())
		p, bits := table.Find(a)
		if want := holds(a); p != want {
			t.Fatalf("%v: %v, want %v", a, p, want)
		}
		for range 20 {
			other := addr4(number(a)&^(1<<(32-bits)-1) | r.Uint32()&(1<<(32-bits)-1))
			if q, _ := table.Find(other); q != p {
				t.Fatalf("%v is at %v by %d bits, and %v at %v", a, p, bits, other, q)
			}
		}
		if bits == 0 {
			continue
		}
		less := number(a) &^ (1<<(33-bits) - 1)
		same := true
		for i := range uint32(1 << 12) {
			step := uint32(1) << max(0, 33-bits-12)
			q, _ := table.Find(addr4(less + i*step%(1<<(33-bits))))
			same = same && q == p
		}
		if same && bits <= 16 {
			t.Fatalf("%v: a bit less than %d would do", a, bits)
		}
	}
}

func addr4(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func trailing(n uint32) (zeros int) {
	for ; zeros < 8 && n&(1<<zeros) == 0; zeros++ {
	}
	return zeros
}

func TestNetsComeInOrder(t *testing.T) {
	for _, two := range [][2]string{{"2.0.0.0/8", "1.0.0.0/8"}, {"1.0.0.0/8", "1.2.0.0/16"}, {"0.0.0.0/0", "1.0.0.0/8"}, {"::/0", "::/1"}, {"2001::/16", "2001:db8::/32"}} {
		b := geoip.NewBuilder()
		if err := b.Add(netip.MustParsePrefix(two[0]), de); err != nil {
			t.Fatal(err)
		}
		if err := b.Add(netip.MustParsePrefix(two[1]), fr); !errors.Is(err, geoip.ErrOrder) {
			t.Errorf("%v: %v", two, err)
		}
	}
}

func TestTableKeyFollowsItsContents(t *testing.T) {
	one, same, other := open(t, build(t, "1.0.0.0/8", de)), open(t, build(t, "1.0.0.0/8", de)), open(t, build(t, "1.0.0.0/8", fr))
	if one.Key() != same.Key() || one.Key() == other.Key() || one.Key() == open(t, build(t)).Key() || !strings.HasPrefix(one.Key(), geoip.Prefix) {
		t.Errorf("%s, %s, %s", one.Key(), same.Key(), other.Key())
	}
}

func TestATableIsMapped(t *testing.T) {
	mapped := func(mem []byte) (*geoip.Table, error) {
		t.Helper()
		f, err := shm.Sealed("test", mem)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := shm.MapSealed(f)
		if err != nil {
			t.Fatal(err)
		}
		return geoip.Map(m)
	}
	table, err := mapped(build(t, "1.0.0.0/8", de))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC() // a table in use must stay mapped
	if p, _ := table.Find(netip.MustParseAddr("1.2.3.4")); p != de {
		t.Errorf("got %v, want %v", p, de)
	}
	if table, err := mapped([]byte("something else, that is long enough to have been a header of a table.")); table != nil || !errors.Is(err, geoip.ErrLayout) {
		t.Errorf("%v, %v", table, err)
	}
}

func TestPlacesInWords(t *testing.T) {
	for want, p := range map[string]geoip.Place{
		"DE, EU (51.30, 9.50)": de, "FR, EU": fr, "": {}, "NA": place("", "na"), "(1.00, 2.00)": place("", "x", 1, 2), "AQ": place("aq", ""),
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add(build(f, "1.0.0.0/8", de, "2001:db8::/32", fr), []byte{1, 2, 3, 4})
	f.Add(build(f), make([]byte, 16))
	f.Add([]byte("sluiceGI\x01\x00\x00\x00"), []byte{1})
	f.Fuzz(func(t *testing.T, mem, asked []byte) {
		table, err := geoip.Open(mem)
		if err != nil {
			if !errors.Is(err, geoip.ErrLayout) {
				t.Error(err)
			}
			return
		}
		a, _ := netip.AddrFromSlice(asked)
		_, bits := table.Find(a)
		if bits < 0 || bits > 64 {
			t.Errorf("%d bits", bits)
		}
		table.Countries()
	})
}
