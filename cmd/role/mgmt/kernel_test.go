package mgmt

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

// askNetd returns an inKernel for a netd with these parts only.
func askNetd(t *testing.T, parts ctl.Parts) *inKernel {
	t.Helper()
	return newInKernel(ctltest.Serve(t, ctltest.Self(), parts))
}

// heard is the last request to a part; netd responds on its own goroutines.
type heard[Q any] struct{ at atomic.Pointer[Q] }

func (h *heard[Q]) last() Q { return *h.at.Load() }

// answer returns a part with a fixed response.
func answer[Q any](reply any, asked *heard[Q], err error) ctl.Handler {
	return func(_ context.Context, body []byte, _ []*os.File) (any, error) {
		q := new(Q)
		if err := ctl.Strict(body, q); err != nil {
			return nil, err
		}
		asked.at.Store(q)
		return reply, err
	}
}

// dns is a kernel farm.
func dns() *farm.Farm {
	return &farm.Farm{ID: 4, Name: "dns", L4: &farm.L4{ID: 6, Protocol: farm.L4All, NAT: farm.NATMasquerade, Persist: farm.L4PersistSrc,
		Backends: []farm.Backend{{ID: 11, Host: "10.0.0.1", Port: 53}, {ID: 12, Host: "10.0.0.2"}}}}
}

func TestSessionsOfKernelFarmsAreKeptByNetd(t *testing.T) {
	var question heard[ctl.KernelQuestion]
	var change heard[ctl.KernelChange]
	found := ctl.KernelSessions{Total: 9, List: []ctl.KernelSession{{Key: "192.0.2.7", Backend: 12, TTL: 90 * time.Second}, {Key: "192.0.2.8", Backend: 11, Static: true}}}
	k := askNetd(t, ctl.Parts{
		ctl.OpKernelSessions: answer(found, &question, nil),
		ctl.OpKernelSession:  answer(ctl.KernelSessions{Total: 1, List: found.List[:1]}, &question, nil),
		ctl.OpKernelChange:   answer(3, &change, nil),
	})
	table, g := sessionTable{sessionStores{engine: &changer{}, kernel: k}}, dns().Groups()[0]
	list, total, err := table.List(t.Context(), g, 5)
	if err != nil || total != 9 || len(list) != 2 || list[0].Type != "static" || list[1].ID != 1 || *list[1].TTL != "1m30s" || list[1].BackendPort != nil || list[1].Service != "" {
		t.Errorf("%+v, %d, %v", list, total, err)
	}
	if question.last().Service != 6 || question.last().Limit != 5 {
		t.Errorf("got the question %+v", question.last())
	}
	if one, ok, err := table.Find(t.Context(), g, "192.0.2.7"); err != nil || !ok || one.ID != 1 || question.last().Key != "192.0.2.7" {
		t.Errorf("%+v, %v, %v", one, ok, err)
	}
	if was, err := table.Delete(t.Context(), g, "192.0.2.7"); err != nil || !was || change.last() != (ctl.KernelChange{Service: 6, Act: ctl.KernelDelete, Key: "192.0.2.7"}) {
		t.Errorf("%v, %v, %+v", was, err, change.last())
	}
	if n, err := table.Flush(t.Context(), g); err != nil || n != 3 || change.last() != (ctl.KernelChange{Service: 6, Act: ctl.KernelFlush}) {
		t.Errorf("%d, %v, %+v", n, err, change.last())
	}
}

func TestCountersOfTheKernelAreThoseOfTheAPI(t *testing.T) {
	count := ctl.KernelCount{Connections: 9, Established: 3, Pending: 1, PacketsIn: 10, BytesIn: 100, PacketsOut: 20, BytesOut: 200}
	var nothing heard[struct{}]
	k := askNetd(t, ctl.Parts{ctl.OpKernelTraffic: answer(ctl.KernelTraffic{Farms: map[uint32]ctl.KernelCount{4: count}, Backends: map[uint32]ctl.KernelCount{11: count}}, &nothing, nil)})
	got, err := k.counts.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := got.Farms[4]; f.Connections != 9 || f.Established != 3 || f.Pending != 1 || f.BytesIn != 100 || f.PacketsOut != 20 {
		t.Errorf("the farm: %+v", f)
	}
	if b := got.Backends[11]; b.Connects != 9 || b.Established != 3 || b.BytesIn != 200 || b.BytesOut != 100 || b.PacketsIn != 20 || b.PacketsOut != 10 {
		t.Errorf("the backend: %+v", b)
	}
}

func TestConnectionsOfKernelFarmsAreThoseTheKernelTracks(t *testing.T) {
	var q heard[ctl.BackendConnections]
	var nothing heard[struct{}]
	entry := conntrack.Entry{Mark: conntrack.BackendMark(12), Protocol: 132, State: "established", Timeout: 9, BytesIn: 5,
		Client: netip.MustParseAddrPort("192.0.2.7:4022"), To: netip.MustParseAddrPort("192.0.2.10:53"), Backend: netip.MustParseAddrPort("10.0.0.2:53")}
	k := askNetd(t, ctl.Parts{
		ctl.OpConnections:      answer(conntrack.Page{Entries: []conntrack.Entry{entry, {Mark: 7}}, Total: 2}, &q, nil),
		ctl.OpFlushConnections: answer(5, &q, nil),
		ctl.OpSystemObjects:    answer([]ctl.KernelObject{{Kind: "sysctl", Name: "net.ipv4.ip_forward", Detail: "1, was 0"}}, &nothing, nil),
	})
	list, total, err := k.Connections(t.Context(), []uint32{12}, 10)
	if err != nil || total != 2 || len(list) != 1 || q.last().Limit != 10 || list[0].Backend != 12 || list[0].Protocol != "sctp" || list[0].Server != entry.Backend || list[0].BytesIn != 5 {
		t.Errorf("%+v, %d, %v", list, total, err)
	}
	if n, err := k.FlushConnections(t.Context(), []uint32{11, 12}); err != nil || n != 5 || len(q.last().Backends) != 2 {
		t.Errorf("%d, %v, %+v", n, err, q.last())
	}
	if list, err := k.Objects(t.Context()); err != nil || len(list) != 1 || list[0].Detail != "1, was 0" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestRefusalByNetdIsNotUnavailability(t *testing.T) {
	var change heard[ctl.KernelChange]
	var name heard[ctl.KernelFarm]
	var nothing heard[struct{}]
	k := askNetd(t, ctl.Parts{
		ctl.OpKernelChange:  answer(nil, &change, &ctl.Error{Code: ctl.CodeInvalid, Text: "the farm keeps no sessions"}),
		ctl.OpKernelRules:   answer("table inet sluice {}", &name, nil),
		ctl.OpKernelState:   answer(ctl.KernelState{Warnings: map[uint32][]string{4: {"no"}}}, &nothing, nil),
		ctl.OpSystemObjects: answer(nil, &nothing, errors.New("operation not permitted")),
	})
	table, g := sessionTable{sessionStores{kernel: k}}, dns().Groups()[0]
	if _, err := table.Flush(t.Context(), g); !errors.Is(err, traffic.ErrSessionRefused) || errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("refused: %v", err)
	}
	if text, err := k.Rules(t.Context(), 4); err != nil || text != "table inet sluice {}" || name.last().Farm != 4 {
		t.Errorf("%q, %v", text, err)
	}
	if got := k.warnings(4); len(got) != 1 || got[0] != "no" || k.warnings(5) != nil {
		t.Errorf("warnings %q", got)
	}
	if _, err := k.Objects(t.Context()); !errors.Is(err, state.ErrKernel) || errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("refused: %v", err)
	}
	away := newInKernel(filepath.Join(t.TempDir(), "none"))
	if _, _, err := (sessionTable{sessionStores{kernel: away}}).List(t.Context(), g, 5); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("no netd: %v", err)
	}
	if got := away.warnings(4); got != nil {
		t.Errorf("no netd: %q", got)
	}
	if _, err := away.counts.get(t.Context()); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("no netd: %v", err)
	}
	if _, err := away.Rules(t.Context(), 4); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("no netd: %v", err)
	}
}
