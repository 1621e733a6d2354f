package accesslog

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/shm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// appliance is a pump over a segment of its own, and the loop that fills it.
type appliance struct {
	t       *testing.T
	segment *accesslog.Segment
	writer  *accesslog.Writer
	event   *os.File
	dir     string
	cfg     atomic.Pointer[farm.Config]
	pump    *Pump
	stop    func()
	stdout  *os.File
	log     logtest.Log
	entry   accesslog.Entry
}

// config returns a configuration with one farm that logs, number 1.
func config(edit func(l *farm.AccessLog)) *farm.Config {
	h := farm.DefaultHTTP()
	h.Logs = true
	h.Services = []farm.Service{{ID: 7, Name: "web", Backends: []farm.Backend{{ID: 9, Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}}}}
	if edit != nil {
		edit(&h.AccessLog)
	}
	return &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, HTTP: h}}}
}

func newAppliance(t *testing.T, cfg *farm.Config) *appliance {
	t.Helper()
	a := &appliance{t: t, dir: t.TempDir()}
	f, err := shm.Shared("test", accesslog.SegmentSize)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(); f.Close() })
	if a.segment, err = accesslog.OpenSegment(m.Bytes()); err != nil {
		t.Fatal(err)
	}
	if a.event, err = shm.Event("test"); err != nil {
		t.Fatal(err)
	}
	w, err := shm.NewWaker(a.event)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.event.Close(); w.Close() })
	a.writer = a.segment.Writer(0, w)
	a.cfg.Store(cfg)
	a.run()
	return a
}

// run starts a pump as a new mgmt does.
func (a *appliance) run() {
	root, err := os.OpenRoot(a.dir)
	if err != nil {
		a.t.Fatal(err)
	}
	a.pump = New(Options{
		Segment: a.segment, Wake: a.event, Data: root, Stdout: a.stdout, Config: a.cfg.Load,
		Classes: func() []string { return []string{"bad-request", "timeout"} },
		Log:     slog.New(slog.NewTextHandler(&a.log, nil)),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	pump := a.pump
	go func() { defer close(ended); pump.Run(ctx) }()
	a.stop = sync.OnceFunc(func() { cancel(); <-ended; root.Close() })
	a.t.Cleanup(a.stop)
}

// usual fills in a typical record.
func usual(e *accesslog.Entry) {
	e.Begin()
	e.Exchange = accesslog.Exchange{
		Time: 1_760_000_000_123_456_789, Connect: 1_500, Response: 2_000_400, FirstByte: 2_100_000, Total: 2_500_600, BytesIn: 70, BytesOut: 300,
		Farm: 1, Service: 7, Backend: 9, Flags: accesslog.Logged | accesslog.Reused, Status: 200, Proto: accesslog.ProtoHTTP11, Tries: 1, Why: accesslog.WhyCookie,
		TLSVersion: 0x304, Cipher: 0x1301,
	}
	e.Client(netip.MustParseAddrPort("198.51.100.7:40000"))
	e.Method([]byte("GET"))
	e.Host([]byte("www.example.org"))
	e.Path([]byte("/shop/articles/4711?color=red&size=XL"))
	e.RequestID([]byte("0123456789abcdef0123456789abcdef"))
	e.Agent([]byte("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"))
	e.Referer([]byte("https://www.example.org/shop/"))
}

// put makes the loop record one exchange.
func (a *appliance) put(edit func(e *accesslog.Entry)) {
	a.t.Helper()
	usual(&a.entry)
	if edit != nil {
		edit(&a.entry)
	}
	if !a.writer.Put(&a.entry) {
		a.t.Fatal("the ring is full")
	}
}

// lines returns the lines of a log file when it has n of them.
func (a *appliance) lines(name string, n int) []string {
	a.t.Helper()
	var all []string
	eventually(a.t, func() bool {
		b, _ := os.ReadFile(filepath.Join(a.dir, Folder, name))
		all = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		return len(b) > 0 && len(all) >= n
	})
	if len(all) != n {
		a.t.Fatalf("%d lines in %s, want %d:\n%s", len(all), name, n, strings.Join(all, "\n"))
	}
	return all
}

// patience is how long to wait for a background action, long enough for a busy machine.
const patience = time.Minute

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v", patience)
		}
	}
}

// formatted returns the line of one record.
func formatted(l *farm.AccessLog, edit func(e *accesslog.Entry)) string {
	cfg := config(nil)
	cfg.Farms[0].HTTP.AccessLog = *l
	var out []byte
	roundTrip(edit, func(r *accesslog.Record) {
		c := newClock()
		b := newBook(cfg, []string{"bad-request", "timeout"}, c, func(*farm.Farm) *sink { return nil })
		var l line
		b.lookUp(&l, r)
		out = b.farms[1].format.append(nil, &l)
	})
	return string(out)
}

var onceSegment = sync.OnceValue(func() *accesslog.Segment {
	f, err := shm.Shared("test", accesslog.SegmentSize)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	m, err := shm.MapShared(f, true)
	if err != nil {
		panic(err)
	}
	s, err := accesslog.OpenSegment(m.Bytes())
	if err != nil {
		panic(err)
	}
	return s
})

type nobody struct{}

func (nobody) Wake() {}

// roundTrip calls use with the usual record, changed, after it has passed through a ring.
func roundTrip(edit func(e *accesslog.Entry), use func(r *accesslog.Record)) {
	s := onceSegment()
	var e accesslog.Entry
	usual(&e)
	if edit != nil {
		edit(&e)
	}
	s.Writer(0, nobody{}).Put(&e)
	s.Reader().Drain(use)
}
