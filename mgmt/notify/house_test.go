package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/notify/mail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var root = apply.Author{Name: "root", Source: "cli"}

// papers is a store of documents that seals by reversing bytes.
type papers struct {
	mu   sync.Mutex
	docs map[string]string
	fail error
}

func (p *papers) ReadDocument(name string, into any) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, ok := p.docs[name]
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal([]byte(text), into)
}

func (p *papers) WriteDocument(name string, value any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := json.Marshal(value)
	if err == nil && p.fail == nil {
		p.docs[name] = string(b)
	}
	return errors.Join(err, p.fail)
}

func (p *papers) DeleteDocument(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.docs, name)
	return p.fail
}

func (p *papers) SealSecret(purpose string, plain []byte) ([]byte, error) {
	return []byte(purpose + "|" + turned(string(plain))), nil
}

func (p *papers) OpenSecret(purpose string, sealed []byte) ([]byte, error) {
	rest, ok := strings.CutPrefix(string(sealed), purpose+"|")
	if !ok {
		return nil, errors.New("sealed for something else")
	}
	return []byte(turned(rest)), nil
}

func turned(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] ^= 0x55
	}
	return string(b)
}

// house is a Manager with a fake clock and a mail server function.
type house struct {
	*Manager
	papers *papers
	log    logtest.Log
	after  chan time.Time // ends a pause

	mu     sync.Mutex
	now    time.Time
	mails  []mail.Message
	server mail.Server
	pauses []time.Duration
	answer func(mail.Message) []*mail.Failure
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{papers: &papers{docs: map[string]string{}}, now: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), after: make(chan time.Time)}
	h.Manager = h.manager()
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *house) manager() *Manager { return h.managerWith(func(*Options) {}) }

func (h *house) managerWith(edit func(*Options)) *Manager {
	o := Options{
		Store: h.papers, Secrets: h.papers, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		Host: func() string { return "lb1" },
		Authorities: func(name string) ([]byte, error) {
			if name != "private" {
				return nil, errors.New("there is no list " + name)
			}
			return nil, nil
		},
		Now: func() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.now },
		After: func(d time.Duration) <-chan time.Time {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.pauses = append(h.pauses, d)
			return h.after
		},
		Send: func(_ context.Context, s mail.Server, m mail.Message) (string, []*mail.Failure) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.server = s
			if h.answer != nil {
				if failed := h.answer(m); failed != nil {
					return "", failed
				}
			}
			h.mails = append(h.mails, m)
			return "2.0.0 taken", nil
		},
	}
	edit(&o)
	return New(o)
}

// paused waits until that many pauses have begun.
func (h *house) paused(t *testing.T, n int) {
	t.Helper()
	enginetest.Eventually(t, fmt.Sprint(n, " pauses have begun"), func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.pauses) >= n
	})
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) answers(f func(mail.Message) []*mail.Failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

// took returns the accepted mails when none is in transit.
func (h *house) took(t *testing.T) []mail.Message {
	t.Helper()
	enginetest.Eventually(t, "mails left", func() bool { return h.Delivery().Waiting == 0 })
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]mail.Message(nil), h.mails...)
}

func nothing() error { return nil }

// set makes complete settings for sending.
func (h *house) set(t *testing.T, edits ...func(*Settings)) {
	t.Helper()
	err := h.Change(root, "test", func(s *Settings) error {
		s.Email.Server, s.Email.From, s.Email.To = "mail.example.com", "lb@example.com", []string{"ops@example.com"}
		for _, edit := range edits {
			edit(s)
		}
		return nil
	}, nothing)
	if err != nil {
		t.Fatal(err)
	}
}

// looked is a configuration and the state of its backends.
type looked struct {
	cfg     *farm.Config
	version uint64
	health  map[uint32]farm.Status
	why     map[uint32]string
	since   map[uint32]time.Time
	awaited map[uint32]bool
	// farm is the status of all farms, "" to derive it from their backends.
	farm farm.Status
}

// shop returns a farm with backends of the given IDs.
func shop(ids ...uint32) *looked {
	f := farm.Farm{ID: 1, Name: "shop", HTTP: &farm.HTTP{Services: []farm.Service{{ID: 1, Name: "web"}}}}
	for _, id := range ids {
		f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{ID: id, Slot: id, Host: "10.0.0.1", Port: uint16(8000 + id)})
	}
	for i := range f.HTTP.Services[0].Backends {
		b := &f.HTTP.Services[0].Backends[i]
		b.Addr = addr(b.Host)
	}
	return &looked{cfg: &farm.Config{Farms: []farm.Farm{f}}, health: map[uint32]farm.Status{}, why: map[uint32]string{}}
}

func (l *looked) backend(i int) *farm.Backend { return &l.cfg.Farms[0].HTTP.Services[0].Backends[i] }

func (l *looked) is(status farm.Status, ids ...uint32) {
	for _, id := range ids {
		l.health[id] = status
	}
	l.version++
}

// look advances the clock and looks.
func (h *house) look(after time.Duration, l *looked) {
	h.pass(after)
	h.LookBackends(l.cfg, l.version, l.known())
}

func (l *looked) known() Known {
	health := func(id uint32) farm.Status { return l.health[id] }
	why := func(id uint32) string { return l.why[id] }
	return Known{
		Known: event.Known{Health: health, Why: why, Awaits: l.awaits(), Farm: func(f *farm.Farm) (farm.Status, string) {
			if l.farm != "" {
				return l.farm, ""
			}
			return farmstate.Look(f, health, why, farmstate.Serving{Running: true})
		}},
		Since: func(id uint32) time.Time { return l.since[id] },
	}
}

func (l *looked) awaits() farmstate.Awaits {
	if l.awaited == nil {
		return nil
	}
	return func(id uint32) bool { return l.awaited[id] }
}

// oddly returns a farm whose status is independent of its backends, to test backends alone.
func oddly(ids ...uint32) *looked {
	l := shop(ids...)
	l.farm = farm.StatusNeededRestart
	return l
}
