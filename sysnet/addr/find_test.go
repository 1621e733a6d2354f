package addr_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/sysnet/addr"
)

func TestFindPrefersUsableInterfaces(t *testing.T) {
	local := func(ip, name string, up, usable, duplicate bool) addr.Local {
		return addr.Local{Addr: netip.MustParseAddr(ip), Interface: name, Up: up, Usable: usable, Duplicate: duplicate}
	}
	all := []addr.Local{
		local("127.0.0.1", "lo", true, true, false), local("192.0.2.1", "down0", false, true, false), local("192.0.2.1", "eth0", true, true, false),
		local("192.0.2.2", "down0", false, true, false), local("192.0.2.3", "eth0", true, false, true), local("192.0.2.4", "eth0", true, false, false),
	}
	for vip, want := range map[string]struct {
		on, text string
		is       error
	}{
		"192.0.2.1": {"eth0", "", nil}, "127.0.0.1": {"lo", "", nil}, "127.9.9.9": {"lo", "", nil}, "0.0.0.0": {"", "", nil}, "::": {"", "", nil},
		"192.0.2.2": {"", "interface down0, which has the address 192.0.2.2, is down: ", addr.ErrDown},
		"192.0.2.3": {"", "another machine has the address 192.0.2.3 too: ", addr.ErrDuplicate},
		"192.0.2.4": {"", "whether another machine has the address 192.0.2.4 is being found out: ", addr.ErrDuplicate},
		"192.0.2.5": {"", "no interface of this machine has the address 192.0.2.5: ", addr.ErrNotLocal},
		"::1":       {"", "no interface of this machine has the address ::1: ", addr.ErrNotLocal},
	} {
		got, err := addr.Find(all, netip.MustParseAddr(vip))
		if !errors.Is(err, want.is) || want.is == nil && err != nil || err != nil && err.Error() != want.text+want.is.Error() || got.Interface != want.on {
			t.Errorf("%s: on %q, %v", vip, got.Interface, err)
		}
		if ip := netip.MustParseAddr(vip); ip.IsUnspecified() && (got.Addr != ip || !got.Up || !got.Usable) {
			t.Errorf("%s yields %+v", vip, got)
		}
	}
}
