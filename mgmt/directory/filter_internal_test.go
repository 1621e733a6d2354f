package directory

import (
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// FuzzNamesStayNames checks that any name is one value of the filter.
func FuzzNamesStayNames(f *testing.F) {
	for _, seed := range []string{"ann", "*", `a*(b)\`, "a\x00b", "ann)(uid=*", "ü", "\xff\xfe", `\2a`, "%s"} {
		f.Add(seed)
	}
	const filter = "(&(objectClass=person)(uid=%s))"
	plain, err := ldap.CompileFilter(filterFor(filter, "ann"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			return
		}
		packet, err := ldap.CompileFilter(filterFor(filter, name))
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		match := packet.Children[1]
		if len(packet.Children) != 2 || match.Tag != plain.Children[1].Tag || len(match.Children) != 2 {
			t.Fatalf("%q changes the filter", name)
		}
		if got := match.Children[1].Data.String(); got != name {
			t.Fatalf("the filter for %q asks for %q", name, got)
		}
	})
}

// The library allocates the size that a packet announces.
func TestPacketsOfADirectoryAreBounded(t *testing.T) {
	_, _, _ = Settings{Host: "127.0.0.1", Timeout: 1}.dial(t.Context(), nil)
	if ber.MaxPacketLengthBytes != maxAnswer {
		t.Errorf("one may have %d bytes", ber.MaxPacketLengthBytes)
	}
}
