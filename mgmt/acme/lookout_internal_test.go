package acme

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme/acmetest"
)

// A record is looked for at the servers of its own zone, which is found from
// its name upwards.
func TestARecordIsLookedForAtTheServersOfItsZone(t *testing.T) {
	names := acmetest.NewNameServer(t, netip.MustParseAddr("127.0.0.1"), []string{"sluice.test", "ns.sluice.test"})
	folder := t.TempDir()
	names.Records(folder)
	port := netip.MustParseAddrPort(names.Addr()).Port()
	look := &lookout{resolvers: []string{names.Addr()}, port: port}
	records := []txt{{"a.b.sluice.test", "_acme-challenge.a.b.sluice.test", "v1"}, {"a.b.sluice.test", "_acme-challenge.a.b.sluice.test", "v2"}}
	put := func(value string) {
		if err := os.WriteFile(filepath.Join(folder, records[0].name+"="+value), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("v1")
	put("other")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if missing, err := look.until(ctx, records); err == nil || missing != records[1].name || !strings.Contains(err.Error(), "does not have it yet") {
		t.Errorf("%s: %v", missing, err)
	}
	put("v2")
	if missing, err := look.until(t.Context(), records); err != nil {
		t.Errorf("%s: %v", missing, err)
	}
	names.Alias("_acme-challenge.loop.sluice.test", "_acme-challenge.loop.sluice.test")
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := look.until(ctx, []txt{{"", "_acme-challenge.loop.sluice.test", "v"}}); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("a loop of aliases: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := look.until(ctx, []txt{{"", "_acme-challenge.nobody.example", "v"}}); err == nil || !strings.Contains(err.Error(), "dns_servers") {
		t.Errorf("without a zone: %v", err)
	}
}
