package mgmt

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/addr"
)

// The test redirects the log and therefore runs alone.
func TestAnAddressThatLeavesIsLoggedOnceAndWhenItIsBack(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	vip := netip.MustParseAddr("192.0.2.1")
	shop := farm.Farm{ID: 3, Name: "shop", VIP: vip, VPort: 80, HTTP: &farm.HTTP{}}
	halted := farm.Farm{ID: 6, Name: "halted", VIP: vip, Stopped: true, HTTP: &farm.HTTP{}}
	kernel := *dns()
	kernel.VIP = vip
	cfg := &farm.Config{Farms: []farm.Farm{halted, kernel, shop}}
	here := []addr.Local{{Addr: vip, Bits: 24, Interface: "eth0", Index: 2, Up: true, Usable: true}}
	var w watch
	look := func(all []addr.Local) string {
		log.Reset()
		said, moved := w.unreachable(&shop), w.moved.Load()
		w.addresses(cfg, all)
		if w.unreachable(&shop) != said && w.moved.Load() == moved {
			t.Error("a change was not counted")
		}
		return log.String()
	}
	if text := look(here); text != "" || w.unreachable(&shop) != "" {
		t.Errorf("there: %q", text)
	}
	text := look(nil)
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, `level=WARN msg="clients cannot reach the farm" farm=shop reason=`) {
		t.Errorf("gone: %q", text)
	}
	if w.unreachable(&shop) == "" || w.unreachable(&halted) != "" || w.unreachable(&kernel) != "" {
		t.Errorf("unreachable: %v", w.absent)
	}
	if text := look(nil); text != "" {
		t.Errorf("gone still: %q", text)
	}
	text = look(here)
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, `level=INFO msg="clients can reach the farm again" farm=shop vip=192.0.2.1`) || w.unreachable(&shop) != "" {
		t.Errorf("log after the return: %q", text)
	}
	look(nil)
	cfg.Farms[2].Stopped = true
	if text := look(nil); text != "" {
		t.Errorf("stopped meanwhile: %q", text)
	}
}
