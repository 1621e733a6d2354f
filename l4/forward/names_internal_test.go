package forward

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Names are compared ignoring case: exact ones first, then the longest wildcard.
func TestBackendsAreFoundByServerName(t *testing.T) {
	n := &names{exact: map[string]*group{"a.example": {members: []int{0}}}, below: map[string]*group{".example": {members: []int{1}}, ".b.example": {members: []int{2}}}}
	for name, want := range map[string]int{"a.example": 0, "x.example": 1, "x.y.example": 1, "x.b.example": 2, "b.example": 1, "example": -1, "": -1, ".": -1, "x.test": -1} {
		got := -1
		if g := n.find([]byte(name)); g != nil {
			got = g.members[0]
		}
		if got != want {
			t.Errorf("%q: group %d, want %d", name, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { n.find([]byte("x.y.b.example")) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestSessionKeysUseTheirWrittenForm(t *testing.T) {
	tp := tuple{client: netip.MustParseAddrPort("10.0.0.1:4022"), local: netip.MustParseAddrPort("[2001:db8::1]:443")}
	want := map[farm.L4Persistence]string{
		farm.L4PersistNone: "", farm.L4PersistSrc: "10.0.0.1", farm.L4PersistSrcPt: "4022", farm.L4PersistDst: "2001:db8::1", farm.L4PersistDstPt: "443",
		farm.L4PersistSrcSrc: "10.0.0.1 . 4022", farm.L4PersistSrcDest: "10.0.0.1 . 443",
	}
	for _, p := range farm.L4Persistences() {
		if p == farm.L4PersistMAC {
			continue
		}
		key := persistence{kind: p}.appendKey(nil, &tp)
		read, err := farm.ParseL4Key(p, string(key))
		if err != nil || read.Text(p) != string(key) || string(key) != want[p] {
			t.Errorf("%s: %q is read as %q, %v, want %q", p, key, read.Text(p), err, want[p])
		}
	}
}
