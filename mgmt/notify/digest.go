package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// What happens after a quiet time is told at once. What follows is gathered: for
// GatherTime after the first message, from then on for QuietTime where that is longer, as
// it is of mails, until nothing more comes.
const (
	GatherTime = 10 * time.Second
	QuietTime  = time.Minute
)

// mostLines bounds the events of one message; others are counted. Farms come first: what
// one has become takes the line of something else.
const mostLines = 200

// Happening is an event as operators are told of it.
type Happening struct {
	event.Shown
	headline string // what a subject has room for
}

func happening(e event.Event) Happening { return Happening{e.Shown(), e.Headline()} }

// digest gathers events for one message.
type digest struct {
	list  []Happening
	more  int            // without a line,
	worst event.Severity // the worst of which is so bad
	count map[event.Kind]int
	begun time.Time // the first event of it
	sent  time.Time // the last message,
	burst int       // which is so many since a quiet time
}

func (d *digest) add(h Happening, now time.Time) {
	if d.count == nil {
		d.begun, d.count = now, map[event.Kind]int{}
	}
	if h.Kind == event.FarmStatus { // only what it has become is told
		before := len(d.list)
		d.list = slices.DeleteFunc(d.list, func(o Happening) bool { return o.Kind == h.Kind && o.Farm == h.Farm })
		d.count[h.Kind] -= before - len(d.list)
	}
	d.count[h.Kind]++
	if len(d.list) == mostLines {
		last := len(d.list) - 1
		for h.Kind == event.FarmStatus && last >= 0 && d.list[last].Kind == event.FarmStatus {
			last--
		}
		if h.Kind != event.FarmStatus || last < 0 {
			d.without(h)
			return
		}
		d.without(d.list[last])
		d.list = slices.Delete(d.list, last, last+1)
	}
	d.list = append(d.list, h)
}

// without counts what has no line.
func (d *digest) without(h Happening) {
	d.more++
	if h.Severity.AtLeast(d.worst) {
		d.worst = h.Severity
	}
}

// pause is how long after the last message the next one leaves.
func (d *digest) pause(quiet time.Duration) time.Duration {
	if d.burst <= 1 {
		return GatherTime
	}
	return max(quiet, GatherTime)
}

// due reports whether it is time to send what was gathered.
func (d *digest) due(now time.Time, quiet time.Duration) bool {
	return d.count != nil && (d.burst == 0 || now.Sub(d.sent) >= d.pause(quiet) || now.Before(d.sent))
}

// take returns what was gathered, and begins anew.
func (d *digest) take(now time.Time, quiet time.Duration) digest {
	out := *d
	burst := d.burst + 1
	if d.begun.Sub(d.sent) >= max(quiet, GatherTime) { // nothing happened meanwhile
		burst = 1
	}
	*d = digest{sent: now, burst: burst}
	return out
}

// summary is the digest in a few words: farms first, and what there is one of as such.
func (d *digest) summary() string {
	if len(d.list) == 1 && d.more == 0 {
		return d.list[0].headline
	}
	out := d.farms()
	if d.count[event.FarmStatus] == 1 {
		out = d.headlines(event.FarmStatus)
	}
	rest := len(d.list) + d.more - d.count[event.FarmStatus]
	for _, k := range event.Kinds() {
		lines := d.headlines(k)
		switch n := d.count[k]; {
		case n == 0, k == event.FarmStatus:
		case rest == 1 && len(lines) == 1:
			out = append(out, lines...)
		default:
			out = append(out, k.Count(n))
		}
	}
	return strings.Join(out, ", ")
}

func (d *digest) headlines(k event.Kind) (out []string) {
	for i := range d.list {
		if d.list[i].Kind == k {
			out = append(out, d.list[i].headline)
		}
	}
	return out
}

// farms are how many farms are how bad, the worst first.
func (d *digest) farms() (out []string) {
	words := map[event.Severity][2]string{event.Error: {"1 farm is critical or down", "%d farms are critical or down"}, event.Warning: {"1 farm has a problem", "%d farms have a problem"}, event.Info: {"1 farm is well again", "%d farms are well again"}}
	n := map[event.Severity]int{}
	for i := range d.list {
		if d.list[i].Kind == event.FarmStatus {
			n[d.list[i].Severity]++
		}
	}
	for _, s := range slices.Backward(event.Severities()) {
		switch n[s] {
		case 0:
		case 1:
			out = append(out, words[s][0])
		default:
			out = append(out, fmt.Sprintf(words[s][1], n[s]))
		}
	}
	return out
}

// severity is the worst of all.
func (d *digest) severity() event.Severity {
	worst := slices.MaxFunc(d.list, func(a, b Happening) int {
		return cmp.Compare(slices.Index(event.Severities(), a.Severity), slices.Index(event.Severities(), b.Severity))
	})
	if d.worst != "" && d.worst.AtLeast(worst.Severity) {
		return d.worst
	}
	return worst.Severity
}

// text has a line for each event.
func (d *digest) text() string {
	var out strings.Builder
	for i := range d.list {
		h := &d.list[i]
		out.WriteString(h.Time.UTC().Format("2006-01-02 15:04:05 UTC") + "  " + h.Text + "\n")
	}
	if d.more > 0 {
		fmt.Fprintf(&out, "and %d more\n", d.more)
	}
	return out.String()
}
