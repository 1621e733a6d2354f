package forward

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/session"
)

// compileOne compiles a farm with two backends.
func compileOne(t *testing.T, change func(l *farm.L4)) *farmTable {
	t.Helper()
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	l := farm.DefaultL4()
	l.ID, l.DataPath, l.Ports = 1, farm.DataPathUserspace, []farm.PortRange{{First: 80, Last: 80}}
	for i := range 2 {
		l.Backends = append(l.Backends, farm.Backend{ID: uint32(i + 1), Addr: netip.MustParseAddr("192.0.2.1"), Port: uint16(1 + i)})
	}
	change(l)
	e := &Engine{Base: engine.Base[*worker]{Health: healthTable}, registries: newRegistries()}
	f, err := e.compileFarm(&farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.9"), L4: l})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTimeoutsComeFromFarmOrDefaults(t *testing.T) {
	type times struct{ connect, idle, flowIdle, ttl, grace, timeout, every time.Duration }
	of := func(f *farmTable) times {
		r := &f.backends[0].reach
		return times{time.Duration(f.connect), time.Duration(f.idle), time.Duration(f.flowIdle), f.persist.ttl, f.grace, r.Timeout, r.Every}
	}
	set := compileOne(t, func(l *farm.L4) {
		l.ConnectTimeout, l.IdleTimeout, l.TTL, l.StopGrace, l.ResurrectTime = 1, 2, 3, 4, 5
	})
	if got, want := of(set), (times{1e9, 2e9, 2e9, 3e9, 4e9, 1e9, 5e9}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	unset := compileOne(t, func(l *farm.L4) { l.TTL = 0 })
	if got, want := of(unset), (times{5e9, 3600e9, 30e9, 60e9, 0, 5e9, 10e9}); got != want {
		t.Errorf("defaults: got %v, want %v", got, want)
	}
}

func TestUnservableFarmsHaveAReason(t *testing.T) {
	e := &Engine{}
	if _, err := e.compileFarm(&farm.Farm{L4: farm.DefaultL4()}); err == nil {
		t.Error("a farm without a port is served")
	}
	f := &farm.Farm{Profile: farm.ProfileL4, L4: farm.DefaultL4()}
	f.L4.Backends = []farm.Backend{{ID: 1}, {ID: 2, Mark: 7, Addr: netip.MustParseAddr("192.0.2.1")}}
	for _, c := range []struct {
		missing map[marks.Kind]error
		says    string
	}{{nil, ""}, {map[marks.Kind]error{{Mark: 8}: marks.ErrSilent}, ""}, {map[marks.Kind]error{{Mark: 7}: marks.ErrSilent}, "backend 1 has mark 7"}} {
		if err := unmarked(f, c.missing); (err != nil) != (c.says != "") || err != nil && (!errors.Is(err, marks.ErrSilent) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("without %v: %v", c.missing, err)
		}
	}
}

func TestFarmsWithoutSocketsAreOmitted(t *testing.T) {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Base: engine.Base[*worker]{Health: healthTable}, registries: newRegistries()}
	cfg := &farm.Config{}
	for i, name := range []string{"good", "silent"} {
		l := farm.DefaultL4()
		l.DataPath, l.Ports = farm.DataPathUserspace, []farm.PortRange{{First: 80, Last: 80}}
		l.Backends = []farm.Backend{{ID: uint32(i + 1), Addr: netip.MustParseAddr("192.0.2.1"), Port: 81}}
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 1), Name: name, Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.9"), L4: l})
	}
	cfg.Farms[1].L4.Backends[0].Mark = 7
	table, problems := e.compile(&table{}, 1, cfg, map[marks.Kind]error{{Mark: 7}: marks.ErrSilent})
	if len(problems) != 1 || !errors.Is(problems[2], marks.ErrSilent) || len(table.ByID) != 1 || table.ByID[1] == nil {
		t.Errorf("problems %v, %d farms are served", problems, len(table.ByID))
	}
}

// During a flood of invented clients, new flows replace others at a limited rate.
func TestFlowsReplaceOthersAtARate(t *testing.T) {
	const each = int64(second) / freshRate
	fs, now := &flows{credit: freshBurst}, 10*int64(second)
	allowed := func() (n int) {
		for fs.fresh(now) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		passes int64
		want   int
	}{{0, freshBurst}, {0, 0}, {each / 2, 0}, {each/2 + 2, 1}, {10*each + 10, 10}, {int64(second), freshBurst}} {
		now += c.passes
		if n := allowed(); n != c.want {
			t.Errorf("%d after %d ns, want %d", n, c.passes, c.want)
		}
	}
}

func TestMembersFollowBackendSettings(t *testing.T) {
	f := compileOne(t, func(l *farm.L4) {
		l.Backends[1].Weight, l.Backends[1].Priority, l.Backends[1].ConnLimit = 7, 2, 9
	})
	if m := f.group.picker.Member(0); m.Weight != 1 || m.Priority != 1 || m.Limit != 0 {
		t.Errorf("a backend without settings is %+v", m)
	}
	if m := f.group.picker.Member(1); m.Weight != 7 || m.Priority != 2 || m.Limit != 9 {
		t.Errorf("it is %+v", m)
	}
}

// The datagrams kept for retries are bounded.
func TestFirstDatagramsOfLatestFlowsAreKept(t *testing.T) {
	k, flows := new(firstDatagrams), make([]flow, firstsKept+1)
	if k.keep(&flows[0], make([]byte, firstMost+1)); flows[0].first != 0 {
		t.Error("a datagram that is too long was kept")
	}
	for i := range flows {
		k.keep(&flows[i], []byte{byte(i)})
	}
	if _, kept := k.of(&flows[0]); kept {
		t.Error("the oldest one is kept")
	}
	for _, i := range []int{1, firstsKept} {
		if data, kept := k.of(&flows[i]); !kept || data[0] != byte(i) {
			t.Errorf("flow %d has %v", i, data)
		}
	}
}

// State that outlives tables is removed with its backend or farm, and sessions when they
// expire.
func TestUnusedStateIsRemoved(t *testing.T) {
	r := newRegistries()
	r.loads.Of(1)
	r.conns.Of(1)
	r.retain(&farm.Config{}, false)
	r.loads.Each(func(*balance.Load) { t.Error("the load of a backend that is gone is kept") })
	r.conns.Each(func(*connCount) { t.Error("the count of a farm that is gone is kept") })
	f := compileOne(t, func(l *farm.L4) {
		l.Persist, l.QUIC, l.Protocol = farm.L4PersistSrc, true, farm.L4UDP
	})
	long := session.Now() - int64(time.Hour)
	f.sessions.Put([]byte("10.0.0.1"), 1, long)
	f.ids.table.Put([]byte("12345678"), 1, long)
	for range 1 << 10 { // each examines a part
		(&table{Farms: engine.Farms[*farmTable]{ByID: map[uint32]*farmTable{1: f}}}).sweep()
	}
	if n, ids := f.sessions.Len(), f.ids.table.Len(); n != 0 || ids != 0 {
		t.Errorf("%d sessions and %d ids are left", n, ids)
	}
}

func TestLocalErrorsDoNotBlameBackends(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.ENOBUFS: true, syscall.ENOMEM: true, syscall.EADDRNOTAVAIL: true,
		syscall.EADDRINUSE: true, syscall.EAFNOSUPPORT: true, syscall.EINVAL: true,
		syscall.ECONNREFUSED: false, syscall.ETIMEDOUT: false, syscall.EHOSTUNREACH: false, syscall.ENETUNREACH: false,
	} {
		if ours(os.NewSyscallError("connect", errno)) != want {
			t.Errorf("%v: ours %t, want %t", errno, !want, want)
		}
	}
}
