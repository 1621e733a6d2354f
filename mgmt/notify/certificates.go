package notify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Certificate is what is told of one.
type Certificate struct {
	Name    string
	Subject string
	// Serial tells it from the next one of the same name.
	Serial   string
	NotAfter time.Time
	UsedBy   []string
}

// warnDays are the days before its end at which a certificate is told of: each once,
// and once more when it has expired.
var warnDays = []int{1, 7, 15}

const toldName = "notify.certificates"

// told is what was told of certificates, by name; kept in the store, so that a restart
// tells nothing twice.
type told struct {
	loaded bool
	last   time.Time // of the last look
	list   map[string]toldOf
}

type toldOf struct {
	Serial string `json:"serial"`
	// Limit is the number of days, 0 when it had expired.
	Limit int `json:"limit"`
}

// lookTime is how often certificates are looked at.
const lookTime = 10 * time.Minute

// LookCertificates sends a mail about those that are about to expire, list returns all.
// It does nothing most of the time.
func (m *Manager) LookCertificates(list func() []Certificate) {
	now := m.options.Now()
	if !m.wants(Certificates) || !m.told.last.IsZero() && now.Sub(m.told.last) < lookTime && !now.Before(m.told.last) {
		return
	}
	m.told.last = now
	if !m.told.loaded {
		if _, err := m.options.Store.ReadDocument(toldName, &m.told.list); err != nil {
			m.options.Log.Warn("what was told of certificates cannot be read: they are told of again", "error", err)
		}
		m.told.loaded = true
	}
	next, lines := map[string]toldOf{}, []string{}
	only := ""
	all := list()
	slices.SortFunc(all, func(a, b Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	for _, c := range all {
		limit, due := dueLimit(c.NotAfter.Sub(now))
		was, known := m.told.list[c.Name]
		known = known && was.Serial == c.Serial
		if known {
			next[c.Name] = was
		}
		if !due || known && was.Limit <= limit {
			continue
		}
		next[c.Name] = toldOf{c.Serial, limit}
		only = headline(c, now)
		lines = append(lines, line(c, now))
	}
	if !maps.Equal(next, m.told.list) {
		if err := m.options.Store.WriteDocument(toldName, next); err != nil {
			m.options.Log.Error("what was told of certificates cannot be kept: it may be told again", "error", err)
		}
		m.told.list = next
	}
	switch {
	case len(lines) == 0:
		return
	case len(lines) > 1:
		only = fmt.Sprintf("%d certificates are about to expire or have expired", len(lines))
	}
	if len(lines) > mostLines {
		lines = append(lines[:mostLines], fmt.Sprintf("and %d more", len(lines)-mostLines))
	}
	m.enqueue(m.subject("", only), strings.Join(lines, "\n")+"\n"+m.signature(Certificates))
}

// dueLimit is the threshold a certificate has passed that lasts that long.
func dueLimit(left time.Duration) (limit int, due bool) {
	if left <= 0 {
		return 0, true
	}
	for _, days := range warnDays {
		if left <= time.Duration(days)*24*time.Hour {
			return days, true
		}
	}
	return 0, false
}

func headline(c Certificate, now time.Time) string {
	if !now.Before(c.NotAfter) {
		return "the certificate " + c.Name + " has expired"
	}
	return fmt.Sprintf("the certificate %s expires in %s", c.Name, days(c.NotAfter.Sub(now)))
}

// days is a time that is left, rounded down as people count it.
func days(left time.Duration) string {
	switch n := int(left.Hours() / 24); n {
	case 0:
		return "less than a day"
	case 1:
		return "1 day"
	default:
		return fmt.Sprintf("%d days", n)
	}
}

func line(c Certificate, now time.Time) string {
	text := c.NotAfter.UTC().Format("2006-01-02 15:04 UTC") + "  " + headline(c, now)
	if c.Subject != "" {
		text += " (" + c.Subject + ")"
	}
	if len(c.UsedBy) > 0 {
		text += ", used by " + strings.Join(c.UsedBy, ", ")
	}
	return text
}
