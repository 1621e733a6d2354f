package mgmt

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/link"
)

// fakeKernel has one connection to each backend; nil stands for nine.
type fakeKernel struct{ asked [][]uint32 }

func (c *fakeKernel) Connections(_ context.Context, backends []uint32, limit int) (total int, list []link.Connection, err error) {
	c.asked = append(c.asked, backends)
	if backends == nil {
		return 9, nil, nil
	}
	for _, id := range backends[:min(limit, len(backends))] {
		list = append(list, link.Connection{Backend: id, Protocol: "udp", State: "replied", Client: netip.MustParseAddrPort("192.0.2.7:53"), Idle: 1500 * time.Millisecond, In: 4})
	}
	return len(backends), list, nil
}

func (c *fakeKernel) EndConnections(_ context.Context, backends []uint32) (int, error) {
	c.asked = append(c.asked, backends)
	if backends == nil {
		return 9, nil
	}
	return len(backends), nil
}

func TestConnectionsOfTheEngineAreAskedForInParts(t *testing.T) {
	c := &fakeKernel{}
	f := forwarded{c}
	many := make([]uint32, 2*link.MaxNamed+1)
	for i := range many {
		many[i] = uint32(i + 1)
	}
	list, total, err := f.Connections(t.Context(), many, link.MaxNamed+5)
	if err != nil || total != len(many) || len(list) != link.MaxNamed+5 || len(c.asked) != 3 || list[link.MaxNamed].Backend != link.MaxNamed+1 {
		t.Errorf("%d listed of %d, %d questions, %v", len(list), total, len(c.asked), err)
	}
	if one := list[0]; one.Timeout != 1 || one.BytesIn != 4 || one.State != "replied" || !one.Client.IsValid() {
		t.Errorf("listed %+v", one)
	}
	if _, total, err := f.Connections(t.Context(), nil, 5); err != nil || total != 9 {
		t.Errorf("of all: %d, %v", total, err)
	}
	if n, err := f.FlushConnections(t.Context(), many); err != nil || n != len(many) {
		t.Errorf("ended %d, %v", n, err)
	}
	if n, err := f.FlushConnections(t.Context(), nil); err != nil || n != 9 {
		t.Errorf("ended %d of all, %v", n, err)
	}
	if n, err := f.FlushConnections(t.Context(), []uint32{}); err != nil || n != 0 {
		t.Errorf("ended %d of none, %v", n, err)
	}
}
