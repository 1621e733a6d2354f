package acme_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/acme/acmetest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

var (
	by       = apply.Author{Name: "root", Source: "cli"}
	loopback = netip.MustParseAddr("127.0.0.1")
)

// house is a Manager over a real store, real certificates and a real engine, with an
// authority that contacts the engine on the house's port.
type house struct {
	*acme.Manager
	t         *testing.T
	dir       string
	port      uint16
	store     *store.Store
	certs     *certs.Manager
	applier   *apply.Applier
	responder *acme.Responder
	engine    *l7test.Appliance
	ca        *acmetest.Authority
	log       *logtest.Log
	limit     time.Duration
	told      []acme.Failure

	ahead atomic.Int64 // offset of the house's clock

	mu     sync.Mutex
	number uint64
	last   *farm.Config // the configuration that the engine runs
	seen   []string     // names of published farms
	most   int          // maximum of simultaneous challenges
}

func newHouse(t *testing.T, badNonces string, domains ...string) *house {
	dir, err := os.MkdirTemp("/dev/shm", "sluice-acme-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &house{t: t, dir: dir, port: porttest.TCP(t).Port(), engine: l7test.New(t, 1), log: &logtest.Log{}, limit: 20 * time.Second}
	h.ca = acmetest.New(t, int(h.port), badNonces, domains...)
	h.open()
	t.Cleanup(func() { h.store.Close() })
	if _, _, err := h.certs.UploadAuthority(t.Context(), by, "private", h.ca.RootPEM(), certs.Create); err != nil {
		t.Fatal(err)
	}
	h.must(h.SetSettings(by, acme.Settings{Email: "ops@sluice.test", Directory: h.ca.Directory(), CA: "private"}))
	return h
}

func (h *house) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

// pass moves the clock of the house, but not that of the authority.
func (h *house) pass(d time.Duration) { h.ahead.Store(int64(d)) }

// open starts or restarts the house, like a new process.
func (h *house) open() {
	h.t.Helper()
	if h.store != nil {
		h.store.Close()
	}
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if h.store, err = store.Open(h.dir); err != nil {
		h.t.Fatal(err)
	}
	book, err := certs.Open(h.store, certs.Options{Dir: h.dir, Now: h.now, Log: log})
	if err != nil {
		h.t.Fatal(err)
	}
	h.responder = &acme.Responder{}
	pub := publisher{h, func(cfg *farm.Config) (*farm.Config, map[uint32]string) {
		out, problems := book.Complete(cfg)
		return h.responder.Complete(out), problems
	}}
	h.applier = apply.New(h.store, pub, apply.WithRules(validate.Rules{}), apply.WithReferences(book))
	h.certs = certs.NewManager(book, h.applier)
	h.Manager = acme.New(acme.Options{Store: h.store, Certificates: h.certs, Applier: h.applier, Responder: h.responder, Log: log, Now: h.now, Port: h.port, Timeout: h.limit, Told: func(f acme.Failure) { h.told = append(h.told, f) }, Hooks: filepath.Join(h.dir, hook.Folder)})
	if _, err := h.applier.Republish(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

// publisher brings configurations to the engine like mgmt/publish and netd.
type publisher struct {
	h        *house
	complete func(*farm.Config) (*farm.Config, map[uint32]string)
}

func (p publisher) Publish(_ context.Context, cfg *farm.Config) (apply.Outcome, error) {
	h := p.h
	h.mu.Lock()
	defer h.mu.Unlock()
	full, problems := p.complete(cfg)
	held := map[string]bool{}
	for _, key := range h.engine.Engine.Listeners() {
		held[key] = true
	}
	opened := map[string][]*os.File{}
	defer func() {
		for _, files := range opened {
			files[0].Close()
		}
	}()
	for i := range full.Farms {
		f := &full.Farms[i]
		key := f.Listeners()[0].Key()
		if f.Stopped || held[key] {
			continue
		}
		ln, err := net.Listen("tcp", f.AddrPort().String())
		if err != nil {
			problems[f.ID] = err.Error()
			continue
		}
		file, err := ln.(*net.TCPListener).File()
		ln.Close()
		if err != nil {
			return apply.Outcome{}, err
		}
		opened[key] = []*os.File{file}
	}
	h.number++
	bad, err := h.engine.Engine.Publish(h.number, full, opened)
	if err != nil {
		return apply.Outcome{}, &apply.Refused{Reason: err.Error()}
	}
	for id, text := range bad {
		if problems[id] == "" {
			problems[id] = text
		}
	}
	h.last, h.most = full, max(h.most, len(full.Challenges))
	for _, f := range full.Farms {
		h.seen = append(h.seen, f.Name)
	}
	return apply.Outcome{Generation: h.number, FarmErrors: problems}, nil
}

// farm adds a farm.
func (h *house) farm(name string, port uint16, edit func(*farm.Farm)) {
	h.t.Helper()
	_, err := h.applier.Change(h.t.Context(), by, "", 0, func(cfg *farm.Config) error {
		f := farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: loopback, VPort: port, HTTP: farm.DefaultHTTP()}
		if edit != nil {
			edit(&f)
		}
		cfg.Farms = append(cfg.Farms, f)
		return nil
	})
	h.must(err)
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.log)
	}
}

// answered fails unless challenges were published since the last call.
func (h *house) answered() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most == 0 {
		h.t.Error("the order ended before the engine could answer the authority")
	}
	h.most = 0
}

// restored fails unless the engine runs exactly the stored configuration.
func (h *house) restored() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	cfg, _ := h.applier.Current()
	if len(h.last.Challenges) > 0 || len(h.last.Farms) != len(cfg.Farms) {
		h.t.Errorf("the engine still has %d challenges and %d farms, %d are configured", len(h.last.Challenges), len(h.last.Farms), len(cfg.Farms))
	}
	if held := h.engine.Engine.Listeners(); len(held) != len(cfg.Farms) {
		h.t.Errorf("the engine listens at %v with %d farms", held, len(cfg.Farms))
	}
}

// served returns the serial of the certificate that clients get at a port.
func (h *house) served(port uint16, name string) string {
	h.t.Helper()
	c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{ServerName: name, InsecureSkipVerify: true})
	h.must(err)
	defer c.Close()
	h.must(c.ConnectionState().PeerCertificates[0].VerifyHostname(name))
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func (h *house) get(path string) (int, string) {
	h.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d%s", h.port, path))
	h.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	h.must(err)
	return resp.StatusCode, string(body)
}

// wants fails unless err is an Error of that kind with part in its text.
func (h *house) wants(err error, kind acme.Kind, part string) {
	h.t.Helper()
	var known *acme.Error
	if !errors.As(err, &known) || known.Kind != kind || !strings.Contains(known.Message, part) {
		h.t.Errorf("got %v, want kind %d with %q\n%s", err, kind, part, h.log)
	}
}

// account returns the stored account at the house's authority.
func (h *house) account() string {
	h.t.Helper()
	text, ok := h.store.Setting(acme.AccountName(h.ca.Directory()))
	if !ok {
		h.t.Fatal("no account is written down")
	}
	return text
}

// holdsKey reports whether a JSON text contains the bytes of a private key.
func (h *house) holdsKey(text string) bool {
	var saved struct{ Key []byte }
	if json.Unmarshal([]byte(text), &saved) != nil {
		return false
	}
	_, err := x509.ParsePKCS8PrivateKey(saved.Key)
	return err == nil
}
