package publish_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is one run of an engine that accepts everything unless its fields say otherwise.
type engine struct {
	mu         sync.Mutex
	reader     snapshot.Reader
	whole      int     // how often it requested a whole snapshot
	sizes      []int64 // of the snapshots it read
	generation uint64
	listeners  []string
	refuse     string
	mute       bool              // never replies
	until      time.Time         // deadline of the last publication
	behind     uint64            // subtracted from the generation in replies
	problems   map[uint32]string // nil: derived from its sockets
	sessions   *keeper           // nil: returns as many as requested
	during     func()            // called during a publication
	published  []*farm.Config
	places     []string   // key of its GeoIP table
	cameTables int        // number of tables received
	got        [][]string // keys received with each publication
	done       chan struct{}
	once       sync.Once
}

func newEngine() *engine { return &engine{done: make(chan struct{})} }

func (e *engine) Hello() link.Hello {
	e.mu.Lock()
	defer e.mu.Unlock()
	return link.Hello{PID: 1, Generation: e.generation, Loops: 2, Listeners: slices.Clone(e.listeners)}
}

func (e *engine) Done() <-chan struct{} { return e.done }
func (e *engine) Close() error          { e.once.Do(func() { close(e.done) }); return nil }

func (e *engine) Publish(ctx context.Context, file *os.File, opened map[string][]*os.File) (link.Ack, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until, _ = ctx.Deadline()
	generation, cfg, err := e.reader.Load(file)
	if errors.Is(err, snapshot.ErrBase) {
		e.whole++
		return link.Ack{Generation: e.generation, Refused: err.Error(), Whole: true}, nil
	}
	if err != nil {
		return link.Ack{}, err
	}
	if info, err := file.Stat(); err == nil {
		e.sizes = append(e.sizes, info.Size())
	}
	if e.during != nil {
		e.during()
	}
	if e.mute {
		return link.Ack{}, link.ErrGone
	}
	if e.refuse != "" {
		return link.Ack{Generation: e.generation, Refused: e.refuse, Listeners: e.listeners}, nil
	}
	keys := []string{}
	for key, files := range opened {
		if strings.HasPrefix(key, "geoip/") {
			e.places, e.cameTables = []string{key}, e.cameTables+1
			continue
		}
		if len(files) != 2 {
			return link.Ack{}, errors.New("not one socket per loop")
		}
		keys = append(keys, key)
	}
	e.got = append(e.got, keys)
	e.published = append(e.published, cfg)
	e.generation = generation
	have := append(e.listeners, keys...)
	e.listeners = nil
	problems := map[uint32]string{}
	for _, f := range cfg.Farms {
		for _, l := range f.Listeners() {
			if key := l.Key(); !f.Stopped && slices.Contains(have, key) {
				e.listeners = append(e.listeners, key)
			} else if !f.Stopped {
				problems[f.ID] = "sockets are missing"
			}
		}
	}
	if e.problems != nil {
		problems = e.problems
	}
	return link.Ack{Generation: generation - e.behind, Farms: problems, Listeners: append(slices.Clone(e.listeners), e.places...)}, nil
}

func (e *engine) Sessions(ctx context.Context, service uint32, limit int) (int, []link.Session, error) {
	if e.sessions != nil {
		return e.sessions.Sessions(ctx, service, limit)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mute {
		return 0, nil, link.ErrGone
	}
	return int(service), make([]link.Session, limit), nil
}

func (e *engine) Session(_ context.Context, service uint32, key []byte) (link.Session, bool, error) {
	return link.Session{Key: key, Backend: service}, true, nil
}

func (e *engine) ChangeSessions(ctx context.Context, c link.SessionChange) (int, error) {
	if e.sessions != nil {
		return e.sessions.ChangeSessions(ctx, c)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mute {
		return 0, link.ErrGone
	}
	return int(c.Service), nil
}

func (e *engine) Connections(_ context.Context, backends []uint32, limit int) (int, []link.Connection, error) {
	return len(backends), make([]link.Connection, limit), nil
}

func (e *engine) EndConnections(_ context.Context, backends []uint32) (int, error) {
	return len(backends), nil
}

func (e *engine) Stacks(context.Context) (string, error) { return "goroutine 1", nil }

func (e *engine) Explain(_ context.Context, q explain.Question) (*explain.Explanation, error) {
	return &explain.Explanation{Farm: q.URL}, nil
}

func (e *engine) lives() []*farm.Config {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.published)
}

// netd opens every address except the broken ones.
type netd struct {
	mu     sync.Mutex
	held   []string
	broken map[string]error
	asked  int
	// adopted is the number of sockets it got back.
	adopted int
	away    bool
	stuck   error // error of Close
	starts  uint64
}

func (n *netd) Connection(context.Context) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.starts
}

func (n *netd) Open(_ context.Context, key string, count int) ([]*os.File, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if n.away {
		return nil, errors.New("netd does not answer")
	}
	if err := n.broken[key[len("tcp/"):]]; err != nil {
		return nil, err
	}
	if !slices.Contains(n.held, key) {
		n.held = append(n.held, key)
	}
	var files []*os.File
	for range count {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func (n *netd) Probe(_ context.Context, key string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if n.away {
		return errors.New("netd does not answer")
	}
	return n.broken[key[len("tcp/"):]]
}

func (n *netd) Adopt(_ context.Context, key string, fds []int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return errors.New("netd does not answer")
	}
	n.held = append(n.held, key)
	n.adopted += len(fds)
	return nil
}

func (n *netd) Close(_ context.Context, key string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stuck != nil {
		return n.stuck
	}
	n.held = slices.DeleteFunc(n.held, func(k string) bool { return k == key })
	return nil
}

func (n *netd) List(context.Context) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.held), nil
}

func (n *netd) keys() []string { k, _ := n.List(context.Background()); return k }

// bench is a Publisher with its partners; engines are the next ones to connect.
type bench struct {
	*publish.Publisher
	netd    *netd
	page    *snapshot.Page
	engines chan *engine
	// current is the configuration that republish publishes.
	mu       sync.Mutex
	current  *farm.Config
	complete func(*farm.Config) (*farm.Config, map[uint32]string)
	log      logtest.Log
}

func newBench(t *testing.T, cfg *farm.Config, change ...func(*publish.Options)) *bench {
	t.Helper()
	memory := make([]uint64, snapshot.PageSize/8)
	page, err := snapshot.OpenPage(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), snapshot.PageSize))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{netd: &netd{broken: map[string]error{}}, page: page, engines: make(chan *engine, 4), current: cfg}
	options := publish.Options{
		Dial: func(ctx context.Context) (publish.Engine, error) {
			select {
			case e := <-b.engines:
				return e, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		Complete: func(cfg *farm.Config) (*farm.Config, map[uint32]string) {
			b.mu.Lock()
			complete := b.complete
			b.mu.Unlock()
			if complete == nil {
				return cfg, nil
			}
			return complete(cfg)
		},
		Netd: b.netd, Page: page, Log: slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&options)
	}
	b.Publisher = publish.New(options)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx, func(ctx context.Context) error {
			b.mu.Lock()
			current := b.current
			b.mu.Unlock()
			_, err := b.Publish(ctx, current)
			return err
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return b
}

func (b *bench) start(t *testing.T, e *engine) *engine {
	t.Helper()
	b.engines <- e
	eventually(t, func() bool { return len(e.lives()) > 0 })
	return e
}

func eventually(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("did not happen within 5 s")
		}
	}
}

func config(addrs ...string) *farm.Config {
	cfg := &farm.Config{}
	for i, a := range addrs {
		addr := netip.MustParseAddrPort(a)
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 1), Name: "f" + string(rune('a'+i)), Profile: farm.ProfileHTTP,
			VIP: addr.Addr(), VPort: addr.Port(), HTTP: farm.DefaultHTTP()})
	}
	return cfg
}

const a, b2, c3 = "127.0.0.1:8001", "127.0.0.1:8002", "127.0.0.1:8003"

// A connected engine that dies during a publication does not delay the next one, which that
// publication may be waiting for.
func TestTheNextEngineIsGreetedDuringAPublication(t *testing.T) {
	b := newBench(t, config(a))
	first, second := newEngine(), newEngine()
	var once sync.Once
	b.mu.Lock()
	b.complete = func(cfg *farm.Config) (*farm.Config, map[uint32]string) {
		once.Do(func() {
			b.engines <- second
			_ = first.Close()
			for end := time.Now().Add(5 * time.Second); len(b.engines) > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Error("the next engine waits for the publication")
					break
				}
			}
		})
		return cfg, nil
	}
	b.mu.Unlock()
	b.engines <- first
	eventually(t, func() bool { return len(second.lives()) > 0 })
}

func TestNewEngineGetsTheConfigurationAtOnce(t *testing.T) {
	b := newBench(t, config(a, b2))
	first := b.start(t, newEngine())
	if len(first.got[0]) != 2 {
		t.Errorf("the first engine got %v", first.got)
	}
	_ = first.Close() // it died
	second := b.start(t, newEngine())
	if len(second.got[0]) != 2 || len(second.lives()[0].Farms) != 2 {
		t.Errorf("the second engine got %v", second.got)
	}
	if second.generation <= first.generation {
		t.Errorf("generation %d after %d", second.generation, first.generation)
	}
}

func TestEngineThatKeptItsStateIsNotGivenListenersAgain(t *testing.T) {
	b := newBench(t, config(a, b2))
	e := newEngine()
	e.generation, e.listeners = 41, []string{ctl.KeyTCP(netip.MustParseAddrPort(a))}
	b.start(t, e)
	if want := []string{ctl.KeyTCP(netip.MustParseAddrPort(b2))}; !slices.Equal(e.got[0], want) {
		t.Errorf("it got %v, want %v", e.got[0], want)
	}
	if e.generation != 42 || b.page.Published() != 42 {
		t.Errorf("generation %d, page %d, want 42", e.generation, b.page.Published())
	}
}

func TestUnusedListenersAreClosedAfterTheAcknowledgement(t *testing.T) {
	b := newBench(t, config(a, b2))
	b.start(t, newEngine())
	if _, err := b.Publish(t.Context(), config(b2, c3)); err != nil {
		t.Fatal(err)
	}
	got := b.netd.keys()
	slices.Sort(got)
	if want := []string{"tcp/" + b2, "tcp/" + c3}; !slices.Equal(got, want) {
		t.Errorf("netd holds %v, want %v", got, want)
	}
}

func TestRejectionChangesNothing(t *testing.T) {
	b := newBench(t, config(a))
	e := b.start(t, newEngine())
	e.mu.Lock()
	e.refuse = "no good"
	e.mu.Unlock()
	_, err := b.Publish(t.Context(), config(b2))
	var refused *apply.Refused
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "no good") {
		t.Fatalf("got %v, want a rejection with the engine's words", err)
	}
	if got := b.netd.keys(); !slices.Equal(got, []string{"tcp/" + a}) {
		t.Errorf("netd holds %v after the rejection", got)
	}
}

func TestFarmThatCannotListenDoesNotStopTheOthers(t *testing.T) {
	b := newBench(t, &farm.Config{})
	b.start(t, newEngine())
	reason := &ctl.Error{Code: ctl.CodeNotLocal, Text: "no such address"}
	b.netd.mu.Lock()
	b.netd.broken[b2] = reason
	b.netd.mu.Unlock()
	cfg := config(a, b2)
	out, err := b.Publish(t.Context(), cfg)
	if err != nil || out.FarmErrors[2] != reason.Text || out.FarmErrors[1] != "" {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestFarmStartsWhenItsAddressAppears(t *testing.T) {
	b := newBench(t, config(a, b2))
	b.netd.broken[b2] = &ctl.Error{Code: ctl.CodeNotLocal, Text: "no such address"}
	e := b.start(t, newEngine())
	b.netd.mu.Lock()
	clear(b.netd.broken)
	b.netd.mu.Unlock()
	eventually(t, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.listeners) == 2 })
}

func TestUnavailableNetdIsTriedOnce(t *testing.T) {
	b := newBench(t, &farm.Config{})
	b.start(t, newEngine())
	b.netd.mu.Lock()
	b.netd.away = true
	b.netd.mu.Unlock()
	out, err := b.Publish(t.Context(), config(a, b2, c3))
	if err != nil || len(out.FarmErrors) != 3 {
		t.Errorf("got %v, %v, want a problem for each farm", out, err)
	}
	for id, why := range out.FarmErrors {
		if !strings.Contains(why, "netd does not answer") {
			t.Errorf("farm %d: %s", id, why)
		}
	}
	b.netd.mu.Lock()
	defer b.netd.mu.Unlock()
	if b.netd.asked != 1 {
		t.Errorf("%d requests to netd", b.netd.asked)
	}
}

func TestSilentEngineIsLeftAndTheNextOneRepublished(t *testing.T) {
	b := newBench(t, config(a))
	e := b.start(t, newEngine())
	e.mu.Lock()
	e.mute = true
	e.mu.Unlock()
	if _, err := b.Publish(t.Context(), config(b2)); err == nil {
		t.Fatal("a publication without an answer succeeded")
	}
	next := b.start(t, newEngine())
	if got := next.lives()[0].Farms[0].AddrPort().String(); got != a {
		t.Errorf("the next engine got %s, want the configuration in force before", got)
	}
}

// A larger snapshot has more time, even if the caller's deadline suits a small one.
func TestALargeSnapshotHasMoreTime(t *testing.T) {
	b := newBench(t, config(a))
	e := b.start(t, newEngine())
	until := func(cfg *farm.Config) time.Duration {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := b.Publish(ctx, cfg); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.until.Sub(begun)
	}
	if got := until(config(b2)); got > 4*time.Second {
		t.Errorf("a small snapshot has %v, want the caller's 4s", got)
	}
	large := config(a)
	large.Certificates = append(large.Certificates, farm.Certificate{Name: "large", Chain: [][]byte{make([]byte, 3<<20)}})
	if got := until(large); got < 8*time.Second {
		t.Errorf("a snapshot of 3 MiB has %v, want 5s and 3s", got)
	}
}

func TestWithoutAnEngineAPublicationIsUnavailable(t *testing.T) {
	b := newBench(t, config(a))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Publish(ctx, config(a)); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if b.State().Connected {
		t.Error("connected without a partner")
	}
}

func TestSessionsComeFromTheConnectedEngine(t *testing.T) {
	b := newBench(t, config(a))
	if _, _, err := b.Sessions(t.Context(), 7, 2); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("without an engine: got %v, want ErrUnavailable at once", err)
	}
	e := b.start(t, newEngine())
	if total, list, err := b.Sessions(t.Context(), 7, 2); err != nil || total != 7 || len(list) != 2 {
		t.Errorf("got %d sessions, %d listed, %v", total, len(list), err)
	}
	if n, err := b.ChangeSessions(t.Context(), link.SessionChange{Service: 7}); err != nil || n != 7 {
		t.Errorf("changed %d sessions, %v, want 7", n, err)
	}
	if s, ok, err := b.Session(t.Context(), 7, []byte("k")); err != nil || !ok || s.Backend != 7 {
		t.Errorf("found %+v, %v, %v", s, ok, err)
	}
	if total, list, err := b.Connections(t.Context(), []uint32{1, 2, 3}, 2); err != nil || total != 3 || len(list) != 2 {
		t.Errorf("%d connections, %d listed, %v", total, len(list), err)
	}
	if n, err := b.EndConnections(t.Context(), []uint32{1, 2, 3}); err != nil || n != 3 {
		t.Errorf("got %d connections ended, %v, want 3", n, err)
	}
	if x, err := b.Explain(t.Context(), explain.Question{URL: "u"}); err != nil || x.Farm != "u" {
		t.Errorf("explained %+v, %v", x, err)
	}
	if text, err := b.Stacks(t.Context()); err != nil || text != "goroutine 1" {
		t.Errorf("stacks %q, %v, want %q", text, err, "goroutine 1")
	}
	_ = e.Close()
	eventually(t, func() bool { return !b.State().Connected })
	if _, _, err := b.Session(t.Context(), 7, []byte("k")); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("looking for one after its end: got %v", err)
	}
	if _, _, err := b.Sessions(t.Context(), 7, 2); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("after its end: got %v", err)
	}
	if _, err := b.ChangeSessions(t.Context(), link.SessionChange{Service: 7}); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("a change after its end: got %v", err)
	}
	_, _, connections := b.Connections(t.Context(), nil, 1)
	_, end := b.EndConnections(t.Context(), nil)
	_, explained := b.Explain(t.Context(), explain.Question{})
	_, doing := b.Stacks(t.Context())
	for what, err := range map[string]error{"stacks": doing, "connections": connections, "their end": end, "an explanation": explained} {
		if !errors.Is(err, apply.ErrUnavailable) {
			t.Errorf("%s after its end: got %v", what, err)
		}
	}
}

func TestPublicationsLeakNoDescriptor(t *testing.T) {
	b, _, _ := withKernel(t, mixed("web"))
	before := descriptors(t)
	for i := range 20 {
		cfg := mixed([]string{"a", "b", "c"}[i%3]) // so that the kernel farm changes, too
		cfg.Farms[0] = config([]string{a, b2, c3}[i%3]).Farms[0]
		if _, err := b.Publish(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after 20 publications", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestVirtualUDPPortsHaveTheirOwnKeys(t *testing.T) {
	cfg := config(a)
	l := farm.DefaultL4()
	l.ID, l.Protocol, l.DataPath = 21, farm.L4UDP, farm.DataPathUserspace
	l.Ports = []farm.PortRange{{First: 8001, Last: 8001}, {First: 9001, Last: 9002}}
	inKernel := *l
	inKernel.ID, inKernel.DataPath = 22, farm.DataPathKernel
	cfg.Farms = append(cfg.Farms,
		farm.Farm{ID: 11, Name: "dns", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("127.0.0.1"), L4: l},
		farm.Farm{ID: 12, Name: "kernel", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("127.0.0.2"), L4: &inKernel})
	b := newBench(t, cfg)
	e := newEngine()
	b.start(t, e)
	want := []string{"tcp/127.0.0.1:8001", "udp/127.0.0.1:8001", "udp/127.0.0.1:9001", "udp/127.0.0.1:9002"}
	if got := slices.Sorted(slices.Values(e.got[0])); !slices.Equal(got, want) {
		t.Errorf("the engine got %v, want %v", got, want)
	}
	if got := slices.Sorted(slices.Values(b.netd.keys())); !slices.Equal(got, want) {
		t.Errorf("netd has %v, want %v", got, want)
	}
}

// Engine and mgmt get the signal to stop at the same time.
func TestOrderlyEngineExitIsNotAWarning(t *testing.T) {
	for name, c := range map[string]struct{ stopped, warned bool }{"with it": {true, false}, "alone": {false, true}} {
		synctest.Test(t, func(t *testing.T) {
			var log logtest.Log
			e := newEngine()
			engines := make(chan publish.Engine, 1)
			engines <- e
			memory := make([]uint64, snapshot.PageSize/8)
			page, err := snapshot.OpenPage(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), snapshot.PageSize))
			if err != nil {
				t.Fatal(err)
			}
			p := publish.New(publish.Options{Netd: &netd{broken: map[string]error{}}, Page: page, Log: slog.New(slog.NewTextHandler(&log, nil)),
				Dial: func(ctx context.Context) (publish.Engine, error) {
					select {
					case e := <-engines:
						return e, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				p.Run(ctx, func(context.Context) error { return nil })
			}()
			synctest.Wait()
			_ = e.Close()
			synctest.Wait()
			if c.stopped {
				cancel()
			}
			time.Sleep(time.Second)
			if got := strings.Contains(log.String(), "engine is gone"); got != c.warned {
				t.Errorf("%s: %s", name, log.String())
			}
			cancel()
			<-done
		})
	}
}

// tables is a Places with one table under a settable key.
type tables struct {
	mu  sync.Mutex
	key string
	err error
}

func (s *tables) Key() string { s.mu.Lock(); defer s.mu.Unlock(); return s.key }

func (s *tables) Memory() (string, *os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return "", nil, s.err
	}
	f, err := os.Open(os.DevNull)
	return s.key, f, err
}

// Each engine gets a GeoIP table once, and again after the table changed or the engine
// restarted.
func TestAnEngineGetsPlacesThatItDoesNotHave(t *testing.T) {
	of := &tables{key: "geoip/1"}
	b := newBench(t, config(a), func(o *publish.Options) { o.Places = of })
	e := b.start(t, newEngine())
	publishing := func(came int) {
		t.Helper()
		if _, err := b.Publish(t.Context(), config(a, b2)); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.cameTables != came {
			t.Errorf("%d tables came, want %d", e.cameTables, came)
		}
	}
	publishing(1)
	publishing(1)
	of.mu.Lock()
	of.key = "geoip/2"
	of.mu.Unlock()
	publishing(2)
	publishing(2)
	of.mu.Lock()
	of.key, of.err = "geoip/3", errors.New("no memory")
	of.mu.Unlock()
	publishing(2) // and the change is still in force
	if !strings.Contains(b.log.String(), "the engine does not get the GeoIP database") {
		t.Errorf("%s", b.log.String())
	}
	of.mu.Lock()
	of.err = nil
	of.mu.Unlock()
	_ = e.Close()
	next := b.start(t, newEngine())
	eventually(t, func() bool {
		next.mu.Lock()
		defer next.mu.Unlock()
		return next.cameTables == 1 && next.places[0] == "geoip/3"
	})
}
