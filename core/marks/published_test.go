package marks_test

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

func memory() []byte {
	words := make([]uint64, marks.PublishedSize/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), marks.PublishedSize)
}

func open(t *testing.T, mem []byte) *marks.Published {
	t.Helper()
	p, err := marks.OpenPublished(mem)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPublishedKindsRoundTrip(t *testing.T) {
	mem := memory()
	p := open(t, mem)
	if kinds, _, ok := p.List(); !ok || len(kinds) != 0 {
		t.Errorf("new memory lists %v, %v", kinds, ok)
	}
	if got := *(*[2]uint64)(unsafe.Pointer(&mem[0])); got != [2]uint64{0x534c4d41524b4b44, 1} { // constants known to other releases
		t.Errorf("it begins with %#x", got)
	}
	kinds := []marks.Kind{{Mark: 1}, {Mark: 1<<32 - 1}, {Mark: 1, V6: true}, {Mark: 1, UDP: true}, {Mark: 1<<32 - 1, V6: true, UDP: true}, {Mark: marks.Transparent}}
	if err := p.Set(slices.Concat(kinds, []marks.Kind{{}, {V6: true}}, kinds)); err != nil {
		t.Fatal(err)
	}
	got, version, ok := open(t, mem).List() // as another process would
	if !ok || len(got) != len(kinds) || slices.ContainsFunc(kinds, func(k marks.Kind) bool { return !slices.Contains(got, k) }) {
		t.Errorf("listed are %v, want %v", got, kinds)
	}
	if err := p.Set(kinds[:1]); err != nil {
		t.Fatal(err)
	}
	if got, next, ok := p.List(); !ok || !slices.Equal(got, kinds[:1]) || next == version {
		t.Errorf("listed are %v, version %d after %d", got, next, version)
	}
}

func TestListSurvivesItsWriter(t *testing.T) {
	mem := memory()
	p := open(t, mem)
	if err := p.Set([]marks.Kind{{Mark: 7}}); err != nil {
		t.Fatal(err)
	}
	version := (*uint64)(unsafe.Pointer(&mem[16]))
	*version++
	if kinds, _, ok := p.List(); ok {
		t.Errorf("a list that is being written lists %v", kinds)
	}
	if err := p.Set([]marks.Kind{{Mark: 8}}); err != nil {
		t.Fatal(err)
	}
	if kinds, v, ok := p.List(); !ok || v%2 != 0 || len(kinds) != 1 || kinds[0].Mark != 8 {
		t.Errorf("listed are %v, %v, version %d", kinds, ok, v)
	}
}

func TestListThatChangesWhileItIsReadDoesNotCount(t *testing.T) {
	p := open(t, memory())
	const many = 500 // enough for the list to change during a read
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		kinds := make([]marks.Kind, many)
		for first := uint32(1); ; first++ {
			for i := range kinds {
				kinds[i].Mark = first + uint32(i)
			}
			select {
			case <-stop:
				return
			default:
				_ = p.Set(kinds)
			}
		}
	})
	for seen := map[uint64]bool{}; len(seen) < 500; { // versions: the writer runs all the time
		kinds, version, ok := p.List()
		seen[version] = true
		if ok && len(kinds) > 0 && (len(kinds) != many || kinds[many-1].Mark != kinds[0].Mark+many-1) {
			t.Errorf("%d listed are from %v to %v", len(kinds), kinds[0], kinds[len(kinds)-1])
			break
		}
	}
	close(stop)
	writing.Wait()
}

func TestForeignMemoryIsRefused(t *testing.T) {
	for name, mem := range map[string][]byte{
		"short":         memory()[:100],
		"not aligned":   memory()[1:],
		"other content": append([]byte("something"), memory()[9:]...),
	} {
		if name == "not aligned" {
			mem = append(mem, 0)[:marks.PublishedSize]
			if uintptr(unsafe.Pointer(&mem[0]))%8 == 0 {
				mem = append(mem, 0)[1:]
			}
		}
		if _, err := marks.OpenPublished(mem); !errors.Is(err, marks.ErrPublished) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := open(t, memory()).Set(make([]marks.Kind, 1<<18)); err != nil {
		t.Errorf("kinds without a mark: %v", err)
	}
	many := make([]marks.Kind, 1<<17+1)
	for i := range many {
		many[i].Mark = uint32(i + 1)
	}
	p := open(t, memory())
	if err := p.Set(many[1:]); err != nil {
		t.Error(err)
	}
	if err := p.Set(many); err == nil {
		t.Error("too many were accepted")
	}
	if kinds, _, ok := p.List(); !ok || len(kinds) != len(many)-1 {
		t.Errorf("after too many there are %d, %v", len(kinds), ok)
	}
}

func TestFarmsNeedTheMarksOfTheirConnections(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1")
	backends := []farm.Backend{{Addr: v4}, {Addr: v6, Mark: 9}}
	http := farm.Farm{HTTP: farm.DefaultHTTP()}
	http.HTTP.Services = []farm.Service{{Backends: backends}}
	marked := farm.Farm{HTTP: farm.DefaultHTTP()}
	marked.HTTP.Mark, marked.HTTP.Services = 7, http.HTTP.Services
	stopped := marked
	stopped.Stopped = true
	l4 := func(change func(l *farm.L4)) farm.Farm {
		l := farm.DefaultL4()
		l.Ports, l.DataPath, l.Backends, l.Mark = []farm.PortRange{{First: 80, Last: 80}}, farm.DataPathUserspace, slices.Clone(backends), 7
		change(l)
		return farm.Farm{Profile: farm.ProfileL4, VIP: v4, L4: l}
	}
	for name, c := range map[string]struct {
		farm farm.Farm
		want []marks.Kind
	}{
		"without a mark": {http, []marks.Kind{{Mark: 9, V6: true}}},
		"with one":       {marked, []marks.Kind{{Mark: 7}, {Mark: 9, V6: true}}},
		"stopped":        {stopped, nil},
		"tcp":            {l4(func(*farm.L4) {}), []marks.Kind{{Mark: 7}, {Mark: 9, V6: true}}},
		"udp":            {l4(func(l *farm.L4) { l.Protocol = farm.L4UDP }), []marks.Kind{{Mark: 7, UDP: true}, {Mark: 9, V6: true, UDP: true}}},
		"tcp and udp":    {l4(func(l *farm.L4) { l.Protocol, l.Backends = farm.L4TCPUDP, l.Backends[:1] }), []marks.Kind{{Mark: 7}, {Mark: 7, UDP: true}}},
		"in the kernel":  {l4(func(l *farm.L4) { l.DataPath, l.Backends = farm.DataPathKernel, l.Backends[:1] }), nil},
		"as the client": {l4(func(l *farm.L4) { l.NAT, l.Mark, l.Backends[1].Mark = farm.NATTarget, 0, 0 }),
			[]marks.Kind{{Mark: marks.Transparent}, {Mark: marks.Transparent, V6: true}}},
	} {
		if got := marks.Needed(&c.farm); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
