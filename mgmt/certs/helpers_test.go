package certs_test

import (
	"context"
	"crypto"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// publicOnly is a key without the private part.
type publicOnly struct{ pub crypto.PublicKey }

func (p publicOnly) Public() crypto.PublicKey { return p.pub }
func (p publicOnly) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("no private key")
}

var by = apply.Author{Name: "root", Source: "cli"}

// house is a Manager over a real store and writer. Its engine accepts everything unless
// refuse is set.
type house struct {
	*certs.Manager
	t       *testing.T
	dir     string
	store   *store.Store
	applier *apply.Applier
	pub     *applytest.Publisher
	log     *logtest.Log
	root    *certstest.Authority

	mu     sync.Mutex
	clock  time.Time
	refuse string
	sent   *farm.Config // the last configuration sent to the engine
	took   *farm.Config // the last one it accepted
	stops  map[uint32]string
}

func newHouse(t *testing.T) *house {
	dir, err := os.MkdirTemp("/dev/shm", "sluice-certs-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &house{t: t, dir: dir, clock: now, root: certstest.NewAuthority(t, "root", now), log: &logtest.Log{}}
	h.open()
	t.Cleanup(func() { h.store.Close() })
	return h
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock = h.clock.Add(d)
}

// open starts or restarts the house, like a new process.
func (h *house) open() {
	h.t.Helper()
	if h.store != nil {
		h.store.Close()
	}
	var err error
	if h.store, err = store.Open(h.dir); err != nil {
		h.t.Fatal(err)
	}
	book, err := certs.Open(h.store, certs.Options{Dir: h.dir, Now: h.now, Log: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		h.t.Fatal(err)
	}
	h.pub = &applytest.Publisher{}
	h.pub.Answer(func(cfg *farm.Config) (apply.Outcome, error) {
		full, problems := book.Complete(cfg)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sent, h.stops = full, problems
		if h.refuse != "" {
			return apply.Outcome{}, &apply.Refused{Reason: h.refuse}
		}
		h.took = full
		return apply.Outcome{FarmErrors: problems}, nil
	})
	h.applier = apply.New(h.store, h.pub, apply.WithRules(validate.Rules{}), apply.WithReferences(book))
	h.Manager = certs.NewManager(book, h.applier)
	if _, err := h.applier.Republish(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) refusing(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse = reason
}

// inForce returns the certificate of that name that the engine uses.
func (h *house) inForce(name string) *farm.Certificate {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.took.Certificates {
		if h.took.Certificates[i].Name == name {
			return &h.took.Certificates[i]
		}
	}
	return nil
}

func (h *house) farm(name string) *farm.Farm {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.took.Farm(name)
}

func (h *house) change(edit func(*farm.Config) error) error {
	_, err := h.applier.Change(h.t.Context(), by, "", 0, edit)
	return err
}

// https adds a running https farm.
func (h *house) https(name string, port uint16, tls farm.TLS) error {
	return h.change(func(cfg *farm.Config) error {
		d := farm.DefaultHTTP()
		d.TLS = &tls
		d.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "127.0.0.1", Port: 8081}}}}
		cfg.Farms = append(cfg.Farms, farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: port, HTTP: d})
		return nil
	})
}

func (h *house) upload(name, pem string, mode certs.Mode) certs.View {
	h.t.Helper()
	v, _, err := h.Upload(h.t.Context(), by, name, []byte(pem), mode)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// contextUntil returns a context that ends when stop is closed.
func contextUntil(stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
