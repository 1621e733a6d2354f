package notify

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// GatherTime is how long is waited after the first event for others that belong to it,
// QuietTime how far mails about backends are apart.
const (
	GatherTime = 5 * time.Second
	QuietTime  = time.Minute
)

// mostLines bounds the events of one mail; others are counted.
const mostLines = 200

// backends remembers what was told of each, and what is to be.
type backends struct {
	cfg     *farm.Config
	version uint64
	known   map[uint32]*backendState
	settles bool // some state has not lasted long enough yet
	digest  digest
}

// backendState is what was told of a backend, and what it is since when if that differs.
type backendState struct {
	down    bool
	differs bool
	since   time.Time
}

// digest gathers events for one mail.
type digest struct {
	lines    []string
	more     int
	first    string // of the subject, when it is the only one
	down, up int
	begun    time.Time
	sent     time.Time
}

// LookBackends finds out which backends went down or came up, by their status and by
// what is told about it, and sends what is due. The first look only remembers. It costs
// nothing while neither configuration nor the version of the health table changes.
func (m *Manager) LookBackends(cfg *farm.Config, version uint64, health farmstate.Health, told farmstate.Told) {
	b, now := &m.backends, m.options.Now()
	if cfg != b.cfg || version != b.version || b.settles {
		b.cfg, b.version = cfg, version
		m.lookAll(cfg, health, told, now)
	}
	m.sendDigest(now)
}

func (m *Manager) lookAll(cfg *farm.Config, health farmstate.Health, told farmstate.Told, now time.Time) {
	b := &m.backends
	lasts := time.Duration(m.Settings().Backends.Seconds()) * time.Second
	wanted := m.wants(Backends)
	before := b.known
	b.known, b.settles = map[uint32]*backendState{}, false
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for _, g := range f.Groups() {
			list := g.Backends()
			for k := range list {
				one := &list[k]
				state := before[one.ID]
				if state == nil {
					state = &backendState{}
				}
				b.known[one.ID] = state
				down, is := stateOf(f, g, k, health)
				switch {
				case !is: // nobody's business now: what was told of it stays
					state.differs = false
				case before == nil:
					state.down = down
				case down == state.down:
					state.differs = false
				case !state.differs && lasts > 0:
					state.differs, state.since, b.settles = true, now, true
				case lasts > 0 && now.Sub(state.since) < lasts:
					b.settles = true
				default:
					if !state.differs {
						state.since = now
					}
					state.down, state.differs = down, false
					if wanted {
						b.digest.add(event(g, k, down, state.since, told(one.ID)), down, now)
					}
				}
			}
		}
	}
}

// stateOf is whether a backend is down; is is false while that means nothing: its farm
// does not run, it is in maintenance, it has no clients, or it stands for others.
func stateOf(f *farm.Farm, g farm.Group, position int, health farmstate.Health) (down, is bool) {
	b := &g.Backends()[position]
	if f.Stopped || g.Redirects() || b.Left || b.Spreads() && len(g.Parts(b.ID)) > 0 {
		return false, false
	}
	status := farmstate.Backend(b, health)
	return status == farm.StatusDown, status != farm.StatusMaintenance
}

// sentence is an event: what happened, and when its state began.
type sentence struct {
	text string
	at   time.Time
	why  string
}

func event(g farm.Group, position int, down bool, at time.Time, why string) sentence {
	b := &g.Backends()[position]
	address := b.ShownAddress()
	if b.Port != 0 {
		address = net.JoinHostPort(address, strconv.Itoa(int(b.Port)))
	}
	name := fmt.Sprintf("backend %d (%s)", g.Number(position), address)
	if g.OfService() {
		name += " of service " + g.Name()
	}
	name += " of farm " + g.Farm.Name
	if !down {
		return sentence{name + " is up again", at, ""}
	}
	return sentence{name + " is down", at, why}
}

func (d *digest) add(s sentence, down bool, now time.Time) {
	if d.down+d.up == 0 {
		d.begun, d.first = now, s.text
	}
	if down {
		d.down++
	} else {
		d.up++
	}
	if len(d.lines) == mostLines {
		d.more++
		return
	}
	line := s.at.UTC().Format("2006-01-02 15:04:05 UTC") + "  " + s.text
	if s.why != "" {
		line += ": it " + s.why
	}
	d.lines = append(d.lines, line)
}

// sendDigest sends what was gathered, when it is time.
func (m *Manager) sendDigest(now time.Time) {
	d := &m.backends.digest
	if d.down+d.up == 0 || now.Sub(d.begun) < GatherTime || !d.sent.IsZero() && now.Sub(d.sent) < QuietTime {
		return
	}
	subject := d.first
	if d.down+d.up > 1 {
		subject = strings.Join(counts(d.down, d.up), ", ")
	}
	text := strings.Join(d.lines, "\n") + "\n"
	if d.more > 0 {
		text += fmt.Sprintf("and %d more\n", d.more)
	}
	*d = digest{sent: now}
	if m.wants(Backends) {
		m.enqueue(m.subject(m.Settings().Backends.Prefix, subject), text+m.signature(Backends))
	}
}

func counts(down, up int) (out []string) {
	for _, c := range []struct {
		n    int
		what string
	}{{down, "down"}, {up, "up again"}} {
		switch {
		case c.n == 1:
			out = append(out, "1 backend is "+c.what)
		case c.n > 1:
			out = append(out, fmt.Sprintf("%d backends are %s", c.n, c.what))
		}
	}
	return out
}

// subject is that of an alert: which machine speaks, and what of.
func (m *Manager) subject(prefix, text string) string {
	return strings.TrimSpace(prefix + " " + m.options.Host() + ": " + text)
}

func (m *Manager) signature(alert string) string {
	return "\n-- \nSluice on " + m.options.Host() + ". `sluice notification disable " + alert + "` ends these mails.\n"
}
