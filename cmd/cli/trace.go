package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/accesslog"
)

// exchange is an exchange of a trace, as in the access log.
type exchange struct {
	Time                                                                     time.Time
	Client, Method, Host, Path, Service, Backend, Decision, Flags, Rejection string
	Reason                                                                   string // of the rejection
	Protocol                                                                 string // UDP and TCP for connections, DNS/UDP and DNS/TCP for queries
	Name, Type, Rcode                                                        string // of queries
	Status                                                                   int
	BytesIn                                                                  uint64 `json:"bytes_in"`
	BytesOut                                                                 uint64 `json:"bytes_out"`
	Queue                                                                    int64  `json:"queue_us"`
	Connect                                                                  int64  `json:"connect_us"`
	Response                                                                 int64  `json:"response_us"`
	Total                                                                    int64  `json:"total_us"`
}

func traceCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trace FARM [--filter NAME=VALUE]…", Short: "Show requests, connections or queries of a farm as they end",
		Long: `Show the requests of a farm as they end, until interrupted: service and backend,
how the backend was chosen (DECISION: algorithm, session, cookie or pin), the
times for queue, connect, response and total, events (FLAGS, and the class of a
refusal), and the reason why a request was refused or failed (REASON). For
l4xnat farms in userspace these are connections and flows with their bytes, for
gslb farms queries with type, response code and name.

A filter is NAME=VALUE; all filters must match. The names are
` + command.HangingIndent("", strings.Join(accesslog.Conditions(), ", ")) + `:
status is a code (404) or a class (5xx), client an address or a network, path a
prefix, min_ms the minimum total time, flag a word of the column FLAGS; name,
type and rcode belong to queries.`,
		Example: "  sluice trace names --filter rcode=NXDOMAIN\n  sluice trace shop\n  sluice trace shop --filter status=5xx --filter path=/api/\n  sluice trace shop --filter min_ms=200 --count 10 --json",
		Args:    command.Exactly(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	filters := cmd.Flags().StringArray("filter", nil, "show only exchanges that match NAME=VALUE")
	count := cmd.Flags().Int("count", 0, "end after this number of exchanges; 0: no end")
	_ = cmd.RegisterFlagCompletionFunc("filter", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, name := range accesslog.Conditions() {
			out = append(out, name+"=")
		}
		return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query, err := filterQuery(*filters)
		if err != nil {
			return err
		}
		path, err := client.Path("farms", args[0], "trace")
		if err != nil {
			return err
		}
		t := &tracer{out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), json: c.JSON, left: *count,
			width: show.Columns(cmd.OutOrStdout())}
		err = c.Stream(cmd.Context(), client.Request{Method: http.MethodGet, Path: path, Query: query}, t.event)
		switch {
		case errors.Is(err, errEnough), command.Interrupted(cmd.Context()):
			return nil
		case err == nil:
			return errors.New("the appliance ended the trace")
		}
		return err
	}
	return cmd
}

// filterQuery converts filters to query parameters of the API.
func filterQuery(filters []string) (url.Values, error) {
	if _, err := accesslog.ParseFilter(filters); err != nil {
		return nil, command.Usagef("--%v", err)
	}
	query := url.Values{}
	for _, f := range filters {
		name, value, _ := strings.Cut(f, "=")
		if query.Has(name) {
			return nil, command.Usagef("--filter: %s is given twice", name)
		}
		query.Set(name, value)
	}
	return query, nil
}

// errEnough ends a stream after the requested number of events.
var errEnough = errors.New("enough")

// tracer prints exchanges: as table rows, or as JSON.
type tracer struct {
	out, err io.Writer
	json     bool
	left     int // 0: unlimited
	headed   bool
	width    int // of the terminal; 0: unlimited
}

func (t *tracer) event(name, data string) error {
	if name == "missed" {
		_, err := fmt.Fprintf(t.err, "sluice: %s exchanges are not shown, because there are too many: use --filter\n", show.Clean(data))
		return err
	}
	if err := t.show(data); err != nil {
		return err
	}
	if t.left == 1 {
		return errEnough
	}
	t.left = max(t.left-1, 0)
	return nil
}

func (t *tracer) show(data string) error {
	if t.json {
		_, err := fmt.Fprintln(t.out, show.Clean(data))
		return err
	}
	var e exchange
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return fmt.Errorf("invalid exchange from the appliance: %w", err)
	}
	if !t.headed {
		t.headed = true
		if err := t.row("TIME", "CLIENT", "METHOD", "STATUS", "QUEUE", "CONNECT", "RESPONSE", "TOTAL", "SERVICE", "BACKEND", "DECISION", "FLAGS", "ADDRESS", "REASON"); err != nil {
			return err
		}
	}
	status := "-"
	if e.Status != 0 {
		status = fmt.Sprint(e.Status)
	}
	method, address := e.Method, e.Host+e.Path
	switch {
	case e.Protocol == "TCP" || e.Protocol == "UDP":
		method, address = e.Protocol, fmt.Sprintf("%s in, %s out", show.Size(e.BytesIn), show.Size(e.BytesOut))
	case e.Rcode != "":
		method, status, address = e.Type, e.Rcode, e.Name
	}
	return t.row(e.Time.Local().Format("15:04:05.000"), show.Cell(e.Client), show.Cell(method), status, micros(e.Queue), micros(e.Connect), micros(e.Response), micros(e.Total),
		show.Cell(e.Service), show.Cell(e.Backend), show.Cell(e.Decision), flagText(e), show.Cell(address), e.Reason)
}

// columns are the column widths before the address; negative ones are left-aligned.
var columns = []int{-12, -15, -7, -8, 8, 8, 8, 8, -12, -21, -9, -24}

// row prints a row, in several lines on a narrow terminal. Continuation lines are indented
// by the width of the time.
func (t *tracer) row(cells ...string) error {
	lines, used := []string{""}, 0
	for i, cell := range cells {
		cell, wide := show.Clean(cell), utf8.RuneCountInString(cell)
		if i < len(columns) {
			cell, wide = fmt.Sprintf("%*s", columns[i], cell), max(wide, columns[i], -columns[i])
		}
		if t.width > 0 && used > show.Gap-columns[0] && used+wide > t.width {
			lines, used = append(lines, strings.Repeat(" ", show.Gap-columns[0])), show.Gap-columns[0]
		}
		lines[len(lines)-1] += cell + strings.Repeat(" ", show.Gap)
		used += wide + show.Gap
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	_, err := fmt.Fprintln(t.out, strings.Join(lines, "\n"))
	return err
}

// micros formats microseconds; unmeasured values are a dash.
func micros(n int64) string {
	if n == 0 {
		return "-"
	}
	d := time.Duration(n) * time.Microsecond
	for _, unit := range []time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit / 10).String()
		}
	}
	return d.String()
}

// flagText returns the flags after the rejection class.
func flagText(e exchange) string {
	words := slices.DeleteFunc([]string{e.Rejection, e.Flags}, func(s string) bool { return s == "" })
	return show.Cell(strings.Join(words, ","))
}
