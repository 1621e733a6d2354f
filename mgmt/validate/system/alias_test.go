package system_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

func TestAliasesAreHostNamesOrWords(t *testing.T) {
	for _, c := range []struct {
		kind      *system.AliasKind
		id, alias string
		want      string // in the error; "" for none
	}{
		{system.BackendAliases, "10.0.0.1", "db_1-x", ""},
		{system.BackendAliases, "2001:db8::1", "web.example.com", ""},
		{system.BackendAliases, "10.0.0.1", "0", "reserved"},
		{system.BackendAliases, "10.0.0.1", "-rf", "must be a host name"},
		{system.BackendAliases, "10.0.0.1", "../x", "must be a host name"},
		{system.BackendAliases, "10.0.0.1", "$(id)", "must be a host name"},
		{system.BackendAliases, "10.0.0.1", "a=b", "must be a host name"},
		{system.BackendAliases, "10.0.0.1", "a\nb", "must be a host name"},
		{system.BackendAliases, "10.0.0.1", "ａ", "must be a host name"},
		{system.BackendAliases, "10.0.0.1", "10.0.0.2", "it is an address"},
		{system.BackendAliases, "10.0.0.1", strings.Repeat("a", 254), "at most 253"},
		{system.BackendAliases, "10.0.0.1", "", "alias must be"},
		{system.BackendAliases, "eth0", "a", "id must be the address"},
		{system.BackendAliases, "0.0.0.0", "a", "id must be the address"},
		{system.BackendAliases, "fe80::1%eth0", "a", "id must be the address"},
		{system.InterfaceAliases, "eth0.7", "a", ""},
		{system.InterfaceAliases, "eth0:web", "a", ""},
		{system.InterfaceAliases, "../x", "a", "id must be the name of a network interface"},
		{system.InterfaceAliases, "-x", "a", "id must be the name of a network interface"},
		{system.InterfaceAliases, strings.Repeat("e", 16), "a", "at most 15"},
	} {
		_, err := c.kind.Create.Decode("", map[string]any{"id": c.id, "alias": c.alias})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q as %q: %v, want %q", c.kind.Name, c.id, c.alias, err, c.want)
		}
		item := c.id + "=" + c.alias
		_, err = section(t, "aliases").Decode("", map[string]any{c.kind.Name + "s": []any{item}})
		if (err == nil) != (c.want == "") {
			t.Errorf("in a document %q: %v", item, err)
		}
	}
}

func TestOneAddressHasOneAliasWrittenInOneWay(t *testing.T) {
	table := section(t, "aliases")
	_, err := table.Decode("", map[string]any{"backends": []any{"2001:db8::1=a", "2001:DB8::0:1=b"}})
	if err == nil || !strings.Contains(err.Error(), "the same twice") {
		t.Errorf("two aliases of one address: %v", err)
	}
	if _, err := table.Decode("", map[string]any{"backends": []any{"10.0.0.1"}}); err == nil || !strings.Contains(err.Error(), "it has no =") {
		t.Errorf("without an alias: %v", err)
	}
	values, err := table.Decode("", map[string]any{"backends": []any{"2001:DB8::0:1=a"}, "interfaces": "eth0=x,eth1=y"})
	if err != nil {
		t.Fatal(err)
	}
	var s farm.System
	if err := values.Apply(&s); err != nil || len(s.Aliases.Interfaces) != 2 || s.Aliases.Interfaces[1] != (farm.Alias{ID: "eth1", Alias: "y"}) || farm.AliasOf(s.Aliases.Backends, "2001:db8::1") != "a" {
		t.Errorf("%v: %+v", err, s.Aliases)
	}
}
