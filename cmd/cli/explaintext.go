package cli

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/core/explain"
)

// page is a text in sections, whose lines have aligned cells.
type page struct {
	out     strings.Builder
	colored bool
	rows    [][]string
}

func (p *page) paint(s string, colors ...text.Color) string {
	if !p.colored || s == "" {
		return s
	}
	return text.Colors(colors).Sprint(s)
}

// title begins a section.
func (p *page) title(s string) {
	p.flush()
	p.out.WriteString("\n" + p.paint(s, text.Bold) + "\n")
}

// row adds a line that begins with mark.
func (p *page) row(mark string, cells ...string) {
	row := []string{mark}
	for _, cell := range cells {
		row = append(row, show.Clean(cell))
	}
	p.rows = append(p.rows, row)
}

// flush writes the collected lines, aligned.
func (p *page) flush() {
	var widths []int
	for _, row := range p.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 { // the last cell needs no alignment
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range p.rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
			if i == 0 {
				cell = p.mark(cell)
			}
			line.WriteString(cell + pad + "  ")
		}
		p.out.WriteString("  " + strings.TrimRight(line.String(), " ") + "\n")
	}
	p.rows = nil
}

const (
	tick  = "✓"
	cross = "✗"
)

func (p *page) mark(m string) string {
	switch m {
	case tick:
		return p.paint(m, text.FgGreen)
	case cross:
		return p.paint(m, text.FgRed)
	}
	return m
}

func tickIf(is bool) string {
	if is {
		return tick
	}
	return cross
}

// explainText returns an explanation as text.
func explainText(e *explain.Explanation, method, url string, colored bool) string {
	text.EnableColors() // the decision about colours was made before
	p := &page{colored: colored}
	if e.Passport != nil {
		p.named(e)
		return p.out.String()
	}
	if r := e.Request; r != nil {
		method, url = r.Method, cmp.Or(r.Host, "(no host)")+"  "+r.Path
	}
	trusted := ""
	if e.Request != nil && e.Request.Trusted {
		trusted = ", a trusted peer"
	}
	if url == "" && e.Request == nil {
		method = "connection"
	}
	fmt.Fprintf(&p.out, "%s\n", p.paint(show.Clean(strings.TrimRight(method+"  "+url, " ")), text.Bold))
	over := ""
	if e.SNI != "" {
		over = " with TLS for " + show.Clean(e.SNI)
	}
	if b := e.Balance; e.Request == nil && b != nil && b.Protocol == "udp" {
		over = " over UDP"
	}
	fmt.Fprintf(&p.out, "from %s%s to farm %s at %s%s, generation %d\n", show.Clean(e.From), trusted, show.Clean(e.Farm), show.Clean(e.Listener), over, e.Generation)
	if r := e.Request; r != nil && r.Sent != "" {
		fmt.Fprintf(&p.out, "sent to the backend as %s\n", show.Clean(r.Sent))
	}
	if r := e.Request; r != nil && len(r.Readings) > 0 {
		fmt.Fprintf(&p.out, "also read as %s\n", show.Clean(strings.Join(r.Readings, ", ")))
	}
	if len(e.Steps) > 0 {
		p.title("Checks")
	}
	for _, s := range e.Steps {
		p.row(tickIf(s.Passed), s.Name, s.Reason)
	}
	p.services(e)
	p.changes("Rules that change the request", e.Changes)
	p.keeping(e)
	p.balance(e.Balance)
	p.head("Request as the backend receives it", e.Head)
	p.changes("Rules that change the response", e.AnswerChanges)
	p.head("Response after rules", e.AnswerHead)
	p.result(&e.Result)
	p.flush()
	return p.out.String()
}

func (p *page) head(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.title(title)
	for _, line := range lines {
		p.row(line)
	}
}

func (p *page) services(e *explain.Explanation) {
	if len(e.Services) == 0 {
		return
	}
	p.title("Services")
	for _, s := range e.Services {
		p.row(tickIf(s.Matched), s.Name, s.Reason)
	}
	if e.NotTried > 0 {
		p.row(" ", fmt.Sprintf("%d more not tried", e.NotTried))
	}
}

func (p *page) changes(title string, list []explain.Change) {
	if len(list) == 0 {
		return
	}
	p.title(title)
	for _, c := range list {
		rule := c.Kind
		if c.Rule >= 0 {
			rule = fmt.Sprintf("%s %d", c.Kind, c.Rule)
		}
		p.row("·", c.Owner, rule, changeText(&c))
	}
}

func changeText(c *explain.Change) (what string) {
	switch c.Kind {
	case "remove-header":
		return c.Header + ": " + c.Before
	case "add-header":
		return c.Header + ": " + c.After
	case "replace-header":
		return fmt.Sprintf("%s: %s → %s", c.Header, c.Before, c.After)
	}
	if what = c.Before + " → " + c.After; c.Last {
		what += " (last)"
	}
	return what
}

// keeping prints the client's persistence.
func (p *page) keeping(e *explain.Explanation) {
	if e.Cookie == nil && e.Persistence == nil {
		return
	}
	p.title("Persistence")
	if c := e.Cookie; c != nil {
		p.row(tickIf(e.Result.Decision == "cookie"), "cookie "+c.Name, c.Reason)
	}
	if s := e.Persistence; s != nil {
		what := s.Kind
		if s.Name != "" {
			what += " " + s.Name
		}
		if s.Key != "" {
			what += " = " + s.Key
		}
		reason := s.Reason
		if s.Static {
			reason += " (static)"
		}
		p.row(tickIf(e.Result.Decision == "session"), what, reason)
	}
}

func (p *page) balance(b *explain.Balance) {
	if b == nil {
		return
	}
	protocol := ""
	if b.Protocol == "h2" {
		protocol = "HTTP/2, "
	}
	p.title(fmt.Sprintf("Backends (%s%s, priorities up to %d)", protocol, show.Clean(b.Algorithm), b.Level))
	if b.Pinned {
		p.row("·", "this shows a client's first request; later ones stay on its connection")
		p.flush()
	}
	for _, be := range b.Backends {
		limit := fmt.Sprintf("%d in flight", be.InFlight)
		if be.Limit > 0 {
			limit = fmt.Sprintf("%d of %d in flight", be.InFlight, be.Limit)
		}
		if be.Cost != "" && !strings.HasSuffix(be.Cost, "in flight") {
			limit += ", " + be.Cost
		}
		name := be.Address
		if be.Alias != "" {
			name += " (" + be.Alias + ")"
		}
		if be.Name != nil && be.Name.Name != be.Address {
			r := resolution{Name: be.Name.Name, Age: be.Name.Age}
			name += " [" + r.Name + r.age(", ") + "]"
		}
		p.row(tickIf(be.Chosen), fmt.Sprint(be.ID), name, be.Status, fmt.Sprintf("weight %d", be.Weight), fmt.Sprintf("priority %d", be.Priority), limit, be.Reason)
	}
	if b.NotShown > 0 {
		p.row(" ", fmt.Sprintf("%d more not shown", b.NotShown))
	}
}

func (p *page) result(r *explain.Result) {
	p.title("Result")
	switch r.Outcome {
	case explain.Forward:
		to := r.Address
		if r.Backend != nil {
			to = fmt.Sprintf("backend %d (%s)", *r.Backend, r.Address)
		}
		if r.Service != "" {
			to += " of service " + r.Service
		}
		p.row(tick, fmt.Sprintf("forwarded to %s: %s", to, r.Reason))
	case explain.Redirect:
		p.row(tick, fmt.Sprintf("redirected with %d to %s", r.Status, r.Location))
	case explain.Answer:
		p.row(tick, fmt.Sprintf("answered with %d: %s", r.Status, r.Reason))
	case explain.Wait:
		p.row("·", "queued: "+r.Reason)
	default:
		if r.Status == 0 {
			p.row(cross, "refused: "+r.Reason)
			return
		}
		p.row(cross, fmt.Sprintf("refused with %d: %s", r.Status, r.Reason))
	}
}
