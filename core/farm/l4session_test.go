package farm_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestKeysOfSessionsHaveOneNormalForm(t *testing.T) {
	for _, c := range []struct {
		persist    farm.L4Persistence
		text, want string // empty: refused
	}{
		{farm.L4PersistSrc, "10.0.0.1", "10.0.0.1"},
		{farm.L4PersistSrc, " ::ffff:10.0.0.1 ", "10.0.0.1"},
		{farm.L4PersistDst, "2001:DB8:0::1", "2001:db8::1"},
		{farm.L4PersistSrc, "fe80::1%eth0", ""},
		{farm.L4PersistSrc, "10.0.0.1 . 80", ""},
		{farm.L4PersistSrcPt, "04022", "4022"},
		{farm.L4PersistDstPt, "65536", ""},
		{farm.L4PersistDstPt, "0", ""},
		{farm.L4PersistDstPt, "+1", ""},
		{farm.L4PersistMAC, "02:00:00:AB:00:01", "02:00:00:ab:00:01"},
		{farm.L4PersistMAC, "0200.00ab.0001", "02:00:00:ab:00:01"},
		{farm.L4PersistMAC, "02:00:00:00:00:00:00:01", ""},
		{farm.L4PersistSrcSrc, "10.0.0.1 . 4022", "10.0.0.1 . 4022"},
		{farm.L4PersistSrcSrc, "10.0.0.1.4022", "10.0.0.1 . 4022"},
		{farm.L4PersistSrcDest, "2001:db8::1 .443", "2001:db8::1 . 443"},
		{farm.L4PersistSrcDest, "10.0.0.1", ""},
		{farm.L4PersistSrcDest, "2001:db8::1", ""},
		{farm.L4PersistNone, "10.0.0.1", ""},
	} {
		key, err := farm.ParseL4Key(c.persist, c.text)
		if got := key.Text(c.persist); (err == nil) != (c.want != "") || err == nil && got != c.want {
			t.Errorf("%s of %q: %q %v, want %q", c.persist, c.text, got, err, c.want)
		}
	}
	for _, p := range farm.L4Persistences() {
		if farm.L4KeyForm(p) == "" {
			t.Errorf("persistence %s has no form of keys", p)
		}
	}
}

// FuzzL4Key checks that the normal form of a key parses to the same key.
func FuzzL4Key(f *testing.F) {
	for i, seed := range []string{"10.0.0.1", "4022", "10.0.0.1 . 4022", "02:00:00:00:00:01", "2001:db8::1 . 1", "::ffff:1.2.3.4.5", " . ", "%"} {
		f.Add(uint8(i), seed)
	}
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		p := farm.L4Persistences()[int(kind)%len(farm.L4Persistences())]
		key, err := farm.ParseL4Key(p, text)
		if err != nil {
			return
		}
		again, err := farm.ParseL4Key(p, key.Text(p))
		if err != nil || again != key {
			t.Fatalf("%s of %q is %q, which is read as %v, %v, want %v", p, text, key.Text(p), again, err, key)
		}
	})
}
