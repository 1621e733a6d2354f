package certs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Intervals of requests to responders.
const (
	// firstRetry doubles with every failure, up to lastRetry.
	firstRetry = time.Minute
	lastRetry  = time.Hour
	// restTime is the minimum interval between two requests for a certificate.
	restTime = time.Minute
	// shortLife is the lifetime of a response without nextUpdate.
	shortLife = time.Hour
	askAtOnce = 4
)

// Settings of the node.
const (
	settingOCSP    = "ocsp"
	settingPrivate = "ocsp_private_responders"
)

// attempt is the result of the last request for a certificate.
type attempt struct {
	due      time.Time // of the next request
	failures int
	problem  string
	revoked  bool
}

// OCSPSettings are the node's settings of OCSP.
type OCSPSettings struct {
	// Enabled is true unless an operator disabled OCSP requests.
	Enabled bool
	// PrivateResponders allows responders at private addresses.
	PrivateResponders bool
}

// OCSP returns the settings.
func (m *Manager) OCSP() OCSPSettings {
	enabled, _ := m.store.Setting(settingOCSP)
	return OCSPSettings{Enabled: enabled != "false", PrivateResponders: m.privateResponders()}
}

func (m *Manager) privateResponders() bool {
	private, _ := m.store.Setting(settingPrivate)
	return private == "true"
}

// SetOCSP stores the settings and re-examines every certificate.
func (m *Manager) SetOCSP(by apply.Author, s OCSPSettings) error {
	words := map[bool]string{true: "true", false: "false"}
	if err := m.store.SetSetting(settingOCSP, words[s.Enabled]); err != nil {
		return err
	}
	if err := m.store.SetSetting(settingPrivate, words[s.PrivateResponders]); err != nil {
		return err
	}
	m.logged("OCSP settings changed", "ocsp", by, slog.Bool("enabled", s.Enabled), slog.Bool("private_responders", s.PrivateResponders))
	m.mu.Lock()
	clear(m.asked)
	m.mu.Unlock()
	m.forget("")
	return nil
}

// refresh requests the status of every used certificate that is due, and publishes all new
// responses at once.
func (m *Manager) refresh(ctx context.Context) {
	answers := map[string][]byte{}
	if !m.OCSP().Enabled {
		for _, e := range m.all() {
			if e.rec.Staple != nil {
				answers[e.rec.Name] = nil
			}
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, askAtOnce)
	for _, e := range m.due() {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if staple, changed := m.answer(ctx, e); changed {
				mu.Lock()
				defer mu.Unlock()
				answers[e.rec.Name] = staple
			}
		})
	}
	all.Wait()
	if len(answers) == 0 || ctx.Err() != nil {
		return
	}
	if err := m.staple(ctx, answers); err != nil {
		m.log.Warn("OCSP responses not put into force, trying again", "error", err)
		m.mu.Lock()
		defer m.mu.Unlock()
		for name := range answers {
			m.asked[name] = &attempt{due: m.now().Add(firstRetry), failures: 1, problem: "the response was not put into force"}
		}
	}
}

// due returns the certificates of running farms whose response must be refreshed.
func (m *Manager) due() []*entry {
	if !m.OCSP().Enabled {
		return nil
	}
	var out []*entry
	now := m.now()
	for _, name := range shown(m.applier.Current()) {
		e := m.entry(name)
		if e == nil || !e.stapled() {
			continue
		}
		m.mu.Lock()
		last := m.asked[name]
		if last == nil {
			last = &attempt{due: now}
			if e.staple != nil {
				last.due = refreshAt(e.staple)
			}
			m.asked[name] = last
		}
		due := !now.Before(last.due) || e.staple != nil && ended(e.staple, now)
		m.mu.Unlock()
		if due {
			out = append(out, e)
		}
	}
	return out
}

// shown returns the certificates that running farms show to clients, without duplicates.
func shown(cfg *farm.Config, _ store.Revision) []string {
	var out []string
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; f.ListenerTLS() != nil && !f.Stopped {
			out = append(out, f.ListenerTLS().Certificates...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// refreshAt returns the time to renew a response: shortly before half of its lifetime, with
// jitter.
func refreshAt(r *ocsp.Response) time.Time {
	life := shortLife
	if !r.NextUpdate.IsZero() {
		life = r.NextUpdate.Sub(r.ThisUpdate)
	}
	jitter := time.Duration(rand.Int64N(int64(life/10) + 1))
	return r.ThisUpdate.Add(life/2 - jitter)
}

// answer requests the status of a certificate. If changed is true, staple (possibly nil)
// replaces the current response.
func (m *Manager) answer(ctx context.Context, e *entry) (staple []byte, changed bool) {
	der, err := m.fetch(ctx, e)
	var r *ocsp.Response
	if err == nil {
		r, err = parseResponse(der, e.chain[0], e.issuer())
	}
	now := m.now()
	if err == nil {
		err = checkFresh(r, now)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, false
		}
		revoked := m.failed(e, err)
		drop := e.rec.Staple != nil && (revoked || e.freshStaple(now) == nil)
		return nil, drop
	}
	m.mu.Lock()
	m.asked[e.rec.Name] = &attempt{due: later(refreshAt(r), now.Add(restTime))}
	m.mu.Unlock()
	if e.staple != nil && r.ThisUpdate.Before(e.staple.ThisUpdate) {
		return nil, false // from a lagging replica of the responder
	}
	return der, !bytes.Equal(der, e.rec.Staple)
}

// failed records and logs a failure, with exponentially growing pauses.
func (m *Manager) failed(e *entry, err error) (isRevoked bool) {
	_, isRevoked = errors.AsType[*revoked](err)
	m.mu.Lock()
	var last attempt
	if before := m.asked[e.rec.Name]; before != nil {
		last = *before
	}
	last.failures++
	last.problem, last.revoked = clean(err.Error()), isRevoked
	pause := min(firstRetry<<min(last.failures-1, 16), lastRetry)
	last.due = m.now().Add(pause - time.Duration(rand.Int64N(int64(pause/5))))
	m.asked[e.rec.Name] = &last
	m.mu.Unlock()
	level := slog.LevelWarn
	if isRevoked {
		level = slog.LevelError
	}
	m.log.Log(context.Background(), level, "no OCSP response for a certificate", "name", e.rec.Name, "error", last.problem,
		"must_staple", mustStaple(e.chain[0]), "stapled", e.freshStaple(m.now()) != nil, "retry", last.due.UTC().Format(time.RFC3339))
	return isRevoked
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// staple publishes and stores responses by name; an empty one removes the old one.
func (m *Manager) staple(ctx context.Context, answers map[string][]byte) error {
	return m.applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		var farms []uint32
		var before, after []*entry
		var records []store.Certificate
		for name, der := range answers {
			old := m.entry(name)
			if old == nil || !old.stapled() {
				continue // deleted meanwhile
			}
			next := &entry{rec: old.rec, chain: old.chain}
			next.rec.Staple, next.staple = der, old.readStaple(der)
			if next.staple == nil {
				next.rec.Staple = nil // replaced meanwhile: the response is for another certificate
			}
			before, after = append(before, old), append(after, next)
			records = append(records, next.rec)
			farms = append(farms, running(cfg, name, false)...)
		}
		put := func(entries []*entry) func() {
			return func() {
				for _, e := range entries {
					m.put(e)
				}
			}
		}
		slices.Sort(farms)
		return apply.Renewal{Farms: slices.Compact(farms), Swap: put(after), Undo: put(before),
			Keep: func() error { return m.store.ChangeCertificates(records) }}, nil
	})
}

// The methods of Manager for views add the results of OCSP requests.

// List returns all certificates and CSRs, sorted by name.
func (m *Manager) List() []View {
	out := m.Book.List()
	for i := range out {
		m.addAttempt(&out[i])
	}
	return out
}

// Get returns one certificate or CSR; ErrNotFound.
func (m *Manager) Get(name string) (View, error) {
	v, err := m.Book.Get(name)
	m.addAttempt(&v)
	return v, err
}

func (m *Manager) addAttempt(v *View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.asked[v.Name]
	if last == nil || last.problem == "" {
		return
	}
	v.OCSP.Problem, v.OCSP.Retry = last.problem, last.due.UTC()
	if last.revoked {
		v.Status, v.Problem = StatusInvalid, last.problem
	}
}
