package mgmt

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// The test redirects the log and therefore runs alone.
func TestFirewallsAreLoggedOnceWhenTheyCloseAndOnceWhenTheyOpen(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	vip := netip.MustParseAddr("192.0.2.1")
	shop := farm.Farm{ID: 3, Name: "shop", VIP: vip, VPort: 8080, HTTP: &farm.HTTP{}}
	both := farm.Farm{ID: 5, Name: "both", VIP: vip, L4: &farm.L4{Protocol: farm.L4TCPUDP, NAT: farm.NATMasquerade, DataPath: farm.DataPathUserspace, Ports: []farm.PortRange{{First: 53, Last: 54}}}}
	halted, here := shop, shop
	halted.ID, halted.Stopped = 6, true
	here.ID, here.VIP = 7, netip.MustParseAddr("127.0.0.9")
	cfg := &farm.Config{Farms: []farm.Farm{shop, *dns(), both, halted, here}}
	var w watch
	var asked ctl.FarmKeys
	look := func(says map[uint32][]string, err error) string {
		log.Reset()
		said, moved := w.firewalled(&shop), w.moved.Load()
		defer func() {
			if !reflect.DeepEqual(w.firewalled(&shop), said) && w.moved.Load() == moved {
				t.Error("a change was not counted")
			}
		}()
		w.firewalls(t.Context(), cfg, func(_ context.Context, keys ctl.FarmKeys) (map[uint32][]string, error) {
			asked = keys
			return says, err
		})
		return log.String()
	}
	if text := look(nil, nil); text != "" {
		t.Errorf("logged %q", text)
	}
	want := ctl.FarmKeys{3: {"tcp/192.0.2.1:8080"}, 5: {"tcp/192.0.2.1:53", "udp/192.0.2.1:53", "tcp/192.0.2.1:54", "udp/192.0.2.1:54"}}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("queries for %v", asked)
	}
	closed := map[uint32][]string{3: {"one drops it", "another drops it"}}
	text := look(closed, nil)
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=WARN") || !strings.Contains(text, `farm=shop reason="one drops it; another drops it"`) {
		t.Errorf("logged %q", text)
	}
	if text := look(closed, nil) + look(nil, errors.New("netd is away")); text != "" {
		t.Errorf("logged again %q", text)
	}
	if got := w.firewalled(&shop); len(got) != 2 || w.firewalled(&both) != nil {
		t.Errorf("result %q", got)
	}
	closed = map[uint32][]string{3: closed[3], 5: {"one drops it"}}
	if text := look(closed, nil); strings.Count(text, "\n") != 1 || !strings.Contains(text, "farm=both") {
		t.Errorf("log of the other farm: %q", text)
	}
	closed = map[uint32][]string{3: closed[3]}
	if text := look(closed, nil); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=INFO") || !strings.Contains(text, "farm=both") {
		t.Errorf("log of the other farm: %q", text)
	}
	if text := look(nil, nil); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=INFO") || !strings.Contains(text, "farm=shop") {
		t.Errorf("logged %q", text)
	}
	if got := w.firewalled(&shop); got != nil {
		t.Errorf("result is still %q", got)
	}
	look(closed, nil)
	asked, cfg = nil, &farm.Config{Farms: []farm.Farm{halted, here}}
	if look(closed, nil); asked != nil || w.firewalled(&shop) != nil {
		t.Errorf("without farms: queries %v, result %q", asked, w.firewalled(&shop))
	}
}
