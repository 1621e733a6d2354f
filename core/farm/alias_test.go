package farm_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestBackendAliasOverridesAddressAlias(t *testing.T) {
	a := farm.Aliases{Backends: []farm.Alias{{ID: "10.0.0.1", Alias: "db"}, {ID: "2001:db8::1", Alias: "six"}}}
	for _, c := range []struct {
		want string
		of   farm.Backend
	}{
		{"db", farm.Backend{Host: "10.0.0.1"}},
		{"own", farm.Backend{Host: "10.0.0.1", Alias: "own"}},
		{"", farm.Backend{Host: "10.0.0.2"}},
		{"six", farm.Backend{Host: "2001:DB8::0:1"}},
		{"db", farm.Backend{Host: "db.example", Addr: netip.MustParseAddr("10.0.0.1")}},
		{"", farm.Backend{Host: "db.example"}},
	} {
		if got := a.Called(&c.of); got != c.want {
			t.Errorf("%+v is called %q, want %q", c.of, got, c.want)
		}
	}
}

func TestCloneCopiesAliases(t *testing.T) {
	cfg := farm.Config{System: farm.System{Aliases: farm.Aliases{Backends: []farm.Alias{{ID: "10.0.0.1", Alias: "a"}}, Interfaces: []farm.Alias{{ID: "eth0", Alias: "b"}}}}}
	copied := cfg.Clone()
	copied.System.Aliases.Backends[0].Alias, copied.System.Aliases.Interfaces[0].Alias = "x", "x"
	if cfg.System.Aliases.Backends[0].Alias != "a" || cfg.System.Aliases.Interfaces[0].Alias != "b" {
		t.Error("the copy shares its aliases")
	}
}
