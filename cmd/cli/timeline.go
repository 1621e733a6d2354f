package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// happened is an entry of the timeline.
type happened struct {
	Time                         time.Time
	Seconds                      int
	Kind, Severity               string
	Farm, Service, Backend, Text string
	Before                       []happened
}

func timelineCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "timeline", Short: "Show events of all farms, newest last",
		Long: `Show events of all farms, or of one, on a common time axis, newest last: changes
of health, revisions, maintenance, certificates, restarts of the engine, and
steps, i.e. sudden changes of a farm's latency or error rate. Below a step are
the events shortly before it, the likeliest cause first.

Kinds are health, maintenance, revision, confirmation, certificate, engine,
appliance, latency and errors. Steps need enough traffic.`,
		Example: "  sluice timeline\n  sluice timeline --farm shop --since 24h\n  sluice timeline --kind latency --since 7d\n  sluice timeline --since 15m --watch",
		Args:    command.Exactly(0),
	}
	f := cmd.Flags()
	f.String("farm", "", "only events of this farm")
	f.String("since", "1h", "start, e.g. 15m, 6h or 7d ago, or a time, e.g. 2026-11-23T12:00:00Z")
	f.String("until", "", "end, a time (default now)")
	f.String("kind", "", "only this kind")
	f.String("severity", "", "only info, warning or error")
	completeTimeline(c, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		query := url.Values{}
		for _, name := range []string{"farm", "since", "until", "kind", "severity"} {
			if value, _ := f.GetString(name); value != "" {
				query.Set(name, value)
			}
		}
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: "/timeline", Query: query})
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params []happened }
		if err := a.Decode(&body); err != nil {
			return err
		}
		return printTimeline(c, cmd, body.Params)
	}
	return cmd
}

func completeTimeline(c *command.Line, cmd *cobra.Command) {
	fixed := func(name string, words ...string) {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("kind", "health", "maintenance", "revision", "confirmation", "certificate", "limit", "engine", "appliance", "latency", "errors")
	fixed("severity", "info", "warning", "error")
	cmd.RegisterFlagCompletionFunc("farm", func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return c.Completer(command.OneFarm, nil)(cmd, nil, toComplete)
	})
}

func printTimeline(c *command.Line, cmd *cobra.Command, list []happened) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "Nothing happened.")
		return err
	}
	s := show.NewSheet("TIME", "KIND", "SEVERITY", "FARM", "SERVICE", "BACKEND", "WHAT")
	for _, e := range list {
		s.Add(command.FormatTime(e.Time), e.Kind, e.Severity, e.Farm, e.Service, e.Backend, e.Text)
		for _, b := range e.Before {
			s.Add("", "", "", b.Farm, b.Service, b.Backend, beforeText(b))
		}
	}
	return c.Print(cmd, s)
}

// beforeText describes the events before a step and their distance.
func beforeText(b happened) string {
	after := time.Duration(b.Seconds) * time.Second
	if after < 0 {
		return fmt.Sprintf("  %s after it began: %s", -after, b.Text)
	}
	return fmt.Sprintf("  %s before: %s", after, b.Text)
}
