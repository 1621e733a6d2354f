package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// nameOf returns a command as typed after the program name.
func nameOf(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// changes reports whether a command may change something.
func (c *Line) changes(cmd *cobra.Command) bool {
	name := nameOf(cmd)
	switch {
	case cmd.RunE == nil || cmd.HasSubCommands() || name == "" || slices.Contains(c.words.Read, name):
		return false
	case isWatched(cmd):
		return cmd.Annotations[showsSettings] != "" || slices.Contains(c.words.ShowAndChange, name)
	}
	return true
}

// AddDryRunFlags adds --dry-run to every command that changes something and --yes to those that
// delete.
func (c *Line) AddDryRunFlags(root *cobra.Command) {
	EachCommand(root, func(cmd *cobra.Command) {
		if !c.changes(cmd) {
			return
		}
		if cmd.Flags().Lookup("dry-run") == nil {
			cmd.Flags().BoolVar(&c.DryRun, "dry-run", false, "show the changes and their effect on traffic, and change nothing")
		}
		if c.asks(cmd) != NeverAsk {
			cmd.Flags().BoolVarP(&c.Yes, "yes", "y", false, unasked[c.asks(cmd)])
		}
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c.Running = &running{cmd, args}
			if c.DryRun && !c.ShowAPI && !c.ShowYAML {
				return c.tryOut(cmd, args, run)
			}
			return run(cmd, args)
		}
	})
}

// unasked is the help of --yes, by the time at which the command asks.
var unasked = map[Asking]string{
	AskAlways:   "do not ask before something is deleted",
	AskDeleting: "do not ask before something is deleted",
	AskUnnamed:  "do not ask before something is deleted",
	AskForcing:  "do not ask, even if services lose names that no other certificate covers",
	AskPlaced:   "do not ask before the rule at that position is changed",
	AskTaking:   "do not ask before a farm takes over a port of this machine, e.g. that of ssh",
}

// running is the command that makes requests, with its arguments.
type running struct {
	*cobra.Command
	args []string
}

// String returns the command as typed, without flags.
func (r *running) String() string {
	return strings.Join(append([]string{nameOf(r.Command)}, r.args...), " ")
}

// Plan is the result of a change or dry run.
type Plan struct {
	Revision           uint64
	Unchanged, Diff    string
	Deletions          []deletion
	Impact             []impact
	Warnings, Problems []string
	TakesOver          []string `json:"takes_over"`
	NeedsForce         string   `json:"needs_force"`
}

// load is the current traffic of a farm or backend.
type load struct {
	Connections uint64
	Rate        float64 `json:"requests_per_second"`
}

type deletion struct {
	Kind, Name string
	load
}

type impact struct {
	Farm, Cost       string
	Fields, Backends []string
	load
}

// String returns the cost in words, or "" if there is none.
func (l load) String() string {
	var out []string
	if l.Connections > 0 {
		out = append(out, Count(int(l.Connections), "open connection"))
	}
	if l.Rate > 0 {
		out = append(out, strconv.FormatFloat(l.Rate, 'f', -1, 64)+" requests/s")
	}
	return strings.Join(out, ", ")
}

// behind appends the cost to text.
func (l load) behind(text string) string {
	if cost := l.String(); cost != "" {
		return text + ": " + cost
	}
	return text
}

// lines lists the deletions and other changes that cost traffic.
func (p *Plan) lines() (out []string) {
	deleted := map[string]bool{}
	for _, d := range p.Deletions {
		deleted[d.Kind+" "+d.Name] = true
		out = append(out, d.behind("Deletes "+d.Kind+" "+d.Name))
	}
	for _, i := range p.Impact {
		if !deleted["farm "+i.Farm] {
			out = append(out, i.text())
		}
	}
	return out
}

func (i *impact) text() string {
	fields := strings.Join(i.Fields, ", ")
	switch i.Cost {
	case "connections":
		return fmt.Sprintf("Farm %s: %s applies to new connections only", i.Farm, fields)
	case "restart":
		return i.behind(fmt.Sprintf("Restarts farm %s (%s)", i.Farm, fields))
	case "traffic":
		return i.behind("Stops farm " + i.Farm)
	case "cut":
		return "Ends the connections of " + strings.Join(i.Backends, ", ")
	}
	return i.behind("Affects traffic of farm " + i.Farm)
}

// printLines prints the deletions and costs of a change.
func printLines(w io.Writer, p *Plan) error {
	for _, line := range p.lines() {
		if _, err := fmt.Fprintln(w, show.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}

// ErrTried ends a request with --dry-run.
var ErrTried = errors.New("only tried")

// triedChange is a request that was sent as a dry run, and its response.
type triedChange struct {
	client.Request
	client.Response
}

// tryOut runs a command with its changes as dry runs, and prints the results.
func (c *Line) tryOut(cmd *cobra.Command, args []string, run func(*cobra.Command, []string) error) error {
	out := cmd.OutOrStdout()
	cmd.SetOut(io.Discard)
	err := run(cmd, args)
	cmd.SetOut(out)
	if !errors.Is(err, ErrTried) {
		if err == nil && c.dryRuns == nil {
			return Usagef("--dry-run: %s changes nothing with these arguments", cmd.CommandPath())
		}
		return err
	}
	for i, tried := range c.dryRuns {
		if err := c.printTried(cmd, tried, i+1 == len(c.dryRuns)); err != nil {
			return err
		}
	}
	return nil
}

// printTried prints what a tried change would do.
func (c *Line) printTried(cmd *cobra.Command, tried triedChange, last bool) error {
	if c.JSON {
		return c.PrintJSON(cmd, tried.Response)
	}
	result, err := c.PrintDifference(cmd, tried.Response)
	if err != nil {
		return err
	}
	if err := c.printOutline(cmd, tried, &result.Params); err != nil {
		return err
	}
	if !last {
		c.printWarnings(cmd, result)
		return nil
	}
	return c.PrintResult(cmd, tried.Response, result, true)
}

// printOutline prints what a tried change would do if its difference does not show it.
func (c *Line) printOutline(cmd *cobra.Command, tried triedChange, p *Plan) error {
	if p.Diff != "" || len(p.lines()) > 0 || p.Unchanged == "true" {
		return nil
	}
	lines := c.outline(cmd.Context(), tried)
	if lines == nil {
		lines = []string{"The configuration would stay the same."}
	}
	return c.PrintDiff(cmd, strings.Join(lines, "\n")+"\n")
}

// planned stores the dry run result of a request instead of making it.
func (c *Line) planned(ctx context.Context, r client.Request) error {
	a, err := c.exchange(ctx, r.DryRun())
	if err != nil {
		return err
	}
	c.dryRuns = append(c.dryRuns, triedChange{r, a})
	return ErrTried
}
