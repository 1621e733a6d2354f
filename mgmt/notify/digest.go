package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// After a quiet period, an event is sent at once. Later events are collected: for
// GatherTime after the first message, then for the longer of GatherTime and the channel's
// quiet time (QuietTime for mails), until no more arrive.
const (
	GatherTime = 10 * time.Second
	QuietTime  = time.Minute
)

// mostLines bounds the events in one message; others are counted. Farms come first: the
// state of a farm displaces another line.
const mostLines = 200

// Happening is an event as presented to operators.
type Happening struct {
	event.Shown
	headline string // short enough for a subject
}

func happening(e event.Event) Happening { return Happening{e.Shown(), e.Headline()} }

// digest collects events for one message.
type digest struct {
	list  []Happening
	more  int            // events without a line
	worst event.Severity // the worst severity among those
	count map[event.Kind]int
	begun time.Time // time of its first event
	sent  time.Time // time of the last message
	burst int       // number of messages since the last quiet period
}

func (d *digest) add(h Happening, now time.Time) {
	if d.count == nil {
		d.begun, d.count = now, map[event.Kind]int{}
	}
	if h.Kind == event.FarmStatus { // only the last state is reported
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

// without counts an event that gets no line.
func (d *digest) without(h Happening) {
	d.more++
	if h.Severity.AtLeast(d.worst) {
		d.worst = h.Severity
	}
}

// pause returns the minimum interval between the last message and the next.
func (d *digest) pause(quiet time.Duration) time.Duration {
	if d.burst <= 1 {
		return GatherTime
	}
	return max(quiet, GatherTime)
}

// due reports whether the collected events should be sent now.
func (d *digest) due(now time.Time, quiet time.Duration) bool {
	return d.count != nil && (d.burst == 0 || now.Sub(d.sent) >= d.pause(quiet) || now.Before(d.sent))
}

// take returns the collected events and starts a new digest.
func (d *digest) take(now time.Time, quiet time.Duration) digest {
	out := *d
	burst := d.burst + 1
	if d.begun.Sub(d.sent) >= max(quiet, GatherTime) { // a quiet period
		burst = 1
	}
	*d = digest{sent: now, burst: burst}
	return out
}

// summary summarises the digest: farms first, and single events by their headline.
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

// farms counts the farms by severity, worst first.
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

// severity returns the worst severity.
func (d *digest) severity() event.Severity {
	worst := slices.MaxFunc(d.list, func(a, b Happening) int {
		return cmp.Compare(slices.Index(event.Severities(), a.Severity), slices.Index(event.Severities(), b.Severity))
	})
	if d.worst != "" && d.worst.AtLeast(worst.Severity) {
		return d.worst
	}
	return worst.Severity
}

// text returns one line per event.
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
