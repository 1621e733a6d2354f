package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluicelb/sluice/bench/cases"
)

// Subject is the contestant to which the targets apply.
const Subject = "sluice"

// Header writes the environment and parameters of the run.
func (r *Report) Header(w io.Writer) {
	m := r.Machine
	fmt.Fprintf(w, "%s, %d CPUs, %d MiB, Linux %s\n", m.Processor, m.CPUs, m.MemoryMiB, m.Kernel)
	for _, c := range r.Contestants {
		fmt.Fprintf(w, "  %-14s %s\n", c.Name, strings.TrimSpace(c.Version+"  "+c.Path))
	}
	s := r.Settings
	fmt.Fprintf(w, "proxy on CPU %d, client on CPU %d, backend on CPU %d; %d rounds of %gs slices over %d starts; peers %s; client %s\n",
		s.ProxyCPU, s.ClientCPU, s.BackendCPU, s.Rounds, s.Slice, s.Restarts, s.Work, s.Client)
	if s.ProxyCPU == s.ClientCPU {
		fmt.Fprintln(w, "WARNING: proxy and client share one CPU; rates and latencies say little")
	}
	if r.Place.Private {
		fmt.Fprintln(w, "in a private network namespace")
	} else {
		fmt.Fprintf(w, "on plain loopback: %s\n", r.Place.Reason)
	}
}

// Table writes one case with its targets.
func (c *Case) Table(w io.Writer, references []string) error {
	s := c.Summary
	fmt.Fprintf(w, "\n%s: %s\n", c.Name, c.Title)
	fmt.Fprintf(w, "  %d of %d rounds used%s\n", s.Used, s.Total, contention(s))
	if c.Problem != "" {
		fmt.Fprintf(w, "  NOT FINISHED: %s\n", c.Problem)
	}
	if err := columns(w, c.rows(references)); err != nil {
		return err
	}
	for _, note := range c.notes() {
		fmt.Fprintf(w, "  %s\n", note)
	}
	return nil
}

func contention(s Summary) string {
	if s.Contended {
		return fmt.Sprintf(" (CONTENDED: fewer than %d rounds had less than %.2f CPU of foreign load, all were used)", enoughClean, ForeignLimit)
	}
	return ""
}

func (c *Case) rows(references []string) [][]string {
	head := []string{"contestant", c.Summary.Unit, ""}
	for _, ref := range references {
		head = append(head, "÷ "+ref, "", "target")
	}
	head = append(head, "limit", "user µs", "kernel µs", "calls", "req/s", "p50 µs", "p90", "p99", "p99.9", "quiet p99", "raw p99", "left out", "proxy CPU", "client CPU", "MiB", "MiB before")
	out := [][]string{head}
	for _, r := range c.Summary.Rows {
		out = append(out, c.row(r, references))
	}
	return out
}

func (c *Case) row(r Row, references []string) []string {
	cells := []string{r.Contestant, figure(r.Value.Median, r.Value.N), between(r.Value)}
	for _, ref := range references {
		ratio := r.Ratios[ref]
		target := ""
		if limit, ok := c.Targets[ref]; ok && r.Contestant == Subject && ratio.N > 0 {
			target = verdict(ratio.Median, limit)
		}
		if c.Kind == cases.Slow {
			ratio = Spread{} // the factor belongs to each proxy, so its ratio is meaningless
		}
		cells = append(cells, ratioText(ratio), ratioRange(ratio), target)
	}
	limit := ""
	if c.Limit > 0 && r.Value.N > 0 {
		limit = verdict(r.Value.Median, c.Limit)
	}
	cells = append(cells, limit)
	if c.Kind == cases.Idle || c.Kind == cases.Rest {
		return append(cells, "", "", "", "", "", "", "", "", "", "", "", "", "", mib(r.Memory), mib(r.Before))
	}
	return append(cells, figure(r.User.Median, r.User.N), figure(r.Kernel.Median, r.Kernel.N), calls(r.Calls), whole(r.Rate),
		micros(r.Latency.P50), micros(r.Latency.P90), micros(r.Latency.P99), micros(r.Latency.P999), micros(r.Quiet.P99),
		micros(r.Raw.P99), percent(r.LeftOut),
		figure(r.Proxy.Median, r.Proxy.N), figure(r.Client.Median, r.Client.N), mib(r.Memory), "")
}

// notes returns the remarks below a table.
func (c *Case) notes() []string {
	out := c.unbound()
	for _, r := range c.Summary.Rows {
		if r.Invalid > 0 {
			out = append(out, fmt.Sprintf("%s: %d slices do not count: %s", r.Contestant, r.Invalid, strings.Join(r.Reasons, "; ")))
		}
		if r.Disagree > 0 {
			out = append(out, fmt.Sprintf("%s: in %d slices schedstat and stat disagree", r.Contestant, r.Disagree))
		}
		if extra := r.Extra[Plain]; c.Extra > 0 && r.Contestant == Subject && extra.N > 0 {
			out = append(out, fmt.Sprintf("%s: %s %.2f µs %s to its own plain case, target ≤ %.1f µs: %s",
				Subject, c.adds(), extra.Median, between(extra), c.Extra, okOver(extra.Median <= c.Extra)))
		}
		if c.Kind == cases.Idle && r.Contestant == Subject {
			out = append(out, "the target is for the growth per connection; MiB is the total of all processes with the connections open")
		}
	}
	return out
}

func (c *Case) adds() string {
	switch c.Feature {
	case cases.AccessLog:
		return "the access log adds"
	case cases.Cookie, cases.CookieInsert:
		return "the cookie and the header rules add"
	}
	return "the rules add"
}

// Plain is the contestant that runs Sluice with one service and no feature, in addition
// to the one configured for the case.
const Plain = "sluice-plain"

// verdict compares exactly. If the excess is smaller than the precision of the table, it
// prints more digits.
func verdict(value, limit float64) string {
	text := fmt.Sprintf("≤ %.2f %s", limit, okOver(value <= limit))
	if value > limit && value < limit+0.005 {
		text += fmt.Sprintf(" (%.4f)", value)
	}
	return text
}

func okOver(ok bool) string {
	if ok {
		return "ok"
	}
	return "OVER"
}

func figure(v float64, n int) string {
	switch {
	case n == 0:
		return "-"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// calls prints a dash if the calls were not counted.
func calls(s Spread) string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", s.Median)
}

func between(s Spread) string {
	if s.N == 0 {
		return ""
	}
	return "[" + figure(s.Min, 1) + "–" + figure(s.Max, 1) + "]"
}

func ratioText(s Spread) string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", s.Median)
}

func ratioRange(s Spread) string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("[%.2f–%.2f]", s.Min, s.Max)
}

func whole(s Spread) string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", s.Median)
}

func percent(s Spread) string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", s.Median*100)
}

func micros(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", v)
}

func mib(s Spread) string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", s.Median/(1<<20))
}
