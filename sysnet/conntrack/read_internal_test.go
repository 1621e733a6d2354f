package conntrack

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/claim"
)

func TestPhaseDependsOnTheProtocol(t *testing.T) {
	for protocol, want := range map[uint8][]phase{
		unix.IPPROTO_TCP:  {closing, pending, pending, established, closing, closing, closing, closed, closed, pending, closing},
		unix.IPPROTO_SCTP: {closing, closing, pending, pending, established, closing, closing, closing, closing, closing, closing},
		unix.IPPROTO_UDP:  {established, established, established, established, established, established, established, established, established, established, established},
	} {
		for state, want := range want {
			if got := (essence{protocol: protocol, state: uint8(state)}).phase(); got != want {
				t.Errorf("protocol %d in state %d: phase %d, want %d", protocol, state, got, want)
			}
		}
	}
	if c := (Counts{Total: 9, Established: 2, Pending: 3, Closed: 1}); c.Open() != 5 || c.Occupying() != 8 {
		t.Errorf("open are %d, occupying %d", c.Open(), c.Occupying())
	}
}

func TestTruncatedOrUnknownMessagesAreSkipped(t *testing.T) {
	good := entry(0)
	done := message(unix.NLMSG_DONE, 0, make([]byte, 4))
	number := func(n int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }
	for name, c := range map[string]struct {
		b    []byte
		n    int
		done bool
		err  bool
	}{
		"nothing":               {nil, 0, false, false},
		"one, more follow":      {good, 1, false, false},
		"two, and the end":      {slices.Concat(good, good, done, good), 2, true, false},
		"others between":        {slices.Concat(message(99, 0, make([]byte, 3)), []byte{0}, good), 1, false, false},
		"no word at the end":    {message(unix.NLMSG_DONE, 0, nil), 0, true, false},
		"an error of none":      {message(unix.NLMSG_ERROR, 0, number(0)), 0, true, false},
		"a positive number":     {message(unix.NLMSG_ERROR, 0, number(5)), 0, true, false},
		"an error":              {message(unix.NLMSG_ERROR, 0, number(-1)), 0, true, true},
		"longer than it is":     {good[:len(good)-1], 0, false, true},
		"shorter than a head":   {append(number(15), make([]byte, 12)...), 0, false, true},
		"a head and no more":    {message(99, 0, nil), 0, false, false},
		"less than a head":      {good[:15], 0, false, false},
		"whoever reads refuses": {slices.Concat(message(msgNew, 0, []byte("stop")), good), 0, false, true},
	} {
		n := 0
		done, torn, err := messages(c.b, func(msg []byte) error {
			if string(msg[netlinkHead:]) == "stop" {
				return errors.New("stop")
			}
			n++
			return nil
		})
		if n != c.n || done != c.done || torn || (err != nil) != c.err {
			t.Errorf("%s: %d entries, done %v, torn %v, %v", name, n, done, torn, err)
		}
	}
	if e := examine(good[:netlinkHead+genHeader-1]); e != (essence{}) {
		t.Errorf("a head that is cut: %+v", e)
	}
	for name, b := range map[string][]byte{"too short": {3, 0, 1, 0}, "too long": {9, 0, 1, 0, 5, 5, 5, 5}, "another": {4, 0, 2, 0}, "cut": {4, 0, 1}} {
		if got := attribute(b, 1); got != nil {
			t.Errorf("an attribute that is %s: got %v, want nil", name, got)
		}
	}
	if got := attribute([]byte{5, 0, 2, 0, 9, 0, 0, 0, 6, 0, 1, 0xc0, 7, 8}, 1); !slices.Equal(got, []byte{7, 8}) {
		t.Errorf("the second attribute, with flags: %v", got)
	}
}

func TestRequestsContainTheFilter(t *testing.T) {
	all := request(Filter{Family: IPv6})
	if len(all) != 20 || binary.NativeEndian.Uint32(all) != 20 || all[16] != unix.AF_INET6 ||
		binary.NativeEndian.Uint16(all[4:]) != 1<<8|1 || binary.NativeEndian.Uint16(all[6:]) != unix.NLM_F_REQUEST|unix.NLM_F_DUMP {
		t.Errorf("all of IPv6: %x", all)
	}
	own := request(Backend(7))
	if binary.NativeEndian.Uint32(own) != 36 || binary.BigEndian.Uint32(attribute(own[20:], 8)) != 0x5c000007 || binary.BigEndian.Uint32(attribute(own[20:], 21)) != 1<<32-1 {
		t.Errorf("of a backend: %x", own)
	}
	for n, want := range map[int]int{0: 0, 1: 4, 3: 4, 4: 4, 5: 8} {
		if align(n) != want {
			t.Errorf("%d is aligned to %d", n, align(n))
		}
	}
	for mark, want := range map[uint32]bool{0x5c000000: true, 0x5cffffff: true, 0x5b000001: false, 0x5d000001: false, 7: false} {
		if id, ok := BackendOf(mark); ok != want || id != mark&0xfffff {
			t.Errorf("mark %#x: backend %d, %v", mark, id, ok)
		}
	}
	if BackendMark(0xff000007) != 0x5c000007 {
		t.Error("the backend number changes with the instance bits of a mark")
	}
	f := Backends([]uint32{7, 9})
	for mark, want := range map[uint32]bool{0x5c000007: true, 0x5c000008: false, 0x5c000009: true} {
		if f.fits(essence{mark: mark}) != want {
			t.Errorf("mark %#x is meant: got %v, want %v", mark, !want, want)
		}
	}
	f = Filter{Protocol: 6}
	if !f.fits(essence{protocol: 6}) || f.fits(essence{protocol: 17}) || !(&Filter{}).fits(essence{protocol: 17}) {
		t.Error("another protocol is meant")
	}
	for _, c := range []struct {
		f    Filter
		ours bool
	}{
		{Farms(), true}, {Backend(7), true}, {Filter{}, false}, {Filter{Mark: claim.FirstMark, Mask: 0x5c000000}, false},
		{Filter{Mark: 0x5d000000, Mask: claim.OwnMask}, false}, {Filter{Mark: claim.FirstMark, Mask: 0xffff_0000}, true},
	} {
		if err := c.f.ours(); (err == nil) != c.ours || err != nil && !errors.Is(err, ErrNotOurs) {
			t.Errorf("%+v: %v", c.f, err)
		}
	}
	for want, u := range map[bool]Usage{true: {Entries: 5, Max: 5}, false: {Entries: 4, Max: 5}} {
		if u.Full() != want {
			t.Errorf("%+v is full: got %v, want %v", u, !want, want)
		}
	}
	if (Usage{}).Full() || (Usage{Entries: 3}).Full() {
		t.Error("a table without a bound is full")
	}
}

// Filters of one walk match all selected backends and no others.
func TestConsecutiveBackendsShareAFilter(t *testing.T) {
	for _, c := range []struct {
		name  string
		meant func(uint32) bool
		there []uint32
		want  int
	}{
		{"one", func(id uint32) bool { return id == 7 }, []uint32{7}, 1},
		{"two that share", func(id uint32) bool { return id == 6 || id == 7 }, []uint32{6, 7}, 1},
		{"two that do not", func(id uint32) bool { return id == 7 || id == 8 }, []uint32{7, 8}, 2},
		{"a farm's", func(id uint32) bool { return id >= 16 && id < 32 }, []uint32{17, 21, 31}, 1},
		{"but for one", func(id uint32) bool { return id >= 16 && id < 32 && id != 20 }, []uint32{17, 21, 31}, 3},
		{"all", func(uint32) bool { return true }, []uint32{1, 1 << 15, 1<<16 - 1, 1 << 16}, 2},
	} {
		filters := cover(c.there, c.meant)
		if len(filters) != c.want {
			t.Errorf("%s: %d filters, want %d: %+v", c.name, len(filters), c.want, filters)
		}
		for id := range uint32(1 << 17) {
			hit := slices.ContainsFunc(filters, func(f Filter) bool { return BackendMark(id)&f.Mask == f.Mark&f.Mask })
			if hit && !c.meant(id) || !hit && slices.Contains(c.there, id) {
				t.Errorf("%s: backend %d is met: %v", c.name, id, hit)
			}
		}
	}
}
