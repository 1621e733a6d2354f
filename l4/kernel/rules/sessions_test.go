package rules_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// The expected hashes come from a jhash implementation in another language.
func TestSessionsUseAKeyOrItsHash(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for _, c := range []struct {
		persist      farm.L4Persistence
		vip          netip.Addr
		client, name string
		key, element string // empty for an invalid client
	}{
		{farm.L4PersistSrc, four, " 10.0.0.1", "session7_srcip4", "10.0.0.1", "10.0.0.1"},
		{farm.L4PersistSrc, six, "FD00:0::1", "session7_srcip6", "fd00::1", "fd00::1"},
		{farm.L4PersistSrc, six, "10.0.0.1", "session7_srcip6", "", ""},
		{farm.L4PersistSrc, four, "10.0.0.1; flush ruleset", "session7_srcip4", "", ""},
		{farm.L4PersistMAC, four, "02:00:00:00:00:0A", "session7_srcmac4", "02:00:00:00:00:0a", "02:00:00:00:00:0a"},
		{farm.L4PersistSrcPt, four, "40002", "session7_srcport4", "40002", "40002"},
		{farm.L4PersistDst, four, "10.0.0.1", "session7_dstip4", "10.0.0.1", "10.0.0.1"},
		{farm.L4PersistDstPt, six, "80", "session7_dstport6", "80", "80"},
		{farm.L4PersistDstPt, six, "70000", "session7_dstport6", "", ""},
		{farm.L4PersistSrcSrc, four, "10.0.0.1 . 40002", "session7_srcip_srcport4", "10.0.0.1 . 40002", "10.0.0.1 . 40002"},
		{farm.L4PersistSrcSrc, six, "fd00:1::100 . 40002", "session7_srcip_srcport6", "fd00:1::100 . 40002", "0x3e8e83d6"},
		{farm.L4PersistSrcDest, six, "fd00:1::100 . 80", "session7_srcip_dstport6", "fd00:1::100 . 80", "0x2ed2d752"},
	} {
		f := l4test.Example(func(f *farm.Farm) { f.VIP, f.L4.Persist = c.vip, c.persist })
		m := rules.Sessions(&f)
		if m.ID.Name != c.name || m.ID.Table != rules.Inet() {
			t.Errorf("%s %s: they are in %s", c.persist, c.vip, m.ID)
		}
		key, err := rules.SessionKey(c.persist, c.vip, c.client)
		if (err != nil) != (c.key == "") || key != c.key {
			t.Errorf("%s %s: %q is %q, %v", c.persist, c.vip, c.client, key, err)
			continue
		}
		if c.key == "" {
			continue
		}
		if element, err := m.Element(key); err != nil || element != c.element {
			t.Errorf("%s %s: the element of %q is %q, %v, want %q", c.persist, c.vip, key, element, err, c.element)
		}
		hashed := strings.HasPrefix(c.element, "0x")
		if hashed != (m.Clients != nil) || hashed && (m.ClientsID.Name != "client"+strings.TrimPrefix(c.name, "session") || m.Clients.Type == m.Map.Type) {
			t.Errorf("%s %s: by a hash %t, keys in %s", c.persist, c.vip, hashed, m.ClientsID)
		}
	}
	none := l4test.Example(nil)
	if m := rules.Sessions(&none); m != nil {
		t.Errorf("a farm without persistence has the set %s", m.ID)
	}
	packets := direct(func(f *farm.Farm) { f.L4.Persist = farm.L4PersistSrc })
	if m := rules.Sessions(&packets); m.ID.Table != rules.Netdev() {
		t.Errorf("sessions of packet modes are in %s", m.ID)
	}
	if _, err := rules.Sessions(hashing()).Element("nobody . 80"); err == nil {
		t.Error("an invalid key has a hash")
	}
}

// hashing returns a farm with sessions by hash.
func hashing() *farm.Farm {
	f := l4test.Example(func(f *farm.Farm) { l4test.Six(f); f.L4.Persist = farm.L4PersistSrcDest })
	return &f
}
